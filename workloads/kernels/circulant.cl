/* Block-circulant layers (Dong 2020, chapter 7): transforms of blocks, products of frequencies in the mappings of its table
   7.2 and algorithms 6, 7 and 9, sums (algorithm 8), reordering. A matrix of blocks is [rows, blocks, block]; frequencies are
   pairs of floats, block / 2 + 1 of a block. */
#include "circulant_transform.h"

/* Strides of an array in frequencies (or values) for a step along each of three dimensions. */
typedef struct {
  uint first, second, third;
} Strides;

#define ANY_SIZE kernel __attribute__((amdgpu_flat_work_group_size(1, 1024)))

INLINE ulong start_of(Strides by, uint first, uint second, uint third) {
  return (ulong)by.first * first + (ulong)by.second * second + (ulong)by.third * third;
}

/* A block of `width` values a row, of which the last ones may be missing, as zeros; `count` blocks in all. */
#define TRANSFORM(K)                                                                                                   \
  KERNEL void circulant_transform_##K(global const float *restrict x, global float2_t *restrict y, Divisor by_blocks,  \
                                      uint width, uint count) {                                                        \
    const uint item = group_id_x() * GROUP + local_id_x(), block = item / LANES_OF(K), lane = item % LANES_OF(K);      \
    if (block >= count) return;                                                                                        \
    const uint row = quotient(block, by_blocks), first = remainder_of(block, row, by_blocks) * K;                      \
    global const float *from = x + (ulong)row * width + first;                                                         \
    float2_t z[MOST_POINTS];                                                                                           \
    if (first + K <= width) {                                                                                          \
      UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) z[i] =                                                            \
          *(global const float2_near *)(from + 2u * (lane + LANES_OF(K) * i));                                         \
    } else {                                                                                                           \
      UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) {                                                                 \
        const uint at = 2u * (lane + LANES_OF(K) * i);                                                                 \
        z[i].x = first + at < width ? from[at] : 0.0f;                                                                 \
        z[i].y = first + at + 1u < width ? from[at + 1u] : 0.0f;                                                       \
      }                                                                                                                \
    }                                                                                                                  \
    to_frequencies(K, lane, z, y + (ulong)block * (K / 2u + 1u));                                                      \
  }

#define INVERSE(K)                                                                                                     \
  KERNEL void circulant_inverse_##K(global const float2_t *restrict y, global float *restrict x, Divisor by_blocks,    \
                                    uint width, uint count) {                                                          \
    const uint item = group_id_x() * GROUP + local_id_x(), block = item / LANES_OF(K), lane = item % LANES_OF(K);      \
    if (block >= count) return;                                                                                        \
    const uint row = quotient(block, by_blocks), first = remainder_of(block, row, by_blocks) * K;                      \
    global float *to = x + (ulong)row * width + first;                                                                 \
    float2_t z[MOST_POINTS];                                                                                           \
    from_frequencies(K, lane, y + (ulong)block * (K / 2u + 1u), z);                                                    \
    const uint at = 2u * POINTS_OF(K) * place_of(K, lane);                                                             \
    if (first + K <= width) {                                                                                          \
      UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) *(global float2_near *)(to + at + 2u * i) = z[i];                 \
    } else {                                                                                                           \
      UNROLL for (uint i = 0; i < POINTS_OF(K); ++i) {                                                                 \
        if (first + at + 2u * i < width) to[at + 2u * i] = z[i].x;                                                     \
        if (first + at + 2u * i + 1u < width) to[at + 2u * i + 1u] = z[i].y;                                           \
      }                                                                                                                \
    }                                                                                                                  \
  }

TRANSFORM(16)
TRANSFORM(32)
TRANSFORM(64)
INVERSE(16)
INVERSE(32)
INVERSE(64)

/* The values of each block but the first in reverse, with zeros for those past `width`: what gradients are convolved with. */
KERNEL void circulant_reorder(global const float *restrict x, global float *restrict y, Divisor by_row, uint block,
                              uint width, uint count) {
  const uint item = group_id_x() * GROUP + local_id_x();
  if (item >= count) return;
  const uint row = quotient(item, by_row), column = remainder_of(item, row, by_row), value = column & (block - 1u);
  const uint from = column - value + ((block - value) & (block - 1u));
  y[item] = from < width ? x[(ulong)row * width + from] : 0.0f;
}

