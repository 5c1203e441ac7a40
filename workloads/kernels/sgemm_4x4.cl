/* C = A.B, dense FP32, all matrices column-major. A workgroup is one wavefront; each work-item computes a 4x4 tile of a
   32x32 tile of C.

   A and B go through LDS, 16 columns of A and 16 rows of B at a time, double-buffered. (B read straight into registers,
   as the AMD APP SDK's kernel does, comes 16 bytes a line and column at a time; the lines of 32 columns and several
   wavefronts do not stay in a 16 KiB L1 between the four reads.) The 8 KiB of LDS keep a compute unit at eight
   workgroups: more of them drift apart in k and no longer find each other's lines in L2.

   lda and ldc are multiples of 4, ldb of 16. What pads K to a multiple of 16 (columns of A, rows of B) and M to a
   multiple of 4 (rows of A and C) exists; the former is zero. A is smaller than 4 GiB. A and B are not `restrict`: loads
   through such pointers would not keep the order that the fences ask for. */
#include "wavefront.h"

#define TILE 32u
#define DEPTH 16u
#define QUARTERS 4u
#define BUFFER (DEPTH * TILE / 4u)

static inline float4_t load(global const float *from, uint offset_bytes) {
  return *(global const float4_t *)((global const char *)from + (ulong)offset_bytes);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1), amdgpu_waves_per_eu(2))) void sgemm_4x4(
    global const float *a_matrix, global const float *b_matrix, global float *restrict c_matrix, uint m, uint n, uint k,
    uint lda, uint ldb, uint ldc) {
  local float4_t a_tile[2 * DEPTH * TILE / 4]; /* [buffer][k][row] */
  local float4_t b_tile[2 * TILE * DEPTH / 4]; /* [buffer][column][k] */
  const uint lane = local_id_x();
  const uint tx = lane & 7u, ty = lane >> 3;
  const uint row = group_id_x() * TILE + 4u * tx;

  /* rows and columns past the edge read a valid neighbour and are not stored */
  global const float *a_from[2], *b_from[2];
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    a_from[h] = a_matrix + (ulong)(ty + 8u * h) * lda + minimum(row, lda - 4u);
    const uint load_column = group_id_y() * TILE + (lane >> 2) + 16u * h;
    b_from[h] = b_matrix + (ulong)minimum(load_column, n - 1u) * ldb + 4u * (lane & 3u);
  }

  float4_t acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float4_t a_next[2], b_next[2];
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    a_next[h] = load(a_from[h], 0u);
    b_next[h] = load(b_from[h], 0u);
  }

  uint buffer = 0;
  for (uint depth = 0; depth < k; depth += DEPTH) {
    const uint next = depth + DEPTH < k ? depth + DEPTH : depth;
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      a_tile[buffer + lane + 64u * h] = a_next[h];
      b_tile[buffer + lane + 64u * h] = b_next[h];
    }
    compiler_fence();
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      a_next[h] = load(a_from[h], next * lda * (uint)sizeof(float));
      b_next[h] = load(b_from[h], next * (uint)sizeof(float));
    }
    compiler_fence();
#pragma unroll
    for (uint q = 0; q < QUARTERS; ++q) {
      float4_t a[4], b[4];
#pragma unroll
      for (uint i = 0; i < 4; ++i) a[i] = a_tile[buffer + (4u * q + i) * (TILE / 4u) + tx];
#pragma unroll
      for (uint j = 0; j < 4; ++j) b[j] = b_tile[buffer + (4u * ty + j) * (DEPTH / 4u) + q];
      keep_order(); /* all reads of a quarter are in flight together */
#pragma unroll
      for (uint i = 0; i < 4; ++i)
#pragma unroll
        for (uint j = 0; j < 4; ++j) acc[j] += a[i] * b[j][i];
    }
    buffer ^= BUFFER;
  }

  /* computed anew: registers held through the loop would be spilled */
  const uint end_lane = lane_id();
  const uint end_row = group_id_x() * TILE + 4u * (end_lane & 7u);
  const uint column = group_id_y() * TILE + 4u * (end_lane >> 3);
  if (end_row < m) {
#pragma unroll
    for (uint j = 0; j < 4; ++j)
      if (column + j < n) *(global float4_t *)(c_matrix + (ulong)(column + j) * ldc + end_row) = acc[j];
  }
}
