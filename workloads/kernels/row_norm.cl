/* Normalisation of rows: of a position's features (layer norm, RMS norm) or of a group of an image's channels (group
   norm). Row r's element d has the scale and bias of channel (r mod groups) * channels + d / size. A wavefront has a short
   row, a workgroup a long one; what of it a work-item holds is in registers, the rest is read again. */
#include "reduce.h"

#define HELD 12u

typedef struct {
  uint rows, width, channels;
  Divisor by_groups, by_size;
} Rows;

INLINE uint first_channel(uint row, Rows shape) {
  return remainder_of(row, quotient(row, shape.by_groups), shape.by_groups) * shape.channels;
}

INLINE float sum_of(uint lanes, float value, local float *scratch) {
  value = wavefront_sum(value);
  return lanes == WAVEFRONT_LANES ? value : workgroup_sum(value, scratch);
}

#define ROW(lanes)                                                                                                     \
  local float scratch[2u * WAVEFRONTS];                                                                                \
  const uint row = lanes == GROUP ? group_id_x() : group_id_x() * WAVEFRONTS + wavefront_id();                         \
  if (row >= shape.rows) return;                                                                                       \
  const uint lane = lanes == GROUP ? local_id_x() : lane_id();                                                         \
  const uint start = row * shape.width, channel = first_channel(row, shape);                                           \
  const float share = inverse((float)shape.width);
#define FOR_HELD(lanes, k, d) _Pragma("unroll") for (uint k = 0, d = lane; k < HELD; ++k, d += lanes)
#define FOR_REST(lanes, d) for (uint d = HELD * lanes + lane; d < shape.width; d += lanes)

/* centred: 1, or 0 where the mean is not taken away; keep: whether mean and inverse deviation are stored. */
#define NORM(name, lanes)                                                                                              \
  KERNEL void name(global const float *x, global const float *restrict scale, global const float *restrict bias,       \
                   global float *y, global float *mean, global float *inverse_deviation, Rows shape, float epsilon,    \
                   float centred, uint biased, uint keep) {                                                            \
    ROW(lanes)                                                                                                         \
    float held[HELD], sum = 0.0f, squares = 0.0f;                                                                      \
    FOR_HELD(lanes, k, d) held[k] = d < shape.width ? x[start + d] : 0.0f;                                             \
    FOR_HELD(lanes, k, d) sum += held[k];                                                                              \
    FOR_REST(lanes, d) sum += x[start + d];                                                                            \
    const float centre = sum_of(lanes, sum, scratch) * share * centred;                                                \
    FOR_HELD(lanes, k, d) {                                                                                            \
      held[k] -= centre;                                                                                               \
      squares += d < shape.width ? held[k] * held[k] : 0.0f;                                                           \
    }                                                                                                                  \
    FOR_REST(lanes, d) {                                                                                               \
      const float away = x[start + d] - centre;                                                                        \
      squares += away * away;                                                                                          \
    }                                                                                                                  \
    const float factor =                                                                                               \
        __builtin_amdgcn_rsqf(sum_of(lanes, squares, scratch + WAVEFRONTS) * share + epsilon);                         \
    FOR_HELD(lanes, k, d) if (d < shape.width) {                                                                       \
      const uint c = channel + quotient(d, shape.by_size);                                                             \
      y[start + d] = held[k] * factor * scale[c] + (biased ? bias[c] : 0.0f);                                          \
    }                                                                                                                  \
    FOR_REST(lanes, d) {                                                                                               \
      const uint c = channel + quotient(d, shape.by_size);                                                             \
      y[start + d] = (x[start + d] - centre) * factor * scale[c] + (biased ? bias[c] : 0.0f);                          \
    }                                                                                                                  \
    if (keep && lane == 0u) {                                                                                          \
      mean[row] = centre;                                                                                              \
      inverse_deviation[row] = factor;                                                                                 \
    }                                                                                                                  \
  }
NORM(norm_wavefront, WAVEFRONT_LANES)
NORM(norm_workgroup, GROUP)

