/* Convolution with filters of 3 x 3 and stride 1 by Winograd's minimal filtering (Lavin and Gray 2015): the transforms
   before and after the products that sgemm_batched.cl computes, one for each place of a window.

   F(m x m, 3 x 3) computes tiles of m x m results, m = 2 or 4, from windows of (m + 2) x (m + 2) elements. Of every
   array of transformed values the places come first, [place][channel or filter][tile], so that lanes go along tiles. */
#include "conv.h"

/* The tiles of some images' planes of results. tiles: in use; held: with those that round their number up, whose values
   are zero. planes: of an image, height x width elements each; bytes: of all images' planes. by_tiles: tiles that a
   plane has space for; by_plane, by_columns: tiles of an image's plane and of a row of it. A tile's window begins `top`
   rows above and `left` columns before its first result.

   Transformed values: place_bytes and plane_bytes from a place and from a plane to the next. */
typedef struct {
  uint tiles, held, planes, height, width, bytes, place_bytes, plane_bytes, transformed_bytes;
  int top, left;
  Divisor by_tiles, by_plane, by_columns;
} Tiles;

/* A work-item's plane (channel or filter) and tile. */
typedef struct {
  uint plane, tile;
} Item;

static inline Item item_of(Tiles w) {
  const uint number = group_id_x() * GROUP + local_id_x();
  Item item;
  item.plane = quotient(number, w.by_tiles);
  item.tile = remainder_of(number, item.plane, w.by_tiles);
  return item;
}

/* out = matrix . in, `rows` results from `columns` values that are `step` apart, like the results. */
INLINE void transform(constant const float *matrix, uint rows, uint columns, const float *in, uint in_step, float *out,
                      uint out_step) {
#pragma unroll
  for (uint i = 0; i < rows; ++i) {
    float sum = 0.0f;
    bool first = true;
#pragma unroll
    for (uint j = 0; j < columns; ++j) {
      const float factor = matrix[i * columns + j];
      if (factor == 0.0f) continue;
      sum = first ? factor * in[j * in_step] : sum + factor * in[j * in_step];
      first = false;
    }
    out[i * out_step] = sum;
  }
}

/* out = matrix . in . matrix transposed */
INLINE void transform_both(constant const float *matrix, uint rows, uint columns, const float *in, float *out) {
  float half_way[36];
#pragma unroll
  for (uint j = 0; j < columns; ++j) transform(matrix, rows, columns, in + j, columns, half_way + j, columns);
#pragma unroll
  for (uint i = 0; i < rows; ++i) transform(matrix, rows, columns, half_way + i * columns, 1u, out + i * rows, 1u);
}

INLINE void write2(Buffer to, uint lane_bytes, float first, float second) {
  const uint2_t both = {__builtin_astype(first, uint), __builtin_astype(second, uint)};
  __builtin_amdgcn_raw_buffer_store_b64(both, to, (int)lane_bytes, 0, 0);
}

INLINE void write_byte(Buffer to, uint lane_bytes, uint value) {
  __builtin_amdgcn_raw_buffer_store_b8((uchar)value, to, (int)lane_bytes, 0, 0);
}

/* A work-item's values at all places, `step` bytes apart in a buffer. */
INLINE void keep_places(Buffer to, uint places, uint step, uint at, const float *value) {
#pragma unroll
  for (uint place = 0; place < places; ++place) write(to, at, place * step, value[place]);
}

INLINE void take_places(Buffer from, uint places, uint step, uint at, float *value) {
#pragma unroll
  for (uint place = 0; place < places; ++place) value[place] = read(from, at, place * step);
}

/* A tile's window of size x size elements of a plane, zero outside of it. step: rows and columns between windows. */
INLINE void window_of(global const float *from, Tiles w, Item item, uint step, uint size, float *value) {
  const Pixel at = pixel_of(item.tile, w.by_plane, w.by_columns);
  const uint column = at.column * step - (uint)w.left;
  const uint row = item.tile < w.tiles ? at.row * step - (uint)w.top : (uint)NOWHERE;
  const uint first = (((at.image * w.planes + item.plane) * w.height + row) * w.width + column) * 4u;
  const Buffer buffer = buffer_of(from, w.bytes);
#pragma unroll
  for (uint i = 0; i < size; ++i)
#pragma unroll
    for (uint j = 0; j < size; ++j) {
      const bool inside = row + i < w.height && column + j < w.width;
      value[i * size + j] = read(buffer, where(inside, first + (i * w.width + j) * 4u), 0u);
    }
}

/* The matrices for the points 0, 1, -1 and infinity (m = 2), and 2 and -2 too (m = 4): what
   workloads/operators/winograd.py derives. */
constant float WINDOWS_2[] = {-1, 0, 1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, -1, 0, 1};
constant float FILTERS_2[] = {-1, 0, 0, 0.5f, 0.5f, 0.5f, 0.5f, -0.5f, 0.5f, 0, 0, 1};
constant float RESULTS_2[] = {1, 1, 1, 0, 0, 1, -1, 1};
constant float GRADIENTS_2[] = {-1, 0, 0.5f, 0.5f, 0.5f, -0.5f, 0, 1};
constant float WEIGHTS_2[] = {1, 1, 1, 0, 0, 1, -1, 0, 0, 1, 1, 1};

constant float WINDOWS_4[] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1, 1, 0, 0, 4, -4, -1, 1, 0,
                              0, -2, -1, 2, 1, 0, 0, 2, -1, -2, 1, 0, 0, 4, 0, -5, 0, 1};
#define SIXTH (1.0f / 6.0f)
#define TWELFTH (1.0f / 12.0f)
#define TWENTY_FOURTH (1.0f / 24.0f)
constant float FILTERS_4[] = {0.25f, 0, 0, -SIXTH, -SIXTH, -SIXTH, -SIXTH, SIXTH, -SIXTH,
                              TWENTY_FOURTH, TWELFTH, SIXTH, TWENTY_FOURTH, -TWELFTH, SIXTH, 0, 0, 1};
constant float RESULTS_4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};
constant float GRADIENTS_4[] = {0.25f, 0, 0, 0, -SIXTH, -SIXTH, -SIXTH, -SIXTH, -SIXTH, SIXTH, -SIXTH, SIXTH,
                                TWENTY_FOURTH, TWELFTH, SIXTH, 2 * SIXTH, TWENTY_FOURTH, -TWELFTH, SIXTH, -2 * SIXTH,
                                0, 0, 0, 1};
constant float WEIGHTS_4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 1};

#define TILE 2
#include "winograd_body.h"
#undef TILE

#define TILE 4
#include "winograd_body.h"
