/* C = A.B, dense FP32, all matrices column-major. 64 work-items, each a 4x4 tile of a 32x32 tile of C.

   A goes through LDS, 16 of its columns at a time; B is read straight into registers, a whole 64-byte line a work-item
   and column, so that a line is used up while it is in L1. lda and ldc are multiples of 4, ldb of 16; rows of B from K
   to the next multiple of 16 are zero; rows of A and C up to the next multiple of 4 exist. */
#include "wavefront.h"

#define TILE 32u
#define DEPTH 16u

#define MULTIPLY_ADD_COLUMN(j)                                                                                         \
  acc[j] += a0 * b[j][q].x;                                                                                            \
  acc[j] += a1 * b[j][q].y;                                                                                            \
  acc[j] += a2 * b[j][q].z;                                                                                            \
  acc[j] += a3 * b[j][q].w;

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sgemm_4x4(global const float *restrict a_matrix,
                                                                      global const float *restrict b_matrix,
                                                                      global float *restrict c_matrix, uint m, uint n,
                                                                      uint k, uint lda, uint ldb, uint ldc) {
  local float4_t a_tile[DEPTH * TILE / 4];
  const uint lane = local_id_x();
  const uint row_block = group_id_x() * TILE, column_block = group_id_y() * TILE;
  const uint tx = lane & 7u, ty = lane >> 3;
  const uint row = row_block + 4u * tx, column = column_block + 4u * ty;

  /* rows and columns past the edge read a valid neighbour and are not stored */
  const uint load_row = minimum(row, lda - 4u);
  global const float *a_from = a_matrix + load_row;
  global const float *b_from[4];
#pragma unroll
  for (uint j = 0; j < 4; ++j) b_from[j] = b_matrix + (ulong)minimum(column + j, n - 1u) * ldb;

  float4_t acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float4_t next0 = *(global const float4_t *)(a_from + (ulong)minimum(ty, k - 1u) * lda);
  float4_t next1 = *(global const float4_t *)(a_from + (ulong)minimum(ty + 8u, k - 1u) * lda);

  for (uint depth = 0; depth < k; depth += DEPTH) {
    float4_t b[4][4];
#pragma unroll
    for (uint j = 0; j < 4; ++j)
#pragma unroll
      for (uint q = 0; q < 4; ++q) b[j][q] = ((global const float4_t *)b_from[j])[q];
#pragma unroll
    for (uint j = 0; j < 4; ++j) b_from[j] += DEPTH;

    workgroup_barrier();
    a_tile[lane] = next0;
    a_tile[lane + 64u] = next1;
    workgroup_barrier();
    next0 = *(global const float4_t *)(a_from + (ulong)minimum(depth + DEPTH + ty, k - 1u) * lda);
    next1 = *(global const float4_t *)(a_from + (ulong)minimum(depth + DEPTH + ty + 8u, k - 1u) * lda);

#pragma unroll
    for (uint q = 0; q < 4; ++q) {
      const float4_t a0 = a_tile[(4u * q + 0u) * 8u + tx], a1 = a_tile[(4u * q + 1u) * 8u + tx];
      const float4_t a2 = a_tile[(4u * q + 2u) * 8u + tx], a3 = a_tile[(4u * q + 3u) * 8u + tx];
      MULTIPLY_ADD_COLUMN(0)
      MULTIPLY_ADD_COLUMN(1)
      MULTIPLY_ADD_COLUMN(2)
      MULTIPLY_ADD_COLUMN(3)
    }
  }

  if (row < m) {
#pragma unroll
    for (uint j = 0; j < 4; ++j)
      if (column + j < n) *(global float4_t *)(c_matrix + (ulong)(column + j) * ldc + row) = acc[j];
  }
}
