/* Sums of arrays, two to four at a time. The result may be the first of them. */
#include "elements.h"

#define ADD(name, PARAMETERS, MORE)                                                                                    \
  KERNEL void name(global const float *x0, global const float *x1 PARAMETERS, global float *y, uint n) {               \
    const uint first = first_element(), count = elements_from(first, n);                                               \
    float4_t sum = load_some(x0, first, count) + load_some(x1, first, count);                                          \
    MORE store_some(y, first, count, sum);                                                                             \
  }

#define NOTHING
#define X2 , global const float *x2
#define X2_X3 X2, global const float *x3
#define PLUS_X2 sum += load_some(x2, first, count);
#define PLUS_X3 sum += load_some(x3, first, count);
ADD(add2, NOTHING, NOTHING)
ADD(add3, X2, PLUS_X2)
ADD(add4, X2_X3, PLUS_X2 PLUS_X3)
