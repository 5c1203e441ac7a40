/* The tiled sparse GEMM's body, shared by the engine's kernel and the software path's; included once a variant with

     KERNEL    the kernel's name
     COLUMNS   columns of C that a wavefront owns
     COUNTED   1: bundles come by ordinary loads and `counts` holds the non-zeros of each column;
               0: bundles come by sparse loads, and the status bit 'last' ends a column

   A workgroup of `wavefronts` wavefronts (at most 16) shares a tile of A in LDS: 256 rows by 4 * wavefronts of A's
   columns. A wavefront works on COLUMNS columns, four rows a lane; C stays in registers across the tiles. Bundles are
   sorted by row, so a cursor walks through a column's batch of 64 bundles (one a lane) as the tiles go by, while the
   next batch is on its way. A bundle reaches the scalar registers by one v_readlane: the FP32 form of an FP16 value
   leaves the low 13 bits free, and they carry the row within the tile.

   Row blocks are the fast grid axis: both read the same columns of B at about the same time. lda and ldc are multiples
   of 4, ldb of 64 (a batch is four compacted lines); rows of A and C up to the next multiple of 4 exist; k < 65 536; A is smaller
   than 4 GiB. */
#include "dib.h"

#ifndef DIB_TILE_H
#define DIB_TILE_H

#define ROWS 256u
#define ROW_BYTES (4u * ROWS) /* distance of two of A's columns in the tile */
#define LOADS_PER_WAVEFRONT 4u
#define VALUE_MASK 0xffffe000u
#define TILE_ROW_MASK 63u

#define TILE_ADDRESS(word) ((local const float4_t *)(a_lane + ((word) & TILE_ROW_MASK) * ROW_BYTES))
#define VALUE_OF(word) __builtin_bit_cast(float, (word) & VALUE_MASK)

/* FP32 value with the row within the tile in its free low bits, for every lane's bundle */
static inline uint pack(uint bundle, uint tile_base) {
  return (__builtin_bit_cast(uint, half_bits_to_float(bundle & 0xffffu)) & VALUE_MASK) | ((bundle >> 16) - tile_base);
}

/* acc += value * A's column, for the packed bundles of lanes from ... to-1 */
static inline float4_t consume(local const char *a_lane, uint packed, uint from, uint to, float4_t acc) {
  uint i = from;
  for (; i + 4u <= to; i += 4u) {
    const uint w0 = broadcast(packed, i), w1 = broadcast(packed, i + 1u);
    const uint w2 = broadcast(packed, i + 2u), w3 = broadcast(packed, i + 3u);
    const float4_t a0 = *TILE_ADDRESS(w0), a1 = *TILE_ADDRESS(w1), a2 = *TILE_ADDRESS(w2), a3 = *TILE_ADDRESS(w3);
    acc += a0 * VALUE_OF(w0);
    acc += a1 * VALUE_OF(w1);
    acc += a2 * VALUE_OF(w2);
    acc += a3 * VALUE_OF(w3);
  }
  if (i + 2u <= to) {
    const uint w0 = broadcast(packed, i), w1 = broadcast(packed, i + 1u);
    const float4_t a0 = *TILE_ADDRESS(w0), a1 = *TILE_ADDRESS(w1);
    acc += a0 * VALUE_OF(w0);
    acc += a1 * VALUE_OF(w1);
    i += 2u;
  }
  if (i < to) {
    const uint w0 = broadcast(packed, i);
    acc += *TILE_ADDRESS(w0) * VALUE_OF(w0);
  }
  return acc;
}

/* where a wavefront is in one column */
typedef struct {
  global const float *from; /* the column's start */
  uint bundle;              /* the batch being consumed, NO_BUNDLE where there is none */
  uint cursor;              /* its next bundle */
  uint batch;               /* number of the batch on its way */
  bool last;                /* the batch being consumed is the column's last */
#if COUNTED
  uint next, count;
#else
  uint2_t next; /* the batch on its way */
#endif
} column_t;

/* the column after sending for its next batch, if there is one */
static inline column_t fetch(column_t column, uint lane) {
  if (!column.last) {
    global const float *from = column.from + column.batch * BUNDLES_PER_BATCH + lane;
#if COUNTED
    column.next = *(global const uint *)from;
#else
    column.next = sparse_load(from);
#endif
  }
  return column;
}

