/* As conv_im2col.cl, for several images at once, group_id_y each: columns[channel, i, j][image, window], `pitch` elements
   from a row to the next. */
#include "conv_im2col.h"

/* A work-item: a window of a channel, all taps. */
KERNEL void im2col_images(global const float *restrict x, global float *restrict columns, Image m, uint pitch) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), window = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  global const float *plane = x + (ulong)(group_id_y() * m.channels + channel) * (m.height * m.width);
  global float *to = columns + (ulong)channel * m.rows * m.columns * pitch + (group_id_y() * m.windows + window);
  keep_taps(m, window, plane, to, pitch);
}

/* A work-item: an element of dx, which is zero where `mask`, of its shape, is not positive, if `masked`. */
KERNEL void col2im_images(global const float *restrict columns, global const float *restrict mask,
                          global float *restrict dx, Image m, uint window_rows, uint window_columns, uint pitch,
                          uint masked) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channel = quotient(number, m.by_plane), place = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  global const float *from = columns + (ulong)channel * m.rows * m.columns * pitch + group_id_y() * m.windows;
  const ulong at = (ulong)group_id_y() * m.channels * (m.height * m.width) + number;
  const float sum = sum_of_taps(m, place, from, pitch, window_rows, window_columns);
  dx[at] = masked ? passed_on(mask[at], sum) : sum;
}

/* The larger of 0 and the sum, if `relu`, of a value and the bias of its plane, if `biases`. */
INLINE float ended(float value, global const float *restrict bias, uint plane, uint biases, uint relu) {
  const float result = biases ? value + bias[plane] : value;
  return relu ? rectified(result) : result;
}

/* y[image][plane][element] = wide[plane][image, element] + bias[plane], if `biases`, and zero in place of less, if `relu`;
   and back. A work-item: an element of
   a plane of the image group_id_y. */
KERNEL void from_wide(global const float *restrict wide, global const float *restrict bias, global float *restrict y,
                      uint planes, uint pitch, uint biases, uint relu, Divisor by_plane) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint plane = quotient(number, by_plane), element = remainder_of(number, plane, by_plane);
  if (plane >= planes) return;
  const float value = wide[(ulong)plane * pitch + (group_id_y() * by_plane.divisor + element)];
  y[(ulong)group_id_y() * planes * by_plane.divisor + number] = ended(value, bias, plane, biases, relu);
}

/* As from_wide, where the sums are in parts: wide[part][plane][image, element]. */
KERNEL void from_wide_parts(global const float *restrict wide, global const float *restrict bias,
                            global float *restrict y, uint planes, uint pitch, uint biases, uint relu, Divisor by_plane,
                            uint parts) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint plane = quotient(number, by_plane), element = remainder_of(number, plane, by_plane);
  if (plane >= planes) return;
  global const float *from = wide + ((ulong)plane * pitch + (group_id_y() * by_plane.divisor + element));
  float value = 0.0f;
  for (uint part = 0; part < parts; part++) value += from[(ulong)part * planes * pitch];
  y[(ulong)group_id_y() * planes * by_plane.divisor + number] = ended(value, bias, plane, biases, relu);
}

KERNEL void to_wide(global const float *restrict dy, global float *restrict wide, uint planes, uint pitch,
                    Divisor by_plane) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint plane = quotient(number, by_plane), element = remainder_of(number, plane, by_plane);
  if (plane >= planes) return;
  wide[(ulong)plane * pitch + (group_id_y() * by_plane.divisor + element)] =
      dy[(ulong)group_id_y() * planes * by_plane.divisor + number];
}
