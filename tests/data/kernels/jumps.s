// Jumps through registers: long branches as LLVM and Tensile write them, calls, a table of code, and jumps to anywhere
    .amdgcn_target "amdgcn-amd-amdhsa--gfx803"

// the kernel stores s8 in its first argument; s4 is its second one
.macro begin name
    .text
    .globl \name
    .p2align 8
    .type \name,@function
\name:
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_load_dword s4, s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s8, 0
.endm

.macro end name
    v_mov_b32 v0, s2
    v_mov_b32 v1, s3
    v_mov_b32 v2, s8
    flat_store_dword v[0:1], v2
    s_endpgm
    .size \name, .-\name
    .rodata
    .p2align 6
    .amdhsa_kernel \name
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 32
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_kernarg_size 12
        .amdhsa_reserve_vcc 0
        .amdhsa_reserve_flat_scratch 0
        .amdhsa_reserve_xnack_mask 0
    .end_amdhsa_kernel
    .text
.endm

// Tensile's long branch forward; what lies between (s_sleep) is not reached
begin forward
    s_getpc_b64 s[6:7]
.Lforward_counter:
    s_add_i32 s9, .Lforward_target-.Lforward_counter-4, 4
    s_add_u32 s6, s6, s9
    s_addc_u32 s7, s7, 0
    s_setpc_b64 s[6:7]
    .fill 64, 4, 0xbf8e0007
.Lforward_target:
    s_movk_i32 s8, 11
    end forward

// Tensile's long branch to either side, here backward: the sign decides between an addition and a subtraction
begin backward
    s_branch .Lbackward_jump
.Lbackward_target:
    s_movk_i32 s8, 22
    s_branch .Lbackward_end
    .fill 8, 4, 0xbf8e0007
.Lbackward_jump:
    s_getpc_b64 s[6:7]
.Lbackward_counter:
    s_add_i32 s9, .Lbackward_target-.Lbackward_counter-4, 4
    s_cmp_ge_i32 s9, 0
    s_cbranch_scc1 .Lbackward_positive
    s_abs_i32 s9, s9
    s_sub_u32 s6, s6, s9
    s_subb_u32 s7, s7, 0
    s_setpc_b64 s[6:7]
.Lbackward_positive:
    s_add_u32 s6, s6, s9
    s_addc_u32 s7, s7, 0
    s_setpc_b64 s[6:7]
    .fill 8, 4, 0xbf8e0007
.Lbackward_end:
    end backward

// LLVM's relaxed branch, backward: a literal of 64 bits in two additions
begin relaxed
    s_branch .Lrelaxed_jump
.Lrelaxed_target:
    s_movk_i32 s8, 33
    s_branch .Lrelaxed_end
.Lrelaxed_jump:
    s_getpc_b64 s[6:7]
.Lrelaxed_counter:
    s_add_u32 s6, s6, (.Lrelaxed_target-.Lrelaxed_counter)&0xffffffff
    s_addc_u32 s7, s7, -1
    s_setpc_b64 s[6:7]
    .fill 8, 4, 0xbf8e0007
.Lrelaxed_end:
    end relaxed

// the second argument chooses an entry of a table of code: known when it runs
begin computed
    s_lshl_b32 s4, s4, 3
    s_getpc_b64 s[6:7]
.Lcomputed_counter:
    s_add_u32 s6, s6, s4
    s_addc_u32 s7, s7, 0
    s_add_u32 s6, s6, .Lcomputed_table-.Lcomputed_counter
    s_addc_u32 s7, s7, 0
    s_setpc_b64 s[6:7]
    .fill 8, 4, 0xffffffff
.Lcomputed_table:
    .irp n, 100, 101, 102, 103
    s_movk_i32 s8, \n
    s_branch .Lcomputed_end
    .endr
.Lcomputed_end:
    end computed

// a way past the constants leads to the jump: it is not known after all, though the constants are followed
begin two_ways
    s_getpc_b64 s[6:7]
.Ltwo_ways_counter:
    s_add_u32 s10, s6, .Ltwo_ways_second-.Ltwo_ways_counter
    s_addc_u32 s11, s7, 0
    s_bcnt1_i32_b32 s9, -1
    s_add_u32 s10, s10, s9
    s_sub_u32 s10, s10, 32
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 .Ltwo_ways_jump
    s_getpc_b64 s[10:11]
.Ltwo_ways_counter_2:
    s_add_u32 s10, s10, .Ltwo_ways_first-.Ltwo_ways_counter_2
    s_addc_u32 s11, s11, 0
.Ltwo_ways_jump:
    s_setpc_b64 s[10:11]
    .fill 8, 4, 0xffffffff
.Ltwo_ways_first:
    s_movk_i32 s8, 44
    s_branch .Ltwo_ways_end
    .fill 8, 4, 0xffffffff
.Ltwo_ways_second:
    s_movk_i32 s8, 55
.Ltwo_ways_end:
    end two_ways

// jumps as many bytes on as the second argument says
begin anywhere
    s_getpc_b64 s[6:7]
    s_add_u32 s6, s6, s4
    s_addc_u32 s7, s7, 0
    s_setpc_b64 s[6:7]
    s_mov_b32 s8, 0x12345
    end anywhere
