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
// Tiles of C go along its rows first. A workgroup has one of the first `whole` tiles to itself. The blocks of the others
// are divided, so that all compute units end at about the same time: as many workgroups as there are such tiles take the
// first `share` blocks of each, as many again the next ones, `layers` times in all, and what is left of each, its tail,
// is divided evenly among the workgroups that follow, `tail_share` blocks each, one tail after another. Workgroups side
// by side are then at about the same rows of B, and so at the same columns of A, which L2 keeps for them. Each puts its
// sums into parts_matrix, where a tile has `slots` places, one for each workgroup that it may be divided among. The one
// that has a tile's last block fills the places that are left with zeros. Another kernel adds up the places.
//
// Arguments: a_matrix, b_matrix, c_matrix, m, n, k, lda, ldb, ldc, parts_matrix, whole, share, a_tile, slots,
// first_column (of the tiles that are shared), layers, tail_share. Whole tiles are a multiple of those along the rows.
// lda, ldc: multiples of 4; ldb of BLOCK; A has columns of zeros up to a multiple of 16 of k, B rows of zeros up to ldb;
// A, B and C are each below 4 GiB; there are less than 2^24 tiles, and blocks of shared ones.
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

// scalar registers: arguments
.set sA, 8
.set sB, 10
.set sC, 12
.set sM, 14
.set sN, 15
.set sK, 16
.set sLda, 17
.set sLdb, 18
.set sLdc, 19
.set sParts, 20
.set sWhole, 22
.set sShare, 23
.set sLds, 24
.set sSlots, 25
.set sFirstShared, 26
.set sLayers, 27
.set sTailShare, 28
// of the workgroup
.set sWavefront, 29
.set sPut, 30            // where in a segment of LDS the wavefront puts what it brings, but for its lane
.set sTileBlocks, 31     // blocks of a tile
.set sTailBlocks, 32     // those of its tail; 0: the workgroup has no tails
.set sRowTiles, 33       // tiles along the rows
.set sTile, 34
.set sBlock, 35          // the first of the tile's that it has
.set sBlocks, 36         // how many it has from there on, of this tail and those after it
.set sSharing, 37        // its number among those that share tiles, or tails
// of a tile
.set sFirst, 38          // the first of its columns
.set sColumns, 39        // how many
.set sRow, 40            // first of the workgroup's rows
.set sPart, 41           // which of the tile's places
.set sStop, 42
.set sBase, 43           // first row of the block
.set sEnd, 44            // of the segment, times 2^16: bundles below belong to it or to one before
.set sAhead, 46          // first of A's columns that are on their way
.set sStride, 47         // bytes between columns of B
.set sNext, 48           // and 49: B's next block
.set sTo, 50             // and 51: where the tile's first column goes
.set sApart, 52          // and 53: bytes between a tile's places
.set sNotFirst, 54       // and 55: all lanes but the first
.set sTemporary, 56      // and 57, 58
.set sValue, 60
.set sValueMask, 61
.set sRegisterMask, 62
.set sOne, 63            // 65: see `non_zero`
.set sStep, 64           // bytes of A between segments
.set sBelow, 66          // pairs: lanes whose bundles lie below the segment's end
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
    v_mov_b32 v[vB+1], s[sNext+1]
    v_add_u32 v[vB], vcc, s[sNext], v[vTemporary]
    v_addc_u32 v[vB+1], vcc, 0, v[vB+1], vcc
    s_add_u32 s[sNext], s[sNext], 4*BLOCK
    s_addc_u32 s[sNext+1], s[sNext+1], 0
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

// what was brought, into a segment of LDS; the lane's eight bytes there are at half of vLds
.macro put segment
    v_lshrrev_b32 v[vTemporary], 1, v[vLds]
    v_add_u32 v[vTemporary], vcc, s[sPut], v[vTemporary]
    ds_write_b64 v[vTemporary], v[vStaged:vStaged+1] offset:SEGMENT_BYTES*(\segment)
.endm

.macro below c
    v_cmp_gt_u32_e64 s[sBelow+2*\c:sBelow+2*\c+1], s[sEnd], v[vPairs+2*\c]
