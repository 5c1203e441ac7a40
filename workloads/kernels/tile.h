/* A tile of C by a workgroup, FP32: C[y][x] = sum over k of X[k][x] * Y[k][y], x the direction in which C is contiguous.
   A wavefront computes 64 x 64 elements, a work-item 8 x 8 of them: the quads x = 4 * (lane & 7) and 32 more, y alike
   from lane / 8; or, with half as many registers, 64 x 32 elements and 8 x 4. Eight k of X and of Y go through LDS at a time, double-buffered, while the next eight come from memory
   into registers.

   Operands are read by buffer instructions. What lies past the buffer's end reads as zero, so that no edge of a matrix
   needs a branch; the wavefront's part of an offset stays in a scalar register; and their results are waited for by a
   counter of their own, while FLAT instructions share that of LDS. */
#ifndef TILE_H
#define TILE_H

#include "buffer.h"
#include "elements.h"

#define DEPTH 8u
#define SWATH 64u                /* elements that a wavefront reads at once: tiles have so many, or a multiple */
#define PAD 4u                   /* floats after a row of the LDS tile: stores of columns then meet all banks */
#define OUTSIDE 0xfffffffcu      /* a lane's offset past the end of every buffer */
/* the lane, of which the compiler knows no more: nothing that follows from it is held in registers from before */
static inline uint lane_anew(void) {
  uint number = lane_id();
  __asm__ volatile("" : "+v"(number));
  return number;
}

#define PITCH(swaths) (SWATH * (swaths) + PAD)
#define TILE_FLOATS(swaths) (DEPTH * PITCH(swaths))

/* the lane, from a register that is there at first */
static inline uint lane(void) { return local_id_x() & (WAVEFRONT_LANES - 1u); }

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

static inline Place across(const Side *side, uint first, uint swaths, uint wavefront, uint slots, uint k) {
  Place place;
  place.k = k + wavefront * slots / swaths;
  for (uint swath = 0; swath < swaths; ++swath) {
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

static inline void load_across(const Side *side, Place *place, uint swaths, uint slots, float *value) {
#pragma unroll
  for (uint i = 0; i < slots; ++i)
    value[i] = read(side->buffer, place->lane[i % swaths], minimum((place->k + i / swaths) * side->stride, side->bytes));
  place->k += DEPTH;
}

static inline void load_along(const Side *side, Place *place, uint slots, float *value) {
  const uint from = place->k < side->depth ? place->lane[0] : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < slots; ++i) value[i] = read(side->buffer, from, place->fixed[i]);
  place->k += DEPTH;
  place->lane[0] += DEPTH * 4u;
}

static inline void keep_across(local float *tile, uint swaths, uint wavefront, uint slots, const float *value) {
  local float *to = tile + wavefront * slots / swaths * PITCH(swaths) + lane();
#pragma unroll
  for (uint i = 0; i < slots; ++i) to[i / swaths * PITCH(swaths) + i % swaths * SWATH] = value[i];
}

static inline void keep_along(local float *tile, uint swaths, uint wavefront, uint slots, const float *value) {
  local float *to = tile + (lane() & 7u) * PITCH(swaths) + wavefront * slots * 8u + (lane() >> 3);
#pragma unroll
  for (uint i = 0; i < slots; ++i) to[i * 8u] = value[i];
}

typedef float4_t Sums[8][2]; /* [y][quad of x]; ROWS of the y are in use, 4 or 8 */

/* the work-item's row j, from its first one */
static inline uint below(uint j) { return j / 4u * 32u + j % 4u; }

static inline float4_t quad(local const float *row, uint at) { return *(local const float4_t *)(row + at); }

/* sums += a tile's eight k; the reads of the next k are under way while one is multiplied. */
static inline void multiply(local const float *x_row, uint x_pitch, local const float *y_row, uint y_pitch, uint rows,
                            Sums sums) {
  float4_t x[2], y[2], next_x[2] = {0.0f}, next_y[2] = {0.0f};
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    x[h] = quad(x_row, h * 32u);
    if (h < rows / 4u) y[h] = quad(y_row, h * 32u);
  }
#pragma unroll
  for (uint k = 0; k < DEPTH; ++k) {
    if (k + 1u < DEPTH) {
#pragma unroll
      for (uint h = 0; h < 2; ++h) {
        next_x[h] = quad(x_row + (k + 1u) * x_pitch, h * 32u);
        if (h < rows / 4u) next_y[h] = quad(y_row + (k + 1u) * y_pitch, h * 32u);
      }
    }
    keep_order();
#pragma unroll
    for (uint j = 0; j < rows; ++j)
#pragma unroll
      for (uint h = 0; h < 2; ++h) sums[j][h] += x[h] * y[j / 4u][j % 4u];
    keep_order();
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      x[h] = next_x[h];
      if (h < rows / 4u) y[h] = next_y[h];
    }
  }
}

/* A byte offset, or one that is outside of the buffer. */
static inline uint where(bool inside, uint bytes) { return inside ? bytes : OUTSIDE; }

