/* A tile of C by a workgroup, FP32: C[y][x] = sum over k of X[k][x] * Y[k][y], x the direction in which C is contiguous.
   A wavefront computes 64 x 64 elements, a work-item 8 x 8 of them: the quads x = 4 * (lane & 7) and 32 more, y alike
   from lane / 8. Eight k of X and of Y go through LDS at a time, double-buffered, while the next eight come from memory
   into registers.

   Operands are read by buffer instructions. What lies past the buffer's end reads as zero, so that no edge of a matrix
   needs a branch; the wavefront's part of an offset stays in a scalar register; and their results are waited for by a
   counter of their own, while FLAT instructions share that of LDS. */
#ifndef TILE_H
#define TILE_H

#include "elements.h"

#define DEPTH 8u
#define SWATH 64u                /* elements of a wavefront's tile in either direction */
#define PAD 4u                   /* floats after a row of the LDS tile: stores of columns then meet all banks */
#define OUTSIDE 0xfffffffcu      /* a lane's offset past the end of every buffer */
#define PITCH(waves) (SWATH * (waves) + PAD)
#define TILE_FLOATS(waves) (DEPTH * PITCH(waves))

typedef __amdgpu_buffer_rsrc_t Buffer;

/* the lane, from a register that is there at first; after the loop `lane_id` costs none that is held through it */
static inline uint lane(void) { return local_id_x() & (WAVEFRONT_LANES - 1u); }

/* Its words are put into scalar registers: a 64-bit address that the vector ALU multiplied is not there by itself, and
   the compiler would loop over the lanes for each access. */
static inline Buffer buffer_of(global const float *from, uint bytes) {
  const uint2_t words = __builtin_astype(from, uint2_t);
  const uint2_t base = {scalar(words.x), scalar(words.y)};
  void *pointer = __builtin_astype(base, void *);
  return __builtin_amdgcn_make_buffer_rsrc(pointer, 0, (int)scalar(bytes), 0x00027000);
}

static inline float read(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(__builtin_amdgcn_raw_buffer_load_b32(from, (int)lane_bytes, (int)bytes, 0), float);
}

static inline void write(Buffer to, uint lane_bytes, uint bytes, float value) {
  __builtin_amdgcn_raw_buffer_store_b32(__builtin_astype(value, uint), to, (int)lane_bytes, (int)bytes, 0);
}

static inline void write4(Buffer to, uint lane_bytes, uint bytes, float4_t value) {
  __builtin_amdgcn_raw_buffer_store_b128(__builtin_astype(value, uint4_t), to, (int)lane_bytes, (int)bytes, 0);
}

/* One side of the product in memory: `extent` elements in its direction, `depth` along k; `stride` bytes between rows. */
typedef struct {
  Buffer buffer;
  uint bytes, extent, depth, stride;
} Side;

static inline Side side_of(global const float *from, uint extent, uint depth, uint leading, bool along_k) {
  const uint rows = along_k ? extent : depth, columns = along_k ? depth : extent;
  const uint bytes = ((rows - 1u) * leading + columns) * 4u;
  const Side side = {buffer_of(from, bytes), bytes, extent, depth, leading * 4u};
  return side;
}

/* What a lane and its wavefront read of a side: a row of k at a time (ACROSS: side[k][x]), or eight rows of eight k
   (ALONG: side[x][k]), which are turned round on their way into LDS. slots: loads of a work-item for a tile. */
typedef struct {
  uint lane[2];    /* bytes: ACROSS, of each swath; ALONG, of the lane's row and k */
  uint fixed[8];   /* bytes of each slot: ALONG */
  uint k;          /* of the first slot (ACROSS), of the lane (ALONG) */
} Place;

static inline Place across(const Side *side, uint first, uint waves, uint wavefront, uint slots, uint k) {
  Place place;
  place.k = k + wavefront * slots / waves;
  for (uint swath = 0; swath < waves; ++swath) {
    const uint x = first + swath * SWATH + lane();
    place.lane[swath] = x < side->extent ? x * 4u : OUTSIDE;
  }
  return place;
}

static inline Place along(const Side *side, uint first, uint wavefront, uint slots, uint k) {
  Place place;
  place.k = k + (lane() & 7u);
  place.lane[0] = (lane() >> 3) * side->stride + place.k * 4u;
  for (uint i = 0; i < slots; ++i)
    place.fixed[i] = minimum(first + (wavefront * slots + i) * 8u, side->extent - 1u) * side->stride;
  return place;
}

