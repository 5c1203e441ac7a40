/* im2col of an image and its reverse: columns[channel, i, j][window] is what tap (i, j) of the window meets of the
   channel, zero in the padding. */
#include "conv_im2col.h"

/* A work-item: a window of a channel, all taps. by_plane: windows, by_width: of a row of them. */
KERNEL void im2col(global const float *restrict x, global float *restrict columns, Image m) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), window = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  global const float *plane = x + channel * m.height * m.width;
  global float *to = columns + channel * m.rows * m.columns * m.windows + window;
  keep_taps(m, window, plane, to, m.windows);
}

/* A work-item: an element of dx, the sum over the taps that met it, or zero where `mask`, of its shape, is not positive, if
   `masked`. by_plane: elements, by_width: of a row of them; window_rows x window_columns windows. */
KERNEL void col2im(global const float *restrict columns, global const float *restrict mask, global float *restrict dx,
                   Image m, uint window_rows, uint window_columns, uint masked) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), place = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  global const float *from = columns + channel * m.rows * m.columns * m.windows;
  const float sum = sum_of_taps(m, place, from, m.windows, window_rows, window_columns);
  dx[number] = masked ? passed_on(mask[number], sum) : sum;
}