/* The work-item's sums (`used` rows) to `to`, from row y on as far as there are `rows`, `row` bytes apart, by quads or
   one by one; at: bytes of each in its first row, or OUTSIDE. What lies side by side is stored one after the other. */
static inline void store_quads(Buffer to, const uint at[2], uint y, uint rows, uint row, uint used, Sums sums) {
#pragma unroll
  for (uint j = 0; j < used; ++j)
#pragma unroll
    for (uint h = 0; h < 2; ++h)
      write4(to, where(at[h] != OUTSIDE && y + below(j) < rows, at[h] + below(j) * row), 0u, sums[j][h]);
}

static inline void store_elements(Buffer to, const uint at[8], uint y, uint rows, uint row, uint used, Sums sums) {
#pragma unroll
  for (uint j = 0; j < used; ++j)
#pragma unroll
    for (uint h = 0; h < 2; ++h)
#pragma unroll
      for (uint i = 0; i < 4; ++i) {
        const uint from = at[4u * h + i];
        write(to, where(from != OUTSIDE && y + below(j) < rows, from + below(j) * row), 0u, sums[j][h][i]);
      }
}

/* C[y][x], `leading` elements between rows; x, y: the work-item's first element. */
static inline void store_matrix(global float *c, uint columns, uint rows, uint leading, uint x, uint y, uint used,
                                Sums sums) {
  const Buffer to = buffer_of(c, ((rows - 1u) * leading + columns) * 4u);
  const uint row = leading * 4u;
  uint at[8];
  if (((columns | leading) & 3u) == 0u) {
    for (uint h = 0; h < 2; ++h) at[h] = where(x + h * 32u < columns, y * row + (x + h * 32u) * 4u);
    store_quads(to, at, y, rows, row, used, sums);
  } else {
    for (uint e = 0; e < 8; ++e) {
      const uint column = x + e / 4u * 32u + e % 4u;
      at[e] = where(column < columns, y * row + column * 4u);
    }
    store_elements(to, at, y, rows, row, used, sums);
  }
}

/* To the work-item's sums the value of each of its rows, which are y and others below `rows`. */
static inline void add_of_rows(Buffer values, uint y, uint rows, uint used, Sums sums) {
#pragma unroll
  for (uint j = 0; j < used; ++j) {
    const float value = read(values, minimum(y + below(j), rows - 1u) * 4u, 0u);
    for (uint h = 0; h < 2; ++h) sums[j][h] += value;
  }
}

/* A ReLU. Kernels with it are others than those without: a branch past it would cost registers for the sums of both ways,
   and an instruction for each sum would cost short sums time. */
static inline void rectify(uint used, Sums sums) {
#pragma unroll
  for (uint j = 0; j < used; ++j)
#pragma unroll
    for (uint h = 0; h < 2; ++h)
#pragma unroll
      for (uint i = 0; i < 4; ++i) sums[j][h][i] = rectified(sums[j][h][i]);
}

/* To the sums what C[y][x] holds already, if `add`; x, y: the wavefront's first element. An empty buffer reads as zero,
   where a branch would cost registers for the sums of both ways. */
static inline void add_matrix(global const float *c, uint columns, uint rows, uint leading, uint first_x, uint first_y,
                              uint used, uint add, Sums sums) {
  const Buffer from = buffer_of(c, add ? ((rows - 1u) * leading + columns) * 4u : 0u);
#pragma unroll
  for (uint j = 0; j < used; ++j) {
    const uint number = lane_anew(), x = first_x + 4u * (number & 7u), y = first_y + 4u * (number >> 3);
#pragma unroll
    for (uint h = 0; h < 2; ++h)
#pragma unroll
      for (uint i = 0; i < 4; ++i) {
        const uint column = x + h * 32u + i;
        const bool inside = column < columns && y + below(j) < rows;
        sums[j][h][i] += read(from, where(inside, ((y + below(j)) * leading + column) * 4u), 0u);
      }
    keep_order(); /* all rows at once would take more registers than there are */
  }
}

/* A workgroup's tile of SWATHS_X by SWATHS_Y swaths, ROWS rows a work-item: its wavefronts, and what each of them reads
   and where its part of the tile begins. */
#define WAVES (SWATHS_X * SWATHS_Y * (8 / ROWS))
#define SLOTS_X (DEPTH * SWATHS_X / WAVES)
#define SLOTS_Y (DEPTH * SWATHS_Y / WAVES)
#define BUFFER_FLOATS (TILE_FLOATS(SWATHS_X) + TILE_FLOATS(SWATHS_Y))
#define SWATH_X(wavefront) ((wavefront) % SWATHS_X * SWATH)
#define SWATH_Y(wavefront) ((wavefront) / SWATHS_X * (SWATH / (8 / ROWS)))
#define TOGETHER() (WAVES == 1 ? compiler_fence() : workgroup_barrier())
#define TILE_KERNEL                                                                                                    \
  kernel __attribute__((reqd_work_group_size(64 * WAVES, 1, 1), amdgpu_waves_per_eu(ROWS == 8 ? 2 : 3)))

#endif
