/* Convolution as an implicit product: Y[filter][pixel] = sum over steps k = (tap, channel) of filters[k][filter] times
   the element that the tap of the pixel's window meets. Forward, or backward to the data: that is a convolution of dy
   with the filters turned round, and with a stride one for each place of an output between two windows.

   Before it `conv_prepare` puts the filters' elements into the order of the sum, and writes down where the taps lie.
   Names: s1, any number of channels; s8, a multiple of eight; then wavefronts along pixels and along filters. */
#include "conv.h"

/* Which element of the weights belongs to tap (i, j), channel and filter of a group; signed distances, in elements. */
typedef struct {
  uint depth, filters, pairs, rows, columns; /* pairs: channels and filters of all groups; rows and columns of taps */
  int first, group, filter, channel, row, column;
  uint tap_row, tap_column, plane, width; /* rows and columns between taps; elements of the input's planes and rows */
  Divisor by_filters, by_channels, by_columns;
} Filters;

/* A work-item puts all taps of a channel and a filter into their places: they are neighbours in the weights, and so are
   filters in the result. */
KERNEL void conv_prepare(global const float *restrict weight, global float *restrict filters, global Step *restrict taps,
                         Filters f) {
  const uint number = group_id_x() * GROUP + local_id_x();
  const uint channels = f.by_channels.divisor;
  if (number <= f.depth) {
    const uint tap = quotient(number, f.by_channels), channel = remainder_of(number, tap, f.by_channels);
    const uint i = quotient(tap, f.by_columns), j = remainder_of(tap, i, f.by_columns);
    const uint row = i * f.tap_row, column = j * f.tap_column;
    const Step step = {(channel * f.plane + row * f.width + column) * 4u, (int)row, (int)column, 0};
    const Step none = {0u, NOWHERE, 0, 0};
    taps[number] = number < f.depth ? step : none;
  }
  if (number >= f.pairs) return;
  const uint line = quotient(number, f.by_filters), filter = remainder_of(number, line, f.by_filters);
  const uint group = quotient(line, f.by_channels), channel = remainder_of(line, group, f.by_channels);
  global const float *from = weight + (f.first + (int)group * f.group + (int)filter * f.filter + (int)channel * f.channel);
  global float *to = filters + ((group * f.depth + channel) * f.filters + filter);
  for (uint i = 0; i < f.rows; ++i)
    for (uint j = 0; j < f.columns; ++j) {
      *to = from[(int)i * f.row + (int)j * f.column];
      to += channels * f.filters;
    }
}

#define NAME conv_s1_2x2x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s1_2x1x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s1_1x2x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s1_1x1x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s1_2x1x4
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_s1_1x1x4
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_s8_2x2x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s8_2x1x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s8_1x2x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s8_1x1x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_s8_2x1x4
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_s8_1x1x4
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"
