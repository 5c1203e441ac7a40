/* Batch normalisation of channels: statistics, normalisation, gradients. The statistics of a slice are its mean and the
   sum of squared deviations from it, out of registers, so that nothing cancels and x is read once for them; slices merge
   by Chan, Golub and LeVeque 1983. */
#include "channels.h"

#define MOMENTS(name, form)                                                                                            \
  KERNEL void name(global const float *restrict x, global float *restrict means, global float *restrict squares,       \
                   Planes shape, Divisor by_size) {                                                                    \
    const Part part = part_of(form, shape);                                                                            \
    float value[PER_ITEM], sum = 0.0f, square = 0.0f;                                                                  \
    load_part(form, x, shape, by_size, part, value);                                                                   \
    for (uint k = 0; k < PER_ITEM; ++k) sum += value[k];                                                               \
    const float mean = sum_of_slice(form, sum) * inverse((float)part.slice_elements);                                  \
    for (uint k = 0; k < PER_ITEM; ++k) {                                                                              \
      const float away = k < part.elements ? value[k] - mean : 0.0f;                                                   \
      square += away * away;                                                                                           \
    }                                                                                                                  \
    square = sum_of_slice(form, square);                                                                               \
    if (stores_slice(form, shape, part)) {                                                                             \
      means[slice_place(shape, part)] = mean;                                                                          \
      squares[slice_place(shape, part)] = square;                                                                      \
    }                                                                                                                  \
  }
THREE_FORMS(MOMENTS, moments)

/* count: elements of a column; slice_elements: of a slice of it; the running variance is that of a sample. */
KERNEL void merge_moments(global const float *restrict means, global const float *restrict squares,
                          global float *restrict mean, global float *restrict inverse_deviation,
                          global float *restrict running_mean, global float *restrict running_variance, Merging m,
                          uint count, uint slice_elements, float epsilon, float factor) {
  const uint channel = merged_channel();
  if (channel >= m.channels) return;
  const float total = (float)(count * m.columns.divisor);
  float sum = 0.0f;
  for (uint k = lane_id(); k < merged_parts(m); k += WAVEFRONT_LANES) {
    const uint there = minimum(count - quotient(k, m.columns) * slice_elements, slice_elements);
    sum += (float)there * means[merged_place(m, channel, k)];
  }
  const float centre = wavefront_sum(sum) * inverse(total);
  float square = 0.0f;
  for (uint k = lane_id(); k < merged_parts(m); k += WAVEFRONT_LANES) {
    const uint there = minimum(count - quotient(k, m.columns) * slice_elements, slice_elements);
    const uint at = merged_place(m, channel, k);
    const float away = means[at] - centre;
    square += squares[at] + (float)there * away * away;
  }
  square = wavefront_sum(square);
  if (lane_id() == 0u) {
    mean[channel] = centre;
    inverse_deviation[channel] = __builtin_amdgcn_rsqf(square * inverse(total) + epsilon);
    running_mean[channel] += factor * (centre - running_mean[channel]);
    running_variance[channel] += factor * (square * inverse(total - 1.0f) - running_variance[channel]);
  }
}

/* A number of each of four elements' channels; `same`: it is one channel. */
INLINE float4_t of_channels(bool same, global const float *values, Four channel) {
  float4_t found;
  for (uint k = 0; k < 4u; ++k) found[k] = k && same ? found[0] : values[channel.of[k]];
  return found;
}

#define WITH_STATISTICS(name, same)                                                                                    \
  KERNEL void name(global const float *x, global const float *restrict mean,                                           \
                   global const float *restrict inverse_deviation, global const float *restrict scale,                 \
                   global const float *restrict bias, global float *y, Planes shape, Divisor by_size,                  \
                   Divisor by_channels, uint n) {                                                                      \
    const uint first = first_element(), count = elements_from(first, n);                                               \
    const Four channel = channels_from(first, shape, by_size, by_channels);                                            \
    const float4_t factor = of_channels(same, scale, channel) * of_channels(same, inverse_deviation, channel);         \
    const float4_t away = load_some(x, first, count) - of_channels(same, mean, channel);                               \
    store_some(y, first, count, away *factor + of_channels(same, bias, channel));                                      \
  }
WITH_STATISTICS(normalise, false)
WITH_STATISTICS(normalise4, true)

