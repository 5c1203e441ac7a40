/* Products with few rows, as a language model's with one token: C[n][m] = sum over k of A[m][k] * B[n][k], FP32, both
   contiguous along k, A large (the weights) and read once, n at most 8. Then bias[m] and a ReLU, where asked for.

   A workgroup has two m or four, so that not much more of B is read than of A. Its work-items lie along k, four or one
   each, so that a load takes whole cache lines of one row of A, and its four wavefronts together 4 KiB: all channels of L2
   and DRAM, whatever the distance of rows. Workgroups begin at different k, so that those that run side by side are not in
   one channel at a time, and go round to where they began. Loads of A are all on their way before one is waited for. What
   work-items have is summed over lanes, then over wavefronts, always in the same order.

   k along quads: k, lda and ldb are multiples of 4; along eights, where A is FP16, of 8. What lies past the end of a row is read as zero, of A and of B. */
#include "buffer.h"
#include "reduce.h"

#define OUTSIDE 0xfffffffcu /* a lane's offset past the end of every buffer */

static inline float dot1(float a, float b, float sum) { return sum + a * b; }

typedef half half8_t __attribute__((ext_vector_type(8)));
typedef float float8_t __attribute__((ext_vector_type(8)));

static inline float dot8(half8_t a, float8_t b, float sum) {
  for (uint i = 0; i < 8u; ++i) sum += (float)a[i] * b[i];
  return sum;
}

static inline float dot4(float4_t a, float4_t b, float sum) {
  for (uint i = 0; i < 4u; ++i) sum += a[i] * b[i];
  return sum;
}

static inline float4_t read_quad(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read4(from, lane_bytes, bytes), float4_t);
}

static inline half8_t read_halves(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read4(from, lane_bytes, bytes), half8_t);
}

/* The distance is in the scalar part of the offset: an offset outside would come round. */
static inline float8_t read_eight(Buffer from, uint lane_bytes, uint bytes) {
  const float4_t first = read_quad(from, lane_bytes, bytes), last = read_quad(from, lane_bytes, bytes + 16u);
  return (float8_t)(first, last);
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

FEW_ROWS(few_rows_1_quads, 1u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_2_quads, 2u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_4_quads, 4u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_8_quads, 8u, 4u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_1_values, 1u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_2_values, 2u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_4_values, 4u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_8_values, 8u, 4u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_1_halves, 1u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_2_halves, 2u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_4_halves, 4u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_8_halves, 8u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
