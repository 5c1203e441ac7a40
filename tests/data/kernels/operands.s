// Every way an operand reaches an instruction: each `put` stores one row of 64 results.
// Arguments: in (two rows: integers, floats), out.
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5

.include "rows.inc"

.text
.globl operands
.p2align 8
.type operands,@function
operands:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    lane_rows
    get v1
    flat_load_dword v2, v[4:5]
    s_waitcnt vmcnt(0)
    s_mov_b32 s10, 0x12345678
    s_mov_b32 s11, 7
    // 0: scalar source, 1: literal, 2: inline negative, 3: inline float, 4: the same scalar twice
    v_add_u32 v10, vcc, s10, v1
    put v10
    v_xor_b32 v10, 0xdeadbeef, v1
    put v10
    v_add_u32 v10, vcc, -16, v1
    put v10
    v_mul_f32 v10, 0.5, v2
    put v10
    v_mad_u32_u24 v10, s11, v1, s11
    put v10
    // 5: neg and abs, 6: omod, 7: clamp, 8: madmk
    v_add_f32_e64 v10, -|v2|, 1.0
    put v10
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0 // output modifiers are ignored in IEEE mode
    v_mul_f32_e64 v10, v2, 2.0 mul:4
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 1
    put v10
    v_add_f32_e64 v10, v2, 0.5 clamp
    put v10
    v_madmk_f32 v10, v2, 0x40400000, v2
    put v10
    // 9: comparison into a scalar pair and select, 10: VCC as data, 11: carry in and out
    v_cmp_gt_i32_e64 s[20:21], v1, 0
    v_cndmask_b32_e64 v10, 5, 9, s[20:21]
    put v10
    v_cmp_lt_u32 vcc, 31, v0
    v_mov_b32 v10, vcc_hi
    put v10
    v_add_u32 v10, s[22:23], -1, v1
    v_addc_u32_e64 v10, s[24:25], 0, 0, s[22:23]
    put v10
    // 12: SDWA byte of a source, 13: sign-extended word, 14: into a byte, the rest kept
    v_add_u32_sdwa v10, vcc, v1, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD
    put v10
    v_mov_b32_sdwa v10, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1
    put v10
    v_mov_b32 v10, v1
    v_mov_b32_sdwa v10, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD
    put v10
    // 15: DPP quad permutation, 16: row shift with the lanes behind the edge kept, 17: with zeros
    v_mov_b32_dpp v10, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
    put v10
    v_mov_b32 v10, -1
    v_mov_b32_dpp v10, v1 row_shl:3 row_mask:0xf bank_mask:0xf
    put v10
    v_mov_b32 v10, -1
    v_mov_b32_dpp v10, v1 row_shl:3 row_mask:0x5 bank_mask:0xf bound_ctrl:0
    put v10
    // 18: comparison that writes EXEC, 19: saveexec and back, both seen by a masked move
    v_mov_b32 v10, 1
    s_mov_b64 s[30:31], exec
    v_cmpx_gt_u32 vcc, 20, v0
    v_mov_b32 v10, 2
    s_mov_b64 exec, s[30:31]
    put v10
    v_mov_b32 v10, 1
    s_mov_b64 vcc, 0xff0
    s_and_saveexec_b64 s[32:33], vcc
    v_mov_b32 v10, 3
    s_mov_b64 exec, s[32:33]
    put v10
    // 20: readlane, 21: writelane, 22: readfirstlane under a mask
    s_mov_b32 s12, 13
    v_readlane_b32 s13, v1, s12
    put_scalar s13
    v_mov_b32 v10, v0
    v_writelane_b32 v10, s10, 5
    put v10
    s_mov_b64 exec, 0x30
    v_readfirstlane_b32 s13, v0
    s_mov_b64 exec, s[32:33]
    put_scalar s13
    // 23: scalar carry chain, 24: SCC as an operand, 25: EXECZ and VCCZ, 26: s_cselect, 27: s_cmpk leaves its register
    s_add_u32 s13, s10, 0xf0000000
    s_addc_u32 s13, s11, 0
    put_scalar s13
    s_cmp_eq_u32 s11, 7
    s_mov_b32 s13, src_scc
    put_scalar s13
    s_mov_b64 vcc, 0
    s_add_u32 s13, src_vccz, 2
    s_add_u32 s13, s13, src_execz
    put_scalar s13
    s_cmp_lt_i32 s11, 3
    s_cselect_b32 s13, 11, 22
    put_scalar s13
    s_cmpk_eq_i32 s11, 0x7
    put_scalar s11
    // 28: 64-bit shift with a scalar, 29: FP64 with an inline constant, 30: high half of a literal double
    v_lshlrev_b64 v[10:11], s11, v[0:1]
    put v11
    v_cvt_f64_i32 v[10:11], v0
    v_add_f64 v[10:11], v[10:11], -2.0
    v_cvt_i32_f64 v10, v[10:11]
    put v10
    v_cvt_f32_f64 v10, 0x40080000
    put v10
    // 31 to 33: relative moves
    s_mov_b32 m0, 2
    v_mov_b32 v20, v0
    v_mov_b32 v22, 77
    v_movrels_b32 v10, v20
    put v10
    v_movreld_b32 v20, v1
    put v22
    s_movrels_b32 s13, s10
    put_scalar s13
    // 34: MODE read back after a write of its denormals, 35: an FP32 denormal then kept, 36: then flushed
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
    s_getreg_b32 s13, hwreg(HW_REG_MODE, 4, 2)
    put_scalar s13
    v_mov_b32 v11, 0x00400000
    v_mul_f32 v10, 1.0, v11
    put v10
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
    v_mul_f32 v10, 1.0, v11
    put v10
    // 37: integer clamp, 38: two calls through a register, 39: FP16 in the low half
    v_add_u32_e64 v10, vcc, v1, v1 clamp
    put v10
    v_mov_b32 v10, 0
    s_getpc_b64 s[40:41]
    s_add_u32 s40, s40, helper-.
    s_addc_u32 s41, s41, 0
    s_swappc_b64 s[42:43], s[40:41]
    s_swappc_b64 s[42:43], s[40:41]
    put v10
    v_cvt_f16_f32 v10, v2
    v_mul_f16 v10, 4.0, v10
    put v10
    s_endpgm
helper:
    v_add_u32 v10, vcc, 21, v10
    s_setpc_b64 s[42:43]
.Lend:
.size operands, .Lend-operands

.rodata
.p2align 6
.amdhsa_kernel operands
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 16
    .amdhsa_next_free_vgpr 64
    .amdhsa_next_free_sgpr 48
    .amdhsa_float_denorm_mode_16_64 3
    .amdhsa_dx10_clamp 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: operands
    .symbol: operands.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 54
    .vgpr_count: 64
    .max_flat_workgroup_size: 256
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer}
...
.end_amdgpu_metadata
