/* A bias for each channel, and its gradient: the sum of the channel over images and pixels. y may be x. */
#include "channels.h"

KERNEL void bias_forward(global const float *x, global const float *restrict bias, global float *y, Planes shape,
                         Divisor by_size, Divisor by_channels, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const Four channel = channels_from(first, shape, by_size, by_channels);
  float4_t value = load_some(x, first, count);
  for (uint k = 0; k < 4u; ++k) value[k] += bias[channel.of[k]];
  store_some(y, first, count, value);
}

#define CHANNEL_SUMS(name, form)                                                                                       \
  KERNEL void name(global const float *restrict dy, global float *restrict sums, Planes shape, Divisor by_size) {      \
    const Part part = part_of(form, shape);                                                                            \
    float value[PER_ITEM], sum = 0.0f;                                                                                 \
    load_part(form, dy, shape, by_size, part, value);                                                                  \
    for (uint k = 0; k < PER_ITEM; ++k) sum += value[k];                                                               \
    sum = sum_of_slice(form, sum);                                                                                     \
    if (stores_slice(form, shape, part)) sums[slice_place(shape, part)] = sum;                                         \
  }
THREE_FORMS(CHANNEL_SUMS, channel_sums)

KERNEL void merge_sums(global const float *restrict sums, global float *restrict total, Merging m) {
  const uint channel = merged_channel();
  if (channel >= m.channels) return;
  float sum = 0.0f;
  for (uint k = lane_id(); k < merged_parts(m); k += WAVEFRONT_LANES) sum += sums[merged_place(m, channel, k)];
  sum = wavefront_sum(sum);
  if (lane_id() == 0u) total[channel] = sum;
}
