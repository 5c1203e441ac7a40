/* Local response normalisation across channels, s = k + a * (sum of x^2 over the window), y = x s^-beta, forward and
   backward. A work-item walks along the channels of a pixel, `channels_per_item` of them; what the window holds stays in
   registers: each ring has a place for each channel modulo the window's size, so that loops over it unroll. */
#include "channels.h"

typedef struct {
  float k, a, beta;
} Constants;

/* large, so that the wavefronts that go along together reach far along a plane */
#define LRN_GROUP 1024u
#define LRN_KERNEL kernel __attribute__((reqd_work_group_size(1024, 1, 1)))

INLINE float power(float s, float exponent) { return exp2_of(exponent * log2_of(s)); }

#define WALK_PLACE                                                                                                     \
  const uint item = group_id_x() * LRN_GROUP + local_id_x();                                                           \
  if (item >= shape.images * shape.size) return;                                                                       \
  const uint image = quotient(item, by_size);                                                                          \
  const uint start = image * shape.channels * shape.size + remainder_of(item, image, by_size);                         \
  const int begin = (int)(group_id_y() * channels_per_item), channels = (int)shape.channels;                           \
  const int end = begin + (int)channels_per_item < channels ? begin + (int)channels_per_item : channels;

/* The wavefronts of a workgroup go along together, so that what they read and write at a time is neighbours in DRAM. */
INLINE void keep_together(void) { __builtin_amdgcn_s_barrier(); }

/* Of a channel, 0 where there is none. */
INLINE float channel_value(global const float *x, uint start, int channel, Planes shape) {
  return (uint)channel < shape.channels ? x[start + (uint)channel * shape.size] : 0.0f;
}

INLINE float window_scale(int size, const float *x, Constants with) {
  float sum = 0.0f;
  for (int i = 0; i < size; ++i) sum += x[i] * x[i];
  return with.k + with.a * sum;
}

INLINE void walk_forward(int size, global const float *x, global float *y, Planes shape, Divisor by_size,
                         Constants with, uint channels_per_item) {
  const int reach = size / 2;
  WALK_PLACE
  float ring[16], next[16];
  for (int i = 0; i < size; ++i) ring[i] = 0.0f;
  /* of the channel begin + d at place (d + size) % size */
  for (int d = -reach; d < reach; ++d) ring[(d + size) % size] = channel_value(x, start, begin + d, shape);
  for (int base = begin; base < end; base += size) {
    keep_together();
    for (int i = 0; i < size; ++i) next[i] = channel_value(x, start, base + reach + i, shape);
    for (int i = 0; i < size; ++i) {
      ring[(i + reach) % size] = next[i];
      const float scale = window_scale(size, ring, with);
      if (base + i < end) y[start + (uint)(base + i) * shape.size] = ring[i] * power(scale, -with.beta);
    }
  }
}

/* dx = dy s^-beta - 2 a beta x (sum of dy x s^-beta / s over the window). At channel c the rings hold x from c to
   c + 2 reach, whose scale is that of c + reach, dy s^-beta from c to c + reach, and the sum's terms around c. */
INLINE void walk_backward(int size, global const float *x, global const float *dy, global float *dx, Planes shape,
                          Divisor by_size, Constants with, uint channels_per_item) {
  const int reach = size / 2;
  WALK_PLACE
  float ring[16], scaled[16], terms[16], next[16], gradient[16];
  for (int i = 0; i < size; ++i) ring[i] = scaled[i] = terms[i] = 0.0f;
  const int first = begin - 2 * reach;
  for (int d = 0; d < 2 * reach; ++d) ring[d] = channel_value(x, start, first + d, shape);
  for (int base = first; base < end; base += size) {
    keep_together();
    for (int i = 0; i < size; ++i) {
      next[i] = channel_value(x, start, base + 2 * reach + i, shape);
      gradient[i] = channel_value(dy, start, base + reach + i, shape);
    }
    for (int i = 0; i < size; ++i) {
      ring[(i + 2 * reach) % size] = next[i];
      const int ahead = (i + reach) % size;
      const float scale = window_scale(size, ring, with);
      scaled[ahead] = gradient[i] * power(scale, -with.beta);
      terms[ahead] = scaled[ahead] * ring[ahead] * inverse(scale);
      float sum = 0.0f;
      for (int j = 0; j < size; ++j) sum += terms[j];
      const int channel = base + i;
      if (channel >= begin && channel < end)
        dx[start + (uint)channel * shape.size] = scaled[i] - 2.0f * with.a * with.beta * ring[i] * sum;
    }
  }
}

#define LRN(size)                                                                                                      \
  LRN_KERNEL void lrn_forward_##size(global const float *restrict x, global float *restrict y, Planes shape,               \
                                 Divisor by_size, Constants with, uint channels_per_item) {                        \
    walk_forward(size, x, y, shape, by_size, with, channels_per_item);                                             \
  }                                                                                                                    \
  LRN_KERNEL void lrn_backward_##size(global const float *restrict x, global const float *restrict dy,                     \
                                  global float *restrict dx, Planes shape, Divisor by_size, Constants with,        \
                                  uint channels_per_item) {                                                            \
    walk_backward(size, x, dy, dx, shape, by_size, with, channels_per_item);                                       \
  }
LRN(3)
LRN(5)
LRN(7)
LRN(9)
