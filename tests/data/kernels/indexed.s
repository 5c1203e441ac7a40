// Vector registers indexed by M0. Arguments: in (two rows: integers, floats), out, a number. v20 ... v27 hold the integers
// plus 100 ... 107; v30 ... v33 the floats times 1 ... 4. Each `put` stores a row of 64 results.
    .amdgcn_target "amdgcn-amd-amdhsa--gfx803"

.include "rows.inc"

.macro begin name
    .text
    .globl \name
    .p2align 8
    .type \name,@function
\name:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dword s8, s[0:1], 0x10
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    lane_rows
    get v1
    flat_load_dword v2, v[4:5]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    .set i, 0
    .rept 8
    v_add_u32 v[20+i], vcc, 100+i, v1
    .set i, i + 1
    .endr
    v_mov_b32 v30, v2
    v_mul_f32 v31, 2.0, v2
    v_mul_f32 v32, 0x40400000, v2
    v_mul_f32 v33, 4.0, v2
.endm

.macro end name
    s_endpgm
    .size \name, .-\name
    .rodata
    .p2align 6
    .amdhsa_kernel \name
        .amdhsa_next_free_vgpr 64
        .amdhsa_next_free_sgpr 32
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_kernarg_size 20
        .amdhsa_reserve_flat_scratch 0
        .amdhsa_reserve_xnack_mask 0
    .end_amdhsa_kernel
    .text
.endm

begin operands
    // 0 to 2: the index of the first source, of the second, of the destination
    s_movk_i32 s10, 0x1003                  // of the index eight bits count
    s_set_gpr_idx_on s10, gpr_idx(SRC0)
    v_mov_b32 v10, v20
    s_set_gpr_idx_off
    put v10
    s_set_gpr_idx_on 2, gpr_idx(SRC1)
    v_xor_b32 v10, 5, v20
    s_set_gpr_idx_off
    put v10
    s_set_gpr_idx_on 5, gpr_idx(DST)
    v_mov_b32 v20, v1
    s_set_gpr_idx_off
    put v25
    // 3: both sources and a scalar; 4: three operands of VOP3, of 64 bits
    s_set_gpr_idx_on 1, gpr_idx(SRC0,SRC1)
    v_mad_u32_u24 v10, v20, v20, s10
    s_set_gpr_idx_off
    put v10
    v_mov_b32 v12, 0
    v_mov_b32 v13, 1.0
    v_mov_b32 v14, 0
    v_mov_b32 v15, 2.0
    s_set_gpr_idx_on 2, gpr_idx(SRC0,SRC1,DST)
    v_add_f64 v[10:11], v[12:13], v[12:13]
    s_set_gpr_idx_off
    put v13
    // 5: a sum whose second operand an index selects, in a loop; what is not indexed stays
    v_mov_b32 v10, 0
    s_movk_i32 s11, 0
    s_set_gpr_idx_on 0, gpr_idx(SRC1)
.Loperands_next:
    s_set_gpr_idx_idx s11
    s_add_u32 s11, s11, 1
    s_cmp_lt_u32 s11, 4
    v_mac_f32 v10, 0.5, v30
    s_cbranch_scc1 .Loperands_next
    s_set_gpr_idx_off
    put v10
    // 6: other operands, by mode; the index stays
    s_set_gpr_idx_on 6, gpr_idx(DST)
    s_set_gpr_idx_mode gpr_idx(SRC0)
    v_mov_b32 v10, v20
    s_set_gpr_idx_off
    put v10
    // 7: constants and scalars have no index; 8: M0 as it is left
    s_set_gpr_idx_on 3, gpr_idx(SRC0)
    v_add_f32 v10, 1.0, v2
    s_set_gpr_idx_off
    put v10
    s_mov_b32 m0, 0xabcd1234
    s_set_gpr_idx_on 0x77, gpr_idx(SRC1,DST)
    s_nop 0
    s_set_gpr_idx_off
    v_mov_b32 v10, m0
    put v10
    // 9: a lane's value whose register is not indexed
    s_set_gpr_idx_on 3, gpr_idx(SRC1)
    v_readlane_b32 s12, v20, 7
    s_set_gpr_idx_off
    v_mov_b32 v10, s12
    put v10
    // 10: lanes that are off keep what they had
    v_mov_b32 v21, 9
    s_mov_b64 s[14:15], exec
    s_mov_b64 exec, 0xff
    s_set_gpr_idx_on 1, gpr_idx(DST)
    v_mov_b32 v20, 3
    s_set_gpr_idx_off
    s_mov_b64 exec, s[14:15]
    put v21
    end operands

// the third argument is the index, counted from v60
begin past_the_last
    s_set_gpr_idx_on s8, gpr_idx(SRC0)
    v_mov_b32 v10, v60
    s_set_gpr_idx_off
    put v10
    end past_the_last

// on one way the mode is on, on the other it is not
begin two_ways
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 .Ltwo_ways_on
    s_branch .Ltwo_ways_move
.Ltwo_ways_on:
    s_set_gpr_idx_on 1, gpr_idx(SRC0)
.Ltwo_ways_move:
    v_mov_b32 v10, v20
    s_set_gpr_idx_off
    put v10
    end two_ways

begin writes_m0
    s_set_gpr_idx_on 1, gpr_idx(SRC0)
    s_mov_b32 m0, 2
    v_mov_b32 v10, v20
    s_set_gpr_idx_off
    end writes_m0

begin jumps
    s_getpc_b64 s[10:11]
    s_set_gpr_idx_on 1, gpr_idx(SRC0)
    s_setpc_b64 s[10:11]
    end jumps

begin reads_mode
    s_set_gpr_idx_on 1, gpr_idx(SRC0)
    s_getreg_b32 s10, hwreg(HW_REG_MODE)
    s_set_gpr_idx_off
    end reads_mode

begin with_lane_mask
    s_set_gpr_idx_on 1, gpr_idx(SRC1)
    v_add_u32 v10, vcc, v1, v20
    s_set_gpr_idx_off
    end with_lane_mask

begin lane_of_indexed
    s_set_gpr_idx_on 1, gpr_idx(SRC0)
    v_readlane_b32 s10, v20, 0
    s_set_gpr_idx_off
    end lane_of_indexed

begin sum_elsewhere
    s_set_gpr_idx_on 1, gpr_idx(DST)
    v_mac_f32 v10, v20, v21
    s_set_gpr_idx_off
    end sum_elsewhere
