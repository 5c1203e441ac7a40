/* Dense to ELLPACK-DIB in software: a wavefront compacts one column of B, 64 rows at a time, into the same place of
   `bundles`, and writes the column's number of non-zeros. The last compacted line is padded with zero bundles.
   ldb is a multiple of 16. */
#include "dib.h"

#define WAVEFRONTS 4u
#define UNROLL 4u

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void dib_convert(global const float *restrict b_matrix,
                                                                         global uint *restrict bundles,
                                                                         global uint *restrict counts, uint n, uint k,
                                                                         uint ldb) {
  const uint lane = lane_id();
  const uint column = group_id_x() * WAVEFRONTS + wavefront_id();
  if (column >= n) return;
  global const float *from = b_matrix + (ulong)column * ldb;
  global uint *to = bundles + (ulong)column * ldb;

  uint count = 0;
  for (uint base = 0; base < k; base += UNROLL * WAVEFRONT_LANES) {
    float value[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      /* rows past the end read row 0 and count as zeros */
      const uint row = base + u * WAVEFRONT_LANES + lane;
      value[u] = from[row < k ? row : 0u];
      value[u] = row < k ? value[u] : 0.0f;
    }
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const ulong mask = __builtin_amdgcn_fcmpf(value[u], 0.0f, 14); /* 14: unordered or unequal, so that NaN counts */
      const uint before = __builtin_amdgcn_mbcnt_hi((uint)(mask >> 32), __builtin_amdgcn_mbcnt_lo((uint)mask, 0u));
      const uint row = base + u * WAVEFRONT_LANES + lane;
      if (!(value[u] == 0.0f)) to[count + before] = (row << 16) | float_to_half_bits(value[u]);
      count += count_bits(mask);
    }
  }
  if (lane < (0u - count) % LINE_BUNDLES) to[count + lane] = 0u;
  if (lane == 0u) counts[column] = count;
}
