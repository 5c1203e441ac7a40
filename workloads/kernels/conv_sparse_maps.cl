/* The operands of an implicit sparse convolution: its maps in ELLPACK-DIB, where windows find them, and the filters. */
#define ABSENT_BY_COLUMN
#include "conv_sparse.h"

/* The maps themselves in ELLPACK-DIB: what im2col of filters of 1 x 1 is, with the blocks of a pixel side by side in
   `absent` as well. */
KERNEL void maps_bundles(global const float *restrict x, global uint *restrict bundles, global uint *restrict absent,
                         uint ld, Windows m) {
  local float tile[EDGE * SPREAD];
  float value[ROWS];
  meet(value, tile, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

KERNEL void maps_bundles_small(global const float *restrict x, global uint *restrict bundles,
                               global uint *restrict absent, uint ld, Windows m) {
  float value[ROWS];
  meet_small(value, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

/* The first of the blocks, `of_pixel` of them apart, that a window meets with a tap, and -1 in the padding: places [taps][windows],
   and -1 for another row and four words. Workgroups: windows, taps and one more. */
KERNEL void window_places(global int *restrict places, uint of_pixel, Windows m) {
  const uint window = group_id_x() * GROUP + local_id_x(), tap = group_id_y();
  const bool after = tap == m.by_taps.divisor;
  if (window >= m.windows + (after ? 4u : 0u)) return;
  const uint image = quotient(window, m.by_image), of_image = remainder_of(window, image, m.by_image);
  const uint a = quotient(of_image, m.by_width), b = remainder_of(of_image, a, m.by_width);
  const uint tap_row = quotient(tap, m.by_tap_columns), tap_column = remainder_of(tap, tap_row, m.by_tap_columns);
  const uint row = a * m.row_step - m.top + tap_row * m.tap_row;
  const uint column = b * m.column_step - m.left + tap_column * m.tap_column;
  const bool inside = !after && row < m.height && column < m.width;
  const uint pixel = (image * m.height + row) * m.width + column;
  places[(ulong)tap * m.windows + window] = inside ? (int)(pixel * of_pixel) : -1;
}

/* to[t * tap_rows + c][r] = from[r][c * taps + t]: filters, a column for each tap and channel of several
   matrices. Workgroups: rows of from, its columns, matrices. */
KERNEL void transpose_filters(global const float *restrict from, global float *restrict to, uint rows, uint columns,
                              uint to_ld, uint tap_rows, ulong from_step, ulong to_step, Divisor by_taps) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_row = group_id_x() * EDGE, first_column = group_id_y() * EDGE;
  const ulong matrix = group_id_z();

  const uint from_bytes = rows * columns * 4u;
  const Buffer source = buffer_of(from + matrix * from_step, from_bytes);
  const uint read_at = first_column + lane < columns ? (first_column + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint row = first_row + first + i;
    tile[(first + i) * SPREAD + lane] = read(source, read_at, row < rows ? row * columns * 4u : from_bytes);
  }
  workgroup_barrier();

  const uint to_bytes = by_taps.divisor * tap_rows * to_ld * 4u;
  const Buffer target = buffer_of(to + matrix * to_step, to_bytes);
  const uint write_at = first_row + lane < rows ? (first_row + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint column = first_column + first + i, channel = scalar(quotient(column, by_taps));
    const uint to_row = remainder_of(column, channel, by_taps) * tap_rows + channel;
    write(target, write_at, column < columns ? to_row * to_ld * 4u : to_bytes, tile[lane * SPREAD + first + i]);
  }
}
