/* Products by matrix cores (MFMA of gfx908 and gfx90a): a wavefront computes a tile of C from some of the sum's terms.

   A is stored by columns: all rows of a column k, one after another, `a_words` 32-bit words apart. B is stored by lines:
   of each tile of columns the lines of all k, 64 bytes each: 16 values of FP32 or 32 of 16 bits. So a line is what a
   tile has of one k, and a tile whose lines are left out needs no column of A for them.

   A workgroup has four wavefronts, one for each quarter of its part of the sum; they add up their tiles in LDS. */
#ifndef MATRIX_TILE_H
#define MATRIX_TILE_H

#include "../kernels/wavefront.h"

#define ROWS 64u          /* of C, of a workgroup */
#define WAVEFRONTS 4u     /* of a workgroup: quarters of its part of the sum */
#define LINE_WORDS 16u
#define BATCH 16u         /* lines that a wavefront takes at a time: four loads of four lines */
#define LOADS 4u
#define STATUS_LAST 1u

typedef short short2_t __attribute__((ext_vector_type(2)));

/* The sparse load: FLAT_LOAD_DWORDX2 with glc and slc. The first dword is a word of a compacted line; the second is the
   line's status: bit 0 whether it is its column's last, above that the number of the line that it is. */
static inline uint2_t sparse_load(global const uint *address) {
  return __builtin_nontemporal_load((global const uint2_t *)address);
}

/* The bits of a word as another type. A function, since clang 19 takes the first element where __builtin_bit_cast is given
   an element of a vector. */
static inline float as_float32(uint word) { return __builtin_bit_cast(float, word); }

static inline short2_t as_shorts(uint word) { return __builtin_bit_cast(short2_t, word); }

/* four words of a column of A */
static inline uint4_t load_rows_4(global const uint *a, uint offset) { return *(global const uint4_t *)(a + offset); }

static inline uint2_t load_rows_2(global const uint *a, uint offset) { return *(global const uint2_t *)(a + offset); }

/* the low, or the high, halves of two words as one word */
static inline uint low_halves(uint first, uint second) { return __builtin_amdgcn_perm(second, first, 0x05040100u); }

static inline uint high_halves(uint first, uint second) { return __builtin_amdgcn_perm(second, first, 0x07060302u); }

/* add up the workgroup's four tiles of 64 rows and 16 columns and store the sum; `column` is the lane's column of C */
static inline void store_sum(float4_t tile[4], local float *sums, global float *c, uint row, uint column, uint n,
                             uint ldc) {
  const uint lane = lane_id(), wavefront = wavefront_id();
  execution_barrier(); /* of the tile before, all has been read */
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
    const float4_t four = {tile[0][r], tile[1][r], tile[2][r], tile[3][r]}; /* rows next to one another */
    *(local float4_t *)(sums + ((wavefront * 4u + r) * WAVEFRONT_LANES + lane) * 4u) = four;
  }
  workgroup_barrier();
  /* each wavefront adds up one of the four groups of rows */
  float4_t sum = 0.0f;
#pragma unroll
  for (uint w = 0; w < WAVEFRONTS; ++w)
    sum += *(local const float4_t *)(sums + ((w * 4u + wavefront) * WAVEFRONT_LANES + lane) * 4u);
  const uint at = row + 16u * (lane / 16u) + 4u * wavefront;
  if (column < n && at < ldc) *(global float4_t *)(c + (ulong)column * ldc + at) = sum;
}

#endif
