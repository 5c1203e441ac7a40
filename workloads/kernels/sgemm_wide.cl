/* C = A.B, dense FP32, all matrices column-major, in the shape of the tiled sparse kernel: the fairest dense baseline
   for it. A workgroup of `wavefronts` wavefronts (at most 16) shares a tile of A in LDS, 256 rows by 4 * wavefronts
   of A's columns; a wavefront owns four columns of C, four rows a lane, and has B in scalar registers.

   lda and ldc are multiples of 4, ldb of 16; rows of B from K to the next multiple of 4 are zero, rows of A and C up to
   the next multiple of 4 exist; A is smaller than 4 GiB. The local argument holds 4 KiB for each wavefront. */
#include "wavefront.h"

#define ROWS 256u
#define ROW_BYTES (4u * ROWS)
#define COLUMNS 4u
#define LOADS_PER_WAVEFRONT 4u
#define CHUNK 4u

kernel __attribute__((amdgpu_flat_work_group_size(64, 1024))) void sgemm_wide(
    global const float *restrict a_matrix, constant float *restrict b_matrix, global float *restrict c_matrix, uint m,
    uint n, uint k, uint lda, uint ldb, uint ldc, uint wavefronts, local float4_t *restrict a_tile) {
  const uint lane = lane_id(), wavefront = wavefront_id();
  const uint depth = LOADS_PER_WAVEFRONT * wavefronts;
  const uint row = group_id_x() * ROWS + 4u * lane;
  const uint first_column = (group_id_y() * wavefronts + wavefront) * COLUMNS;
  local char *a_lane = (local char *)(a_tile + lane);
  global const float *a_from = a_matrix + minimum(row, lda - 4u);

  /* columns past the edge read the last one and are not stored */
  constant float *b_from[COLUMNS];
  float4_t acc[COLUMNS];
#pragma unroll
  for (uint c = 0; c < COLUMNS; ++c) {
    b_from[c] = b_matrix + scalar(minimum(first_column + c, n - 1u) * ldb); /* 32 bits: B is smaller than 16 GiB */
    acc[c] = 0.0f;
  }

  for (uint base = 0; base < k; base += depth) {
    float4_t staged[LOADS_PER_WAVEFRONT];
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i) {
      const uint offset = minimum(base + i * wavefronts + wavefront, k - 1u) * lda * (uint)sizeof(float);
      staged[i] = *(global const float4_t *)((global const char *)a_from + (ulong)offset);
    }
    workgroup_barrier();
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i)
      *(local float4_t *)(a_lane + (i * wavefronts + wavefront) * ROW_BYTES) = staged[i];
    workgroup_barrier();

    const uint rows = minimum(depth, k - base);
    float4_t b[COLUMNS];
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c) b[c] = *(constant float4_t *)(b_from[c] + base);
    for (uint i = 0; i < rows; i += CHUNK) {
      float4_t a[CHUNK], next[COLUMNS];
#pragma unroll
      for (uint q = 0; q < CHUNK; ++q) a[q] = *(local const float4_t *)(a_lane + (i + q) * ROW_BYTES);
      const uint ahead = i + CHUNK < rows ? i + CHUNK : i;
      keep_order();
#pragma unroll
      for (uint q = 0; q < CHUNK; ++q)
#pragma unroll
        for (uint c = 0; c < COLUMNS; ++c) acc[c] += a[q] * b[c][q];
#pragma unroll
      for (uint c = 0; c < COLUMNS; ++c) next[c] = *(constant float4_t *)(b_from[c] + base + ahead);
#pragma unroll
      for (uint c = 0; c < COLUMNS; ++c) b[c] = next[c];
    }
  }
  if (row < m) {
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c)
      if (first_column + c < n) *(global float4_t *)(c_matrix + (ulong)(first_column + c) * ldc + row) = acc[c];
  }
}
