/* C = A.B, dense FP32: C[n][m] = sum over k of A[m][k] * B[n][k]; as "tn" of sgemm.cl, where both are contiguous along k,
   but read by whole cache lines.

   Rows often lie a multiple of 4 KiB apart, as those of layers with 4096 or 9216 inputs do: all of a tile then meet in
   one set of L1, and a line of which half is read now and the other half eight k later is fetched twice. Here a load
   takes sixteen k of sixteen rows, all that is wanted of sixteen lines. Four k of each quad go into LDS in two halves, so
   that the sum over sixteen k goes 0, 1, 4, 5, 8, 9, 12, 13 and then 2, 3, 6, ...

   group_id_x: a part of k, which begins `apart` k after the one before and goes on by `step` for `length` at most;
   group_id_y, group_id_z: the tile. k, lda and ldb are multiples of 4, so that a quad is there or not; the others of 16.
   The rest as there. */
#include "tile.h"

#define LINE 16u /* k that a load takes, and rows */

typedef struct {
  uint lane;     /* bytes of the lane's row and quad */
  uint fixed[4]; /* bytes of each load's rows */
  uint k;        /* of the lane's quad */
} Lines;

static inline Lines lines(const Side *side, uint first, uint wavefront, uint loads, uint k) {
  Lines place;
  place.k = k + 4u * (lane() & 3u);
  place.lane = (lane() >> 2) * side->stride + place.k * 4u;
#pragma unroll
  for (uint i = 0; i < loads; ++i)
    place.fixed[i] = minimum(first + (wavefront * loads + i) * LINE, side->extent - 1u) * side->stride;
  return place;
}

static inline float4_t read_floats(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(__builtin_amdgcn_raw_buffer_load_b128(from, (int)lane_bytes, (int)bytes, 0), float4_t);
}

static inline void load_lines(const Side *side, Lines *place, uint loads, uint step, float4_t *value) {
  const uint from = place->k < side->depth ? place->lane : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < loads; ++i) value[i] = read_floats(side->buffer, from, place->fixed[i]);
  place->k += step;
  place->lane += step * 4u;
}

/* later: 0: of each quad its first two k, 1: its last two */
static inline void keep_half(local float *tile, uint swaths, uint wavefront, uint loads, uint later, const float4_t *value) {
  local float *to = tile + (lane() & 3u) * 2u * PITCH(swaths) + wavefront * loads * LINE + (lane() >> 2);
#pragma unroll
  for (uint i = 0; i < loads; ++i) {
    to[i * LINE] = value[i][2u * later];
    to[i * LINE + PITCH(swaths)] = value[i][2u * later + 1u];
  }
}

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
