/* How an image lies, for im2col and its reverse. */
#ifndef CONV_IM2COL_H
#define CONV_IM2COL_H

#include "elements.h"

/* windows: of a plane; row_step, column_step: between windows, tap_row, tap_column: between taps; top, left: padding. */
typedef struct {
  uint channels, height, width, rows, columns, windows, tap_row, tap_column, top, left;
  Divisor by_plane, by_width, by_row_step, by_column_step;
} Image;

/* What each tap of a window meets of a plane, zero in the padding, `pitch` elements apart. by_width: of a row of windows. */
static inline void keep_taps(Image m, uint window, global const float *plane, global float *to, uint pitch) {
  const uint a = quotient(window, m.by_width), b = remainder_of(window, a, m.by_width);
  const uint row = a * m.by_row_step.divisor - m.top, column = b * m.by_column_step.divisor - m.left;
  for (uint i = 0; i < m.rows; ++i)
    for (uint j = 0; j < m.columns; ++j) {
      const uint at_row = row + i * m.tap_row, at_column = column + j * m.tap_column;
      const bool inside = at_row < m.height && at_column < m.width;
      *to = inside ? plane[at_row * m.width + at_column] : 0.0f;
      to += pitch;
    }
}

/* The sum over the taps that met an element of the plane, `pitch` elements apart. by_width: of a row of elements;
   window_rows x window_columns windows. */
static inline float sum_of_taps(Image m, uint place, global const float *from, uint pitch, uint window_rows,
                                uint window_columns) {
  const uint row = quotient(place, m.by_width) + m.top, column = remainder_of(place, row - m.top, m.by_width) + m.left;
  float sum = 0.0f;
  for (uint i = 0; i < m.rows; ++i)
    for (uint j = 0; j < m.columns; ++j) {
      const uint above = row - i * m.tap_row, before = column - j * m.tap_column;
      if (above <= row && before <= column) {
        const uint a = quotient(above, m.by_row_step), b = quotient(before, m.by_column_step);
        const bool begins = a * m.by_row_step.divisor == above && b * m.by_column_step.divisor == before;
        if (begins && a < window_rows && b < window_columns) sum += from[a * window_columns + b];
      }
      from += pitch;
    }
  return sum;
}

#endif
