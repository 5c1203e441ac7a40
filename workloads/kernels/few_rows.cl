/* Products with few rows, as a language model's with one token: C[n][m] = sum over k of A[m][k] * B[n][k], FP32, both
   contiguous along k, A large (the weights) and read once, n at most 8. Then bias[m] and a ReLU, where asked for.

   A workgroup has two m or four, so that not much more of B is read than of A. Its work-items lie along k, four or one
   each, so that a load takes whole cache lines of one row of A, and its four wavefronts together 4 KiB: all channels of L2
   and DRAM, whatever the distance of rows. Workgroups begin at different k, so that those that run side by side are not in
   one channel at a time, and go round to where they began. Loads of A are all on their way before one is waited for. What
   work-items have is summed over lanes, then over wavefronts, always in the same order.

   k along quads: k, lda and ldb are multiples of 4. What lies past the end of a row is read as zero, of A and of B. */
#include "few_rows.h"

static inline float dot1(float a, float b, float sum) { return sum + a * b; }

static inline float dot4(float4_t a, float4_t b, float sum) {
  for (uint i = 0; i < 4u; ++i) sum += a[i] * b[i];
  return sum;
}

FEW_ROWS(few_rows_1_quads, 1u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_2_quads, 2u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_4_quads, 4u, 2u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_8_quads, 8u, 4u, 4u, float, float4_t, read_quad, float4_t, read_quad, dot4)
FEW_ROWS(few_rows_1_values, 1u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_2_values, 2u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_4_values, 4u, 2u, 1u, float, float, read, float, read, dot1)
FEW_ROWS(few_rows_8_values, 8u, 4u, 1u, float, float, read, float, read, dot1)
