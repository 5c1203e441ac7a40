/* Reductions over the lanes of a wavefront, by data-parallel primitives, and over the wavefronts of a workgroup, by way
   of LDS: always in the same order. */
#ifndef REDUCE_H
#define REDUCE_H

#include "elements.h"

#define WAVEFRONTS (GROUP / WAVEFRONT_LANES)

/* A lane's value from another lane: the lane before by 1, 2, 4, 8 in its row of 16, or the last of a row before; lanes
   of which there is none get `none`. */
#define FROM_LANE(value, none, control, rows) __builtin_amdgcn_update_dpp(none, value, control, rows, 0xf, false)
#define ROW_SHIFT_1 0x111
#define ROW_SHIFT_2 0x112
#define ROW_SHIFT_4 0x114
#define ROW_SHIFT_8 0x118
#define ROW_BROADCAST_15 0x142
#define ROW_BROADCAST_31 0x143

#define OVER_LANES(step)                                                                                               \
  step(ROW_SHIFT_1, 0xf) step(ROW_SHIFT_2, 0xf) step(ROW_SHIFT_4, 0xf) step(ROW_SHIFT_8, 0xf)                          \
      step(ROW_BROADCAST_15, 0xa) step(ROW_BROADCAST_31, 0xc)

static inline int bits_of(float value) { return __builtin_astype(value, int); }
static inline float float_of(int bits) { return __builtin_astype(bits, float); }

/* Sum over a wavefront's lanes, as a scalar; so the next ones. All lanes must take part. */
static inline float wavefront_sum(float value) {
#define STEP(control, rows) value += float_of(FROM_LANE(bits_of(value), 0, control, rows));
  OVER_LANES(STEP)
#undef STEP
  return float_of(__builtin_amdgcn_readlane(bits_of(value), 63));
}

static inline float wavefront_max(float value) {
#define STEP(control, rows)                                                                                            \
  {                                                                                                                    \
    const float other = float_of(FROM_LANE(bits_of(value), bits_of(value), control, rows));                            \
    value = other > value ? other : value;                                                                             \
  }
  OVER_LANES(STEP)
#undef STEP
  return float_of(__builtin_amdgcn_readlane(bits_of(value), 63));
}

static inline uint wavefront_max_uint(uint value) {
#define STEP(control, rows)                                                                                            \
  {                                                                                                                    \
    const uint other = (uint)FROM_LANE((int)value, (int)value, control, rows);                                         \
    value = other > value ? other : value;                                                                             \
  }
  OVER_LANES(STEP)
#undef STEP
  return broadcast(value, 63u);
}

/* Sum of a scalar of each wavefront over the workgroup; `scratch` holds WAVEFRONTS floats and is not in use before. */
static inline float workgroup_sum(float of_wavefront, local float *scratch) {
  if (lane_id() == 0u) scratch[wavefront_id()] = of_wavefront;
  workgroup_barrier();
  float sum = scratch[0];
  for (uint k = 1; k < WAVEFRONTS; ++k) sum += scratch[k];
  return sum;
}

static inline float workgroup_max(float of_wavefront, local float *scratch) {
  if (lane_id() == 0u) scratch[wavefront_id()] = of_wavefront;
  workgroup_barrier();
  float best = scratch[0];
  for (uint k = 1; k < WAVEFRONTS; ++k) best = scratch[k] > best ? scratch[k] : best;
  return best;
}

#endif
