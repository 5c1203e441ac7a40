// sgemm_dib_registers with 64 rows of C a workgroup: see dib_registers.inc.
.set CONVERTED, 0
.set LANE_ROWS, 1
.include "dib_registers.inc"
kernel sgemm_dib_registers_64, 84, 28
