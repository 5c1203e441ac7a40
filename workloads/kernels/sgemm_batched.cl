/* As sgemm.cl, for several products of one shape: C[matrix] = A[matrix].B[matrix]. a_step, b_step: elements from a matrix
   to the next; the C lie one after another. group_id_z: matrices of the first part of k, then of the next one. */
#include "tile.h"

#define BATCHED

#define NAME sgemm_batched_nn_2x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nn_2x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nn_1x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nn_1x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nn_2x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_batched_nn_1x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_2x2x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_2x1x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_1x2x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_1x1x8
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_2x1x4
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_batched_nt_1x1x4
#define A_ALONG 0
#define B_ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_2x2x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_2x1x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_1x2x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_1x1x8
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_2x1x4
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_batched_tn_1x1x4
#define A_ALONG 1
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"