/* the column with the batch that has arrived, and the one after it sent for; padding becomes NO_BUNDLE */
static inline column_t advance(column_t column, uint lane) {
  column.cursor = 0u;
  if (column.last) {
    column.bundle = NO_BUNDLE;
    return column;
  }
#if COUNTED
  const uint first = column.batch * BUNDLES_PER_BATCH;
  column.bundle = first + lane < column.count ? column.next : NO_BUNDLE;
  column.last = first + BUNDLES_PER_BATCH >= column.count;
#else
  /* a zero bundle is padding, but for an underflowed value in row 0, which is the column's first */
  column.bundle = column.next.x == 0u && lane != 0u ? NO_BUNDLE : column.next.x;
  column.last = (broadcast(column.next.y, BUNDLES_PER_BATCH - 1u) & STATUS_LAST) != 0u;
#endif
  column.batch++;
  /* the batch is read out of its registers before the next load is issued into the same ones */
  return fetch(column, after(lane, column.bundle));
}

#endif

kernel __attribute__((amdgpu_flat_work_group_size(64, 1024))) void KERNEL(
    global const float *restrict a_matrix, global const float *restrict b_matrix, global float *restrict c_matrix,
#if COUNTED
    global const uint *restrict counts,
#endif
    uint m, uint n, uint k, uint lda, uint ldb, uint ldc, uint wavefronts, local float4_t *restrict a_tile) {
  const uint lane = lane_id(), wavefront = wavefront_id();
  const uint depth = LOADS_PER_WAVEFRONT * wavefronts;
  const uint row = group_id_x() * ROWS + 4u * lane;
  const uint first_column = (group_id_y() * wavefronts + wavefront) * COLUMNS;
  local char *a_lane = (local char *)(a_tile + lane);
  global const float *a_from = a_matrix + minimum(row, lda - 4u);

  float4_t acc[COLUMNS];
  column_t column[COLUMNS];
#pragma unroll
  for (uint c = 0; c < COLUMNS; ++c) {
    const uint index = first_column + c;
    acc[c] = 0.0f;
    column[c].from = b_matrix + (ulong)index * ldb;
    column[c].batch = 0u;
    column[c].next = 0u;
#if COUNTED
    column[c].count = counts[minimum(index, n - 1u)];
    column[c].count = index < n ? column[c].count : 0u;
    column[c].last = column[c].count == 0u;
#else
    column[c].last = index >= n;
#endif
    column[c] = fetch(column[c], lane);
  }
#pragma unroll
  for (uint c = 0; c < COLUMNS; ++c) column[c] = advance(column[c], lane);

  for (uint base = 0; base < k; base += depth) {
    float4_t staged[LOADS_PER_WAVEFRONT];
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i) {
      const uint offset = minimum(base + i * wavefronts + wavefront, k - 1u) * lda * (uint)sizeof(float);
      staged[i] = *(global const float4_t *)((global const char *)a_from + (ulong)offset);
    }
    workgroup_barrier();
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i)
      *(local float4_t *)(a_lane + (i * wavefronts + wavefront) * ROW_BYTES) = staged[i];
    workgroup_barrier();

    const uint end_key = base + depth < k ? (base + depth) << 16 : NO_BUNDLE;
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c) {
      uint end = opaque_scalar(count_bits(lanes_below(column[c].bundle, end_key)));
      acc[c] = consume(a_lane, pack(column[c].bundle, base), column[c].cursor, end, acc[c]);
      column[c].cursor = end;
      /* a tile has at most 64 rows and a used-up batch gave at least one of them: the next batch outlasts the tile */
      if (end == BUNDLES_PER_BATCH) {
        column[c] = advance(column[c], lane);
        end = opaque_scalar(count_bits(lanes_below(column[c].bundle, end_key)));
        acc[c] = consume(a_lane, pack(column[c].bundle, base), 0u, end, acc[c]);
        column[c].cursor = end;
      }
    }
  }
  if (row < m) {
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c)
      if (first_column + c < n) *(global float4_t *)(c_matrix + (ulong)(first_column + c) * ldc + row) = acc[c];
  }
}

#undef KERNEL
#undef COLUMNS
