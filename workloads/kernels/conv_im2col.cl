/* im2col of an image and its reverse: columns[channel, i, j][window] is what tap (i, j) of the window meets of the
   channel, zero in the padding. */
#include "conv_im2col.h"

/* A work-item: a window of a channel, all taps. by_plane: windows, by_width: of a row of them. */
KERNEL void im2col(global const float *restrict x, global float *restrict columns, Image m) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), window = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  const uint a = quotient(window, m.by_width), b = remainder_of(window, a, m.by_width);
  const uint row = a * m.by_row_step.divisor - m.top, column = b * m.by_column_step.divisor - m.left;
  global const float *plane = x + channel * m.height * m.width;
  global float *to = columns + channel * m.rows * m.columns * m.windows + window;
  for (uint i = 0; i < m.rows; ++i)
    for (uint j = 0; j < m.columns; ++j) {
      const uint at_row = row + i * m.tap_row, at_column = column + j * m.tap_column;
      const bool inside = at_row < m.height && at_column < m.width;
      *to = inside ? plane[at_row * m.width + at_column] : 0.0f;
      to += m.windows;
    }
}

/* A work-item: an element of dx, the sum over the taps that met it. by_plane: elements, by_width: of a row of them;
   window_rows x window_columns windows. */
KERNEL void col2im(global const float *restrict columns, global float *restrict dx, Image m, uint window_rows,
                   uint window_columns) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), place = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  const uint row = quotient(place, m.by_width) + m.top, column = remainder_of(place, row - m.top, m.by_width) + m.left;
  global const float *from = columns + channel * m.rows * m.columns * m.windows;
  float sum = 0.0f;
  for (uint i = 0; i < m.rows; ++i)
    for (uint j = 0; j < m.columns; ++j) {
      const uint above = row - i * m.tap_row, before = column - j * m.tap_column;
      if (above <= row && before <= column) {
        const uint a = quotient(above, m.by_row_step), b = quotient(before, m.by_column_step);
        const bool begins = a * m.by_row_step.divisor == above && b * m.by_column_step.divisor == before;
        if (begins && a < window_rows && b < window_columns) sum += from[a * window_columns + b];
      }
      from += m.windows;
    }
  dx[number] = sum;
}
