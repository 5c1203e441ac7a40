/* What attention.cl and attention_wide.cl share. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "reduce.h"

#define LANES WAVEFRONT_LANES
#define LEAST -3.0e38f /* below every score */
#define CHUNK 8u       /* keys of a wavefront between two looks at the largest score */

#define ARGUMENTS(queries_space, keys_space)                                                                           \
  queries_space const float *restrict q, keys_space const float *restrict k, keys_space const float *restrict v,       \
      global float *restrict y, uint rows, uint keys, Divisor by_queries, uint before, float factor

/* Keys that a row's query sees. */
INLINE uint seen_by(uint row, uint keys, Divisor by_queries, uint before) {
  return minimum(keys, remainder_of(row, quotient(row, by_queries), by_queries) + before + 1u);
}

/* Elements of the sums that a lane has: one of each 64. */
#define OF_LANE(width) (width > LANES ? width / LANES : 1u)

/* A workgroup has a query, which is the same for all lanes; a lane has a key's score, then elements of the sums. */
#define BY_KEY(width)                                                                                                  \
  KERNEL void attention_by_key_##width(ARGUMENTS(constant, global)) {                                                  \
    local float maxima[WAVEFRONTS], totals[WAVEFRONTS], tile[WAVEFRONTS * width];                                      \
    const uint matrix = group_id_y(), row = group_id_x(), lane = lane_id(), d = lane % width;                          \
    const uint seen = seen_by(row, keys, by_queries, before);                                                          \
    q += ((ulong)matrix * rows + row) * width;                                                                         \
    k += (ulong)matrix * keys * width;                                                                                 \
    v += (ulong)matrix * keys * width;                                                                                 \
    float largest = LEAST, total = 0.0f, sums[OF_LANE(width)] = {0.0f};                                                \
    for (uint at = wavefront_id() * LANES; at < seen; at += WAVEFRONTS * LANES) {                                      \
      const uint key = minimum(at + lane, keys - 1u) * width;                                                          \
      float score = 0.0f;                                                                                              \
      _Pragma("unroll") for (uint c = 0; c < width; c += 4u) {                                                         \
        const float4_t some = load4(k, key + c);                                                                       \
        score += q[c] * some.x + q[c + 1u] * some.y + q[c + 2u] * some.z + q[c + 3u] * some.w;                         \
      }                                                                                                                \
      score = at + lane < seen ? score * factor : LEAST;                                                               \
      const float of_all = wavefront_max(score), next = of_all > largest ? of_all : largest;                           \
      const float part = at + lane < seen ? exp2_of(score - next) : 0.0f, shrink = exp2_of(largest - next);            \
      largest = next;                                                                                                  \
      total = total * shrink + part;                                                                                   \
      _Pragma("unroll") for (uint p = 0; p < OF_LANE(width); ++p) sums[p] *= shrink;                                   \
      const uint count = minimum(seen - at, LANES);                                                                    \
      for (uint j = 0; j < count; ++j)                                                                                 \
        _Pragma("unroll") for (uint p = 0; p < OF_LANE(width); ++p) sums[p] +=                                         \
            float_of((int)broadcast((uint)bits_of(part), j)) * v[(at + j) * width + d + p * LANES];                    \
    }                                                                                                                  \
    total = wavefront_sum(total);                                                                                      \
    if (lane == 0u) maxima[wavefront_id()] = largest;                                                                  \
    workgroup_barrier();                                                                                               \
    float best = largest;                                                                                              \
    for (uint w = 0; w < WAVEFRONTS; ++w) best = maxima[w] > best ? maxima[w] : best;                                  \
    const float share = exp2_of(largest - best);                                                                       \
    if (lane == 0u) totals[wavefront_id()] = total * share;                                                            \
    _Pragma("unroll") for (uint p = 0; p < OF_LANE(width); ++p)                                                        \
      if (lane < width) tile[wavefront_id() * width + p * LANES + lane] = sums[p] * share;                             \
    workgroup_barrier();                                                                                               \
    if (local_id_x() >= width) return;                                                                                 \
    float whole = 0.0f, mixed = 0.0f;                                                                                  \
    const uint element = width > LANES ? local_id_x() : lane;                                                          \
    for (uint w = 0; w < WAVEFRONTS; ++w) whole += totals[w], mixed += tile[w * width + element];                      \
    y[((ulong)matrix * rows + row) * width + element] = mixed * inverse(whole);                                        \
  }

#endif
