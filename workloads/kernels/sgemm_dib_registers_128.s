// sgemm_dib_registers with 128 rows of C a workgroup: see dib_registers.inc.
.set CONVERTED, 0
.set LANE_ROWS, 2
.include "dib_registers.inc"
kernel sgemm_dib_registers_128, 84, 40
