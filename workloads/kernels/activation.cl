/* Functions of one number, element by element, forward and backward. y may be x, dx may be dy. The first three's gradients
   are of their results, the others' of what they are applied to; a, b: what a function has besides. */
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

/* erf by Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most. */
static inline float error_function(float x) {
  const float size = __builtin_fabsf(x), t = inverse(1.0f + 0.3275911f * size);
  const float series =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float value = 1.0f - series * exp2_of(-LOG2_E * size * size);
  return x < 0.0f ? -value : value;
}

static inline float clip(float x, float a, float b) { return x < a ? a : x > b ? b : x; }
static inline float leaky_relu(float x, float a, float b) { return x < 0.0f ? a * x : x; }
static inline float hard_sigmoid(float x, float a, float b) { return clip(a * x + b, 0.0f, 1.0f); }
static inline float hard_swish(float x, float a, float b) { return x * clip(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f); }
static inline float silu(float x, float a, float b) { return x * sigmoid(x); }
static inline float gelu(float x, float a, float b) { return 0.5f * x * (1.0f + error_function(0.707106781f * x)); }
static inline float gelu_argument(float x) { return 0.797884561f * (x + 0.044715f * x * x * x); }
static inline float gelu_tanh(float x, float a, float b) {
  return 0.5f * x * (1.0f + hyperbolic_tangent(gelu_argument(x)));
}
static inline float affine(float x, float a, float b) { return a * x + b; }
static inline float square(float x, float a, float b) { return x * x; }
static inline float square_root(float x, float a, float b) { return __builtin_amdgcn_sqrtf(x); }
static inline float reciprocal(float x, float a, float b) { return inverse(x); }
static inline float exponential(float x, float a, float b) { return exp2_of(LOG2_E * x); }
static inline float erf_of(float x, float a, float b) { return error_function(x); }

static inline float clip_slope(float x, float a, float b) { return a < x && x < b ? 1.0f : 0.0f; }
static inline float leaky_relu_slope(float x, float a, float b) { return x > 0.0f ? 1.0f : a; }
static inline float hard_sigmoid_slope(float x, float a, float b) {
  const float y = a * x + b;
  return 0.0f < y && y < 1.0f ? a : 0.0f;
}
static inline float hard_swish_slope(float x, float a, float b) {
  return x <= -3.0f ? 0.0f : x >= 3.0f ? 1.0f : x * (1.0f / 3.0f) + 0.5f;
}
static inline float silu_slope(float x, float a, float b) {
  const float s = sigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}
static inline float gelu_slope(float x, float a, float b) {
  return 0.5f * (1.0f + error_function(0.707106781f * x)) + x * 0.398942280f * exp2_of(-0.5f * LOG2_E * x * x);
}
static inline float gelu_tanh_slope(float x, float a, float b) {
  const float t = hyperbolic_tangent(gelu_argument(x));
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.797884561f * (1.0f + 0.134145f * x * x);
}
static inline float affine_slope(float x, float a, float b) { return a; }
static inline float square_slope(float x, float a, float b) { return 2.0f * x; }
static inline float square_root_slope(float x, float a, float b) { return 0.5f * __builtin_amdgcn_rsqf(x); }
static inline float reciprocal_slope(float x, float a, float b) {
  const float y = inverse(x);
  return -y * y;
}
static inline float exponential_slope(float x, float a, float b) { return exp2_of(LOG2_E * x); }
static inline float erf_of_slope(float x, float a, float b) { return 1.128379167f * exp2_of(-LOG2_E * x * x); }

#define OF_INPUT(name, f)                                                                                              \
  KERNEL void name##_forward(global const float *x, global float *y, float a, float b, uint n) {                       \
    const uint at = first_element(), count = elements_from(at, n);                                                     \
    float4_t value = load_some(x, at, count);                                                                          \
    for (uint k = 0; k < 4u; ++k) value[k] = f(value[k], a, b);                                                        \
    store_some(y, at, count, value);                                                                                   \
  }                                                                                                                    \
  KERNEL void name##_backward(global const float *x, global const float *dy, global float *dx, float a, float b,       \
                              uint n) {                                                                                \
    const uint at = first_element(), count = elements_from(at, n);                                                     \
    const float4_t argument = load_some(x, at, count);                                                                 \
    float4_t value = load_some(dy, at, count);                                                                         \
    for (uint k = 0; k < 4u; ++k) value[k] *= f##_slope(argument[k], a, b);                                            \
    store_some(dx, at, count, value);                                                                                  \
  }
OF_INPUT(clip, clip)
OF_INPUT(leaky_relu, leaky_relu)
OF_INPUT(hard_sigmoid, hard_sigmoid)
OF_INPUT(hard_swish, hard_swish)
OF_INPUT(silu, silu)
OF_INPUT(gelu, gelu)
OF_INPUT(gelu_tanh, gelu_tanh)
OF_INPUT(affine, affine)
OF_INPUT(square, square)
OF_INPUT(square_root, square_root)
OF_INPUT(reciprocal, reciprocal)
OF_INPUT(exponential, exponential)
OF_INPUT(erf, erf_of)
