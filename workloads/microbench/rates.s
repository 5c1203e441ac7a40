// Instruction rates: two loops, the second with twice the instructions of the first. Each wavefront runs the first
// `short` times and the second `long` times; two launches whose counts are exchanged differ by nothing but
// (long - short) times REPEAT instructions, whatever loops, branches, launches and cold caches cost. Before, both loops
// run once to bring the code into the instruction cache.
// Arguments: u32 short, u32 long (at least 1 each), u64 table of 64 addresses, one a lane.
    .include "kernel.inc"
    .include "../kernels/carries.inc"
    .set REPEAT, 32

.macro rate name, lds_bytes=0, accumulators=0
    begin_kernel \name
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_and_b32_e32 v1, 63, v0
    v_lshlrev_b32_e32 v1, 3, v1
    s_mov_b32 m0, -1
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v3, s7
    add_to_carry v2, s6, v1
    add_carry v3, 0, v3
    flat_load_dwordx2 v[2:3], v[2:3]
    v_cvt_f32_u32_e32 v4, v0
    v_mov_b32_e32 v5, 1.0
    v_mov_b32_e32 v6, 0
    v_mov_b32_e32 v7, 0
    v_mov_b32_e32 v8, 0
    v_mov_b32_e32 v9, 0
    s_mov_b32 s10, 1
    s_mov_b32 s11, 3
    s_mov_b64 s[12:13], exec
    s_mov_b32 s20, 1
    s_mov_b32 s21, 1
    s_mov_b32 s22, 2                        // passes
    s_waitcnt vmcnt(0) lgkmcnt(0)
.Lpass_\name:
    .p2align 6                              // both loops lie alike in the instruction cache's lines
.Lshort_\name:
    .rept REPEAT
    body_\name
    .endr
    s_sub_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 .Lshort_\name
    .p2align 6
.Llong_\name:
    .rept 2 * REPEAT
    body_\name
    .endr
    s_sub_u32 s21, s21, 1
    s_cmp_lg_u32 s21, 0
    s_cbranch_scc1 .Llong_\name
    s_mov_b32 s20, s4
    s_mov_b32 s21, s5
    s_sub_u32 s22, s22, 1
    s_cmp_lg_u32 s22, 0
    s_cbranch_scc1 .Lpass_\name
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_endpgm
    end_kernel \name, 16, 24, \lds_bytes, \accumulators
.endm

// vector ALU: each instruction needs the result of the one before
.macro body_fp32_add
    v_add_f32_e32 v4, v4, v5
.endm
.macro body_fp32_mac
    v_mac_f32_e32 v4, v5, v4
.endm
.macro body_fp32_fma
    v_fma_f32 v4, v4, v5, v4
.endm
.macro body_int32_add
    add_to_carry v4, v4, v5
.endm
.macro body_int32_mul
    v_mul_lo_u32 v4, v4, v5
.endm
.macro body_int32_mad
    v_mul_lo_u32 v4, v4, v5
    add_to_carry v4, v4, v5
.endm
.macro body_transcendental
    v_rcp_f32_e32 v4, v4
.endm
.macro body_fp64_add
    v_add_f64 v[4:5], v[4:5], v[6:7]
.endm
.macro body_fp64_fma
    v_fma_f64 v[4:5], v[4:5], v[6:7], v[4:5]
.endm
.macro body_int64_shift
    v_lshlrev_b64 v[4:5], 1, v[4:5]
.endm
.macro body_fp16_pk_fma
    v_pk_fma_f16 v4, v4, v5, v4
.endm
.macro body_fp16_dot2
    v_dot2_f32_f16 v4, v4, v5, v4
.endm
.macro body_int8_dot4
    v_dot4_i32_i8 v4, v4, v5, v4
.endm
.macro body_int4_dot8
    v_dot8_i32_i4 v4, v4, v5, v4
.endm

// matrix unit: each product adds to the sums of the one before
.macro body_fp32_mfma
    v_mfma_f32_32x32x2f32 a[0:15], v4, v5, a[0:15]
