/* Arrays [images, channels, size] of planes: which channel an element belongs to, and reductions over all else.

   A reduction goes in slices, whose results another kernel merges in order. A wavefront has a slice of a channel, 32
   elements a lane, four of them together where the planes' size is a multiple of four; the wavefronts of a workgroup
   have neighbouring channels, whose planes are neighbours in memory. Small planes are taken as columns of one element
   each: a lane has 32 images of one, and the merging adds up the plane too. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include "reduce.h"

typedef struct {
  uint images, channels, size;
} Planes;

#define PER_ITEM 32u
#define SLICE (PER_ITEM * WAVEFRONT_LANES)
enum { COLUMNS, PLANES, PLANES_OF_4 };

/* The channels of an element-wise work-item's four elements. */
typedef struct {
  uint of[4];
} Four;

INLINE Four channels_from(uint first, Planes shape, Divisor by_size, Divisor by_channels) {
  const uint plane = quotient(first, by_size);
  uint channel = remainder_of(plane, quotient(plane, by_channels), by_channels);
  uint at = remainder_of(first, plane, by_size);
  Four found;
  for (uint k = 0; k < 4u; ++k) {
    found.of[k] = channel;
    at += 1u;
    const bool next = at == shape.size;
    at = next ? 0u : at;
    channel += next ? 1u : 0u;
    channel = channel == shape.channels ? 0u : channel;
  }
  return found;
}

/* A lane's part of a slice. channel: its own (COLUMNS) or its wavefront's, past the last one where it has none;
   elements: how many of its 32 there are; slice_elements: of the channel in the whole slice. */
typedef struct {
  uint channel, elements, slice_elements;
} Part;

INLINE Part part_of(int form, Planes shape) {
  Part part;
  const uint slice = group_id_y();
  if (form == COLUMNS) {
    part.channel = group_id_x() * GROUP + local_id_x();
    part.slice_elements = minimum(shape.images - slice * PER_ITEM, PER_ITEM);
    part.elements = part.channel < shape.channels ? part.slice_elements : 0u;
  } else {
    const uint width = form == PLANES ? 1u : 4u;
    part.channel = group_id_x() * WAVEFRONTS + wavefront_id();
    part.slice_elements = minimum(shape.images * shape.size - slice * SLICE, SLICE);
    const uint units = part.channel < shape.channels ? part.slice_elements / width : 0u, lane = lane_id();
    part.elements = lane < units ? ((units - lane - 1u) / WAVEFRONT_LANES + 1u) * width : 0u;
  }
  return part;
}

/* Element `k` of the work-item's; with PLANES_OF_4 the four from there on. */
INLINE uint part_place(int form, Planes shape, Divisor by_size, Part part, uint k) {
  const uint first = group_id_y() * PER_ITEM + k;
  if (form == COLUMNS) return first * shape.channels + part.channel;
  const uint at = first * WAVEFRONT_LANES + (form == PLANES ? 1u : 4u) * lane_id();
  const uint image = quotient(at, by_size);
  return (image * shape.channels + part.channel) * shape.size + remainder_of(at, image, by_size);
}

INLINE void load_elements(int form, global const float *x, uint at, float value[4]) {
  if (form == PLANES_OF_4) {
    const float4_t some = load4(x, at);
    for (uint i = 0; i < 4u; ++i) value[i] = some[i];
  } else {
    value[0] = x[at];
  }
}

/* The work-item's elements, zeros for those that are not there: without a test where all 32 are. */
INLINE void load_part(int form, global const float *x, Planes shape, Divisor by_size, Part part, float value[PER_ITEM]) {
  const uint width = form == PLANES_OF_4 ? 4u : 1u;
  const uint full = form == COLUMNS ? PER_ITEM : SLICE;
  if (part.slice_elements == full && part.channel < shape.channels) {
    for (uint k = 0; k < PER_ITEM; k += width)
      load_elements(form, x, part_place(form, shape, by_size, part, k), value + k);
  } else {
    for (uint k = 0; k < PER_ITEM; ++k) value[k] = 0.0f;
    for (uint k = 0; k < PER_ITEM; k += width)
      if (k < part.elements) load_elements(form, x, part_place(form, shape, by_size, part, k), value + k);
  }
}

/* A lane's sum, or its wavefront's. */
INLINE float sum_of_slice(int form, float value) { return form == COLUMNS ? value : wavefront_sum(value); }

/* Whether this lane stores the slice's result, and where. */
INLINE bool stores_slice(int form, Planes shape, Part part) {
  return part.channel < shape.channels && (form == COLUMNS || lane_id() == 0u);
}
INLINE uint slice_place(Planes shape, Part part) { return group_id_y() * shape.channels + part.channel; }

/* What a wavefront merges: the results of a channel's slices, `columns` of each. */
typedef struct {
  uint channels, slices;
  Divisor columns;
} Merging;

INLINE uint merged_parts(Merging m) { return m.slices * m.columns.divisor; }
INLINE uint merged_channel(void) { return group_id_x() * WAVEFRONTS + wavefront_id(); }
INLINE uint merged_place(Merging m, uint channel, uint k) {
  const uint slice = quotient(k, m.columns);
  return (slice * m.channels + channel) * m.columns.divisor + remainder_of(k, slice, m.columns);
}

#define THREE_FORMS(KERNEL_OF, name)                                                                                   \
  KERNEL_OF(name##_columns, COLUMNS) KERNEL_OF(name##_planes, PLANES) KERNEL_OF(name##_planes4, PLANES_OF_4)

#endif
