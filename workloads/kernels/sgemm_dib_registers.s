// C = A.B with B compacted on the fly (ELLPACK-DIB through sparse loads) and A in vector registers.
//
// A non-zero is the same for all lanes, so that a register's number selects its column of A: s_set_gpr_idx_on adds M0
// to the number of v_mac's second operand. A non-zero needs no LDS access then, whose bandwidth is the bound of the
// kernels that gather A's columns from LDS (dib_tile.h). Compilers keep no array in registers at such a price: hence
// assembly.
//
// A wavefront has 256 rows of C, four a lane, by COLUMNS columns, and as many rows of SEGMENT of A's columns: with what
// else it needs 64 registers, so that four wavefronts fit a SIMD. B is compacted in blocks of BLOCK rows, each a column
// of its own for the engine: one sparse load of a wavefront brings all non-zeros of a block, so that nothing is carried
// from one to the next, parts of a sum begin at any block, and K is not bounded by the 16 bits of a bundle's row. The
// workgroup's WAVEFRONTS share A through LDS, CHUNK segments at a time in two such buffers, and meet at a barrier once
// a chunk; A is read from memory CHUNK + 1 segments ahead.
//
// Arguments: a_matrix, b_matrix, c_matrix, m, n, k, lda, ldb, ldc, split_depth, a_tile. Workgroups: rows, columns, parts
// of k of split_depth (a multiple of BLOCK), each into a C of its own. lda, ldc: multiples of 4; ldb of BLOCK; A has
// columns of zeros up to a multiple of 16 of k, B rows of zeros up to ldb; A, B and C are each below 4 GiB.
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5

.set COLUMNS, 4
.set WAVEFRONTS, 16      // each brings half a column of A
.set BLOCK, 64
.set SEGMENT, 8
.set SEGMENTS, BLOCK / SEGMENT
.set CHUNK, 4
.set COLUMN_BYTES, 1024   // of A in LDS
.set SEGMENT_BYTES, SEGMENT * COLUMN_BYTES
.set LDS_BYTES, 2 * CHUNK * SEGMENT_BYTES

// vector registers
.set vTemporary, 0
.set vLds, 1             // LDS address of this lane's rows of A
.set vA, 2               // and 3: address of A's column that is brought next
.set vStaged, 4          // and 5: what is on its way
.set vB, 6               // and 7: address of this lane's bundle
.set vPairs, 8           // of each column: bundles, less 1 but in lane 0; and packed
.set vC, vPairs + 2 * COLUMNS
.set vHeld, 32           // A's segment: 32
.set VGPRS, vHeld + 32

// scalar registers
.set sA, 8
.set sB, 10
.set sC, 12
.set sM, 14
.set sN, 15
.set sK, 16
.set sLda, 17
.set sLdb, 18
.set sLdc, 19
.set sDepth, 20
.set sLds, 21
.set sWavefront, 22
.set sFirst, 24          // the first of its columns
.set sColumns, 25        // how many
.set sRow, 26            // first of the workgroup's rows
.set sPut, 27            // where in a segment of LDS the wavefront puts what it brings, but for its lane
.set sStop, 28
.set sBase, 29           // first row of the block
.set sEnd, 30            // of the segment, times 2^16: bundles below belong to it or to one before
.set sSlot, 31           // where the segment lies in LDS
.set sAhead, 32          // first of A's columns that are on their way
.set sStride, 33         // bytes between columns of B
.set sStep, 34           // bytes of A between segments
.set sValue, 35
.set sValueMask, 36
.set sRegisterMask, 37
.set sOne, 38            // 65: see `non_zero`
.set sTemporary, 40      // and 41, 42
.set sSegments, 43
.set sNotFirst, 44       // and 45: all lanes but the first
.set sBelow, 46          // pairs: lanes whose bundles lie below the segment's end
.set sAt, sBelow + 2 * COLUMNS
.set sWord, sAt + COLUMNS
.set sLeft, sWord + COLUMNS
.set SGPRS, sLeft + COLUMNS

