/* C = A.B, dense FP32, all matrices column-major. A workgroup is one wavefront; each work-item computes a 4x4 tile of a
   32x32 tile of C.

   A goes through LDS, 16 of its columns at a time. B is read straight into registers, four rows a load: a quarter of
   the 16 rows is replaced by the next iteration's as soon as it is used up, so loads have most of an iteration to
   arrive, and the four reads of a 64-byte line follow one another closely.

   lda and ldc are multiples of 4, ldb of 16. What pads K to a multiple of 16 (columns of A, rows of B) and M to a
   multiple of 4 (rows of A and C) exists; the former is zero. A is smaller than 4 GiB. A and B are not `restrict`: loads
   through such pointers would not keep the order that the fences ask for. */
#include "wavefront.h"

#define TILE 32u
#define DEPTH 16u
#define QUARTERS 4u

static inline float4_t load(global const float *from, uint offset_bytes) {
  return *(global const float4_t *)((global const char *)from + (ulong)offset_bytes);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1), amdgpu_waves_per_eu(2))) void sgemm_4x4(
    global const float *a_matrix, global const float *b_matrix, global float *restrict c_matrix, uint m,
    uint n, uint k, uint lda, uint ldb, uint ldc) {
  local float4_t a_tile[DEPTH * TILE / 4];
  const uint lane = local_id_x();
  const uint row = group_id_x() * TILE + 4u * (lane & 7u);
  const uint column = group_id_y() * TILE + 4u * (lane >> 3);

  /* rows and columns past the edge read a valid neighbour and are not stored */
  global const float *a_from[2], *b_from[4];
#pragma unroll
  for (uint h = 0; h < 2; ++h) a_from[h] = a_matrix + (ulong)((lane >> 3) + 8u * h) * lda + minimum(row, lda - 4u);
#pragma unroll
  for (uint j = 0; j < 4; ++j) b_from[j] = b_matrix + (ulong)minimum(column + j, n - 1u) * ldb;

  float4_t acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float4_t a_next[2], b[4][QUARTERS];
#pragma unroll
  for (uint h = 0; h < 2; ++h) a_next[h] = load(a_from[h], 0u);
  compiler_fence();
  keep_order(); /* in the loop's order: what is needed first is loaded first */
#pragma unroll
  for (uint q = 0; q < QUARTERS; ++q) {
#pragma unroll
    for (uint j = 0; j < 4; ++j) b[j][q] = load(b_from[j], 16u * q);
    compiler_fence();
    keep_order();
  }

  for (uint depth = 0; depth < k; depth += DEPTH) {
    const uint next = depth + DEPTH < k ? depth + DEPTH : depth;
    a_tile[lane] = a_next[0];
    a_tile[lane + 64u] = a_next[1];
    compiler_fence();
#pragma unroll
    for (uint h = 0; h < 2; ++h) a_next[h] = load(a_from[h], next * lda * (uint)sizeof(float));
#pragma unroll
    for (uint q = 0; q < QUARTERS; ++q) {
      float4_t a[4];
#pragma unroll
      for (uint i = 0; i < 4; ++i) a[i] = a_tile[(4u * q + i) * (TILE / 4u) + (lane & 7u)];
#pragma unroll
      for (uint i = 0; i < 4; ++i)
#pragma unroll
        for (uint j = 0; j < 4; ++j) acc[j] += a[i] * b[j][q][i];
      keep_order(); /* addresses early would cost registers, and with them a wavefront of two */
#pragma unroll
      for (uint j = 0; j < 4; ++j) b[j][q] = load(b_from[j], 4u * next + 16u * q);
      compiler_fence();
      keep_order();
    }
  }

  if (row < m) {
#pragma unroll
    for (uint j = 0; j < 4; ++j)
      if (column + j < n) *(global float4_t *)(c_matrix + (ulong)(column + j) * ldc + row) = acc[j];
  }
}
