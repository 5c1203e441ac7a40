/* Updates of parameters, where they lie: stochastic gradient descent, with momentum, and Adam. */
#include "elements.h"

KERNEL void sgd(global float *restrict value, global const float *restrict gradient, float rate, float decay, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t held = load_some(value, first, count);
  const float4_t slope = load_some(gradient, first, count) + decay * held;
  store_some(value, first, count, held - rate * slope);
}

KERNEL void sgd_momentum(global float *restrict value, global const float *restrict gradient,
                         global float *restrict momentum, float rate, float decay, float kept, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t held = load_some(value, first, count);
  const float4_t slope = load_some(gradient, first, count) + decay * held;
  const float4_t moving = kept * load_some(momentum, first, count) + slope;
  store_some(momentum, first, count, moving);
  store_some(value, first, count, held - rate * moving);
}

/* rate, root_scale: with the corrections for the step's number. */
KERNEL void adam(global float *restrict value, global const float *restrict gradient,
                 global float *restrict first_moment, global float *restrict second_moment, float rate, float decay,
                 float beta1, float beta2, float epsilon, float root_scale, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t held = load_some(value, first, count);
  const float4_t slope = load_some(gradient, first, count) + decay * held;
  float4_t mean = load_some(first_moment, first, count), square = load_some(second_moment, first, count);
  mean += (1.0f - beta1) * (slope - mean);
  square = beta2 * square + (1.0f - beta2) * slope * slope;
  for (uint k = 0; k < 4u; ++k)
    held[k] -= rate * mean[k] * inverse(__builtin_amdgcn_sqrtf(square[k]) * root_scale + epsilon);
  store_some(first_moment, first, count, mean);
  store_some(second_moment, first, count, square);
  store_some(value, first, count, held);
}
