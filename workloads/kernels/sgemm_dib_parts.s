// sgemm_dib_gathered with columns in runs that meet the same taps, and no others:
// see dib_registers.inc.
.set CONVERTED, 0
.set GATHERED, 1
.set PARTS, 1
.include "dib_registers.inc"
kernel sgemm_dib_parts, 128, 64, "- {.name: of_tap, .offset: 88, .size: 4, .value_kind: by_value}", "- {.name: places, .offset: 96, .size: 8, .value_kind: global_buffer}", "- {.name: run_blocks, .offset: 104, .size: 4, .value_kind: by_value}", "- {.name: skip, .offset: 108, .size: 4, .value_kind: by_value}", "- {.name: a_bytes, .offset: 112, .size: 4, .value_kind: by_value}", "- {.name: bases, .offset: 120, .size: 8, .value_kind: global_buffer}"
