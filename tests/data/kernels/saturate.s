// Integer arithmetic with the clamp bit, plain and SDWA, and traps. Arguments: in (three rows), out.
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5

.include "rows.inc"

.text
.globl saturate
.p2align 8
.type saturate,@function
saturate:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    lane_rows
    get v1
    get v2
    flat_load_dword v3, v[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32_e64 v10, vcc, v1, v2 clamp
    put v10
    v_sub_u32_e64 v10, vcc, v1, v2 clamp
    put v10
    v_add_u16_e64 v10, v1, v2 clamp
    put v10
    v_sub_u16_e64 v10, v1, v2 clamp
    put v10
    v_subrev_u16_e64 v10, v1, v2 clamp
    put v10
    v_mad_u16 v10, v1, v2, v3 clamp
    put v10
    v_mad_i16 v10, v1, v2, v3 clamp
    put v10
    v_mad_u32_u24 v10, v1, v2, v3 clamp
    put v10
    v_mad_i32_i24 v10, v1, v2, v3 clamp
    put v10
    v_mov_b32 v10, v3
    v_add_u16_sdwa v10, v1, v2 clamp dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0
    put v10
    v_mul_u32_u24_e64 v10, v1, v2 clamp
    put v10
    v_mul_i32_i24_e64 v10, v1, v2 clamp
    put v10
    v_sad_u32 v10, v1, v2, v3 clamp
    put v10
    v_mov_b32 v6, v3
    v_mov_b32 v7, v2
    v_mad_u64_u32 v[10:11], s[10:11], v1, v2, v[6:7] clamp
    put v10
    put v11
    v_mad_i64_i32 v[10:11], s[10:11], v1, v2, v[6:7] clamp
    put v10
    put v11
    v_mul_lo_u16_sdwa v10, v1, v2 clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0
    put v10
    s_endpgm
saturate_end:
.size saturate, saturate_end - saturate

// stops itself if the first number is 0; the debugger's trap before does nothing
.globl trap
.p2align 8
.type trap,@function
trap:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_load_dword s8, s[4:5], 0x0
    s_trap 3
    s_waitcnt lgkmcnt(0)
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 1f
    s_trap 2
1:
    s_endpgm
trap_end:
.size trap, trap_end - trap

.rodata
.p2align 6
.amdhsa_kernel saturate
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 64
    .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
.amdhsa_kernel trap
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: saturate
    .symbol: saturate.kd
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
  - .name: trap
    .symbol: trap.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
