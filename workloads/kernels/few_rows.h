/* What few_rows.cl and few_rows_half.cl share. */
#ifndef FEW_ROWS_H
#define FEW_ROWS_H

#include "buffer.h"
#include "reduce.h"

#define OUTSIDE 0xfffffffcu /* a lane's offset past the end of every buffer */

static inline float4_t read_quad(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read4(from, lane_bytes, bytes), float4_t);
}

/* rows, outputs: n and m of a workgroup. by_chunks: of k, each what a workgroup takes at a time. biases: m, or 0 if there
   are none. */
#define FEW_ROWS(name, rows, outputs, width, weight, weights_t, load_weights, value_t, load, dot)                      \
  KERNEL void name(global const weight *restrict a_matrix, global const float *restrict b_matrix,                      \
                   global const float *restrict bias, global float *restrict c_matrix, uint m, uint n, uint k,         \
                   uint lda, uint ldb, Divisor by_chunks, uint biases, uint rectify) {                                 \
    local float scratch[WAVEFRONTS][rows * outputs];                                                                   \
    const Buffer a = buffer_of(a_matrix, ((m - 1u) * lda + k) * (uint)sizeof(weight));                                 \
    const Buffer b = buffer_of(b_matrix, ((n - 1u) * ldb + k) * 4u);                                                   \
    const uint first = group_id_x() * outputs, chunks = by_chunks.divisor;                                             \
    uint chunk = scalar(remainder_of(group_id_x(), quotient(group_id_x(), by_chunks), by_chunks));                     \
    float sums[rows][outputs] = {{0.0f}};                                                                              \
    for (uint i = 0; i < chunks; ++i) {                                                                                \
      const uint at = (chunk * GROUP + local_id_x()) * width, from = at < k ? at * 4u : OUTSIDE;                       \
      const uint from_weights = at < k ? at * (uint)sizeof(weight) : OUTSIDE;                                          \
      weights_t weights[outputs];                                                                                      \
      _Pragma("unroll") for (uint o = 0; o < outputs; ++o) weights[o] =                                                \
          load_weights(a, from_weights, minimum(first + o, m - 1u) * lda * (uint)sizeof(weight));                      \
      keep_order();                                                                                                    \
      _Pragma("unroll") for (uint r = 0; r < rows; ++r) {                                                              \
        const value_t x = load(b, from, minimum(r, n - 1u) * ldb * 4u);                                                \
        _Pragma("unroll") for (uint o = 0; o < outputs; ++o) sums[r][o] = dot(weights[o], x, sums[r][o]);              \
      }                                                                                                                \
      chunk = chunk + 1u == chunks ? 0u : chunk + 1u;                                                                  \
    }                                                                                                                  \
    _Pragma("unroll") for (uint r = 0; r < rows; ++r) _Pragma("unroll") for (uint o = 0; o < outputs; ++o) {           \
      const float sum = wavefront_sum(sums[r][o]);                                                                     \
      if (lane_id() == 0u) scratch[wavefront_id()][r * outputs + o] = sum;                                             \
    }                                                                                                                  \
    workgroup_barrier();                                                                                               \
    const uint row = local_id_x() / outputs, output = first + local_id_x() % outputs;                                  \
    if (row >= n || output >= m) return;                                                                               \
    float sum = scratch[0][local_id_x()];                                                                              \
    for (uint w = 1; w < WAVEFRONTS; ++w) sum += scratch[w][local_id_x()];                                             \
    if (output < biases) sum += bias[output];                                                                          \
    c_matrix[row * m + output] = rectify ? rectified(sum) : sum;                                                       \
  }

#endif
