/* C = A.B, dense FP32, all matrices column-major: the plain 16x16 tiling, A and B through LDS, one element of C
   a work-item. Any M, N, K, lda, ldb, ldc. */
#include "wavefront.h"

#define TILE 16u

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void sgemm_tiled16(global const float *restrict a_matrix,
                                                                           global const float *restrict b_matrix,
                                                                           global float *restrict c_matrix, uint m,
                                                                           uint n, uint k, uint lda, uint ldb,
                                                                           uint ldc) {
  local float a_tile[TILE][TILE];     /* [k][row] */
  local float b_tile[TILE][TILE + 1]; /* [column][k], padded against bank conflicts */
  const uint x = local_id_x(), y = local_id_y();
  const uint row = group_id_x() * TILE + x, column = group_id_y() * TILE + y;

  /* rows and columns past the edge read a valid neighbour and are not stored */
  global const float *a_from = a_matrix + minimum(row, m - 1u);
  global const float *b_from = b_matrix + (ulong)minimum(column, n - 1u) * ldb;

  float acc = 0.0f;
  for (uint depth = 0; depth < k; depth += TILE) {
    const float a = depth + y < k ? a_from[(ulong)(depth + y) * lda] : 0.0f;
    const float b = depth + x < k ? b_from[depth + x] : 0.0f;
    workgroup_barrier();
    a_tile[y][x] = a;
    b_tile[y][x] = b;
    workgroup_barrier();
#pragma unroll
    for (uint i = 0; i < TILE; ++i) acc += a_tile[i][x] * b_tile[y][i];
  }
  if (row < m && column < n) c_matrix[(ulong)column * ldc + row] = acc;
}
