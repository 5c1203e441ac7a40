/* C = A.B, dense FP32, all matrices column-major, by tiles of 128 x 128 and 16 x 16 work-items, each of which computes
   8 x 8 elements. Neighbouring work-items have neighbouring columns, so that a store of 64 lanes goes to sixteen columns
   eight apart, a dword each, and a line of C is complete only after sixteen of them: the pattern of a kernel that was
   measured on an RX 560 (sim_configs/measured/sgemm-rx560.yaml), written anew. k is a multiple of 16. */
#include "wavefront.h"

#define TILE 128u
#define DEPTH 16u
#define BLOCK 8u
#define ITEMS 256u

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void sgemm_column_lanes(
    global const float *restrict a_matrix, global const float *restrict b_matrix, global float *restrict c_matrix,
    uint m, uint n, uint k) {
  local float a_tile[DEPTH][TILE], b_tile[DEPTH][TILE];
  const uint x = local_id_x(), y = local_id_y(), item = 16u * y + x;
  const uint first_column = group_id_x() * TILE, first_row = group_id_y() * TILE;

  float acc[BLOCK][BLOCK];
#pragma unroll
  for (uint j = 0; j < BLOCK; ++j)
#pragma unroll
    for (uint i = 0; i < BLOCK; ++i) acc[j][i] = 0.0f;

  for (uint depth = 0; depth < k; depth += DEPTH) {
    /* rows and columns past the edge read the last one and are not stored */
#pragma unroll
    for (uint part = item; part < DEPTH * TILE; part += ITEMS) {
      const uint row = first_row + part % TILE, column = first_column + part / DEPTH;
      a_tile[part / TILE][part % TILE] = a_matrix[(ulong)(depth + part / TILE) * m + (row < m ? row : m - 1u)];
      b_tile[part % DEPTH][part / DEPTH] = b_matrix[(ulong)(column < n ? column : n - 1u) * k + depth + part % DEPTH];
    }
    workgroup_barrier();
    for (uint d = 0; d < DEPTH; ++d)
#pragma unroll
      for (uint j = 0; j < BLOCK; ++j)
#pragma unroll
        for (uint i = 0; i < BLOCK; ++i) acc[j][i] += a_tile[d][BLOCK * y + i] * b_tile[d][BLOCK * x + j];
    workgroup_barrier();
  }

#pragma unroll
  for (uint j = 0; j < BLOCK; ++j)
#pragma unroll
    for (uint i = 0; i < BLOCK; ++i) {
      const uint column = first_column + BLOCK * x + j, row = first_row + BLOCK * y + i;
      if (column < n && row < m) c_matrix[(ulong)column * m + row] = acc[j][i];
    }
}
