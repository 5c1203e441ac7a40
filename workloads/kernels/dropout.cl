/* Dropout: elements are kept or made zero by random numbers that follow from the element's place alone, Philox4x32-10
   (Salmon, Moraes, Dror, Shaw 2011): counter (place / 4, 0, stream, 0), one of the four numbers each. y may be x, dx may
   be dy. */
#include "elements.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

static inline uint4_t philox(uint4_t counter, uint key0, uint key1) {
  for (uint round = 0; round < 10u; ++round) {
    const uint high0 = high_product(PHILOX_M0, counter.x), low0 = PHILOX_M0 * counter.x;
    const uint high1 = high_product(PHILOX_M1, counter.z), low1 = PHILOX_M1 * counter.z;
    counter = (uint4_t)(high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0);
    key0 += PHILOX_W0;
    key1 += PHILOX_W1;
  }
  return counter;
}

/* An element is kept where its random number is at least `threshold`. */
KERNEL void dropout_forward(global const float *x, global float *y, global uchar *restrict mask, uint seed_low,
                            uint seed_high, uint stream, uint threshold, float scale, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  const float4_t value = load_some(x, first, count);
  const uint4_t random = philox((uint4_t)(first / 4u, 0u, stream, 0u), seed_low, seed_high);
  float4_t result;
  uchar4_t kept;
  for (uint k = 0; k < 4u; ++k) {
    kept[k] = random[k] >= threshold ? 1u : 0u;
    result[k] = random[k] >= threshold ? value[k] * scale : 0.0f;
  }
  store_some(y, first, count, result);
  if (count == 4u) {
    *(global uchar4_t *)(mask + first) = kept;
  } else {
    for (uint k = 0; k < 3u; ++k)
      if (k < count) mask[first + k] = kept[k];
  }
}

KERNEL void dropout_backward(global const float *dy, global const uchar *restrict mask, global float *dx, float scale,
                             uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t value = load_some(dy, first, count);
  uchar4_t kept = 0;
  if (count == 4u) {
    kept = *(global const uchar4_t *)(mask + first);
  } else {
    for (uint k = 0; k < 3u; ++k)
      if (k < count) kept[k] = mask[first + k];
  }
  for (uint k = 0; k < 4u; ++k) value[k] = kept[k] ? value[k] * scale : 0.0f;
  store_some(dx, first, count, value);
}
