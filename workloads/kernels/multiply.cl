/* The product of two arrays, element by element, forward and backward. y may be x0, dx0 may be dy. */
#include "elements.h"

KERNEL void multiply_forward(global const float *x0, global const float *x1, global float *y, uint n) {
  const uint at = first_element(), count = elements_from(at, n);
  store_some(y, at, count, load_some(x0, at, count) * load_some(x1, at, count));
}

KERNEL void multiply_backward(global const float *x0, global const float *x1, global const float *dy,
                              global float *dx0, global float *dx1, uint n) {
  const uint at = first_element(), count = elements_from(at, n);
  const float4_t gradient = load_some(dy, at, count);
  const float4_t left = load_some(x0, at, count), right = load_some(x1, at, count);
  store_some(dx0, at, count, gradient * right);
  store_some(dx1, at, count, gradient * left);
}
