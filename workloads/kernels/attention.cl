/* Attention whose scores stay in registers: y = softmax(factor q kᵀ) v for matrices of queries [rows, width], keys and
   values [keys, width]. The softmax goes along (Milakov and Gimelshein 2018): with each new largest score what was added
   up so far shrinks. A matrix's rows are the queries of all heads that share its keys; a query sees the keys up to its
   place plus `before`. The wavefronts of a workgroup take keys in turn and join what they have at the end. factor
   includes that of powers of two. */
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

/* A lane has a query with its sums; keys and values are the same for all lanes: scalars. */
#define BY_QUERY(width)                                                                                                \
  KERNEL void attention_by_query_##width(ARGUMENTS(global, constant)) {                                                \
    local float tile[width * (LANES + 1u)], maxima[GROUP], totals[GROUP];                                              \
    const uint matrix = group_id_y(), first = group_id_x() * LANES, lane = lane_id();                                  \
    const uint row = minimum(first + lane, rows - 1u), seen = seen_by(row, keys, by_queries, before);                  \
    const uint end = wavefront_max_uint(seen);                                                                         \
    q += ((ulong)matrix * rows + row) * width;                                                                         \
    k += (ulong)matrix * keys * width;                                                                                 \
    v += (ulong)matrix * keys * width;                                                                                 \
    float query[width], sums[width], largest = LEAST, total = 0.0f;                                                    \
    _Pragma("unroll") for (uint d = 0; d < width; d += 4u) {                                                           \
      const float4_t some = load4(q, d) * factor;                                                                      \
      _Pragma("unroll") for (uint c = 0; c < 4u; ++c) query[d + c] = some[c], sums[d + c] = 0.0f;                      \
    }                                                                                                                  \
    for (uint at = wavefront_id() * CHUNK; at < end; at += WAVEFRONTS * CHUNK) {                                       \
      float scores[CHUNK], next = largest;                                                                             \
      _Pragma("unroll") for (uint j = 0; j < CHUNK; ++j) {                                                             \
        constant const float *key = k + minimum(at + j, keys - 1u) * width;                                            \
        float score = 0.0f;                                                                                            \
        _Pragma("unroll") for (uint d = 0; d < width; ++d) score += query[d] * key[d];                                 \
        scores[j] = at + j < seen ? score : LEAST;                                                                     \
        next = scores[j] > next ? scores[j] : next;                                                                    \
      }                                                                                                                \
      const float shrink = exp2_of(largest - next);                                                                    \
      largest = next;                                                                                                  \
      total *= shrink;                                                                                                 \
      _Pragma("unroll") for (uint d = 0; d < width; ++d) sums[d] *= shrink;                                            \
      _Pragma("unroll") for (uint j = 0; j < CHUNK; ++j) {                                                             \
        constant const float *value = v + minimum(at + j, keys - 1u) * width;                                          \
        const float part = at + j < seen ? exp2_of(scores[j] - largest) : 0.0f;                                        \
        total += part;                                                                                                 \
        _Pragma("unroll") for (uint d = 0; d < width; ++d) sums[d] += part * value[d];                                 \
      }                                                                                                                \
    }                                                                                                                  \
    maxima[local_id_x()] = largest;                                                                                    \
    workgroup_barrier();                                                                                               \
    float best = largest;                                                                                              \
    for (uint w = 0; w < WAVEFRONTS; ++w) best = maxima[w * LANES + lane] > best ? maxima[w * LANES + lane] : best;    \
    const float share = exp2_of(largest - best);                                                                       \
    totals[local_id_x()] = total * share;                                                                              \
    for (uint w = 0; w < WAVEFRONTS; ++w) {                                                                            \
      if (wavefront_id() == w)                                                                                         \
        _Pragma("unroll") for (uint d = 0; d < width; ++d) {                                                           \
          const uint place = d * (LANES + 1u) + lane;                                                                  \
          tile[place] = w ? tile[place] + sums[d] * share : sums[d] * share;                                           \
        }                                                                                                              \
      workgroup_barrier();                                                                                             \
    }                                                                                                                  \
    for (uint at = local_id_x(); at < LANES * width; at += GROUP) {                                                    \
      const uint of = at / width, d = at % width;                                                                      \
      if (first + of >= rows) break;                                                                                   \
      float whole = 0.0f;                                                                                              \
      for (uint w = 0; w < WAVEFRONTS; ++w) whole += totals[w * LANES + of];                                           \
      y[((ulong)matrix * rows + first + of) * width + d] = tile[d * (LANES + 1u) + of] * inverse(whole);               \
    }                                                                                                                  \
  }
BY_QUERY(16)
BY_QUERY(32)
BY_QUERY(64)

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
BY_KEY(16)
BY_KEY(32)
BY_KEY(64)
BY_KEY(128)
