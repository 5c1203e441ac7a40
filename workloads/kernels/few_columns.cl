/* C = A.B, dense FP32, all matrices column-major, B of at most 8 columns: as a language model's layer with one token.
   Each element of A is read once.

   A workgroup has 64 rows of C, one a lane, and a part of the sum, whose steps its sixteen wavefronts take in turns, eight
   at a time: their elements of B are in scalar registers, their loads of A all on their way before one is waited for. What
   wavefronts have is summed through LDS, always in the same order.

   ldb is a multiple of 8; rows of B and columns of A from K to the next multiple of 8 are zero; split_depth, steps of a
   part, is a multiple of 8. Parts lie one after another in C. A is at most 4 GiB. */
#include "buffer.h"

#define ROWS 64u
#define WAVEFRONTS 16u
#define STEPS 8u

#define FEW_COLUMNS(columns)                                                                                           \
  kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void few_columns_##columns(                                 \
      global const float *restrict a_matrix, constant float *restrict b_matrix, global float *restrict c_matrix,       \
      uint m, uint n, uint k, uint lda, uint ldb, uint ldc, uint split_depth) {                                        \
    local float scratch[WAVEFRONTS][columns][ROWS];                                                                    \
    const ulong bytes = (ulong)((k + STEPS - 1u) / STEPS * STEPS) * lda * 4u;                                          \
    const Buffer a = buffer_of(a_matrix, bytes > ~0u ? ~0u : (uint)bytes);                                             \
    const uint lane = lane_id(), wavefront = wavefront_id(), first = group_id_x() * ROWS;                              \
    const uint begin = group_id_z() * split_depth, end = minimum(begin + split_depth, k);                              \
    const uint row = (first + lane) * 4u;                                                                              \
    float sums[columns] = {0.0f};                                                                                      \
    for (uint at = begin + wavefront * STEPS; at < end; at += WAVEFRONTS * STEPS) {                                    \
      float of_a[STEPS];                                                                                               \
      _Pragma("unroll") for (uint s = 0; s < STEPS; ++s) of_a[s] = read(a, row, scalar((at + s) * lda * 4u));          \
      keep_order();                                                                                                    \
      _Pragma("unroll") for (uint c = 0; c < columns; ++c) {                                                           \
        constant float *of_b = b_matrix + scalar(minimum(c, n - 1u) * ldb + at);                                       \
        _Pragma("unroll") for (uint s = 0; s < STEPS; ++s) sums[c] += of_a[s] * of_b[s];                               \
      }                                                                                                                \
    }                                                                                                                  \
    _Pragma("unroll") for (uint c = 0; c < columns; ++c) scratch[wavefront][c][lane] = sums[c];                        \
    workgroup_barrier();                                                                                               \
    const uint column = wavefront;                                                                                     \
    if (column >= n || first + lane >= m) return;                                                                      \
    float sum = scratch[0][column][lane];                                                                              \
    for (uint w = 1; w < WAVEFRONTS; ++w) sum += scratch[w][column][lane];                                             \
    c_matrix[((ulong)group_id_z() * n + column) * ldc + first + lane] = sum;                                           \
  }


FEW_COLUMNS(1)
FEW_COLUMNS(2)
FEW_COLUMNS(4)
FEW_COLUMNS(8)
