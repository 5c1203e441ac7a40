/* How an image lies, for im2col and its reverse. */
#ifndef CONV_IM2COL_H
#define CONV_IM2COL_H

#include "elements.h"

/* windows: of a plane; row_step, column_step: between windows, tap_row, tap_column: between taps; top, left: padding. */
typedef struct {
  uint channels, height, width, rows, columns, windows, tap_row, tap_column, top, left;
  Divisor by_plane, by_width, by_row_step, by_column_step;
} Image;

#endif
