/* C = A.B, dense FP32, all matrices column-major: the AMD APP SDK's mmmKernel_local, the baseline of Dong 2020 (section
   6.5), as MGPUSim ships it. A workgroup is 8 x 8 work-items, each of which computes a 4 x 4 tile of a 32 x 32 tile of C.
   32 rows of B go through 4 KiB of LDS at a time; A is read straight from memory, four rows a work-item, which work-items
   of a row of tiles read coalesced. (In the SDK matrices are row-major, and the one in LDS is called A.)

   Where its text leaves it to the compiler, the best is done here: what is multiplied next is on its way meanwhile, and
   a wavefront is alone in its workgroup, so that its LDS accesses need no barrier.

   lda and ldc are multiples of 4, ldb of 32. What pads K to a multiple of 16 (columns of A, rows of B) and M to a multiple
   of 4 (rows of A and C) exists; the former is zero. A is smaller than 4 GiB. */
#include "buffer.h"

#define TILE 32u
#define DEPTH 32u
#define QUADS (DEPTH / 4u)

static inline float4_t quad(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read4(from, lane_bytes, bytes), float4_t);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1), amdgpu_waves_per_eu(2))) void mmm_local(
    global const float *a_matrix, global const float *b_matrix, global float *restrict c_matrix, uint m, uint n, uint k,
    uint lda, uint ldb, uint ldc) {
  local float4_t b_tile[TILE * QUADS]; /* [column][k] */
  const uint lane = local_id_x();
  const uint tx = lane & 7u, ty = lane >> 3;
  const uint padded_k = (k + 15u) & ~15u;
  const uint first_column = group_id_y() * TILE;

  /* rows and columns past the edge read a valid neighbour and are not stored */
  const uint a_bytes = lda * padded_k * 4u, a_stride = lda * 4u;
  const Buffer a_from = buffer_of(a_matrix, a_bytes);
  const Buffer b_from = buffer_of(b_matrix + (ulong)first_column * ldb, TILE * ldb * 4u);
  const uint a_lane = minimum(group_id_x() * TILE + 4u * tx, lda - 4u) * 4u;
  uint b_lane[4];
#pragma unroll
  for (uint q = 0; q < 4; ++q) b_lane[q] = (minimum(4u * ty + q, n - 1u - first_column) * ldb + 4u * tx) * 4u;

  float4_t acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float4_t b_next[4], a[4];
#pragma unroll
  for (uint q = 0; q < 4; ++q) b_next[q] = quad(b_from, b_lane[q], 0u);
#pragma unroll
  for (uint q = 0; q < 4; ++q) a[q] = quad(a_from, a_lane, q * a_stride);

  uint a_next_bytes = 4u * a_stride;
  for (uint depth = 0; depth < padded_k; depth += DEPTH) {
#pragma unroll
    for (uint q = 0; q < 4; ++q) b_tile[(4u * ty + q) * QUADS + tx] = b_next[q];
    compiler_fence();
#pragma unroll
    for (uint q = 0; q < 4; ++q) b_next[q] = quad(b_from, b_lane[q], minimum(depth + DEPTH, ldb - DEPTH) * 4u);
    compiler_fence();
    const uint quads = minimum(padded_k - depth, DEPTH) / 4u; /* 8, or 4 in the last block */
    for (uint j = 0; j < quads; j += 2u) {
#pragma unroll
      for (uint side = 0; side < 2u; ++side) {
        float4_t a_next[4], b[4];
#pragma unroll
        for (uint q = 0; q < 4; ++q) b[q] = b_tile[(4u * ty + q) * QUADS + j + side];
#pragma unroll
        for (uint q = 0; q < 4; ++q) a_next[q] = quad(a_from, a_lane, minimum(a_next_bytes + q * a_stride, a_bytes));
        a_next_bytes += 4u * a_stride;
        keep_order(); /* the next quad's loads are under way while this one is multiplied */
#pragma unroll
        for (uint p = 0; p < 4; ++p)
#pragma unroll
          for (uint q = 0; q < 4; ++q) acc[q] += a[p] * b[q][p];
#pragma unroll
        for (uint q = 0; q < 4; ++q) a[q] = a_next[q];
      }
    }
  }

  const uint end_lane = lane_id(), row = group_id_x() * TILE + 4u * (end_lane & 7u);
  const uint column = first_column + 4u * (end_lane >> 3);
  if (row < m) {
#pragma unroll
    for (uint q = 0; q < 4; ++q)
      if (column + q < n) *(global float4_t *)(c_matrix + (ulong)(column + q) * ldc + row) = acc[q];
  }
}
