/* ReLU, sigmoid and tanh, forward and backward. y may be x, dx may be dy. */
#include "elements.h"

static inline float sigmoid(float x) { return inverse(1.0f + exp2_of(-LOG2_E * x)); }

/* By its series where 1 - 2 / (e^2x + 1) would cancel. */
static inline float hyperbolic_tangent(float x) {
  const float square = x * x;
  const float near = x + x * square * (-1.0f / 3.0f + square * (2.0f / 15.0f + square * (-17.0f / 315.0f)));
  const float far = 1.0f - 2.0f * inverse(1.0f + exp2_of(2.0f * LOG2_E * x));
  return square < 0.04f ? near : far;
}

/* From the results. */
static inline float sigmoid_back(float y, float dy) { return dy * y * (1.0f - y); }
static inline float tanh_back(float y, float dy) { return dy * (1.0f - y * y); }

#define FORWARD(name, f)                                                                                               \
  KERNEL void name(global const float *x, global float *y, uint n) {                                                   \
    const uint at = first_element(), count = elements_from(at, n);                                                     \
    float4_t value = load_some(x, at, count);                                                                          \
    for (uint k = 0; k < 4u; ++k) value[k] = f(value[k]);                                                              \
    store_some(y, at, count, value);                                                                                   \
  }

#define BACKWARD(name, f)                                                                                              \
  KERNEL void name(global const float *y, global const float *dy, global float *dx, uint n) {                          \
    const uint at = first_element(), count = elements_from(at, n);                                                     \
    const float4_t result = load_some(y, at, count);                                                                   \
    float4_t value = load_some(dy, at, count);                                                                         \
    for (uint k = 0; k < 4u; ++k) value[k] = f(result[k], value[k]);                                                   \
    store_some(dx, at, count, value);                                                                                  \
  }

FORWARD(relu_forward, rectified)
FORWARD(sigmoid_forward, sigmoid)
FORWARD(tanh_forward, hyperbolic_tangent)
BACKWARD(relu_backward, passed_on)
BACKWARD(sigmoid_backward, sigmoid_back)
BACKWARD(tanh_backward, tanh_back)
