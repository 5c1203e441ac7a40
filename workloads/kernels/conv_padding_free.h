/* A convolution as products without padding: the outputs whose filters meet the planes with the same taps are a part, a
   product over these taps alone. All parts are of one launch. A workgroup finds its part in a table among the arguments.

   Operands and results lie by positions first and images last, so that lanes read images side by side whatever part of
   the planes they are in. The weights are read where they are. */
#ifndef CONV_PADDING_FREE_H
#define CONV_PADDING_FREE_H

#include "tile.h"

#define MOST_PARTS 64u
#define TURN 128u /* filters that begin at the same channel: those of the largest tile */
#define CYCLE_WORDS (2u * DEPTH) /* of the table of a cycle, for a block of steps: bytes of the input, then of the weights */

/* first_tile: number of its first tile along x; pixels: positions times images, in rows of `columns` positions. Bytes of
   the input where the first tap of the first position is, from there to the next row and column of positions and of taps;
   of the weights, from the first tap's to those of the next row and column; of the results likewise. */
typedef struct {
  uint first_tile, pixels, columns, tap_rows, tap_columns;
  uint input, input_row, input_column, tap_row, tap_column, weight, weight_row, weight_column;
  uint output, output_row, output_column;
} Part;

/* filters: results of a group; channels: of a group, what is summed, `split_channels` in each of the splits of the sum.
   Bytes of a channel of the input, and of a result's plane; of the weights from one channel and filter to the next, and
   of a group's. */
typedef struct {
  uint parts, groups, images, filters, channels, split_channels;
  uint plane, output_plane, channel, filter, weights;
} Product;

typedef struct {
  Part part[MOST_PARTS];
} Parts;

/* What a product kernel is called with, as the argument block has it: a table there is read by scalar loads. */
typedef struct {
  global const float *input, *weight;
  global float *output;
  uint table;
  Product p;
  Parts parts;
} Arguments;

static inline constant const Arguments *arguments(void) {
  return (constant const Arguments *)__builtin_amdgcn_kernarg_segment_ptr();
}

/* The last part that begins at or before the tile. */
static inline uint part_of(constant const Arguments *a, uint tile) {
  uint number = 0;
  for (uint step = MOST_PARTS / 2u; step; step >>= 1)
    if (number + step < a->p.parts && tile >= a->parts.part[number + step].first_tile) number += step;
  return number;
}

/* Channels after which blocks of steps begin at a first tap again. Steps go through the taps of a channel first. */
static inline uint cycle_channels(uint taps) { return taps & 1u ? 8u : taps & 2u ? 4u : taps & 4u ? 2u : 1u; }

/* Where a pixel's first tap is, or its result, but for the first position's. */
static inline uint bytes_of_pixel(uint number, uint images, uint columns, uint by_row, uint by_column) {
  const uint position = number / images, row = position / columns;
  return row * by_row + (position - row * columns) * by_column + (number - position * images) * 4u;
}

#endif
