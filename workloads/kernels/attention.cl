/* Attention whose scores stay in registers: y = softmax(factor q kᵀ) v for matrices of queries [rows, width], keys and
   values [keys, width]. The softmax goes along (Milakov and Gimelshein 2018): with each new largest score what was added
   up so far shrinks. A matrix's rows are the queries of all heads that share its keys; a query sees the keys up to its
   place plus `before`. The wavefronts of a workgroup take keys in turn and join what they have at the end. factor
   includes that of powers of two. */
#include "attention.h"

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

BY_KEY(16)
BY_KEY(32)
BY_KEY(64)
