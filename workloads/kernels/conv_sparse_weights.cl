/* The operands of a sparse product that gives a convolution's weights' gradients without padding, and its result: x is
   read with images and channels exchanged, a column of the maps for each channel and pixel, whose rows are images. */
#define ABSENT_BY_COLUMN
#define CHANNELS_APART
#include "conv_sparse.h"

/* Maps as they are. Workgroups: EDGE images, EDGE pixels of channels. */
KERNEL void image_columns(global const float *restrict x, global float *restrict columns, uint ld, Windows m) {
  local float tile[EDGE * SPREAD];
  float value[ROWS];
  meet(value, tile, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_columns(value, columns, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

/* The same in ELLPACK-DIB, with the blocks of a pixel side by side in `absent` as well. */
KERNEL void image_bundles(global const float *restrict x, global uint *restrict bundles, global uint *restrict absent,
                          uint ld, Windows m) {
  local float tile[EDGE * SPREAD];
  float value[ROWS];
  meet(value, tile, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

/* to[filter][channel * taps + tap] = the products' column of the tap and channel, 0 where no window meets the planes with
   the tap; rows: channels times taps. Workgroups: rows, filters. */
KERNEL void weight_results(global const float *restrict from, constant int *restrict positions, global float *restrict to,
                           uint rows, uint filters, uint from_ld, uint to_ld, Divisor by_taps,
                           Divisor by_groups) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_row = group_id_x() * EDGE, first_filter = column_group(by_groups) * EDGE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint row = minimum(first_row + first + i, rows - 1u), channel = scalar(quotient(row, by_taps));
    const int column = positions[remainder_of(row, channel, by_taps)];
    const Buffer source =
        buffer_of(from + (ulong)(column < 0 ? 0 : column + (int)channel) * from_ld, column < 0 ? 0u : filters * 4u);
    tile[(first + i) * SPREAD + lane] = read(source, (first_filter + lane) * 4u, 0u);
  }
  workgroup_barrier();
  const uint to_bytes = ((filters - 1u) * to_ld + rows) * 4u;
  const Buffer target = buffer_of(to, to_bytes);
  const uint write_at = first_row + lane < rows ? (first_row + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint filter = first_filter + first + i;
    write(target, write_at, filter < filters ? filter * to_ld * 4u : to_bytes, tile[lane * SPREAD + first + i]);
  }
}