.endm
.macro count c
    s_bcnt1_i32_b64 s[sLeft+\c], s[sBelow+2*\c:sBelow+2*\c+1]
    s_sub_u32 s[sLeft+\c], s[sLeft+\c], s[sAt+\c]
    s_lshl_b32 s[sLeft+\c], s[sLeft+\c], 6
.endm

// A segment of a block; `then` is what follows each column. Wavefronts that are behind go first: the machine would go on
// with the oldest one, and at the end of a chunk the last one would have the SIMD for itself, whose scalar instructions and
// branches leave the vector ALUs idle.
.macro segment number, then
    s_setprio CHUNK-1-(\number)%CHUNK
    .set i, 0
    .rept SEGMENT
    ds_read_b128 v[vHeld+4*i:vHeld+4*i+3], v[vLds] offset:SEGMENT_BYTES*(\number)+COLUMN_BYTES*i
    .set i, i + 1
    .endr
    s_cmp_lt_u32 s[sAhead], s[sStop]
    s_cbranch_scc0 .Lnothing_ahead\@
    s_waitcnt vmcnt(0)
    put (\number+CHUNK)%SEGMENTS
.Lnothing_ahead\@:
    each below
    s_add_u32 s[sAhead], s[sAhead], SEGMENT
    s_add_u32 s[sEnd], s[sEnd], SEGMENT<<16
    each count
    s_waitcnt lgkmcnt(0)
    s_cmp_lt_u32 s[sAhead], s[sStop]
    s_cbranch_scc0 .Lnothing_brought\@
    bring
.Lnothing_brought\@:
    s_set_gpr_idx_on 0, gpr_idx(SRC1)
    column 0, .Lnone0\@
    \then 0
    column 1, .Lnone1\@
    \then 1
    column 2, .Lnone2\@
    \then 2
    column 3, .Lnone3\@
    \then 3
    s_set_gpr_idx_off
    s_mov_b32 m0, -1                               // the bound of LDS accesses, when it is no index
    .if (\number)%CHUNK == CHUNK-1
    s_waitcnt lgkmcnt(0)
    s_barrier
    .endif
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
    put \segment
.Lfilled\@:
.endm

// A column of the tile to where sNext points; vTemporary is the lane's byte in it, sTemporary the bytes from one to the
// next.
.macro store c
    s_cmp_gt_u32 s[sColumns], \c
    s_cbranch_scc0 .Lstored\@
    v_mov_b32 v[vB], s[sNext]
    v_mov_b32 v[vB+1], s[sNext+1]
    v_add_u32 v[vB], vcc, v[vB], v[vTemporary]
    v_addc_u32 v[vB+1], vcc, 0, v[vB+1], vcc
    flat_store_dwordx4 v[vB:vB+1], v[vC+4*\c:vC+4*\c+3]
    s_add_u32 s[sNext], s[sNext], s[sTemporary]
    s_addc_u32 s[sNext+1], s[sNext+1], 0
.Lstored\@:
.endm

// quotient and rest of two scalars below 2^24, neither of which is where these go: by an approximate reciprocal, which
// may be one off
.macro divide quotient, rest, dividend, divisor
    v_cvt_f32_u32 v[vTemporary], s[\dividend]
    v_cvt_f32_u32 v[vStaged], s[\divisor]
    v_rcp_f32 v[vStaged], v[vStaged]
    v_mul_f32 v[vTemporary], v[vTemporary], v[vStaged]
    v_cvt_u32_f32 v[vTemporary], v[vTemporary]
    v_readfirstlane_b32 s[\quotient], v[vTemporary]
    s_mul_i32 s[\rest], s[\quotient], s[\divisor]
    s_sub_i32 s[\rest], s[\dividend], s[\rest]
    s_cmp_lt_i32 s[\rest], 0
    s_cbranch_scc0 .Lnot_above\@
    s_sub_u32 s[\quotient], s[\quotient], 1
    s_add_u32 s[\rest], s[\rest], s[\divisor]
