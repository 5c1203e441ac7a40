// C = A.B with B's blocks gathered, in ELLPACK-DIB as conv_sparse.cl has stored them, and A in vector registers: see
// dib_registers.inc.
.set CONVERTED, 1
.set GATHERED, 1
.include "dib_registers.inc"
kernel sgemm_dib_gathered_nnz, 112, 64, "- {.name: of_tap, .offset: 88, .size: 4, .value_kind: by_value}", "- {.name: places, .offset: 96, .size: 8, .value_kind: global_buffer}", "- {.name: absent, .offset: 104, .size: 8, .value_kind: global_buffer}"
