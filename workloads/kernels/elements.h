/* Element-wise kernels: a work-item owns four consecutive elements, which one access moves; the last one of an array
   whose size is no multiple of four has what is left. Arrays begin at a multiple of 16 bytes and have fewer than 2^31
   elements. */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "wavefront.h"

typedef uchar uchar4_t __attribute__((ext_vector_type(4)));

#define GROUP 256u
#define KERNEL kernel __attribute__((reqd_work_group_size(256, 1, 1)))

/* a function whose parameters may decide what is compiled */
#define INLINE static inline __attribute__((always_inline))

#define LOG2_E 1.44269504088896341f
#define LN_2 0.693147180559945309f

/* the first of the work-item's elements */
static inline uint first_element(void) { return (group_id_x() * GROUP + local_id_x()) * 4u; }

static inline float4_t load4(global const float *from, uint at) { return *(global const float4_t *)(from + at); }
static inline void store4(global float *to, uint at, float4_t value) { *(global float4_t *)(to + at) = value; }

/* Elements of a work-item: four, or fewer at the array's end. */
static inline uint elements_from(uint first, uint n) { return first < n ? minimum(n - first, 4u) : 0u; }

/* Four elements at once where there are as many (their loop is unrolled), else one by one. */
static inline float4_t load_some(global const float *from, uint at, uint count) {
  if (count == 4u) return load4(from, at);
  float4_t value = 0.0f;
  for (uint k = 0; k < 3u; ++k)
    if (k < count) value[k] = from[at + k];
  return value;
}

static inline void store_some(global float *to, uint at, uint count, float4_t value) {
  if (count == 4u) {
    store4(to, at, value);
  } else {
    for (uint k = 0; k < 3u; ++k)
      if (k < count) to[at + k] = value[k];
  }
}

/* The first of the largest; the first that is no number, if there is one. */
typedef struct {
  float value;
  uint place;
} Maximum;

INLINE Maximum larger(Maximum best, float value, uint place) {
  const bool next = best.value == best.value && !(best.value >= value);
  best.value = next ? value : best.value;
  best.place = next ? place : best.place;
  return best;
}

/* Division of numbers below 2^31 by a divisor that the host knows (Granlund and Montgomery 1994): multiplier
   ceil(2^(31 + l) / divisor), l = ceil(log2(divisor)). */
typedef struct {
  uint divisor, multiplier, shift;
} Divisor;

static inline uint high_product(uint a, uint b) { return (uint)(((ulong)a * b) >> 32); }
static inline uint quotient(uint number, Divisor by) { return high_product(2u * number, by.multiplier) >> by.shift; }
static inline uint remainder_of(uint number, uint whole, Divisor by) { return number - whole * by.divisor; }

/* A ReLU, also as the last step of a kernel that computes what it is applied to; what is no number stays. */
static inline float rectified(float value) { return value < 0.0f ? 0.0f : value; }

/* Its gradient, from the result: that it is positive is all that is needed. */
static inline float passed_on(float result, float gradient) { return result > 0.0f ? gradient : 0.0f; }

static inline float exp2_of(float x) { return __builtin_amdgcn_exp2f(x); }
static inline float log2_of(float x) { return __builtin_amdgcn_logf(x); }
static inline float inverse(float x) { return __builtin_amdgcn_rcpf(x); }

#endif