#define INFERENCE(name, same)                                                                                          \
  KERNEL void name(global const float *x, global const float *restrict running_mean,                                   \
                   global const float *restrict running_variance, global const float *restrict scale,                  \
                   global const float *restrict bias, global float *y, Planes shape, Divisor by_size,                  \
                   Divisor by_channels, float epsilon, uint n) {                                                       \
    const uint first = first_element(), count = elements_from(first, n);                                               \
    const Four channel = channels_from(first, shape, by_size, by_channels);                                            \
    float4_t factor = of_channels(same, running_variance, channel) + epsilon;                                          \
    for (uint k = 0; k < 4u; ++k) factor[k] = k && same ? factor[0] : __builtin_amdgcn_rsqf(factor[k]);                \
    factor *= of_channels(same, scale, channel);                                                                       \
    const float4_t away = load_some(x, first, count) - of_channels(same, running_mean, channel);                       \
    store_some(y, first, count, away *factor + of_channels(same, bias, channel));                                      \
  }
INFERENCE(inference, false)
INFERENCE(inference4, true)

/* Sums of dy, and of dy times the normalised x. */
#define GRADIENT_SUMS(name, form)                                                                                      \
  KERNEL void name(global const float *restrict x, global const float *restrict dy, global const float *restrict mean, \
                   global const float *restrict inverse_deviation, global float *restrict bias_sums,                   \
                   global float *restrict scale_sums, Planes shape, Divisor by_size, Divisor columns) {                \
    const Part part = part_of(form, shape);                                                                            \
    const uint channel = quotient(minimum(part.channel, shape.channels - 1u), columns);                                \
    const float centre = mean[channel], factor = inverse_deviation[channel];                                           \
    float value[PER_ITEM], gradient[PER_ITEM], bias_sum = 0.0f, scale_sum = 0.0f;                                      \
    load_part(form, x, shape, by_size, part, value);                                                                   \
    load_part(form, dy, shape, by_size, part, gradient);                                                               \
    for (uint k = 0; k < PER_ITEM; ++k) {                                                                              \
      bias_sum += gradient[k];                                                                                         \
      scale_sum += gradient[k] * (value[k] - centre);                                                                  \
    }                                                                                                                  \
    bias_sum = sum_of_slice(form, bias_sum);                                                                           \
    scale_sum = sum_of_slice(form, scale_sum) * factor;                                                                \
    if (stores_slice(form, shape, part)) {                                                                             \
      bias_sums[slice_place(shape, part)] = bias_sum;                                                                  \
      scale_sums[slice_place(shape, part)] = scale_sum;                                                                \
    }                                                                                                                  \
  }
THREE_FORMS(GRADIENT_SUMS, gradient_sums)

KERNEL void merge_gradients(global const float *restrict bias_sums, global const float *restrict scale_sums,
                            global float *restrict dbias, global float *restrict dscale, Merging m) {
  const uint channel = merged_channel();
  if (channel >= m.channels) return;
  float bias_sum = 0.0f, scale_sum = 0.0f;
  for (uint k = lane_id(); k < merged_parts(m); k += WAVEFRONT_LANES) {
    const uint at = merged_place(m, channel, k);
    bias_sum += bias_sums[at];
    scale_sum += scale_sums[at];
  }
  bias_sum = wavefront_sum(bias_sum);
  scale_sum = wavefront_sum(scale_sum);
  if (lane_id() == 0u) {
    dbias[channel] = bias_sum;
    dscale[channel] = scale_sum;
  }
}

/* dx, which may be dy; share: 1 / elements of a channel. */
#define INPUT_GRADIENT(name, same)                                                                                     \
  KERNEL void name(global const float *x, global const float *dy, global const float *restrict mean,                   \
                   global const float *restrict inverse_deviation, global const float *restrict scale,                 \
                   global const float *restrict dbias, global const float *restrict dscale, global float *dx,          \
                   Planes shape, Divisor by_size, Divisor by_channels, float share, uint n) {                          \
    const uint first = first_element(), count = elements_from(first, n);                                               \
    const Four channel = channels_from(first, shape, by_size, by_channels);                                            \
    const float4_t factor = of_channels(same, inverse_deviation, channel);                                             \
    const float4_t normal = (load_some(x, first, count) - of_channels(same, mean, channel)) * factor;                  \
    const float4_t common = (of_channels(same, dbias, channel) + normal * of_channels(same, dscale, channel)) * share; \
    const float4_t gradient = load_some(dy, first, count);                                                             \
    store_some(dx, first, count, (gradient - common) * factor * of_channels(same, scale, channel));                    \
  }
INPUT_GRADIENT(input_gradient, false)
INPUT_GRADIENT(input_gradient4, true)
