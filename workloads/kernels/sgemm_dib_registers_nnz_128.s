// sgemm_dib_registers_nnz with 128 rows of C a workgroup: see dib_registers.inc.
.set CONVERTED, 1
.set LANE_ROWS, 2
.include "dib_registers.inc"
kernel sgemm_dib_registers_nnz_128, 96, 40, "- {.name: absent, .offset: 88, .size: 8, .value_kind: global_buffer}"