.endm
.macro body_fp16_mfma
    v_mfma_f32_32x32x8f16 a[0:15], v[4:5], v[6:7], a[0:15]
.endm
.macro body_bf16_mfma
    v_mfma_f32_32x32x4bf16 a[0:15], v4, v5, a[0:15]
.endm
.macro body_int8_mfma
    v_mfma_i32_32x32x8i8 a[0:15], v4, v5, a[0:15]
.endm
.macro body_bf16_1k_mfma
    v_mfma_f32_32x32x8bf16_1k a[0:15], v[4:5], v[6:7], a[0:15]
.endm
.macro body_fp64_mfma
    v_mfma_f64_16x16x4f64 a[0:7], v[4:5], v[6:7], a[0:7]
.endm

// scalar ALU, branches, s_nop
.macro body_scalar_add
    s_add_u32 s10, s10, s11
.endm
.macro body_saveexec
    s_and_saveexec_b64 s[14:15], s[12:13]
.endm
.macro body_branch_taken
    s_cbranch_execnz 1                      // over the s_nop, which never runs
    s_nop 0
.endm
.macro body_branch_not_taken
    s_cbranch_execz 1
.endm
.macro body_nop
    s_nop 0
.endm

// scalar loads of the table, which the scalar cache holds
.macro body_scalar_load_dword
    s_load_dword s24, s[6:7], 0x0
.endm
.macro body_scalar_load_dwordx16
    s_load_dwordx16 s[24:39], s[6:7], 0x0
.endm

// LDS: independent accesses, the address from the table
.macro body_lds_read_b32
    ds_read_b32 v4, v2
.endm
.macro body_lds_read_b64
    ds_read_b64 v[4:5], v2
.endm
.macro body_lds_read_b128
    ds_read_b128 v[4:7], v2
.endm
.macro body_lds_write_b32
    ds_write_b32 v2, v8
.endm
.macro body_lds_write_b64
    ds_write_b64 v2, v[8:9]
.endm
.macro body_lds_add_u32
    ds_add_u32 v2, v8
.endm

// vector memory: independent accesses, the address from the table
.macro body_load_dword
    flat_load_dword v4, v[2:3]
.endm
.macro body_load_dwordx2
    flat_load_dwordx2 v[4:5], v[2:3]
.endm
.macro body_load_dwordx4
    flat_load_dwordx4 v[4:7], v[2:3]
.endm
.macro body_store_dword
    flat_store_dword v[2:3], v8
.endm
.macro body_store_dwordx4
    flat_store_dwordx4 v[2:3], v[6:9]
.endm

    rate fp32_add
    rate fp32_mac
    rate fp32_fma
    rate int32_add
    rate int32_mul
    rate int32_mad
    rate transcendental
    rate fp64_add
    rate fp64_fma
    rate int64_shift
    rate scalar_add
    rate saveexec
    rate branch_taken
    rate branch_not_taken
    rate nop
    rate scalar_load_dword
    rate scalar_load_dwordx16
    rate lds_read_b32, 4096
    rate lds_read_b64, 4096
    rate lds_read_b128, 4096
    rate lds_write_b32, 4096
    rate lds_write_b64, 4096
    rate lds_add_u32, 4096
    rate load_dword
    rate load_dwordx2
    rate load_dwordx4
    rate store_dword
    rate store_dwordx4

    .if .amdgcn.gfx_generation_number >= 9
    rate fp16_pk_fma
    .if .amdgcn.gfx_generation_stepping == 6 || .amdgcn.gfx_generation_stepping == 8 || .amdgcn.gfx_generation_stepping == 10
    rate fp16_dot2
    rate int8_dot4
    rate int4_dot8
    .endif
    .if .amdgcn.gfx_generation_stepping == 8 || .amdgcn.gfx_generation_stepping == 10
    rate fp32_mfma, 0, 16
    rate fp16_mfma, 0, 16
    rate bf16_mfma, 0, 16
    rate int8_mfma, 0, 16
    .endif
    .if .amdgcn.gfx_generation_stepping == 10
    rate bf16_1k_mfma, 0, 16
    rate fp64_mfma, 0, 16
    .endif
    .endif
