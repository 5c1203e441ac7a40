// sgemm_dib_registers_nnz with 64 rows of C a workgroup: see dib_registers.inc.
.set CONVERTED, 1
.set LANE_ROWS, 1
.include "dib_registers.inc"
kernel sgemm_dib_registers_nnz_64, 96, 28, "- {.name: absent, .offset: 88, .size: 8, .value_kind: global_buffer}"