// One non-zero of column c. sWord is its packed bundle: the FP32 form of an FP16 value, whose low bits are free and
// name the register of A. sAt has in its low six bits the lane of the bundle, and above them how many are left in the
// segment, counted up from minus so many: adding 65 moves both, and SCC is set at the last.
.macro non_zero c, done
    s_set_gpr_idx_idx s[sWord+\c]
    s_and_b32 s[sValue], s[sWord+\c], s[sValueMask]
    s_add_u32 s[sAt+\c], s[sAt+\c], s[sOne]
    v_readlane_b32 s[sWord+\c], v[vPairs+2*\c+1], s[sAt+\c]
    v_mac_f32 v[vC+4*\c], s[sValue], v[vHeld]
    v_mac_f32 v[vC+4*\c+1], s[sValue], v[vHeld+1]
    v_mac_f32 v[vC+4*\c+2], s[sValue], v[vHeld+2]
    v_mac_f32 v[vC+4*\c+3], s[sValue], v[vHeld+3]
    s_cbranch_scc1 \done
.endm

// The column's bundles in this segment: as many as sLeft says, times 64. It is above sAt if it is not 0.
.macro column c, done
    s_sub_u32 s[sAt+\c], s[sAt+\c], s[sLeft+\c]
    s_cbranch_scc0 \done
    .rept SEGMENT
    non_zero \c, \done
    .endr
\done:
.endm

// The column's next block, sent for; past the last column it is the last one again.
.macro send c
    flat_load_dwordx2 v[vPairs+2*\c:vPairs+2*\c+1], v[vB:vB+1] glc slc
    s_cmp_gt_u32 s[sColumns], \c+1
    s_cselect_b32 s[sValue], s[sStride], 0
    v_add_u32_e64 v[vB], vcc, v[vB], s[sValue]
    v_addc_u32_e64 v[vB+1], vcc, v[vB+1], 0, vcc
.endm

.macro lane
    v_mbcnt_lo_u32_b32 v[vTemporary], -1, 0
    v_mbcnt_hi_u32_b32 v[vTemporary], -1, v[vTemporary]
.endm

// vB to the first column's next block
.macro next_block
    lane
    v_lshlrev_b32 v[vTemporary], 2, v[vTemporary]
    v_mov_b32 v[vB+1], s[sB+1]
    v_add_u32 v[vB], vcc, s[sB], v[vTemporary]
    v_addc_u32 v[vB+1], vcc, 0, v[vB+1], vcc
    s_add_u32 s[sB], s[sB], 4*BLOCK
    s_addc_u32 s[sB+1], s[sB+1], 0
.endm

// Bundles that arrived: packed, and in an order that a comparison finds: padding, which is 0, becomes the highest
// number. Lane 0 may hold an underflowed value of row 0, which is 0 as well, and stays.
.macro pack c
    v_cvt_f32_f16 v[vPairs+2*\c+1], v[vPairs+2*\c]
    v_lshrrev_b32 v[vTemporary], 14, v[vPairs+2*\c]
    v_bfi_b32 v[vPairs+2*\c+1], s[sRegisterMask], v[vTemporary], v[vPairs+2*\c+1]
    v_subb_u32_e64 v[vPairs+2*\c], vcc, v[vPairs+2*\c], 0, s[sNotFirst:sNotFirst+1]
    s_mov_b32 s[sAt+\c], 0
    v_readlane_b32 s[sWord+\c], v[vPairs+2*\c+1], 0
.endm

.macro each what
    .set c, 0
    .rept COLUMNS
    \what c
    .set c, c + 1
    .endr
.endm

// the wavefront's half of a column of A in the segment that vA points to, on its way
.macro bring
    flat_load_dwordx2 v[vStaged:vStaged+1], v[vA:vA+1]
    v_add_u32 v[vA], vcc, s[sStep], v[vA]
    v_addc_u32 v[vA+1], vcc, 0, v[vA+1], vcc
.endm

// what was brought, into the segment of LDS that begins at byte sTemporary; the lane's eight bytes there are at half of
// vLds
.macro put
    v_lshrrev_b32 v[vTemporary], 1, v[vLds]
    s_add_u32 s[sTemporary], s[sTemporary], s[sPut]
    v_add_u32 v[vTemporary], vcc, s[sTemporary], v[vTemporary]
    ds_write_b64 v[vTemporary], v[vStaged:vStaged+1]
