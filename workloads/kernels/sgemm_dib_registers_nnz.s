// C = A.B with B in ELLPACK-DIB as dib_convert_blocks has stored it, and A in vector registers: see dib_registers.inc.
.set CONVERTED, 1
.include "dib_registers.inc"
kernel sgemm_dib_registers_nnz, 96, 64, "- {.name: absent, .offset: 88, .size: 8, .value_kind: global_buffer}"
