// C = A.B with B's blocks gathered, compacted on the fly (ELLPACK-DIB through sparse loads), and A in vector registers:
// see dib_registers.inc.
.set CONVERTED, 0
.set GATHERED, 1
.include "dib_registers.inc"
kernel sgemm_dib_gathered, 104, 64, "- {.name: of_tap, .offset: 88, .size: 4, .value_kind: by_value}", "- {.name: places, .offset: 96, .size: 8, .value_kind: global_buffer}"
