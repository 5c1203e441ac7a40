/* What sgemm_lines.cl and sgemm_lines_half.cl share: operands read by whole cache lines. */
#ifndef LINES_H
#define LINES_H

#include "tile.h"

#define LINE 16u /* k that a load takes, and rows */

#define PASTED(a, b) a##b
#define OF_WEIGHTS(name, weights) PASTED(name, weights)
#define QUAD_OF(type) PASTED(type, 4_t)

/* side_of tile.h, contiguous along k, with elements of so many bytes */
static inline Side side_along_k(global const void *from, uint extent, uint depth, uint leading, uint size) {
  const uint bytes = ((extent - 1u) * leading + depth) * size;
  const Side side = {buffer_of(from, bytes), bytes, extent, depth, leading * size};
  return side;
}

typedef struct {
  uint lane;     /* bytes of the lane's row and quad */
  uint fixed[4]; /* bytes of each load's rows */
  uint k;        /* of the lane's quad */
} Lines;

/* bytes: of an element */
static inline Lines lines(const Side *side, uint first, uint wavefront, uint loads, uint k, uint bytes) {
  Lines place;
  place.k = k + 4u * (lane() & 3u);
  place.lane = (lane() >> 2) * side->stride + place.k * bytes;
#pragma unroll
  for (uint i = 0; i < loads; ++i)
    place.fixed[i] = minimum(first + (wavefront * loads + i) * LINE, side->extent - 1u) * side->stride;
  return place;
}

static inline float4_t read_floats(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(__builtin_amdgcn_raw_buffer_load_b128(from, (int)lane_bytes, (int)bytes, 0), float4_t);
}

static inline half4_t read_halves(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read2(from, lane_bytes, bytes), half4_t);
}

#define LOAD_LINES(name, value_t, read_quad)                                                                           \
  static inline void name(const Side *side, Lines *place, uint loads, uint step, value_t *value) {                     \
    const uint from = place->k < side->depth ? place->lane : OUTSIDE;                                                  \
    _Pragma("unroll") for (uint i = 0; i < loads; ++i) value[i] = read_quad(side->buffer, from, place->fixed[i]);      \
    place->k += step;                                                                                                  \
    place->lane += step * ((uint)sizeof(value_t) / 4u);                                                                \
  }
LOAD_LINES(load_lines_floats, float4_t, read_floats)
LOAD_LINES(load_lines_halves, half4_t, read_halves)

/* later: 0: of each quad its first two k, 1: its last two */
#define KEEP_HALF(name, value_t)                                                                                       \
  static inline void name(local float *tile, uint swaths, uint wavefront, uint loads, uint later,                      \
                          const value_t *value) {                                                                      \
    local float *to = tile + (lane() & 3u) * 2u * PITCH(swaths) + wavefront * loads * LINE + (lane() >> 2);            \
    _Pragma("unroll") for (uint i = 0; i < loads; ++i) {                                                               \
      to[i * LINE] = (float)value[i][2u * later];                                                                      \
      to[i * LINE + PITCH(swaths)] = (float)value[i][2u * later + 1u];                                                 \
    }                                                                                                                  \
  }
KEEP_HALF(keep_half_floats, float4_t)
KEEP_HALF(keep_half_halves, half4_t)

#endif