/* y[column, row] = x[row, column], of blocks of `bins` frequencies. by_row: frequencies of a row of y, by_block: bins. */
KERNEL void circulant_reorganise(global const float2_t *restrict x, global float2_t *restrict y, Divisor by_row,
                                 Divisor by_block, uint columns, uint count) {
  const uint item = group_id_x() * GROUP + local_id_x();
  if (item >= count) return;
  const uint column = quotient(item, by_row), within = remainder_of(item, column, by_row);
  const uint row = quotient(within, by_block), bin = remainder_of(within, row, by_block);
  y[item] = x[((ulong)row * columns + column) * by_block.divisor + bin];
}

/* A product that is stored, of a pair of blocks: a workgroup has block / 2 + 1 work-items. */
INLINE void product(bool conjugated, global const float2_t *restrict shared, global const float2_t *restrict other,
                    global float2_t *restrict result, Strides by_shared, Strides by_other, Strides by_result) {
  const uint bin = local_id_x(), first = group_id_x(), second = group_id_y(), third = group_id_z();
  const float2_t a = shared[start_of(by_shared, first, second, third) + bin];
  const float2_t b = other[start_of(by_other, first, second, third) + bin];
  result[start_of(by_result, first, second, third) + bin] = times(a, conjugated ? conjugate(b) : b);
}

/* The same for several places of the second dimension, whose work-items find the value that they share in `held`. */
INLINE void product_shared(bool conjugated, global const float2_t *restrict shared,
                           global const float2_t *restrict other, global float2_t *restrict result, bool inside,
                           uint second, uint seconds, local float2_t *held) {
  const uint lane = local_id_x();
  if (local_id_y() == 0u && inside) held[lane] = *shared;
  workgroup_barrier();
  if (second < seconds && inside) *result = times(held[lane], conjugated ? conjugate(*other) : *other);
}

/* O2: all frequencies of a block. */
INLINE void product_o2(bool conjugated, global const float2_t *restrict shared, global const float2_t *restrict other,
                       global float2_t *restrict result, Strides by_shared, Strides by_other, Strides by_result,
                       uint share, uint seconds, local float2_t *held) {
  const uint bin = local_id_x(), first = group_id_x(), third = group_id_z();
  const uint second = group_id_y() * share + local_id_y();
  product_shared(conjugated, shared + start_of(by_shared, first, 0u, third) + bin,
                 other + start_of(by_other, first, second, third) + bin,
                 result + start_of(by_result, first, second, third) + bin, true, second, seconds, held);
}

/* O1: `lanes` frequencies of blocks of the first dimension, `count` in all, which lie one after another in both arrays. */
INLINE void product_o1(bool conjugated, global const float2_t *restrict shared, global const float2_t *restrict other,
                       global float2_t *restrict result, Strides by_shared, Strides by_other, Strides by_result,
                       Divisor by_block, uint lanes, uint share, uint count, uint seconds, local float2_t *held) {
  const uint at = group_id_x() * lanes + local_id_x(), second = group_id_y() * share + local_id_y();
  const uint first = quotient(at, by_block), bin = remainder_of(at, first, by_block), third = group_id_z();
  product_shared(conjugated, shared + start_of(by_shared, 0u, 0u, third) + at,
                 other + start_of(by_other, 0u, second, third) + at,
                 result + start_of(by_result, first, second, third) + bin, at < count, second, seconds, held);
}

/* The product added up over `depth` places, of which strides .third are a step: a workgroup has `share` places of the first
   dimension and one of the second. `held`: share x bins frequencies twice, what its work-items share. */