.endm

.macro below c
    v_cmp_gt_u32_e64 s[sBelow+2*\c:sBelow+2*\c+1], s[sEnd], v[vPairs+2*\c]
.endm
.macro count c
    s_bcnt1_i32_b64 s[sLeft+\c], s[sBelow+2*\c:sBelow+2*\c+1]
    s_sub_u32 s[sLeft+\c], s[sLeft+\c], s[sAt+\c]
    s_lshl_b32 s[sLeft+\c], s[sLeft+\c], 6
.endm

// Everything of a segment but its non-zeros: A from LDS, A for later into LDS, how many bundles of each column.
.macro begin_segment
    v_add_u32 v[vTemporary], vcc, s[sSlot], v[vLds]
    .set i, 0
    .rept SEGMENT
    ds_read_b128 v[vHeld+4*i:vHeld+4*i+3], v[vTemporary] offset:COLUMN_BYTES*i
    .set i, i + 1
    .endr
    s_cmp_lt_u32 s[sAhead], s[sStop]
    s_cbranch_scc0 .Lnothing_ahead\@
    s_add_u32 s[sTemporary], s[sSlot], CHUNK*SEGMENT_BYTES
    s_and_b32 s[sTemporary], s[sTemporary], LDS_BYTES-1
    s_waitcnt vmcnt(0)
    put
.Lnothing_ahead\@:
    each below
    s_add_u32 s[sAhead], s[sAhead], SEGMENT
    s_add_u32 s[sSlot], s[sSlot], SEGMENT_BYTES
    s_and_b32 s[sSlot], s[sSlot], LDS_BYTES-1
    s_add_u32 s[sEnd], s[sEnd], SEGMENT<<16
    each count
    s_waitcnt lgkmcnt(0)
    s_cmp_lt_u32 s[sAhead], s[sStop]
    s_cbranch_scc0 .Lnothing_brought\@
    bring
.Lnothing_brought\@:
    s_set_gpr_idx_on 0, gpr_idx(SRC1)
.endm

// M0 is the bound of LDS accesses, when it is no index.
.macro end_segment
    s_set_gpr_idx_off
    s_mov_b32 m0, -1
    s_and_b32 s[sTemporary], s[sSlot], CHUNK*SEGMENT_BYTES-1
    s_cbranch_scc1 .Lno_barrier\@
    s_waitcnt lgkmcnt(0)
    s_barrier
.Lno_barrier\@:
.endm

// All columns of a segment; `then` is what follows each.
.macro all_columns then
    column 0, .Lnone0\@
    \then 0
    column 1, .Lnone1\@
    \then 1
    column 2, .Lnone2\@
    \then 2
    column 3, .Lnone3\@
    \then 3
.endm
.macro nothing c
.endm

// One of the first segments into LDS.
.macro fill segment
    s_add_u32 s[sTemporary+2], s[sBase], \segment*SEGMENT
    s_cmp_lt_u32 s[sTemporary+2], s[sStop]
    s_cbranch_scc0 .Lfilled\@
    bring
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_movk_i32 s[sTemporary], \segment*SEGMENT_BYTES
    put
.Lfilled\@:
.endm

// A column of C; vTemporary is the lane's byte in it, sTemporary the bytes from one to the next.
.macro store c
    s_cmp_gt_u32 s[sColumns], \c
    s_cbranch_scc0 .Lstored\@
    v_mov_b32 v[vB], s[sC]
    v_mov_b32 v[vB+1], s[sC+1]
    v_add_u32 v[vB], vcc, v[vB], v[vTemporary]
    v_addc_u32 v[vB+1], vcc, 0, v[vB+1], vcc
    flat_store_dwordx4 v[vB:vB+1], v[vC+4*\c:vC+4*\c+3]
    s_add_u32 s[sC], s[sC], s[sTemporary]
    s_addc_u32 s[sC+1], s[sC+1], 0
.Lstored\@:
.endm

