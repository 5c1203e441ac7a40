/* As sum_parts of sgemm.cl, where the sums are not the result yet: c = f(the sum of `parts` matrices of n elements, one
   after another); n may be any number. */
#include "elements.h"

static inline float4_t sum_of_parts(global const float *partial, uint parts, uint n, uint first, uint count) {
  float4_t sum = 0.0f;
  if ((n & 3u) == 0u) {
    if (count == 0u) return sum;
    sum = load4(partial, first);
    for (uint part = 1; part < parts; ++part) sum += load4(partial + (ulong)part * n, first);
    return sum;
  }
  for (uint k = 0; k < 4u; ++k)
    if (k < count) {
      sum[k] = partial[first + k];
      for (uint part = 1; part < parts; ++part) sum[k] += partial[(ulong)part * n + first + k];
    }
  return sum;
}

/* A ReLU of the sums and a bias of each column; biases: columns, 0 where there is none. */
KERNEL void sum_parts_rectified(global const float *restrict partial, global const float *restrict bias,
                                global float *restrict c, uint parts, uint n, uint biases, Divisor by_columns) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t sum = sum_of_parts(partial, parts, n, first, count);
  if (biases)
    for (uint k = 0; k < 4u; ++k) {
      const uint at = minimum(first + k, n - 1u);
      sum[k] += bias[remainder_of(at, quotient(at, by_columns), by_columns)];
    }
  for (uint k = 0; k < 4u; ++k) sum[k] = rectified(sum[k]);
  store_some(c, first, count, sum);
}

/* The gradient before a ReLU from that behind it: the sums where `mask`, what the ReLU gave, is positive. */
KERNEL void sum_parts_masked(global const float *restrict partial, global const float *restrict mask,
                             global float *restrict c, uint parts, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t result = load_some(mask, first, count);
  float4_t sum = sum_of_parts(partial, parts, n, first, count);
  for (uint k = 0; k < 4u; ++k) sum[k] = passed_on(result[k], sum[k]);
  store_some(c, first, count, sum);
}
