/* Two arrays combined element by element, where one may be repeated along axes that it does not have; and the product of
   a gradient with what the other operand says of it. An operand's step is 0 along an axis on which it is repeated. */
#include "places.h"

#define PLACES                                                                                                         \
  const uint at = group_id_x() * GROUP + local_id_x();                                                                 \
  if (at >= n) return;                                                                                                 \
  uint coordinate[AXES];                                                                                               \
  coordinates(at, &sizes, coordinate);                                                                                 \
  const uint left = place_of(coordinate, &left_steps), right = place_of(coordinate, &right_steps);                     \
  (void)left, (void)right;

/* Four numbers, or one that stands for four. */
INLINE float4_t four_of(global const float *from, uint at, uint step) {
  if (step) return load4(from, at);
  return (float4_t)(from[at]);
}

#define SUM(a, b) ((a) + (b))
#define DIFFERENCE(a, b) ((a) - (b))
#define PRODUCT(a, b) ((a) * (b))
INLINE float quotient_of(float a, float b) { return a * inverse(b); }
INLINE float4_t quotients_of(float4_t a, float4_t b) {
  for (uint k = 0; k < 4u; ++k) a[k] = quotient_of(a[k], b[k]);
  return a;
}

#define COMBINE(name, f, f4)                                                                                           \
  KERNEL void name(global const float *x0, global const float *x1, global float *y, Sizes sizes, Steps left_steps,     \
                   Steps right_steps, uint n) {                                                                        \
    PLACES                                                                                                             \
    y[at] = f(x0[left], x1[right]);                                                                                    \
  }                                                                                                                    \
  KERNEL void name##_4(global const float *x0, global const float *x1, global float *y, Sizes sizes, Steps left_steps, \
                       Steps right_steps, uint n) {                                                                    \
    PLACES                                                                                                             \
    store4(y, 4u * at, f4(four_of(x0, left, left_steps.of[0]), four_of(x1, right, right_steps.of[0])));                \
  }
COMBINE(add, SUM, SUM)
COMBINE(subtract, DIFFERENCE, DIFFERENCE)
COMBINE(multiply, PRODUCT, PRODUCT)
COMBINE(divide, quotient_of, quotients_of)

/* dy times the derivative by an operand, for every element of the result. */
#define GRADIENT(name, value)                                                                                          \
  KERNEL void name(global const float *dy, global const float *x0, global const float *x1, global float *product,      \
                   Sizes sizes, Steps left_steps, Steps right_steps, uint n) {                                         \
    PLACES                                                                                                             \
    product[at] = dy[at] * value;                                                                                      \
  }
#define LEFT x0[left]
#define RIGHT x1[right]
GRADIENT(multiply_by_left, RIGHT)
GRADIENT(multiply_by_right, LEFT)
GRADIENT(divide_by_left, inverse(RIGHT))
GRADIENT(divide_by_right, (-LEFT * inverse(RIGHT) * inverse(RIGHT)))
