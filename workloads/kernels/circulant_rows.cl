/* im2col of all images as rows, a vector [channels, taps] for each window, its reverse, and the transposition between rows
   and maps. */
#include "conv_im2col.h"

/* A work-item: a window of a channel, all taps. by_plane: windows, by_width: of a row of them. */
KERNEL void circulant_im2col(global const float *restrict x, global float *restrict rows, Image m) {
  const uint number = group_id_x() * GROUP + local_id_x(), image = group_id_y();
  if (number >= m.channels * m.windows) return;
  /* neighbours have neighbouring channels, whose values lie side by side in a row */
  const uint taps = m.rows * m.columns;
  const uint channel = quotient(number, m.by_plane), window = remainder_of(number, channel, m.by_plane);
  global const float *plane = x + ((ulong)image * m.channels + channel) * m.height * m.width;
  global float *to = rows + ((ulong)image * m.windows + window) * m.channels * taps + channel * taps;
  keep_taps(m, window, plane, to, 1u);
}

/* A work-item: an element of dx, the sum over the taps that met it. by_plane: elements, by_width: of a row of them;
   window_rows x window_columns windows. */
KERNEL void circulant_col2im(global const float *restrict rows, global float *restrict dx, Image m, uint window_rows,
                             uint window_columns) {
  const uint number = group_id_x() * GROUP + local_id_x(), image = group_id_y();
  const uint channel = quotient(number, m.by_plane), place = remainder_of(number, channel, m.by_plane);
  if (channel >= m.channels) return;
  const uint pitch = m.channels * m.rows * m.columns;
  global const float *from = rows + (ulong)image * window_rows * window_columns * pitch + channel * m.rows * m.columns;
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
  dx[(ulong)image * m.channels * m.by_plane.divisor + number] = sum;
}

#define TILE 32u

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
