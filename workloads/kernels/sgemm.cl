/* C = A.B, dense FP32, all matrices column-major: C[n][m] = sum over k of A[k][m] * B[n][k]. n or t: whether A and B are
   stored so, or transposed: A as [m][k], B as [k][n]. Then the wavefronts of a workgroup along m and along n, each
   64 x 64 elements of C.

   Leading dimensions are any; A, B and C each have less than 4 GiB. group_id_z: a part of k of `split_depth`, a multiple
   of 8, whose sums go into a C of their own. add: whether C is added to. */
#include "tile.h"

#define NAME sgemm_nn_2x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nn_2x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nn_1x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nn_1x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nn_2x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_nn_1x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_nt_2x2x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nt_2x1x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nt_1x2x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nt_1x1x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_nt_2x1x4
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_nt_1x1x4
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_tn_2x2x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tn_2x1x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tn_1x2x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tn_1x1x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tn_2x1x4
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_tn_1x1x4
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_tt_2x2x8
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tt_2x1x8
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tt_1x2x8
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tt_1x1x8
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_tt_2x1x4
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_tt_1x1x4
#define A_ALONG 1
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

/* C = the sum of `parts` matrices of n elements, one after another; n may be any number. */
KERNEL void sum_parts(global const float *restrict partial, global float *restrict c, uint parts, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  if ((n & 3u) == 0u) {
    float4_t sum = load_some(partial, first, count);
    for (uint part = 1; part < parts; ++part) sum += load_some(partial + (ulong)part * n, first, count);
    store_some(c, first, count, sum);
    return;
  }
  for (uint i = 0; i < count; ++i) {
    float sum = partial[first + i];
    for (uint part = 1; part < parts; ++part) sum += partial[(ulong)part * n + first + i];
    c[first + i] = sum;
  }
}
