/* im2col of all images as rows, a vector [channels, taps] for each window, its reverse, and the transposition between rows
   and maps. */
#include "conv_im2col.h"

/* A work-item: a value of a row, so that neighbours store side by side. by_depth: values of a row, by_taps: of a channel,
   by_tap_columns: of a row of taps; m.by_width: of a row of windows. */
KERNEL void circulant_im2col(global const float *restrict x, global float *restrict rows, Image m, Divisor by_depth,
                             Divisor by_taps, Divisor by_tap_columns) {
  const uint number = group_id_x() * GROUP + local_id_x(), image = group_id_y(), count = m.windows * by_depth.divisor;
  if (number >= count) return;
  const uint window = quotient(number, by_depth), value = remainder_of(number, window, by_depth);
  const uint channel = quotient(value, by_taps), tap = remainder_of(value, channel, by_taps);
  const uint i = quotient(tap, by_tap_columns), j = remainder_of(tap, i, by_tap_columns);
  const uint a = quotient(window, m.by_width), b = remainder_of(window, a, m.by_width);
  const uint row = a * m.by_row_step.divisor - m.top + i * m.tap_row;
  const uint column = b * m.by_column_step.divisor - m.left + j * m.tap_column;
  const ulong plane = ((ulong)image * m.channels + channel) * m.height * m.width;
  rows[(ulong)image * count + number] = row < m.height && column < m.width ? x[plane + row * m.width + column] : 0.0f;
}

#define TILE 32u

/* A work-item: elements of dx, each the sum over the taps that met it. Neighbours take channels, which lie side by side in
   rows, so that a line of a row serves all its taps; the sums go through LDS to neighbours in maps. by_width: of a row of
   elements; window_rows x window_columns windows; places: elements of a plane. */
KERNEL void circulant_col2im(global const float *restrict rows, global float *restrict dx, Image m, uint window_rows,
                             uint window_columns, uint places) {
  local float tile[TILE][TILE + 1u];
  const uint across = local_id_x() % TILE, down = local_id_x() / TILE, image = group_id_z();
  const uint first_place = group_id_x() * TILE, first_channel = group_id_y() * TILE;
  const uint taps = m.rows * m.columns, pitch = m.channels * taps, mine = first_channel + across;
  rows += (ulong)image * window_rows * window_columns * pitch;
  for (uint step = down; step < TILE; step += GROUP / TILE) {
    const uint place = first_place + step;
    if (place >= places || mine >= m.channels) continue;
    global const float *from = rows + mine * taps;
    const uint row = quotient(place, m.by_width) + m.top, column = remainder_of(place, row - m.top, m.by_width) + m.left;
    float sum = 0.0f;
    for (uint i = 0; i < m.rows; ++i)
      for (uint j = 0; j < m.columns; ++j, ++from) {
        const uint above = row - i * m.tap_row, before = column - j * m.tap_column;
        if (above > row || before > column) continue;
        const uint a = quotient(above, m.by_row_step), b = quotient(before, m.by_column_step);
        const bool begins = a * m.by_row_step.divisor == above && b * m.by_column_step.divisor == before;
        if (begins && a < window_rows && b < window_columns) sum += from[(ulong)(a * window_columns + b) * pitch];
      }
    tile[step][across] = sum;
  }
  workgroup_barrier();
  dx += (ulong)image * m.channels * places;
  for (uint step = down; step < TILE; step += GROUP / TILE)
    if (first_channel + step < m.channels && first_place + across < places)
      dx[(ulong)(first_channel + step) * places + first_place + across] = tile[across][step];
}

/* y = x [rows, columns] of each image transposed. */
KERNEL void circulant_transpose(global const float *restrict x, global float *restrict y, uint rows, uint columns) {
  local float tile[TILE][TILE + 1u];
  const uint across = local_id_x() % TILE, down = local_id_x() / TILE;
  const uint first_row = group_id_y() * TILE, first_column = group_id_x() * TILE;
  const ulong image = (ulong)group_id_z() * rows * columns;
  for (uint step = down; step < TILE; step += GROUP / TILE)
    if (first_row + step < rows && first_column + across < columns)
      tile[step][across] = x[image + (ulong)(first_row + step) * columns + first_column + across];
  workgroup_barrier();
  for (uint step = down; step < TILE; step += GROUP / TILE)
    if (first_column + step < columns && first_row + across < rows)
      y[image + (ulong)(first_column + step) * rows + first_row + across] = tile[across][step];
}
