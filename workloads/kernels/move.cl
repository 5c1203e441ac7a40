/* Elements of an array at other places: transposed, cut out, padded, repeated; times a number. Along each axis of the
   result, coordinate i reads coordinate (i * step + start) / every of the source: where that is no whole number, or none
   of the source's, the result has `fill`. The source's distances are in the same unit as the result's elements. */
#include "places.h"

typedef struct {
  Steps step, start, extent, distance;
} Source;

#define MOVE(name, type)                                                                                               \
  KERNEL void name(global const type *restrict from, global type *restrict to, Sizes sizes, Source source, float fill, \
                   float scale, uint n) {                                                                              \
    const uint at = group_id_x() * GROUP + local_id_x();                                                               \
    if (at >= n) return;                                                                                               \
    uint coordinate[AXES], place = 0;                                                                                  \
    coordinates(at, &sizes, coordinate);                                                                               \
    bool inside = true;                                                                                                \
    for (uint k = 0; k < AXES; ++k) {                                                                                  \
      const uint c = coordinate[k] * source.step.of[k] + source.start.of[k];                                           \
      inside = inside && c < source.extent.of[k];                                                                      \
      place += c * source.distance.of[k];                                                                              \
    }                                                                                                                  \
    type value = (type)(fill);                                                                                         \
    if (inside) value = from[place] * scale;                                                                           \
    to[at] = value;                                                                                                    \
  }
MOVE(move, float)
MOVE(move_4, float4_t)

/* Where a source's elements are spread out: `every` of more than one along some axes. */
typedef struct {
  Divisor of[AXES];
} Every;

KERNEL void move_spread(global const float *restrict from, global float *restrict to, Sizes sizes, Source source,
                        Every every, float fill, float scale, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  uint coordinate[AXES], place = 0;
  coordinates(at, &sizes, coordinate);
  bool inside = true;
  for (uint k = 0; k < AXES; ++k) {
    const uint wanted = coordinate[k] * source.step.of[k] + source.start.of[k];
    const uint low = wanted & 0x7fffffffu, c = quotient(low, every.of[k]);
    inside = inside && low == wanted && c * every.of[k].divisor == wanted && c < source.extent.of[k];
    place += c * source.distance.of[k];
  }
  float value = fill;
  if (inside) value = from[place] * scale;
  to[at] = value;
}