#define NORM_BACKWARD(name, lanes)                                                                                     \
  KERNEL void name(global const float *restrict x, global const float *dy, global const float *restrict scale,         \
                   global const float *restrict mean, global const float *restrict inverse_deviation,                  \
                   global float *dx, Rows shape, float centred) {                                                      \
    ROW(lanes)                                                                                                         \
    const float centre = mean[row], factor = inverse_deviation[row];                                                   \
    float normal[HELD], gradient[HELD], sum = 0.0f, products = 0.0f;                                                   \
    FOR_HELD(lanes, k, d) {                                                                                            \
      const bool there = d < shape.width;                                                                              \
      normal[k] = there ? (x[start + d] - centre) * factor : 0.0f;                                                     \
      gradient[k] = there ? dy[start + d] * scale[channel + quotient(d, shape.by_size)] : 0.0f;                        \
      sum += gradient[k];                                                                                              \
      products += gradient[k] * normal[k];                                                                             \
    }                                                                                                                  \
    FOR_REST(lanes, d) {                                                                                               \
      const float one = dy[start + d] * scale[channel + quotient(d, shape.by_size)];                                   \
      sum += one;                                                                                                      \
      products += one * (x[start + d] - centre) * factor;                                                              \
    }                                                                                                                  \
    const float through_mean = sum_of(lanes, sum, scratch) * share * centred;                                          \
    const float through_deviation = sum_of(lanes, products, scratch + WAVEFRONTS) * share;                             \
    FOR_HELD(lanes, k, d) if (d < shape.width)                                                                         \
      dx[start + d] = factor * (gradient[k] - through_mean - normal[k] * through_deviation);                           \
    FOR_REST(lanes, d) {                                                                                               \
      const float one = dy[start + d] * scale[channel + quotient(d, shape.by_size)];                                   \
      dx[start + d] = factor * (one - through_mean - (x[start + d] - centre) * factor * through_deviation);            \
    }                                                                                                                  \
  }
NORM_BACKWARD(norm_backward_wavefront, WAVEFRONT_LANES)
NORM_BACKWARD(norm_backward_workgroup, GROUP)

/* Sums of dy, and of dy times the normalised x, of each channel: of `length` rows where a row has an element of each. */
KERNEL void norm_gradients_columns(global const float *restrict x, global const float *restrict dy,
                                   global const float *restrict mean, global const float *restrict inverse_deviation,
                                   global float *restrict scale_sums, global float *restrict bias_sums, uint rows,
                                   uint length, Divisor by_width, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  const uint part = quotient(at, by_width), column = remainder_of(at, part, by_width);
  const uint end = minimum((part + 1u) * length, rows);
  float scale_sum = 0.0f, bias_sum = 0.0f;
  for (uint row = part * length; row < end; ++row) {
    const uint place = row * by_width.divisor + column;
    bias_sum += dy[place];
    scale_sum += dy[place] * ((x[place] - mean[row]) * inverse_deviation[row]);
  }
  scale_sums[at] = scale_sum;
  bias_sums[at] = bias_sum;
}

/* The same where a row has `size` elements of a channel, of each image by a wavefront: planes, of `by_channels` a row. */
KERNEL void norm_gradients_planes(global const float *restrict x, global const float *restrict dy,
                                  global const float *restrict mean, global const float *restrict inverse_deviation,
                                  global float *restrict scale_sums, global float *restrict bias_sums, uint planes,
                                  uint size, Divisor by_channels) {
  const uint plane = group_id_x() * WAVEFRONTS + wavefront_id();
  if (plane >= planes) return;
  const uint row = quotient(plane, by_channels);
  const float centre = mean[row], factor = inverse_deviation[row];
  float scale_sum = 0.0f, bias_sum = 0.0f;
  for (uint k = lane_id(); k < size; k += WAVEFRONT_LANES) {
    const uint place = plane * size + k;
    bias_sum += dy[place];
    scale_sum += dy[place] * ((x[place] - centre) * factor);
  }
  scale_sum = wavefront_sum(scale_sum);
  bias_sum = wavefront_sum(bias_sum);
  if (lane_id() == 0u) {
    scale_sums[plane] = scale_sum;
    bias_sums[plane] = bias_sum;
  }
}
