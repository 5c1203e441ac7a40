/* Gradients of a convolution's weights without padding: the sum of a tap goes over the positions whose filters meet the
   planes with it. A product for each tap, all of one launch, over channels side by side, by positions and then by images. */
#ifndef CONV_PADDING_FREE_WEIGHTS_H
#define CONV_PADDING_FREE_WEIGHTS_H

#include "tile.h"

#define MOST_TAPS 128u

/* Number among a channel's weights; positions whose filters meet the planes with it, and bytes of x and of dy at the first
   one. */
typedef struct {
  uint number, rows, columns, x, dy;
} Tap;

/* channels, filters: of a group. Bytes of the operands from one image to the next, to the next column of positions, and to
   the next row; in all. split_images: in each of the splits of the sum. */
typedef struct {
  uint splits, groups, images, split_images, channels, filters, weights_of_channel;
  uint x_image, x_column, x_row, x_bytes, dy_image, dy_column, dy_row, dy_bytes;
} Sum;

typedef struct {
  Tap tap[MOST_TAPS];
} Taps;

/* What a product kernel is called with, as the argument block has it: a table there is read by scalar loads. */
typedef struct {
  global const float *x, *dy;
  global float *sums;
  Sum s;
  Taps taps;
} Arguments;

#endif