.Lnot_above\@:
    s_cmp_lt_i32 s[\rest], s[\divisor]
    s_cbranch_scc1 .Lnot_below\@
    s_add_u32 s[\quotient], s[\quotient], 1
    s_sub_u32 s[\rest], s[\rest], s[\divisor]
.Lnot_below\@:
.endm

.macro clear
    .set i, 0
    .rept 4*COLUMNS
    v_mov_b32 v[vC+i], 0
    .set i, i + 1
    .endr
.endm

.text
.globl sgemm_dib_registers
.p2align 8
.type sgemm_dib_registers,@function
sgemm_dib_registers:
    s_load_dwordx8 s[sA:sA+7], s[0:1], 0x0
    s_load_dwordx8 s[sK:sK+7], s[0:1], 0x20
    s_load_dwordx4 s[sLds:sLayers], s[0:1], 0x40
    s_load_dword s[sTailShare], s[0:1], 0x50
    v_lshrrev_b32 v0, 6, v0
    s_mov_b32 m0, -1
    v_readfirstlane_b32 s[sWavefront], v0
    lane
    s_mov_b32 s[sValueMask], 0xffffe000
    s_mov_b32 s[sRegisterMask], 0x1c
    s_movk_i32 s[sOne], 65
    s_mov_b32 s[sNotFirst], -2
    s_mov_b32 s[sNotFirst+1], -1
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v[vLds], 4, v[vTemporary]
    v_add_u32 v[vLds], vcc, s[sLds], v[vLds]
    s_lshl_b32 s[sStride], s[sLdb], 2
    s_lshl_b32 s[sStep], s[sLda], 5                // SEGMENT columns of four bytes an element
    s_and_b32 s[sTemporary], s[sWavefront], 1      // which half of a column of A it brings, of which column
    s_lshl_b32 s[sTemporary], s[sTemporary], 9
    s_lshr_b32 s[sPut], s[sWavefront], 1
    s_lshl_b32 s[sPut], s[sPut], 10
    s_add_u32 s[sPut], s[sPut], s[sTemporary]
    s_lshr_b32 s[sTemporary], s[sLds], 1
    s_add_u32 s[sPut], s[sPut], s[sTemporary]
    s_add_u32 s[sTileBlocks], s[sK], BLOCK-1
    s_lshr_b32 s[sTileBlocks], s[sTileBlocks], 6
    s_add_u32 s[sRowTiles], s[sM], 255
    s_lshr_b32 s[sRowTiles], s[sRowTiles], 8
    // between places: the shared columns
    s_sub_u32 s[sApart], s[sN], s[sFirstShared]
    s_mul_i32 s[sApart], s[sApart], s[sLdc]
    s_mov_b32 s[sApart+1], 0
    s_lshl_b64 s[sApart:sApart+1], s[sApart:sApart+1], 2
    // a tile, its share of one, or tails
    s_mov_b32 s[sTile], s2
    s_mov_b32 s[sBlock], 0
    s_mov_b32 s[sBlocks], s[sTileBlocks]
    s_mov_b32 s[sTailBlocks], 0
    s_cmp_lt_u32 s2, s[sWhole]
    s_cbranch_scc1 .Ltile
    s_sub_u32 s[sSharing], s2, s[sWhole]
    s_add_u32 s[sTemporary], s[sN], COLUMNS*WAVEFRONTS-1
    s_lshr_b32 s[sTemporary], s[sTemporary], 6
    s_mul_i32 s[sTemporary], s[sTemporary], s[sRowTiles]
    s_sub_u32 s[sTemporary], s[sTemporary], s[sWhole]
    divide sPart, sTile, sSharing, sTemporary
    s_mul_i32 s[sBlock], s[sPart], s[sShare]
    s_mov_b32 s[sBlocks], s[sShare]
    s_cmp_lt_u32 s[sPart], s[sLayers]
    s_cbranch_scc1 .Lshared
    s_mul_i32 s[sTemporary+1], s[sLayers], s[sTemporary]
    s_sub_u32 s[sSharing], s[sSharing], s[sTemporary+1]
    s_mul_i32 s[sTailBlocks], s[sLayers], s[sShare]
    s_sub_u32 s[sTailBlocks], s[sTileBlocks], s[sTailBlocks]
    s_mul_i32 s[sBlocks], s[sTemporary], s[sTailBlocks]
    s_mul_i32 s[sTemporary], s[sSharing], s[sTailShare]
    s_sub_u32 s[sBlocks], s[sBlocks], s[sTemporary]
    s_min_u32 s[sBlocks], s[sBlocks], s[sTailShare]
    divide sTile, sBlock, sTemporary, sTailBlocks
    s_sub_u32 s[sTemporary], s[sTileBlocks], s[sTailBlocks]
    s_add_u32 s[sBlock], s[sBlock], s[sTemporary]
