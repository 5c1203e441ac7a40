/* Convolution as a product of matrices that are never stored: the elements of im2col are found where they lie. */
#ifndef CONV_H
#define CONV_H

#include "tile.h"

#define NOWHERE 0x40000000 /* a row that no plane has */

/* Of a step of a sum (a tap of a channel, or a position): bytes from the plane's first element, rows, columns. */
typedef struct {
  uint bytes;
  int row, column, unused;
} Step;

/* The windows of a pass, or of those of its outputs that have the same taps.

   Input: planes of height x width elements, `image_bytes` between images, `group_bytes` between groups of channels;
   `bytes` from `shift` elements after its begin on, where the first tap of the first window would be.
   Outputs: `pixels` of all images, with planes of `plane` x by_columns.divisor; `filters` of a group. Window (a, b)
   begins at row a * row_step + first_row, column b * column_step + first_column. depth: taps times channels.
   bias_bytes: 0 where there is no bias. Result (a, b): bytes a * out_row + b * out_column + out_first in its plane. */
typedef struct {
  uint pixels, filters, depth, height, width, image_bytes, group_bytes, bytes, bias_bytes;
  int shift, first_row, first_column;
  uint row_step, column_step, plane_bytes, out_bytes, out_image, out_plane, out_row, out_column, out_first;
  Divisor by_plane, by_columns;
} Windows;

typedef struct {
  uint image, row, column;
} Pixel;

static inline Pixel pixel_of(uint number, Divisor by_plane, Divisor by_columns) {
  Pixel pixel;
  pixel.image = quotient(number, by_plane);
  const uint rest = remainder_of(number, pixel.image, by_plane);
  pixel.row = quotient(rest, by_columns);
  pixel.column = remainder_of(rest, pixel.row, by_columns);
  return pixel;
}

/* Bytes of a pixel's result of a filter, OUTSIDE past the last pixel. */
static inline uint result_of(Windows w, uint number, uint filter) {
  const Pixel pixel = pixel_of(minimum(number, w.pixels - 1u), w.by_plane, w.by_columns);
  const uint bytes = pixel.image * w.out_image + pixel.row * w.out_row + pixel.column * w.out_column + w.out_first;
  return where(number < w.pixels, bytes + filter * w.out_plane);
}

/* A lane's window in each swath, and the row of k that its wavefront reads first. */
typedef struct {
  Buffer buffer;
  uint lane[2], k;
  int row[2], column[2];
} View;

static inline View view_of(global const float *input, Windows w, uint first, uint swaths, uint group, uint k) {
  View view;
  view.buffer = buffer_of(input + w.shift + (ulong)group * (w.group_bytes / 4u), w.bytes - group * w.group_bytes);
  view.k = k;
#pragma unroll
  for (uint swath = 0; swath < swaths; ++swath) {
    const uint number = first + swath * SWATH + lane();
    const Pixel pixel = pixel_of(minimum(number, w.pixels - 1u), w.by_plane, w.by_columns);
    const uint row = pixel.row * w.row_step, column = pixel.column * w.column_step;
    view.lane[swath] = pixel.image * w.image_bytes + (row * w.width + column) * 4u;
    view.row[swath] = number < w.pixels ? (int)row + w.first_row : NOWHERE;
    view.column[swath] = (int)column + w.first_column;
  }
  return view;
}

/* The lane's offset where the tap meets the plane; zero is read elsewhere. */
static inline uint seen(const View *view, uint height, uint width, uint swath, Step tap) {
  const bool inside = (uint)(view->row[swath] + tap.row) < height && (uint)(view->column[swath] + tap.column) < width;
  return where(inside, view->lane[swath]);
}

/* To each of the work-item's filters. */
static inline void add_bias(global const float *bias, Windows w, uint filter, uint group, uint used, Sums sums) {
  const Buffer from = buffer_of(bias, w.bias_bytes);
#pragma unroll
  for (uint j = 0; j < used; ++j) {
    const uint number = minimum(filter + below(j), w.filters - 1u);
    const float value = read(from, (group * w.filters + number) * 4u, 0u);
    for (uint h = 0; h < 2; ++h) sums[j][h] += value;
  }
}

#endif
