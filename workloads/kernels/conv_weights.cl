/* Convolution's gradient of its weights as an implicit product: dweight[filter][channel, i, j] = sum over the positions of
   all images of dy[filter][position] times what tap (i, j) of that position's window meets. A workgroup sums a part of
   the positions; `sum_parts` (sgemm.cl) adds the parts up.

   Before it `conv_positions` writes down where the windows of the first images lie: of as many as it takes to have a
   multiple of eight positions (a cycle), so that the eight of a tile are of one cycle. */
#include "conv.h"

/* Input: as in Windows. columns: weights of a filter; filters: of a group; depth: positions of all images; part_depth: of
   a part, a multiple of eight. plane: positions of an image; dy_bytes from its begin on. taps are tap_row rows and
   tap_column columns apart. */
typedef struct {
  uint columns, filters, depth, part_depth, height, width, group_bytes, bytes;
  int shift, first_row, first_column;
  uint cycle_bytes, plane_bytes, plane, dy_image_bytes, dy_bytes, tap_row, tap_column;
  Divisor by_taps, by_columns, by_plane, by_cycle, by_groups;
} Reduction;

static inline View taps_of(global const float *x, Reduction w, uint first, uint swaths, uint group) {
  View view;
  view.buffer = buffer_of(x + w.shift + (ulong)group * (w.group_bytes / 4u), w.bytes - group * w.group_bytes);
  view.k = 0u;
#pragma unroll
  for (uint swath = 0; swath < swaths; ++swath) {
    const uint number = first + swath * SWATH + lane();
    const Pixel tap = pixel_of(minimum(number, w.columns - 1u), w.by_taps, w.by_columns); /* of a channel */
    const uint row = tap.row * w.tap_row, column = tap.column * w.tap_column;
    view.lane[swath] = tap.image * w.plane_bytes + (row * w.width + column) * 4u;
    view.row[swath] = number < w.columns ? (int)row + w.first_row : NOWHERE;
    view.column[swath] = (int)column + w.first_column;
  }
  return view;
}

/* A lane's way through dy: eight positions of eight filters at a time. */
typedef struct {
  Buffer buffer;
  uint bytes, position, k, filter[8];
} Way;

static inline Way way_of(global const float *dy, Reduction w, uint first, uint wavefront, uint slots, uint group, uint k) {
  Way way;
  const uint before = group * w.filters * w.plane;
  way.buffer = buffer_of(dy + before, w.dy_bytes - before * 4u);
  way.k = k + (lane() & 7u);
  const uint image = quotient(way.k, w.by_plane);
  way.position = remainder_of(way.k, image, w.by_plane);
  way.bytes = image * w.dy_image_bytes + (way.position + (lane() >> 3) * w.plane) * 4u;
  for (uint i = 0; i < slots; ++i)
    way.filter[i] = minimum(first + (wavefront * slots + i) * 8u, w.filters - 1u) * w.plane * 4u;
  return way;
}

static inline void load_way(Way *way, Reduction w, uint slots, uint end, float *value) {
  const uint images = scalar(quotient(DEPTH, w.by_plane)), positions = DEPTH - images * w.plane;
  const uint from = where(way->k < end, way->bytes);
#pragma unroll
  for (uint i = 0; i < slots; ++i) value[i] = read(way->buffer, from, way->filter[i]);
  way->k += DEPTH;
  way->position += positions;
  way->bytes += images * w.dy_image_bytes + positions * 4u;
  if (way->position >= w.plane) {
    way->position -= w.plane;
    way->bytes += w.dy_image_bytes - w.plane * 4u;
  }
}

/* Where the windows of a cycle lie: `row_step` rows and `column_step` columns apart. */
typedef struct {
  uint cycle, width, image_bytes, row_step, column_step;
  Divisor by_plane, by_columns;
} Cycle;

KERNEL void conv_positions(global Step *restrict positions, Cycle c) {
  const uint number = group_id_x() * GROUP + local_id_x();
  if (number > c.cycle) return;
  const Pixel window = pixel_of(number, c.by_plane, c.by_columns);
  const uint row = window.row * c.row_step, column = window.column * c.column_step;
  const Step step = {window.image * c.image_bytes + (row * c.width + column) * 4u, (int)row, (int)column, 0};
  const Step none = {0u, NOWHERE, 0, 0};
  positions[number] = number < c.cycle ? step : none;
}

#define NAME conv_weights_2x2x8
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_weights_body.h"

#define NAME conv_weights_2x1x8
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "conv_weights_body.h"

#define NAME conv_weights_1x2x8
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "conv_weights_body.h"

#define NAME conv_weights_2x1x4
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_weights_body.h"

#define NAME conv_weights_1x1x4
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_weights_body.h"
