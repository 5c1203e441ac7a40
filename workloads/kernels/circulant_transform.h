/* Fourier transforms of blocks of K = 16, 32 or 64 real values: to K/2 + 1 complex ones, and back. A block is K/2 complex
   points, the pairs of its values; LANES neighbouring lanes have POINTS of them each, transform these in registers and
   exchange the rest by data-parallel primitives. SIGN: -1 to frequencies, +1 back. No memory but the arrays is needed. */
#ifndef CIRCULANT_TRANSFORM_H
#define CIRCULANT_TRANSFORM_H

#include "elements.h"

typedef float2_t float2_near __attribute__((aligned(4))); /* at any float */

#define UNROLL _Pragma("unroll")
#define LANES_OF(K) ((K) == 16u ? 2u : 4u)
#define POINTS_OF(K) ((K) == 64u ? 8u : 4u)
#define MOST_POINTS 8u

/* cos(2 pi j / 64), j = 0 to 16 */
constant float QUARTER[17] = {1.0f,         0.995184727f, 0.980785280f, 0.956940336f, 0.923879533f, 0.881921264f,
                              0.831469612f, 0.773010453f, 0.707106781f, 0.634393284f, 0.555570233f, 0.471396737f,
                              0.382683432f, 0.290284677f, 0.195090322f, 0.0980171403f, 0.0f};

/* cos and sin of j 64ths of a turn; j must be known to the compiler */
INLINE float cosine(uint j) {
  j &= 63u;
  if (j > 32u) j = 64u - j;
  return j > 16u ? -QUARTER[32u - j] : QUARTER[j];
}
INLINE float sine(uint j) { return cosine(j + 48u); }
INLINE float2_t turned(uint j, float sign) { return (float2_t)(cosine(j), sign * sine(j)); }

/* of `lane` 0 to 3 times `step` 64ths */
INLINE float2_t turned_lane(uint lane, uint step, float sign) {
  const float2_t even = lane & 2u ? turned(2u * step, sign) : turned(0u, sign);
  const float2_t odd = lane & 2u ? turned(3u * step, sign) : turned(step, sign);
  return lane & 1u ? odd : even;
}

INLINE float2_t times(float2_t a, float2_t b) { return (float2_t)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
INLINE float2_t conjugate(float2_t a) { return (float2_t)(a.x, -a.y); }
INLINE float2_t quarter_turn(float2_t a, float sign) { return (float2_t)(-sign * a.y, sign * a.x); }

#define FROM_QUAD(value, control) __builtin_amdgcn_update_dpp(0, value, control, 0xf, 0xf, true)
#define QUAD(value, a, b, c, d)                                                                                        \
  ((float2_t)(__builtin_astype(FROM_QUAD(__builtin_astype((value).x, int), (a) | (b) << 2 | (c) << 4 | (d) << 6), float), \
              __builtin_astype(FROM_QUAD(__builtin_astype((value).y, int), (a) | (b) << 2 | (c) << 4 | (d) << 6), float)))

INLINE void four_points(float2_t z[4], float sign) {
  const float2_t sum = z[0] + z[2], difference = z[0] - z[2], other = z[1] + z[3];
  const float2_t turned_other = quarter_turn(z[1] - z[3], sign);
  z[0] = sum + other;
  z[1] = difference + turned_other;
  z[2] = sum - other;
  z[3] = difference - turned_other;
}

INLINE void eight_points(float2_t z[8], float sign) {
  float2_t even[4] = {z[0], z[2], z[4], z[6]}, odd[4] = {z[1], z[3], z[5], z[7]};
  four_points(even, sign);
  four_points(odd, sign);
  UNROLL for (uint k = 0; k < 4u; ++k) {
    const float2_t part = times(odd[k], turned(8u * k, sign));
    z[k] = even[k] + part;
    z[k + 4u] = even[k] - part;
  }
}

/* Lane n of the block's has points n + LANES i; after it lane n has points POINTS place(n) + i. */
INLINE uint place_of(uint K, uint lane) { return LANES_OF(K) == 2u ? lane : (lane & 1u) << 1 | lane >> 1; }

INLINE void transform(uint K, uint lane, float2_t z[MOST_POINTS], float sign) {
  if (POINTS_OF(K) == 8u)
    eight_points(z, sign);
  else
    four_points(z, sign);
  const float2_t step = turned_lane(lane, 128u / K, sign); /* a K/2-th of a turn for each lane */
  float2_t by = step;
  UNROLL for (uint i = 1; i < POINTS_OF(K); ++i) {
    z[i] = times(z[i], by);
    by = times(by, step);
  }
  const float outer = lane & 2u ? -1.0f : 1.0f, inner = lane & 1u ? -1.0f : 1.0f;
  UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) {
    if (LANES_OF(K) == 4u) {
      z[i] = QUAD(z[i], 2, 3, 0, 1) + outer * z[i];
      const float2_t last = quarter_turn(z[i], sign);
      z[i] = lane == 3u ? last : z[i];
    }
    z[i] = QUAD(z[i], 1, 0, 3, 2) + inner * z[i];
  }
}

/* From the block's values to its K/2 + 1 frequencies. */
INLINE void to_frequencies(uint K, uint lane, float2_t z[MOST_POINTS], global float2_t *to) {
  const uint points = POINTS_OF(K), place = place_of(K, lane);
  transform(K, lane, z, -1.0f);
  /* frequencies of the even and of the odd values from those of the pairs: point k and point K/2 - k */
  const float2_t base = turned_lane(place, points * (64u / K), -1.0f);
  float2_t mirror[MOST_POINTS];
  UNROLL for (uint i = 0; i < points; ++i) {
    if (i)
      mirror[i] = LANES_OF(K) == 4u ? QUAD(z[points - i], 3, 2, 1, 0) : QUAD(z[points - i], 1, 0, 3, 2);
    else
      mirror[i] = LANES_OF(K) == 4u ? QUAD(z[0], 0, 1, 3, 2) : z[0];
  }
  if (place == 0u) to[K / 2u] = (float2_t)(z[0].x - z[0].y, 0.0f);
  UNROLL for (uint i = 0; i < points; ++i) {
    const float2_t other = conjugate(mirror[i]);
    const float2_t even = 0.5f * (z[i] + other), odd = quarter_turn(0.5f * (z[i] - other), -1.0f);
    to[points * place + i] = even + times(odd, times(base, turned(i * (64u / K), -1.0f)));
  }
}

/* From K/2 + 1 frequencies to the block's values: points POINTS place(n) + i, the pairs of values. */
INLINE void from_frequencies(uint K, uint lane, global const float2_t *from, float2_t z[MOST_POINTS]) {
  const float2_t base = turned_lane(lane, 64u / K, 1.0f);
  float2_t mirror[MOST_POINTS];
  UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) {
    z[i] = from[lane + LANES_OF(K) * i];
    mirror[i] = from[K / 2u - lane - LANES_OF(K) * i];
  }
  UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) {
    const float2_t other = conjugate(mirror[i]);
    const float2_t by = times(base, turned(LANES_OF(K) * i * (64u / K), 1.0f));
    z[i] = (z[i] + other) + quarter_turn(times(z[i] - other, by), 1.0f);
    z[i] = z[i] * (1.0f / (float)K);
  }
  transform(K, lane, z, 1.0f);
}

#endif
