/* As sgemm.cl, for convolutions by im2col whose result goes through a ReLU: C[n][m] = the larger of 0 and bias[n] + the
   sum over k of A[k][m] * B[n][k]. */
#include "tile.h"

#define RECTIFIED

#define NAME sgemm_rectified_nn_2x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_rectified_nn_2x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_rectified_nn_1x2x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_rectified_nn_1x1x8
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "sgemm_body.h"

#define NAME sgemm_rectified_nn_2x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"

#define NAME sgemm_rectified_nn_1x1x4
#define A_ALONG 0
#define B_ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_body.h"
