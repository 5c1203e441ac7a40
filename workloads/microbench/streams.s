// Streams of 16 bytes a lane, 1 KiB a wavefront (read_wait: 4 bytes and 256): wavefront w touches offset
// (w * 1024 + i * stride) & mask in access i (read_wait: w * 256).
// Arguments: u64 source, u64 target, u32 stride, u32 mask, u32 steps (at least 1) of four accesses, u32 wavefronts a
// workgroup. Offsets are counted in scalar registers, beside the vector units.
    .include "kernel.inc"
    .include "../kernels/carries.inc"

// loads that nobody waits for: as many under way as the hardware allows
.macro body_read
    buffer_load_dwordx4 v[4:7], v0, s[20:23], s16 offen
    buffer_load_dwordx4 v[8:11], v0, s[20:23], s17 offen
    buffer_load_dwordx4 v[12:15], v0, s[20:23], s18 offen
    buffer_load_dwordx4 v[16:19], v0, s[20:23], s19 offen
.endm
// the same past L1
.macro body_read_l2
    .irp at, 16, 17, 18, 19
    buffer_load_dwordx4 v[4 * (\at - 15):4 * (\at - 15) + 3], v0, s[20:23], s\at offen glc
    .endr
.endm
// one load under way a wavefront
.macro body_read_wait
    .irp at, 16, 17, 18, 19
    buffer_load_dword v4, v0, s[20:23], s\at offen
    s_waitcnt vmcnt(0)
    .endr
.endm
.macro body_write
    .irp at, 16, 17, 18, 19
    buffer_store_dwordx4 v[4:7], v0, s[24:27], s\at offen
    .endr
.endm

// offset s16 + \at of the next access
.macro next_offset at
    s_and_b32 s[16 + \at], s12, s9
    s_add_u32 s12, s12, s8
.endm

.macro stream name, lane_shift=4
    begin_kernel \name
    s_load_dwordx8 s[4:11], s[0:1], 0x0     // s[4:5] source, s[6:7] target, s8 stride, s9 mask, s10 steps, s11 waves
    v_lshrrev_b32_e32 v1, 6, v0
    v_readfirstlane_b32 s13, v1
    v_and_b32_e32 v0, 63, v0
    v_lshlrev_b32_e32 v0, \lane_shift, v0
    s_waitcnt lgkmcnt(0)
    s_mul_i32 s12, s2, s11
    s_add_u32 s12, s12, s13
    s_lshl_b32 s12, s12, 6 + \lane_shift
    s_mov_b32 s20, s4                       // s[20:23]: the source as a raw buffer
    s_mov_b32 s21, s5
    s_mov_b32 s22, -1
    s_mov_b32 s23, 0x27000
    s_mov_b32 s24, s6                       // s[24:27]: the target
    s_mov_b32 s25, s7
    s_mov_b32 s26, -1
    s_mov_b32 s27, 0x27000
    .irp n, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
    v_mov_b32_e32 v\n, 0
    .endr
.Lstep_\name:
    next_offset 0
    next_offset 1
    next_offset 2
    next_offset 3
    body_\name
    s_sub_u32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 .Lstep_\name
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_endpgm
    end_kernel \name, 32
.endm

    stream read
    stream read_l2
    stream read_wait, 2
    stream write

// Atomic additions without and with a result; wavefront w, lane l: base + w * wave_stride + l * lane_stride.
// Arguments: u64 base, u32 wave_stride, u32 lane_stride, u32 steps (at least 1), u32 wavefronts a workgroup.
.macro atomic name
    begin_kernel \name
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] base, s6 wave stride, s7 lane stride
    s_load_dwordx2 s[8:9], s[0:1], 0x10     // s8 steps, s9 wavefronts a workgroup
    v_lshrrev_b32_e32 v1, 6, v0
    v_and_b32_e32 v0, 63, v0
    s_waitcnt lgkmcnt(0)
    s_mul_i32 s12, s2, s9
    add_to_carry v1, s12, v1
    v_mul_lo_u32 v1, v1, s6
    v_mul_lo_u32 v0, v0, s7
    v_mov_b32_e32 v3, s5
    add_to_carry v2, v0, v1
    add_to_carry v2, s4, v2
    add_carry v3, 0, v3
    v_mov_b32_e32 v4, 1
.Lstep_\name:
    .rept 4
    body_\name
    .endr
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 .Lstep_\name
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_endpgm
    end_kernel \name, 24
.endm

.macro body_atomic_add
    flat_atomic_add v[2:3], v4
.endm
.macro body_atomic_add_return
    flat_atomic_add v5, v[2:3], v4 glc
.endm

    atomic atomic_add
    atomic atomic_add_return
