// What is in front of issue: a loop shorter than a line of the instruction cache, wherever in a line it begins, and a
// kernel that does nothing, which takes as long as its launch.
// Argument: u32 passes (at least 1).
    .include "kernel.inc"

.macro loop_at dwords
    begin_kernel loop_at_\dwords
    s_load_dword s4, s[0:1], 0x0
    v_mov_b32_e32 v1, 0
    s_waitcnt lgkmcnt(0)
    .p2align 6
    .rept \dwords
    s_nop 0
    .endr
.Lagain_\dwords:                            // 36 bytes
    .rept 6
    v_add_f32_e32 v1, v1, v1
    .endr
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 .Lagain_\dwords
    s_endpgm
    end_kernel loop_at_\dwords, 4
.endm

    .irp dwords, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    loop_at \dwords
    .endr

    begin_kernel nothing
    s_endpgm
    end_kernel nothing, 4
