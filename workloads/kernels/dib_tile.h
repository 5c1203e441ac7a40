/* The tiled sparse GEMM's body, shared by the engine's kernel and the software path's; included once a variant with

     KERNEL    the kernel's name
     COLUMNS   columns of C that a wavefront owns
     LANE_ROWS rows of C that a lane owns: 4, 2 or 1
     COUNTED   1: bundles come by ordinary loads and `counts` holds the non-zeros of each column;
               0: bundles come by sparse loads, and the status bit 'last' ends a column

   A workgroup of `wavefronts` wavefronts (at most 15) shares a tile of A in LDS: 64 * LANE_ROWS rows by 4 * wavefronts
   of A's columns. A wavefront works on COLUMNS columns; C stays in registers across the tiles. Bundles are sorted by
   row, so a cursor walks through a column's batch of 64 bundles (one a lane) as the tiles go by, while the next batch is
   on its way. A bundle reaches the scalar registers by one v_readlane: the FP32 form of an FP16 value leaves the low 13
   bits free, and they carry the row within the tile.

   Tiles in which no wavefront has a non-zero are passed over. A wavefront that had none in a tile says so in LDS, and
   where its next one lies; all read it while they work on the next tile. Nobody waits for it, and of a gap two tiles
   are brought for nothing.

   Wavefronts that are behind in a tile go first: the machine would go on with the oldest one, and at the tile's end the
   last one would have the SIMD for itself, whose scalar instructions and branches leave the vector ALUs idle.

   group_id_z: a part of k of `split_depth`, whose sums go into a C of its own. A wavefront reads its columns' bundles
   from the first one on, as nothing says where those of a part begin; they come from L2, where the other parts meet.

   Row blocks are the fast grid axis: both read the same columns of B at about the same time. lda and ldc are multiples
   of 4, ldb of 64 (a batch is four compacted lines); rows of A and C up to the next multiple of 4 exist; k < 65 536; A is smaller
   than 4 GiB. */
#include "dib.h"

#ifndef DIB_TILE_H
#define DIB_TILE_H

#define LOADS_PER_WAVEFRONT 4u
#define VALUE_MASK 0xffffe000u
#define TILE_ROW_MASK 63u

#define NO_ROW 0xffffffffu

/* what wavefronts without a non-zero in a tile say: how many they are, and the first row that one of them has next */
typedef struct {
  uint idle, next_row;
} gap_t;

#define GAPS 3u /* of the tile being multiplied, of the one before, and of the next one */
#define VALUE_OF(word) __builtin_bit_cast(float, (word) & VALUE_MASK)

/* FP32 value with the row within the tile in its free low bits, for every lane's bundle */
static inline uint pack(uint bundle, uint tile_base) {
  return (__builtin_bit_cast(uint, half_bits_to_float(bundle & 0xffffu)) & VALUE_MASK) | ((bundle >> 16) - tile_base);
}

