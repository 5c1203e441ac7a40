// Forms of memory instructions that compilers emit rarely: each `put` stores one row of 64 results.
// Arguments: in (256 dwords), out, work (256 dwords).
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5

.include "rows.inc"

.text
.globl memory_forms
.p2align 8
.type memory_forms,@function
memory_forms:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dwordx2 s[2:3], s[0:1], 0x10
    s_mov_b32 m0, -1
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    lane_results
    // s[8:11]: raw buffer of 40 dwords; s[12:15]: 16 records of 12 bytes
    s_mov_b64 s[8:9], s[4:5]
    s_mov_b32 s10, 160
    s_mov_b32 s11, 0
    s_mov_b32 s12, s4
    s_or_b32 s13, s5, 12 << 16
    s_movk_i32 s14, 192
    s_mov_b32 s15, 0
    // 0: offset in a register, out of range behind dword 40; 1: with a scalar and an immediate offset
    buffer_load_dword v10, v3, s[8:11], 0 offen
    put v10
    s_movk_i32 s20, 16
    buffer_load_dword v10, v3, s[8:11], s20 offen offset:8
    put v10
    // 2, 3: index, 12 bytes apart, two dwords; 4: bytes with an index and an offset
    buffer_load_dwordx2 v[10:11], v0, s[12:15], 0 idxen offset:4
    put v10
    put v11
    v_mov_b32 v20, v0
    v_and_b32 v21, 3, v0
    buffer_load_sbyte v10, v[20:21], s[12:15], 4 idxen offen
    put v10
    // 5: store through a raw buffer of 40 dwords: the lanes behind it change nothing
    s_mov_b64 s[8:9], s[2:3]
    v_add_u32 v10, vcc, 1000, v0
    buffer_store_dword v10, v3, s[8:11], 0 offen
    v_mov_b32 v5, s3
    v_add_u32 v4, vcc, s2, v3
    v_addc_u32 v5, vcc, 0, v5, vcc
    flat_load_dword v10, v[4:5]
    put v10
    // 6: buffer atomic with return
    v_mov_b32 v10, 5
    buffer_atomic_add v10, v3, s[8:11], 0 offen glc
    put v10
    // 7, 8: scalar buffer load across the end: four dwords from dword 38
    s_mov_b64 s[8:9], s[4:5]
    s_buffer_load_dwordx4 s[24:27], s[8:11], 0x98
    s_load_dwordx16 s[28:43], s[4:5], 0x34
    s_waitcnt lgkmcnt(0)
    s_add_u32 s44, s24, s25
    put_scalar s44
    s_or_b32 s44, s26, s27
    put_scalar s44
    // 9: last of 16 dwords over two lines
    put_scalar s43
    // LDS: 512 bytes; dword i holds i, through a two-address store of 64-dword distance
    v_add_u32 v11, vcc, 64, v0
    ds_write2st64_b32 v3, v0, v11 offset0:0 offset1:1
    // 10, 11: two addresses; 12 to 14: 96 bits at 4-byte alignment; 15: signed byte
    ds_read2_b32 v[10:11], v3 offset0:3 offset1:60
    put v10
    put v11
    ds_read_b96 v[10:12], v3 offset:20
    put v10
    put v11
    put v12
    v_mov_b32 v12, 0xfe
    ds_write_b8 v3, v12 offset:2
    ds_read_i8 v10, v3 offset:2
    put v10
    // 16: 64-bit atomic minimum on one address: old values' upper halves; 17: the result's lower half
    v_mov_b32 v13, 0
    v_mov_b32 v20, 0
    v_mov_b32 v21, 5
    ds_write_b64 v13, v[20:21]
    v_sub_u32 v22, vcc, 100, v0
    v_mov_b32 v23, 4
    ds_min_rtn_u64 v[10:11], v13, v[22:23]
    put v11
    ds_read_b32 v10, v13
    put v10
    // 18: compare and store: only the lane whose comparison value is there; 19: exchange of a float minimum
    ds_write_b32 v13, v13
    ds_cmpst_rtn_b32 v10, v13, v0, v11
    put v10
    v_cvt_f32_u32 v14, v0
    v_sub_f32 v14, 10.0, v14
    v_mov_b32 v15, 0x42c80000
    ds_write_b32 v13, v15
    ds_min_f32 v13, v14
    ds_read_b32 v10, v13
    put v10
    // 20, 21: append and consume by 40 lanes
    ds_write_b32 v13, v13 offset:8
    s_mov_b32 m0, 4
    s_mov_b64 s[46:47], exec
    s_mov_b32 exec_hi, 0xff
    ds_append v10 offset:4
    ds_append v11 offset:4
    ds_consume v12 offset:4
    s_mov_b64 exec, s[46:47]
    s_mov_b32 m0, -1
    put v11
    ds_read_b32 v10, v13 offset:8
    put v10
    // 22: flat compare-and-swap of 64 bits: new value in the first pair
    v_lshlrev_b32 v30, 3, v0
    v_mov_b32 v5, s3
    v_add_u32 v4, vcc, s2, v30
    v_addc_u32 v5, vcc, 0, v5, vcc
    v_mov_b32 v40, v0
    v_mov_b32 v41, v0
    flat_load_dwordx2 v[42:43], v[4:5]
    flat_atomic_cmpswap_x2 v[10:11], v[4:5], v[40:43] glc
    flat_load_dwordx2 v[44:45], v[4:5]
    put v45
    // 23: scalar store
    s_movk_i32 s20, 4242
    s_store_dword s20, s[2:3], 0x10
    s_load_dword s21, s[2:3], 0x10
    put_scalar s21
    s_endpgm
.Lend:
.size memory_forms, .Lend-memory_forms

.rodata
.p2align 6
.amdhsa_kernel memory_forms
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 24
    .amdhsa_group_segment_fixed_size 512
    .amdhsa_next_free_vgpr 64
    .amdhsa_next_free_sgpr 48
    .amdhsa_float_denorm_mode_16_64 3
    .amdhsa_dx10_clamp 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: memory_forms
    .symbol: memory_forms.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 512
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 54
    .vgpr_count: 64
    .max_flat_workgroup_size: 256
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer}
      - {.name: work, .offset: 16, .size: 8, .value_kind: global_buffer}
...
.end_amdgpu_metadata
