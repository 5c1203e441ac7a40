/* C = A.B, dense FP32: C[n][m] = sum over k of A[m][k] * B[n][k]; as "tn" of sgemm.cl, where both are contiguous along k,
   but read by whole cache lines.

   Rows often lie a multiple of 4 KiB apart, as those of layers with 4096 or 9216 inputs do: all of a tile then meet in
   one set of L1, and a line of which half is read now and the other half eight k later is fetched twice. Here a load
   takes sixteen k of sixteen rows, all that is wanted of sixteen lines. Four k of each quad go into LDS in two halves, so
   that the sum over sixteen k goes 0, 1, 4, 5, 8, 9, 12, 13 and then 2, 3, 6, ...

   group_id_x: a part of k, which begins `apart` k after the one before and goes on by `step` for `length` at most;
   group_id_y, group_id_z: the tile. k, lda and ldb are multiples of 4, so that a quad is there or not; the others of 16.
   The rest as there. */
#include "lines.h"

#define WEIGHT float
#define WEIGHTS floats
#define NAME sgemm_lines_2x2x8
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_lines_body.h"

#define NAME sgemm_lines_2x1x4
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_lines_body.h"

#define NAME sgemm_lines_1x1x4
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_lines_body.h"
