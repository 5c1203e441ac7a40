/* Dense to ELLPACK-DIB in software, for sgemm_dib_registers_nnz: each 64 rows of a column of B are compacted by themselves,
   into the same place of `bundles`. A wavefront takes four such blocks of each of four columns, its workgroup 16 columns.
   The last line of a block is padded with zero bundles, one without a non-zero has a line of them; absent [blocks of a
   column, n]: how many of the block's bundles lie in lines that are not written. ldb is a multiple of 64, and rows from k
   on are zero. */
#include "dib.h"

#define COLUMNS 4u /* of a wavefront, and wavefronts of a workgroup */
#define BLOCKS 4u

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void dib_convert_blocks(global const float *restrict b_matrix,
                                                                                global uint *restrict bundles,
                                                                                global uint *restrict absent, uint n,
                                                                                uint k, uint ldb) {
  const uint lane = lane_id();
  const uint block = group_id_x() * BLOCKS, blocks = (k + WAVEFRONT_LANES - 1u) / WAVEFRONT_LANES;
  const uint first = (group_id_y() * COLUMNS + wavefront_id()) * COLUMNS;

  uint absent_of_lane = 0;
  for (uint c = 0; c < COLUMNS && first + c < n; ++c) {
    const ulong at = (ulong)(first + c) * ldb + block * WAVEFRONT_LANES;
    float value[BLOCKS];
#pragma unroll
    for (uint b = 0; b < BLOCKS; ++b) {
      const uint present = block + b < blocks ? b : 0u;
      value[b] = b_matrix[at + present * WAVEFRONT_LANES + lane];
    }
#pragma unroll
    for (uint b = 0; b < BLOCKS; ++b) {
      const ulong mask = __builtin_amdgcn_fcmpf(value[b], 0.0f, 14); /* 14: unordered or unequal, so that NaN counts */
      const uint before = __builtin_amdgcn_mbcnt_hi((uint)(mask >> 32), __builtin_amdgcn_mbcnt_lo((uint)mask, 0u));
      const uint count = count_bits(mask), held = count == 0u ? LINE_BUNDLES : (count + LINE_BUNDLES - 1u) & -LINE_BUNDLES;
      if (block + b < blocks) {
        global uint *to = bundles + at + b * WAVEFRONT_LANES;
        if (!(value[b] == 0.0f)) to[before] = (lane << 16) | float_to_half_bits(value[b]);
        if (lane >= count && lane < held) to[lane] = 0u;
      }
      absent_of_lane = lane == b * COLUMNS + c ? WAVEFRONT_LANES - held : absent_of_lane;
    }
  }
  const uint b = block + lane / COLUMNS, column = first + lane % COLUMNS;
  if (lane < BLOCKS * COLUMNS && b < blocks && column < n) absent[(ulong)b * n + column] = absent_of_lane;
}