.text
.globl sgemm_dib_registers
.p2align 8
.type sgemm_dib_registers,@function
sgemm_dib_registers:
    s_load_dwordx8 s[sA:sA+7], s[0:1], 0x0
    s_load_dwordx4 s[sK:sK+3], s[0:1], 0x20
    s_load_dwordx2 s[sDepth:sLds], s[0:1], 0x30
    v_lshrrev_b32 v0, 6, v0
    s_mov_b32 m0, -1
    v_readfirstlane_b32 s[sWavefront], v0
    lane
    s_mov_b32 s[sValueMask], 0xffffe000
    s_mov_b32 s[sRegisterMask], 0x1c
    s_movk_i32 s[sOne], 65
    s_mov_b32 s[sNotFirst], -2
    s_mov_b32 s[sNotFirst+1], -1
    s_lshl_b32 s[sRow], s2, 8
    s_waitcnt lgkmcnt(0)
    s_mul_i32 s[sBase], s4, s[sDepth]
    s_add_u32 s[sStop], s[sBase], s[sDepth]
    s_min_u32 s[sStop], s[sStop], s[sK]
    s_mul_i32 s[sFirst], s3, WAVEFRONTS
    s_add_u32 s[sFirst], s[sFirst], s[sWavefront]
    s_mul_i32 s[sFirst], s[sFirst], COLUMNS
    s_sub_i32 s[sColumns], s[sN], s[sFirst]
    s_max_i32 s[sColumns], s[sColumns], 0
    s_min_u32 s[sColumns], s[sColumns], COLUMNS
    s_sub_u32 s[sTemporary], s[sN], 1
    s_min_u32 s[sFirst], s[sFirst], s[sTemporary]
    // C: the part's own, then its first column
    s_mul_i32 s[sTemporary], s4, s[sN]
    s_add_u32 s[sTemporary], s[sTemporary], s[sFirst]
    s_mul_i32 s[sTemporary], s[sTemporary], s[sLdc]
    s_mov_b32 s[sTemporary+1], 0
    s_lshl_b64 s[sTemporary:sTemporary+1], s[sTemporary:sTemporary+1], 2
    s_add_u32 s[sC], s[sC], s[sTemporary]
    s_addc_u32 s[sC+1], s[sC+1], s[sTemporary+1]
    // B: its first column, the part's first row
    s_mul_i32 s[sTemporary], s[sFirst], s[sLdb]
    s_add_u32 s[sTemporary], s[sTemporary], s[sBase]
    s_mov_b32 s[sTemporary+1], 0
    s_lshl_b64 s[sTemporary:sTemporary+1], s[sTemporary:sTemporary+1], 2
    s_add_u32 s[sB], s[sB], s[sTemporary]
    s_addc_u32 s[sB+1], s[sB+1], s[sTemporary+1]
    s_lshl_b32 s[sStride], s[sLdb], 2
    // A: the wavefront's half of a column
    v_lshlrev_b32 v[vLds], 4, v[vTemporary]
    v_add_u32 v[vLds], vcc, s[sLds], v[vLds]
    s_and_b32 s[sTemporary], s[sWavefront], 1
    s_lshl_b32 s[sTemporary], s[sTemporary], 7
    s_add_u32 s[sTemporary+1], s[sTemporary], s[sRow]
    v_lshlrev_b32 v[vTemporary], 1, v[vTemporary]
    v_add_u32 v[vTemporary], vcc, s[sTemporary+1], v[vTemporary]
    s_sub_u32 s[sTemporary+1], s[sLda], 2
    v_min_u32 v[vTemporary], s[sTemporary+1], v[vTemporary]
    s_lshr_b32 s[sTemporary+1], s[sWavefront], 1
    s_lshl_b32 s[sPut], s[sTemporary+1], 10
    s_lshl_b32 s[sTemporary], s[sTemporary], 2
    s_add_u32 s[sPut], s[sPut], s[sTemporary]
    s_lshr_b32 s[sTemporary], s[sLds], 1
    s_add_u32 s[sPut], s[sPut], s[sTemporary]
    s_add_u32 s[sTemporary], s[sBase], s[sTemporary+1]
    s_mul_i32 s[sTemporary], s[sTemporary], s[sLda]
    v_add_u32 v[vTemporary], vcc, s[sTemporary], v[vTemporary]
    v_mov_b32 v[vA+1], s[sA+1]
    v_lshlrev_b32 v[vTemporary], 2, v[vTemporary]
    v_add_u32 v[vA], vcc, s[sA], v[vTemporary]
    v_addc_u32 v[vA+1], vcc, 0, v[vA+1], vcc
    s_lshl_b32 s[sStep], s[sLda], 5                // SEGMENT columns of four bytes an element
    .set i, 0
    .rept 4*COLUMNS
    v_mov_b32 v[vC+i], 0
    .set i, i + 1
    .endr
    fill 0
    fill 1
    fill 2
    fill 3
    s_add_u32 s[sAhead], s[sBase], CHUNK*SEGMENT
    s_cmp_lt_u32 s[sAhead], s[sStop]
    s_cbranch_scc0 .Lfirst
    bring
