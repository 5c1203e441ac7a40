/* Updates of parameters, where they lie: stochastic gradient descent, with momentum, and Adam. */
#include "elements.h"

KERNEL void sgd(global float *restrict w, global const float *restrict dw, float rate, float decay, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t value = load_some(w, first, count), gradient = load_some(dw, first, count);
  store_some(w, first, count, value - rate * (gradient + decay * value));
}

KERNEL void sgd_momentum(global float *restrict w, global const float *restrict dw, global float *restrict velocity,
                         float rate, float decay, float momentum, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t value = load_some(w, first, count), gradient = load_some(dw, first, count);
  const float4_t moving = momentum * load_some(velocity, first, count) + (gradient + decay * value);
  store_some(velocity, first, count, moving);
  store_some(w, first, count, value - rate * moving);
}

/* rate, square_scale: with the corrections for the step's number. */
KERNEL void adam(global float *restrict w, global const float *restrict dw, global float *restrict mean,
                 global float *restrict square, float rate, float decay, float beta1, float beta2, float epsilon,
                 float square_scale, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t value = load_some(w, first, count);
  const float4_t gradient = load_some(dw, first, count) + decay * value;
  const float4_t first_moment = load_some(mean, first, count);
  const float4_t second_moment = load_some(square, first, count);
  const float4_t new_mean = first_moment + (1.0f - beta1) * (gradient - first_moment);
  const float4_t new_square = beta2 * second_moment + (1.0f - beta2) * gradient * gradient;
  for (uint k = 0; k < 4u; ++k)
    value[k] -= rate * new_mean[k] * inverse(__builtin_amdgcn_sqrtf(new_square[k]) * square_scale + epsilon);
  store_some(mean, first, count, new_mean);
  store_some(square, first, count, new_square);
  store_some(w, first, count, value);
}
