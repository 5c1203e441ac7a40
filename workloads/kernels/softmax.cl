/* Softmax over channels of [images, channels, size], of numbers less the largest; with size 1 also the cross-entropy loss.
   A workgroup has an image's row of channels where planes have one element, else a work-item has a pixel and neighbours
   lie side by side. y may be x, dx may be dy (or y, with the loss). */
#include "channels.h"

/* e^(x - largest) */
INLINE float exponential(float x, float largest) { return exp2_of((x - largest) * LOG2_E); }

/* A row's channels: the first of each work-item are in registers, what there is beyond them is read again. */
#define HELD 8u
#define FOR_HELD(k, c) for (uint k = 0, c = local_id_x(); k < HELD; ++k, c += GROUP)
#define FOR_REST(c) for (uint c = HELD * GROUP + local_id_x(); c < channels; c += GROUP)

INLINE void hold_row(global const float *from, uint channels, float none, float held[HELD]) {
  FOR_HELD(k, c) held[k] = none;
  FOR_HELD(k, c) if (c < channels) held[k] = from[c];
}

/* The row's largest number, and the sum of the exponentials, which take the place of what is held. */
#define ROW_SUM                                                                                                        \
  local float scratch[2u * WAVEFRONTS];                                                                                \
  const uint row = group_id_x(), start = row * channels;                                                               \
  float held[HELD], largest = -__builtin_inff(), sum = 0.0f;                                                           \
  hold_row(x + start, channels, -__builtin_inff(), held);                                                              \
  FOR_HELD(k, c) largest = held[k] > largest ? held[k] : largest;                                                      \
  FOR_REST(c) {                                                                                                        \
    const float value = x[start + c];                                                                                  \
    largest = value > largest ? value : largest;                                                                       \
  }                                                                                                                    \
  largest = workgroup_max(wavefront_max(largest), scratch);                                                            \
  FOR_HELD(k, c) {                                                                                                     \
    held[k] = exponential(held[k], largest);                                                                           \
    sum += held[k];                                                                                                    \
  }                                                                                                                    \
  FOR_REST(c) sum += exponential(x[start + c], largest);                                                               \
  sum = workgroup_sum(wavefront_sum(sum), scratch + WAVEFRONTS);                                                       \
  const float factor = inverse(sum);

#define STORE_ROW                                                                                                      \
  FOR_HELD(k, c) if (c < channels) y[start + c] = held[k] * factor;                                                    \
  FOR_REST(c) y[start + c] = exponential(x[start + c], largest) * factor;

KERNEL void softmax_rows(global const float *x, global float *y, uint channels) {
  ROW_SUM
  STORE_ROW
}

KERNEL void softmax_loss(global const float *restrict x, global const uint *restrict labels, global float *restrict y,
                         global float *restrict losses, uint channels) {
  ROW_SUM
  if (local_id_x() == 0u) {
    const float wanted = x[start + minimum(labels[row], channels - 1u)];
    losses[row] = LN_2 * log2_of(sum) - (wanted - largest);
  }
  STORE_ROW
}

/* By one workgroup. */
KERNEL void mean_loss(global const float *restrict losses, global float *restrict loss, uint images) {
  local float scratch[WAVEFRONTS];
  float sum = 0.0f;
  for (uint k = local_id_x(); k < images; k += GROUP) sum += losses[k];
  sum = workgroup_sum(wavefront_sum(sum), scratch);
  if (local_id_x() == 0u) loss[0] = sum * inverse((float)images);
}

KERNEL void softmax_loss_backward(global const float *y, global const uint *restrict labels, global float *dx,
                                  Divisor by_channels, float share, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t value = load_some(y, first, count);
  for (uint k = 0; k < 4u; ++k) {
    const uint at = minimum(first + k, n - 1u), row = quotient(at, by_channels);
    value[k] = (value[k] - (labels[row] == remainder_of(at, row, by_channels) ? 1.0f : 0.0f)) * share;
  }
  store_some(dx, first, count, value);
}

KERNEL void softmax_rows_backward(global const float *restrict y, global const float *dy, global float *dx,
                                  uint channels) {
  local float scratch[WAVEFRONTS];
  const uint start = group_id_x() * channels;
  float result[HELD], gradient[HELD], sum = 0.0f;
  hold_row(y + start, channels, 0.0f, result);
  hold_row(dy + start, channels, 0.0f, gradient);
  FOR_HELD(k, c) sum += result[k] * gradient[k];
  FOR_REST(c) sum += y[start + c] * dy[start + c];
  sum = workgroup_sum(wavefront_sum(sum), scratch);
  FOR_HELD(k, c) if (c < channels) dx[start + c] = result[k] * (gradient[k] - sum);
  FOR_REST(c) dx[start + c] = y[start + c] * (dy[start + c] - sum);
}

#define PIXEL_PLACE                                                                                                    \
  const uint item = group_id_x() * GROUP + local_id_x();                                                               \
  if (item >= shape.images * shape.size) return;                                                                       \
  const uint image = quotient(item, by_size);                                                                          \
  const uint start = image * shape.channels * shape.size + remainder_of(item, image, by_size);

/* Up to so many channels are kept in registers, else they are read again. */
#define FEW 32u
#define FOR_FEW(k, at)                                                                                                 \
  _Pragma("unroll") for (uint k = 0, at = start; k < FEW; ++k, at += shape.size) if (k < shape.channels)
#define FOR_CHANNELS(at) _Pragma("unroll 4") for (uint at = start; at < end; at += shape.size)

KERNEL void softmax_pixels_few(global const float *x, global float *y, Planes shape, Divisor by_size) {
  PIXEL_PLACE
  float held[FEW], largest = -__builtin_inff(), sum = 0.0f;
  FOR_FEW(k, at) held[k] = x[at];
  FOR_FEW(k, at) largest = held[k] > largest ? held[k] : largest;
  FOR_FEW(k, at) {
    held[k] = exponential(held[k], largest);
    sum += held[k];
  }
  const float factor = inverse(sum);
  FOR_FEW(k, at) y[at] = held[k] * factor;
}

KERNEL void softmax_pixels_few_backward(global const float *restrict y, global const float *dy, global float *dx,
                                        Planes shape, Divisor by_size) {
  PIXEL_PLACE
  float result[FEW], gradient[FEW], sum = 0.0f;
  FOR_FEW(k, at) {
    result[k] = y[at];
    gradient[k] = dy[at];
  }
  FOR_FEW(k, at) sum += result[k] * gradient[k];
  FOR_FEW(k, at) dx[at] = result[k] * (gradient[k] - sum);
}

KERNEL void softmax_pixels(global const float *x, global float *y, Planes shape, Divisor by_size) {
  PIXEL_PLACE
  const uint end = start + shape.channels * shape.size;
  float largest = -__builtin_inff(), sum = 0.0f;
  FOR_CHANNELS(at) {
    const float value = x[at];
    largest = value > largest ? value : largest;
  }
  FOR_CHANNELS(at) sum += exponential(x[at], largest);
  const float factor = inverse(sum);
  FOR_CHANNELS(at) y[at] = exponential(x[at], largest) * factor;
}

KERNEL void softmax_pixels_backward(global const float *restrict y, global const float *dy, global float *dx,
                                    Planes shape, Divisor by_size) {
  PIXEL_PLACE
  const uint end = start + shape.channels * shape.size;
  float sum = 0.0f;
  FOR_CHANNELS(at) sum += y[at] * dy[at];
  FOR_CHANNELS(at) dx[at] = y[at] * (dy[at] - sum);
}
