/* What turns a convolution into the sparse matrix products' operands and back: im2col with a column for each window,
   and transposition. A workgroup passes 64 x 64 elements through LDS, so that loads and stores both meet whole lines.
   Each matrix, and each image's group of planes, has less than 4 GiB. */
#include "tile.h"

#define EDGE 64u
#define SPREAD (EDGE + 1u) /* elements between rows in LDS: a column of them meets all banks */
#define ROWS (EDGE / (GROUP / WAVEFRONT_LANES)) /* of a wavefront */

/* height, width: of a plane, bytes: of a group's planes; depth: weights of a filter; windows: of a plane; tap_row,
   tap_column: between taps; row_step, column_step: between windows; by_taps: of a channel; by_tap_columns: of a row of
   them; by_width: windows of a row. */
typedef struct {
  uint height, width, bytes, depth, windows, tap_row, tap_column, row_step, column_step, top, left;
  Divisor by_taps, by_tap_columns, by_width;
} Windows;

/* columns[image][window][weight] is what a weight of a filter meets, zero in the padding.
   x: the group's first plane in the first image; image_step: elements between images; ld: between windows.
   Workgroups: weights, windows, images. */
KERNEL void im2col_columns(global const float *restrict x, global float *restrict columns, ulong image_step, uint ld,
                           Windows m) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_weight = group_id_x() * EDGE, first_window = group_id_y() * EDGE;
  const ulong image = group_id_z();
  const Buffer planes = buffer_of(x + image * image_step, m.bytes);

  const uint window = minimum(first_window + lane, m.windows - 1u);
  const uint a = quotient(window, m.by_width), b = remainder_of(window, a, m.by_width);
  const uint row = a * m.row_step - m.top, column = b * m.column_step - m.left;
  const uint corner = (row * m.width + column) * 4u; /* below 0 where the window begins in the padding */

  const uint weight = minimum(first_weight + first, m.depth - 1u);
  uint channel = scalar(quotient(weight, m.by_taps));
  const uint tap = remainder_of(weight, channel, m.by_taps);
  uint tap_row = scalar(quotient(tap, m.by_tap_columns));
  uint tap_column = remainder_of(tap, tap_row, m.by_tap_columns);
  float value[ROWS];
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint below = tap_row * m.tap_row, beside = tap_column * m.tap_column;
    const bool inside = row + below < m.height && column + beside < m.width;
    const uint at = corner + ((channel * m.height + below) * m.width + beside) * 4u;
    value[i] = read(planes, inside ? at : OUTSIDE, 0u);
    /* the next weight; past the last one, whose values are not stored, the channel does not matter */
    tap_column++;
    const bool row_ends = tap_column == m.by_tap_columns.divisor;
    tap_column = row_ends ? 0u : tap_column;
    tap_row += row_ends ? 1u : 0u;
    const bool channel_ends = tap_row * m.by_tap_columns.divisor == m.by_taps.divisor;
    tap_row = channel_ends ? 0u : tap_row;
    channel += channel_ends ? 1u : 0u;
  }
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) tile[(first + i) * SPREAD + lane] = value[i];
  workgroup_barrier();

  const uint bytes = ((m.windows - 1u) * ld + m.depth) * 4u;
  const Buffer to = buffer_of(columns + image * m.windows * ld, bytes);
  const uint at = first_weight + lane < m.depth ? (first_weight + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint stored = first_window + first + i;
    write(to, at, stored < m.windows ? stored * ld * 4u : bytes, tile[lane * SPREAD + first + i]);
  }
}

/* to[c][r] = from[r][c], and bias[c] added to it if `add` is not 0: of each of several matrices.
   Workgroups: rows of from, its columns, matrices. */
KERNEL void transpose(global const float *restrict from, global float *restrict to, global const float *restrict bias,
                      uint rows, uint columns, uint from_ld, uint to_ld, ulong from_step, ulong to_step, uint add) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_row = group_id_x() * EDGE, first_column = group_id_y() * EDGE;
  const ulong matrix = group_id_z();

  const uint from_bytes = ((rows - 1u) * from_ld + columns) * 4u;
  const Buffer source = buffer_of(from + matrix * from_step, from_bytes);
  const uint read_at = first_column + lane < columns ? (first_column + lane) * 4u : OUTSIDE;
  float value[ROWS];
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint row = first_row + first + i;
    value[i] = read(source, read_at, row < rows ? row * from_ld * 4u : from_bytes);
  }
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) tile[(first + i) * SPREAD + lane] = value[i];
  workgroup_barrier();

  const uint to_bytes = ((columns - 1u) * to_ld + rows) * 4u;
  const Buffer target = buffer_of(to + matrix * to_step, to_bytes);
  const uint write_at = first_row + lane < rows ? (first_row + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint column = first_column + first + i;
    const float moved = tile[lane * SPREAD + first + i];
    const float shift = add ? bias[minimum(column, columns - 1u)] : 0.0f;
    write(target, write_at, column < columns ? column * to_ld * 4u : to_bytes, add ? moved + shift : moved);
  }
}