static inline void load_across(const Side *side, Place *place, uint waves, uint slots, float *value) {
#pragma unroll
  for (uint i = 0; i < slots; ++i)
    value[i] = read(side->buffer, place->lane[i % waves], minimum((place->k + i / waves) * side->stride, side->bytes));
  place->k += DEPTH;
}

static inline void load_along(const Side *side, Place *place, uint slots, float *value) {
  const uint from = place->k < side->depth ? place->lane[0] : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < slots; ++i) value[i] = read(side->buffer, from, place->fixed[i]);
  place->k += DEPTH;
  place->lane[0] += DEPTH * 4u;
}

static inline void keep_across(local float *tile, uint waves, uint wavefront, uint slots, const float *value) {
  local float *to = tile + wavefront * slots / waves * PITCH(waves) + lane();
#pragma unroll
  for (uint i = 0; i < slots; ++i) to[i / waves * PITCH(waves) + i % waves * SWATH] = value[i];
}

static inline void keep_along(local float *tile, uint waves, uint wavefront, uint slots, const float *value) {
  local float *to = tile + (lane() & 7u) * PITCH(waves) + wavefront * slots * 8u + (lane() >> 3);
#pragma unroll
  for (uint i = 0; i < slots; ++i) to[i * 8u] = value[i];
}

typedef float4_t Sums[8][2]; /* [y][quad of x] */

static inline float4_t quad(local const float *row, uint at) { return *(local const float4_t *)(row + at); }

/* sums += a tile's eight k; the reads of the next k are under way while one is multiplied. */
static inline void multiply(local const float *x_row, uint x_pitch, local const float *y_row, uint y_pitch, Sums sums) {
  float4_t x[2], y[2], next_x[2], next_y[2];
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    x[h] = quad(x_row, h * 32u);
    y[h] = quad(y_row, h * 32u);
  }
#pragma unroll
  for (uint k = 0; k < DEPTH; ++k) {
    if (k + 1u < DEPTH) {
#pragma unroll
      for (uint h = 0; h < 2; ++h) {
        next_x[h] = quad(x_row + (k + 1u) * x_pitch, h * 32u);
        next_y[h] = quad(y_row + (k + 1u) * y_pitch, h * 32u);
      }
    }
    keep_order();
#pragma unroll
    for (uint j = 0; j < 8; ++j)
#pragma unroll
      for (uint h = 0; h < 2; ++h) sums[j][h] += x[h] * y[j / 4u][j % 4u];
    keep_order();
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      x[h] = next_x[h];
      y[h] = next_y[h];
    }
  }
}

/* A byte offset, or one that is outside of the buffer. */
static inline uint where(bool inside, uint bytes) { return inside ? bytes : OUTSIDE; }

/* The work-item's sums of quad h (and element i of it) to `to`, from row y on as far as there are `rows`, `row` bytes
   apart; at: bytes of its first row, or OUTSIDE. */
static inline void store_quads(Buffer to, uint at, uint h, uint y, uint rows, uint row, Sums sums) {
#pragma unroll
  for (uint j = 0; j < 8; ++j) {
    const uint below = j / 4u * 32u + j % 4u;
    write4(to, where(at != OUTSIDE && y + below < rows, at + below * row), 0u, sums[j][h]);
  }
}

static inline void store_elements(Buffer to, uint at, uint h, uint i, uint y, uint rows, uint row, Sums sums) {
#pragma unroll
  for (uint j = 0; j < 8; ++j) {
    const uint below = j / 4u * 32u + j % 4u;
    write(to, where(at != OUTSIDE && y + below < rows, at + below * row), 0u, sums[j][h][i]);
  }
}

/* C[y][x], `leading` elements between rows; x, y: the work-item's first element. */
static inline void store_matrix(global float *c, uint columns, uint rows, uint leading, uint x, uint y, Sums sums) {
  const Buffer to = buffer_of(c, ((rows - 1u) * leading + columns) * 4u);
  const uint row = leading * 4u;
  if (((columns | leading) & 3u) == 0u) {
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      const uint column = x + h * 32u;
      store_quads(to, where(column < columns, y * row + column * 4u), h, y, rows, row, sums);
    }
  } else {
#pragma unroll
    for (uint h = 0; h < 2; ++h)
#pragma unroll
      for (uint i = 0; i < 4; ++i) {
        const uint column = x + h * 32u + i;
        store_elements(to, where(column < columns, y * row + column * 4u), h, i, y, rows, row, sums);
      }
  }
}

#define TOGETHER(waves) ((waves) == 1 ? compiler_fence() : workgroup_barrier())

#endif
