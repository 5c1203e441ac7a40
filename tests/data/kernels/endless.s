// A kernel that never ends, written by hand: no metadata, so its arguments are passed as one block.
// It stores its first argument's value through its second one, then loops while the value is not 0.
    .text
    .globl endless
    .p2align 8
    .type endless,@function
endless:
    s_load_dwordx4 s[0:3], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v0, s2
    v_mov_b32_e32 v1, s3
    v_mov_b32_e32 v2, s0
    flat_store_dword v[0:1], v2
    s_cmp_lg_u32 s0, 0
.Lagain:
    s_cbranch_scc1 .Lagain
    s_endpgm
.Lend:
    .size endless, .Lend-endless

    .rodata
    .p2align 6
    .amdhsa_kernel endless
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_kernarg_size 16
        .amdhsa_next_free_vgpr 3
        .amdhsa_next_free_sgpr 8
    .end_amdhsa_kernel