.Lshared:
    s_add_u32 s[sTile], s[sTile], s[sWhole]

.Ltile:
    divide sTemporary, sRow, sTile, sRowTiles
    s_lshl_b32 s[sRow], s[sRow], 8
    s_mul_i32 s[sFirst], s[sTemporary], WAVEFRONTS
    s_add_u32 s[sFirst], s[sFirst], s[sWavefront]
    s_mul_i32 s[sFirst], s[sFirst], COLUMNS
    s_sub_i32 s[sColumns], s[sN], s[sFirst]
    s_max_i32 s[sColumns], s[sColumns], 0
    s_min_u32 s[sColumns], s[sColumns], COLUMNS
    s_sub_u32 s[sTemporary], s[sN], 1
    s_min_u32 s[sFirst], s[sFirst], s[sTemporary]
    // where its first column goes
    s_mov_b64 s[sTo:sTo+1], s[sC:sC+1]
    s_mov_b32 s[sTemporary], s[sFirst]
    s_cmp_lt_u32 s[sTile], s[sWhole]
    s_cbranch_scc1 .Lplaced
    s_cmp_eq_u32 s[sTailBlocks], 0
    s_cbranch_scc1 .Lpart
    s_sub_u32 s[sTemporary+2], s[sTile], s[sWhole]
    s_mul_i32 s[sTemporary+2], s[sTemporary+2], s[sTailBlocks]
    divide sPart, sTemporary, sTemporary+2, sTailShare
    s_sub_u32 s[sPart], s[sSharing], s[sPart]
    s_add_u32 s[sPart], s[sPart], s[sLayers]
.Lpart:
    s_sub_u32 s[sTemporary], s[sN], s[sFirstShared]
    s_mul_i32 s[sTemporary], s[sTemporary], s[sPart]
    s_add_u32 s[sTemporary], s[sTemporary], s[sFirst]
    s_sub_u32 s[sTemporary], s[sTemporary], s[sFirstShared]
    s_mov_b64 s[sTo:sTo+1], s[sParts:sParts+1]
.Lplaced:
    s_mul_i32 s[sTemporary], s[sTemporary], s[sLdc]
    s_mov_b32 s[sTemporary+1], 0
    s_lshl_b64 s[sTemporary:sTemporary+1], s[sTemporary:sTemporary+1], 2
    s_add_u32 s[sTo], s[sTo], s[sTemporary]
    s_addc_u32 s[sTo+1], s[sTo+1], s[sTemporary+1]
    // the rows of B that it has of the tile
    s_sub_u32 s[sStop], s[sTileBlocks], s[sBlock]
    s_min_u32 s[sStop], s[sStop], s[sBlocks]
    s_sub_u32 s[sBlocks], s[sBlocks], s[sStop]
    s_add_u32 s[sStop], s[sStop], s[sBlock]
    s_lshl_b32 s[sStop], s[sStop], 6
    s_min_u32 s[sStop], s[sStop], s[sK]
    s_lshl_b32 s[sBase], s[sBlock], 6
    s_mul_i32 s[sTemporary], s[sFirst], s[sLdb]
    s_add_u32 s[sTemporary], s[sTemporary], s[sBase]
    s_mov_b32 s[sTemporary+1], 0
    s_lshl_b64 s[sTemporary:sTemporary+1], s[sTemporary:sTemporary+1], 2
    s_add_u32 s[sNext], s[sB], s[sTemporary]
    s_addc_u32 s[sNext+1], s[sB+1], s[sTemporary+1]
    // A: the wavefront's half of a column
    lane
    v_lshlrev_b32 v[vTemporary], 1, v[vTemporary]
    s_and_b32 s[sTemporary], s[sWavefront], 1
    s_lshl_b32 s[sTemporary], s[sTemporary], 7
    s_add_u32 s[sTemporary], s[sTemporary], s[sRow]
    v_add_u32 v[vTemporary], vcc, s[sTemporary], v[vTemporary]
    s_sub_u32 s[sTemporary], s[sLda], 2
    v_min_u32 v[vTemporary], s[sTemporary], v[vTemporary]
    s_lshr_b32 s[sTemporary], s[sWavefront], 1
    s_add_u32 s[sTemporary], s[sBase], s[sTemporary]
    s_mul_i32 s[sTemporary], s[sTemporary], s[sLda]
    v_add_u32 v[vTemporary], vcc, s[sTemporary], v[vTemporary]
    v_mov_b32 v[vA+1], s[sA+1]
    v_lshlrev_b32 v[vTemporary], 2, v[vTemporary]
    v_add_u32 v[vA], vcc, s[sA], v[vTemporary]
    v_addc_u32 v[vA+1], vcc, 0, v[vA+1], vcc
    clear
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
    s_waitcnt lgkmcnt(0)
    s_barrier

