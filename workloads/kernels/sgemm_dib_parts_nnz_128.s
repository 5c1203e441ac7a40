// sgemm_dib_gathered_nnz with columns in runs that meet the same taps, and no others; 128 rows of C a workgroup:
// see dib_registers.inc.
.set CONVERTED, 1
.set GATHERED, 1
.set PARTS, 1
.set LANE_ROWS, 2
.include "dib_registers.inc"
kernel sgemm_dib_parts_nnz_128, 136, 40, "- {.name: of_tap, .offset: 88, .size: 4, .value_kind: by_value}", "- {.name: places, .offset: 96, .size: 8, .value_kind: global_buffer}", "- {.name: absent, .offset: 104, .size: 8, .value_kind: global_buffer}", "- {.name: run_blocks, .offset: 112, .size: 4, .value_kind: by_value}", "- {.name: skip, .offset: 116, .size: 4, .value_kind: by_value}", "- {.name: a_bytes, .offset: 120, .size: 4, .value_kind: by_value}", "- {.name: bases, .offset: 128, .size: 8, .value_kind: global_buffer}"