.Lfirst:
    next_block
    each send
    s_mov_b32 s[sSlot], 0
    s_waitcnt lgkmcnt(0)
    s_barrier

.Lblock:
    s_waitcnt vmcnt(0) lgkmcnt(0)
    each pack
    s_mov_b32 s[sEnd], SEGMENT<<16
    s_add_u32 s[sBase], s[sBase], BLOCK
    next_block
    s_cmp_lt_u32 s[sBase], s[sStop]
    s_cselect_b32 s[sSegments], SEGMENTS-1, SEGMENTS
.Lsegment:
    begin_segment
    all_columns nothing
    end_segment
    s_sub_u32 s[sSegments], s[sSegments], 1
    s_cmp_lg_u32 s[sSegments], 0
    s_cbranch_scc1 .Lsegment
    s_cmp_lt_u32 s[sBase], s[sStop]
    s_cbranch_scc0 .Lstore
    begin_segment
    all_columns send
    end_segment
    s_branch .Lblock

.Lstore:
    lane
    v_lshlrev_b32 v[vTemporary], 2, v[vTemporary]
    v_add_u32 v[vTemporary], vcc, s[sRow], v[vTemporary]
    s_add_u32 s[sTemporary], s[sM], 3
    s_and_b32 s[sTemporary], s[sTemporary], -4
    v_cmp_gt_u32 vcc, s[sTemporary], v[vTemporary]
    s_and_b64 exec, exec, vcc
    v_lshlrev_b32 v[vTemporary], 2, v[vTemporary]
    s_lshl_b32 s[sTemporary], s[sLdc], 2
    each store
    s_endpgm
.Lend:
.size sgemm_dib_registers, .Lend-sgemm_dib_registers

.rodata
.p2align 6
.amdhsa_kernel sgemm_dib_registers
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_y 1
    .amdhsa_system_sgpr_workgroup_id_z 1
    .amdhsa_kernarg_size 56
    .amdhsa_next_free_vgpr VGPRS
    .amdhsa_next_free_sgpr SGPRS
    .amdhsa_float_denorm_mode_16_64 3
    .amdhsa_dx10_clamp 1
    .amdhsa_ieee_mode 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: sgemm_dib_registers
    .symbol: sgemm_dib_registers.kd
    .kernarg_segment_size: 56
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 88
    .vgpr_count: 64
    .max_flat_workgroup_size: 1024
    .args:
      - {.name: a_matrix, .offset: 0, .size: 8, .value_kind: global_buffer}
      - {.name: b_matrix, .offset: 8, .size: 8, .value_kind: global_buffer}
      - {.name: c_matrix, .offset: 16, .size: 8, .value_kind: global_buffer}
      - {.name: m, .offset: 24, .size: 4, .value_kind: by_value}
      - {.name: !str n, .offset: 28, .size: 4, .value_kind: by_value}
      - {.name: k, .offset: 32, .size: 4, .value_kind: by_value}
      - {.name: lda, .offset: 36, .size: 4, .value_kind: by_value}
      - {.name: ldb, .offset: 40, .size: 4, .value_kind: by_value}
      - {.name: ldc, .offset: 44, .size: 4, .value_kind: by_value}
      - {.name: split_depth, .offset: 48, .size: 4, .value_kind: by_value}
      - {.name: a_tile, .offset: 52, .size: 4, .value_kind: dynamic_shared_pointer, .address_space: local,
         .pointee_align: 16}
...
.end_amdgpu_metadata
