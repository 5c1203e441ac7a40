// Pointer chases: each load's result is the next load's address, so that a step takes one whole latency.
// Arguments: u64 address of a table with one start address a workgroup, u32 steps (at least 1).
// The loop's count and its branch run while the load is under way and add nothing to a step.
    .include "kernel.inc"

    begin_kernel vector_chase
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
    s_lshl_b32 s7, s2, 3
    s_waitcnt lgkmcnt(0)
    s_load_dwordx2 s[8:9], s[4:5], s7
    s_mov_b64 exec, 1                       // one lane: one line, one cycle on the return path
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v2, s8
    v_mov_b32_e32 v3, s9
.Lvector:
    s_waitcnt vmcnt(0) lgkmcnt(0)
    flat_load_dwordx2 v[2:3], v[2:3]
    s_sub_u32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 .Lvector
    s_endpgm
    end_kernel vector_chase, 16

    begin_kernel scalar_chase
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
    s_lshl_b32 s7, s2, 3
    s_waitcnt lgkmcnt(0)
    s_load_dwordx2 s[8:9], s[4:5], s7
.Lscalar:
    s_waitcnt lgkmcnt(0)
    s_load_dwordx2 s[8:9], s[8:9], 0x0
    s_sub_u32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 .Lscalar
    s_endpgm
    end_kernel scalar_chase, 16

// An LDS word that holds its own address.
    begin_kernel lds_chase
    s_load_dword s6, s[0:1], 0x8
    s_mov_b32 m0, -1
    s_mov_b64 exec, 1
    v_mov_b32_e32 v2, 64
    ds_write_b32 v2, v2
.Llds:
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v2, v2
    s_sub_u32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 .Llds
    s_endpgm
    end_kernel lds_chase, 16, 24, 512
