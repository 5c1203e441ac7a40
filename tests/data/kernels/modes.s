// Computes under 256 settings of MODE's rounding and denormals, switched by s_setreg, and in the descriptor's own.
// Arguments: in (six rows: FP32 a, b; FP64 c; FP64 d), out. Each setting stores ten rows.
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5

.include "rows.inc"

.macro begin
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    lane_rows
    get v10
    get v11
    get v12
    get v13
    get v14
    get v15
    s_waitcnt vmcnt(0)
.endm

// 0: FP32 sum, 1: FP32 multiply-add, 2: FP64 fused multiply-add (2 rows), 4: division step (2 rows), 6: FP16 sum of
// the low halves, 7: FP32 to FP16, 8: FP64 less than, 9: what MODE reads as
.macro compute
    v_add_f32 v20, v10, v11
    put v20
    v_mad_f32 v20, v10, v11, v11
    put v20
    v_fma_f64 v[20:21], v[12:13], v[14:15], v[14:15]
    put v20
    put v21
    s_mov_b64 vcc, 0
    v_div_fmas_f64 v[20:21], v[12:13], v[14:15], v[12:13]
    put v20
    put v21
    v_add_f16 v20, v10, v11
    put v20
    v_cvt_f16_f32 v20, v10
    put v20
    v_cmp_lt_f64_e64 s[12:13], v[12:13], v[14:15]
    v_cndmask_b32_e64 v20, 0, 1, s[12:13]
    put v20
    s_getreg_b32 s14, hwreg(HW_REG_MODE)
    v_mov_b32 v20, s14
    put v20
.endm

.text
.globl modes
.p2align 8
.type modes,@function
modes:
    begin
    s_mov_b32 s10, 0
again:
    s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s10
    compute
    s_add_u32 s10, s10, 1
    s_cmp_lt_u32 s10, 0x100
    s_cbranch_scc1 again
    s_endpgm
modes_end:
.size modes, modes_end - modes

.globl own
.p2align 8
.type own,@function
own:
    begin
    compute
    s_endpgm
own_end:
.size own, own_end - own

// 0, 1: clamp of NaN with DX10_CLAMP on, off; 2, 3: minimum with a signalling NaN with IEEE on, off; 4, 5: output
// modifier with IEEE on, off
.globl flags
.p2align 8
.type flags,@function
flags:
    begin
    v_mov_b32 v16, 0x7f800001
    v_add_f32_e64 v20, v16, v10 clamp
    put v20
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0
    v_add_f32_e64 v20, v16, v10 clamp
    put v20
    v_min_f32 v20, v16, v10
    put v20
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0
    v_min_f32 v20, v16, v10
    put v20
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 1
    v_mul_f32_e64 v20, 1.0, v10 mul:2
    put v20
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0
    v_mul_f32_e64 v20, 1.0, v10 mul:2
    put v20
    s_endpgm
flags_end:
.size flags, flags_end - flags

.macro descriptor name, round32, round64, denormals32, denormals64
.amdhsa_kernel \name
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 16
    .amdhsa_next_free_vgpr 64
    .amdhsa_next_free_sgpr 16
    .amdhsa_float_round_mode_32 \round32
    .amdhsa_float_round_mode_16_64 \round64
    .amdhsa_float_denorm_mode_32 \denormals32
    .amdhsa_float_denorm_mode_16_64 \denormals64
    .amdhsa_dx10_clamp 1
.end_amdhsa_kernel
.endm

.rodata
.p2align 6
descriptor modes, 0, 0, 0, 3
descriptor own, 1, 3, 2, 1
descriptor flags, 0, 0, 0, 3

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: modes
    .symbol: modes.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: own
    .symbol: own.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: flags
    .symbol: flags.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
