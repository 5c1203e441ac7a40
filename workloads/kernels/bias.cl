/* A bias for each channel, and its gradient: the sum of the channel over images and pixels. y may be x. And the last step
   of a product whose columns have a bias. */
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

/* As sum_parts of sgemm.cl, the last step of a product that goes through a ReLU: c = the larger of 0 and the sum of the
   parts + bias[column], `biases` of them, 0 where there is none. */
KERNEL void sum_parts_rectified(global const float *restrict partial, global const float *restrict bias,
                                global float *restrict c, uint parts, uint n, uint biases, Divisor by_columns) {
  const uint first = first_element(), count = elements_from(first, n);
  if (count == 0u) return;
  float4_t sum = 0.0f;
  if ((n & 3u) == 0u) {
    sum = load4(partial, first);
    for (uint part = 1; part < parts; ++part) sum += load4(partial + (ulong)part * n, first);
  } else {
    for (uint k = 0; k < 4u; ++k)
      if (k < count)
        for (uint part = 0; part < parts; ++part) sum[k] += partial[(ulong)part * n + first + k];
  }
  if (biases)
    for (uint k = 0; k < 4u; ++k) {
      const uint at = minimum(first + k, n - 1u);
      sum[k] += bias[remainder_of(at, quotient(at, by_columns), by_columns)];
    }
  for (uint k = 0; k < 4u; ++k) sum[k] = rectified(sum[k]);
  store_some(c, first, count, sum);
}
