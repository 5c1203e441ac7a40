/* C = A.B with B compacted on the fly (ELLPACK-DIB through sparse loads), the direct reading: a wavefront owns one
   column and 256 rows of C, four rows a lane; every non-zero of the column selects one column of A, which is read
   coalesced from global memory. Loop ends on the status bit 'last': there is no count of non-zeros.

   lda and ldc are multiples of 4, ldb of 64 (a batch is four compacted lines); rows of A and C up to the next multiple
   of 4 exist. */
#include "dib.h"

#define WAVEFRONTS 4u
#define ROWS 256u
#define GROUP 4u

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sgemm_dib_gather(global const float *restrict a_matrix,
                                                                              global const float *restrict b_matrix,
                                                                              global float *restrict c_matrix, uint m,
                                                                              uint n, uint k, uint lda, uint ldb,
                                                                              uint ldc) {
  const uint lane = lane_id();
  const uint column = group_id_y() * WAVEFRONTS + wavefront_id();
  const uint row = group_id_x() * ROWS + 4u * lane;
  if (column >= n) return;

  global const float *a_from = a_matrix + minimum(row, lda - 4u);
  global const float *line = b_matrix + (ulong)column * ldb + lane;
  float4_t acc = 0.0f;
  uint2_t next = sparse_load(line);
  bool last;
  do {
    const uint bundle = next.x;
    last = (broadcast(next.y, 63u) & STATUS_LAST) != 0u;
    line += BUNDLES_PER_BATCH;
    if (!last) next = sparse_load(line);

    /* padding bundles are zero and stand behind all others; an underflowed value in row 0 is zero too, and first */
    const uint count = bit_length(lanes_below(0u, bundle));
    const uint value = __builtin_bit_cast(uint, half_bits_to_float(bundle & 0xffffu));
    const uint offset = (bundle >> 16) * lda * (uint)sizeof(float); /* A is smaller than 4 GiB */
    for (uint i = 0; i < count; i += GROUP) {
      /* a group past `count` multiplies zeros: count rounds up to at most 64 lanes */
      float4_t a[GROUP];
#pragma unroll
      for (uint g = 0; g < GROUP; ++g)
        a[g] = *(global const float4_t *)((global const char *)a_from + (ulong)broadcast(offset, i + g));
      keep_order(); /* all of a group's loads are in flight together */
#pragma unroll
      for (uint g = 0; g < GROUP; ++g) acc += a[g] * __builtin_bit_cast(float, broadcast(value, i + g));
    }
  } while (!last);

  if (row < m) *(global float4_t *)(c_matrix + (ulong)column * ldc + row) = acc;
}
