/* sgemm_lines.cl with A in FP16, which becomes FP32 on its way into LDS: sums are those of FP32 products. */
#include "lines.h"

#define WEIGHT half
#define WEIGHTS halves
#define NAME sgemm_lines_half_2x2x8
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "sgemm_lines_body.h"

#define NAME sgemm_lines_half_2x1x4
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_lines_body.h"

#define NAME sgemm_lines_half_1x1x4
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "sgemm_lines_body.h"
