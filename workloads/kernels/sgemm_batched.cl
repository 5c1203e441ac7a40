/* As sgemm.cl, for several products of one shape, at places and of groups: group_id_z counts the groups of the first
   place, then of the next one; then all of them for the next part of k. */
#include "tile.h"

/* Elements from the matrices of a place, and of a group, to the next; and from the C of a part of k. by_matrices: places
   times groups. */
typedef struct {
  uint a_place, a_group, b_place, b_group, c_place, c_group, c_part;
  Divisor by_matrices, by_groups;
} Batch;

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