/* where a wavefront is in one column */
typedef struct {
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

/* the column, which begins at `start`, after sending for its next batch, if there is one */
static inline column_t fetch(column_t column, global const float *start, uint lane) {
  if (!column.last) {
    global const float *from = start + column.batch * BUNDLES_PER_BATCH + lane;
#if COUNTED
    column.next = *(global const uint *)from;
#else
    column.next = sparse_load(from);
#endif
  }
  return column;
}

/* the column with the batch that has arrived, and the one after it sent for; padding becomes NO_BUNDLE */
static inline column_t advance(column_t column, global const float *start, uint lane) {
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
  return fetch(column, start, after(lane, column.bundle));
}

/* the column at its first bundle of rows from `key` >> 16 on, in the batch that it is at; NO_BUNDLE is behind every row */
static inline uint bundles_below(column_t column, uint key) {
  return opaque_scalar(count_bits(lanes_below(column.bundle, key)));
}

/* the wavefront's priority over the others of its SIMD, 0 to 3 */
static inline void set_priority(uint priority) {
  switch (priority) {
  case 0u: __builtin_amdgcn_s_setprio(0); break;
  case 1u: __builtin_amdgcn_s_setprio(1); break;
  case 2u: __builtin_amdgcn_s_setprio(2); break;
  default: __builtin_amdgcn_s_setprio(3);
  }
}

#define PASTE_2(a, b) a##b
#define PASTE(a, b) PASTE_2(a, b)
#define NAMED(name) PASTE(KERNEL, _##name)

#endif

#define ROWS (WAVEFRONT_LANES * LANE_ROWS)
#define ROW_BYTES (4u * ROWS) /* distance of two of A's columns in the tile */
#define TILE_ADDRESS(word) ((local const lane_rows_t *)(a_lane + ((word) & TILE_ROW_MASK) * ROW_BYTES))

#if LANE_ROWS == 4
#define lane_rows_t float4_t
#elif LANE_ROWS == 2
#define lane_rows_t float2_t
#else
#define lane_rows_t float
#endif

/* the sums after what was added to them before */
static inline lane_rows_t NAMED(settled)(lane_rows_t acc) {
  __asm__ volatile("" : "+v"(acc));
  return acc;
}

/* acc += value * A's column, for the packed bundles of lanes from ... to-1 */
static inline lane_rows_t NAMED(consume)(local const char *a_lane, uint packed, uint from, uint to, lane_rows_t acc) {
  uint i = from;
  for (; i + 4u <= to; i += 4u) {
    const uint w0 = broadcast(packed, i), w1 = broadcast(packed, i + 1u);
    const uint w2 = broadcast(packed, i + 2u), w3 = broadcast(packed, i + 3u);
    const lane_rows_t a0 = *TILE_ADDRESS(w0), a1 = *TILE_ADDRESS(w1), a2 = *TILE_ADDRESS(w2), a3 = *TILE_ADDRESS(w3);
    acc += a0 * VALUE_OF(w0);
    acc += a1 * VALUE_OF(w1);
    acc += a2 * VALUE_OF(w2);
    acc += a3 * VALUE_OF(w3);
  }
  if (i + 2u <= to) {
    const uint w0 = broadcast(packed, i), w1 = broadcast(packed, i + 1u);
    const lane_rows_t a0 = *TILE_ADDRESS(w0), a1 = *TILE_ADDRESS(w1);
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

kernel __attribute__((amdgpu_flat_work_group_size(64, 960))) void KERNEL(
    global const float *restrict a_matrix, global const float *restrict b_matrix, global float *restrict c_matrix,
#if COUNTED
    global const uint *restrict counts,
#endif
    uint m, uint n, uint k, uint lda, uint ldb, uint ldc, uint split_depth, uint wavefronts,
    local lane_rows_t *restrict a_tile) {
  const uint lane = lane_id(), wavefront = wavefront_id();
  const uint depth = LOADS_PER_WAVEFRONT * wavefronts;
  const uint row = group_id_x() * ROWS + LANE_ROWS * lane;
  const uint first_column = (group_id_y() * wavefronts + wavefront) * COLUMNS;
  const uint begin = group_id_z() * split_depth, stop = minimum(k, begin + split_depth);
  local char *a_lane = (local char *)(a_tile + lane);
  local gap_t *gap = (local gap_t *)((local char *)a_tile + depth * ROW_BYTES);
  global const float *a_from = a_matrix + minimum(row, lda - LANE_ROWS);

  global const float *b_from = b_matrix + (ulong)first_column * ldb;

  lane_rows_t acc[COLUMNS];
  column_t column[COLUMNS];
#pragma unroll
  for (uint c = 0; c < COLUMNS; ++c) {
    const uint index = first_column + c;
    acc[c] = 0.0f;
    column[c].batch = 0u;
    column[c].next = 0u;
#if COUNTED
    column[c].count = counts[minimum(index, n - 1u)];
    column[c].count = index < n ? column[c].count : 0u;
    column[c].last = column[c].count == 0u;
#else
    column[c].last = index >= n;
#endif
    column[c] = fetch(column[c], b_from + c * ldb, lane);
  }
#pragma unroll
  for (uint c = 0; c < COLUMNS; ++c) column[c] = advance(column[c], b_from + c * ldb, lane);
  if (begin) {
    bool behind;
    do { /* all columns a batch on at a time: their loads are under way together */
      behind = false;
#pragma unroll
      for (uint c = 0; c < COLUMNS; ++c) {
        column[c].cursor = bundles_below(column[c], begin << 16);
        if (column[c].cursor == BUNDLES_PER_BATCH) {
          column[c] = advance(column[c], b_from + c * ldb, lane);
          behind = true;
        }
      }
    } while (behind);
  }
  if (local_id_x() < GAPS) gap[local_id_x()] = (gap_t){0u, NO_ROW};

  uint here = 0u, before = GAPS - 1u; /* which gap is of this tile, and of the one before */
  for (uint base = begin; base < stop;) {
    lane_rows_t staged[LOADS_PER_WAVEFRONT];
    set_priority(3u);
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i) {
      const uint offset = minimum(base + i * wavefronts + wavefront, k - 1u) * lda * (uint)sizeof(float);
      staged[i] = *(global const lane_rows_t *)((global const char *)a_from + (ulong)offset);
    }
    /* The tile's reads have all given their values (`settled`), and what was said of the gap is read after the second
       barrier alone: to wait for LDS here would be to wait for A's columns, as FLAT loads count as LDS accesses too. */
    execution_barrier();
#pragma unroll
    for (uint i = 0; i < LOADS_PER_WAVEFRONT; ++i)
      *(local lane_rows_t *)(a_lane + (i * wavefronts + wavefront) * ROW_BYTES) = staged[i];
    workgroup_barrier();
    const gap_t last = gap[before];
    const uint after_this = GAPS - here - before;
    if (wavefront == 0u && lane == 0u) gap[after_this] = (gap_t){0u, NO_ROW};

    const uint end = minimum(base + depth, stop);
    const uint end_key = end < k ? end << 16 : NO_BUNDLE;
    uint consumed = 0u;
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c) {
      set_priority(3u - 4u * c / COLUMNS);
      uint to = bundles_below(column[c], end_key);
      acc[c] = NAMED(consume)(a_lane, pack(column[c].bundle, base), column[c].cursor, to, acc[c]);
      consumed |= to - column[c].cursor;
      column[c].cursor = to;
      /* a tile has at most 60 rows and a used-up batch gave at least one of them: the next batch outlasts the tile */
      if (to == BUNDLES_PER_BATCH) {
        column[c] = advance(column[c], b_from + c * ldb, lane);
        to = bundles_below(column[c], end_key);
        acc[c] = NAMED(consume)(a_lane, pack(column[c].bundle, base), 0u, to, acc[c]);
        column[c].cursor = to;
      }
    }
    if (!consumed) {
      uint next_row = NO_ROW;
#pragma unroll
      for (uint c = 0; c < COLUMNS; ++c)
        next_row = minimum(next_row, broadcast(column[c].bundle, column[c].cursor) >> 16);
      if (lane == 0u) {
        atomic_add_local(&gap[here].idle, 1u);
        atomic_min_local(&gap[here].next_row, next_row);
      }
    }
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c) acc[c] = NAMED(settled)(acc[c]);
    base = end;
    if (scalar(last.idle) == wavefronts) base = maximum(end, scalar(last.next_row));
    before = here;
    here = after_this;
  }
  c_matrix += (ulong)group_id_z() * n * ldc;
  if (row < ((m + 3u) & ~3u)) { /* whichever variant: with what pads a column to 4 */
#pragma unroll
    for (uint c = 0; c < COLUMNS; ++c)
      if (first_column + c < n) *(global lane_rows_t *)(c_matrix + (ulong)(first_column + c) * ldc + row) = acc[c];
  }
}

#undef KERNEL
#undef COLUMNS
#undef LANE_ROWS
#undef ROWS
#undef ROW_BYTES
#undef TILE_ADDRESS
#undef lane_rows_t