#define AHEAD 8u
INLINE void product_sum(bool conjugated, global const float2_t *restrict shared, global const float2_t *restrict other,
                        global float2_t *restrict result, Strides by_shared, Strides by_other, Strides by_result,
                        uint bins, uint share, uint firsts, uint depth, local float2_t *held) {
  const uint bin = local_id_x(), row = local_id_y(), first = group_id_y() * share + row, second = group_id_z();
  global const float2_t *mine = shared + start_of(by_shared, 0u, second, row) + bin;
  /* rows past the end compute the last one's sums and do not store them */
  global const float2_t *from = other + start_of(by_other, minimum(first, firsts - 1u), second, 0u) + bin;
  const ulong next_mine = (ulong)by_shared.third * share, next = by_other.third;
  local float2_t *now = held, *then = held + share * bins;
  float2_t sum = 0.0f, loaded = row < depth ? *mine : 0.0f;
  for (uint done = 0; done < depth; done += share) {
    if (done + row < depth) now[row * bins + bin] = loaded;
    workgroup_barrier();
    mine += next_mine;
    if (done + share + row < depth) loaded = *mine;
    const uint count = minimum(share, depth - done);
    local const float2_t *a = now + bin;
    uint k = 0;
    for (; k + AHEAD <= count; k += AHEAD) {
      float2_t b[AHEAD];
      UNROLL for (uint i = 0; i < AHEAD; ++i, from += next) b[i] = *from;
      UNROLL for (uint i = 0; i < AHEAD; ++i, a += bins) sum += times(*a, conjugated ? conjugate(b[i]) : b[i]);
    }
    for (; k < count; ++k, from += next, a += bins) sum += times(*a, conjugated ? conjugate(*from) : *from);
    local float2_t *last = now;
    now = then;
    then = last;
  }
  if (first < firsts) result[start_of(by_result, first, second, 0u) + bin] = sum;
}

#define PRODUCTS(name, conjugated)                                                                                     \
  ANY_SIZE void circulant_multiply##name(global const float2_t *restrict shared, global const float2_t *restrict other,\
                                         global float2_t *restrict result, Strides by_shared, Strides by_other,        \
                                         Strides by_result) {                                                          \
    product(conjugated, shared, other, result, by_shared, by_other, by_result);                                        \
  }                                                                                                                    \
  ANY_SIZE void circulant_multiply_o1##name(                                                                           \
      global const float2_t *restrict shared, global const float2_t *restrict other, global float2_t *restrict result, \
      Strides by_shared, Strides by_other, Strides by_result, Divisor by_block, uint lanes, uint share, uint count,    \
      uint seconds, local float2_t *held) {                                                                            \
    product_o1(conjugated, shared, other, result, by_shared, by_other, by_result, by_block, lanes, share, count,       \
               seconds, held);                                                                                         \
  }                                                                                                                    \
  ANY_SIZE void circulant_multiply_o2##name(                                                                           \
      global const float2_t *restrict shared, global const float2_t *restrict other, global float2_t *restrict result, \
      Strides by_shared, Strides by_other, Strides by_result, uint share, uint seconds, local float2_t *held) {        \
    product_o2(conjugated, shared, other, result, by_shared, by_other, by_result, share, seconds, held);               \
  }                                                                                                                    \
  ANY_SIZE void circulant_fused##name(                                                                                 \
      global const float2_t *restrict shared, global const float2_t *restrict other, global float2_t *restrict result, \
      Strides by_shared, Strides by_other, Strides by_result, uint bins, uint share, uint firsts, uint depth,          \
      local float2_t *held) {                                                                                          \
    product_sum(conjugated, shared, other, result, by_shared, by_other, by_result, bins, share, firsts, depth, held);  \
  }

PRODUCTS(, false)
PRODUCTS(_conjugate, true)

/* Sums over `depth` places, of which by_x.third is a step: of frequencies, by a workgroup of block / 2 + 1 work-items for
   each place of the first two dimensions. */
ANY_SIZE void circulant_sum(global const float2_t *restrict x, global float2_t *restrict y, Strides by_x, Strides by_y,
                            uint depth) {
  global const float2_t *from = x + start_of(by_x, group_id_x(), group_id_y(), 0u) + local_id_x();
  float2_t sum = 0.0f;
  _Pragma("unroll 8") for (uint k = 0; k < depth; ++k, from += by_x.third) sum += *from;
  y[start_of(by_y, group_id_x(), group_id_y(), 0u) + local_id_x()] = sum;
}

/* Of values, by a workgroup of `block`; those past a row's `width` are not stored. */
ANY_SIZE void circulant_sum_values(global const float *restrict x, global float *restrict y, Strides by_x, Strides by_y,
                                   uint depth, uint block, uint width) {
  global const float *from = x + start_of(by_x, group_id_x(), group_id_y(), 0u) + local_id_x();
  float sum = 0.0f;
  _Pragma("unroll 8") for (uint k = 0; k < depth; ++k, from += by_x.third) sum += *from;
  if (group_id_x() * block + local_id_x() < width)
    y[start_of(by_y, group_id_x(), group_id_y(), 0u) + local_id_x()] = sum;
}