.Lblock:
    s_setprio CHUNK-1
    s_waitcnt vmcnt(0) lgkmcnt(0)
    each pack
    s_mov_b32 s[sEnd], SEGMENT<<16
    s_add_u32 s[sBase], s[sBase], BLOCK
    next_block
    .set number, 0
    .rept SEGMENTS-1
    segment number, nothing
    .set number, number + 1
    .endr
    s_cmp_lt_u32 s[sBase], s[sStop]
    s_cbranch_scc0 .Llast
    segment SEGMENTS-1, send
    s_branch .Lblock
.Llast:
    segment SEGMENTS-1, nothing

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
.Lplace:
    s_mov_b64 s[sNext:sNext+1], s[sTo:sTo+1]
    each store
    // a shared tile's last sum: zeros into the places that are left
    s_cmp_lt_u32 s[sTile], s[sWhole]
    s_cbranch_scc1 .Ldone
    s_cmp_lt_u32 s[sStop], s[sK]
    s_cbranch_scc1 .Ldone
    s_add_u32 s[sPart], s[sPart], 1
    s_cmp_lt_u32 s[sPart], s[sSlots]
    s_cbranch_scc0 .Ldone
    s_add_u32 s[sTo], s[sTo], s[sApart]
    s_addc_u32 s[sTo+1], s[sTo+1], s[sApart+1]
    s_waitcnt vmcnt(0)
    clear
    s_branch .Lplace
.Ldone:
    s_cmp_lg_u32 s[sBlocks], 0
    s_cbranch_scc0 .Lall
    s_mov_b64 exec, -1
    s_add_u32 s[sTile], s[sTile], 1
    s_sub_u32 s[sBlock], s[sTileBlocks], s[sTailBlocks]
    s_waitcnt vmcnt(0)
    s_branch .Ltile                                // nobody reads LDS any more: a block ends with a barrier
.Lall:
    s_endpgm
.Lend:
.size sgemm_dib_registers, .Lend-sgemm_dib_registers

.rodata
.p2align 6
.amdhsa_kernel sgemm_dib_registers
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 84
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
    .kernarg_segment_size: 84
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
      - {.name: parts_matrix, .offset: 48, .size: 8, .value_kind: global_buffer}
      - {.name: whole, .offset: 56, .size: 4, .value_kind: by_value}
      - {.name: share, .offset: 60, .size: 4, .value_kind: by_value}
      - {.name: a_tile, .offset: 64, .size: 4, .value_kind: dynamic_shared_pointer, .address_space: local,
         .pointee_align: 16}
      - {.name: slots, .offset: 68, .size: 4, .value_kind: by_value}
      - {.name: first_column, .offset: 72, .size: 4, .value_kind: by_value}
      - {.name: layers, .offset: 76, .size: 4, .value_kind: by_value}
      - {.name: tail_share, .offset: 80, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
