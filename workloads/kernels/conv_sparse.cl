/* What turns a convolution into the sparse matrix products' operands and back: im2col with a column for each window, as
   it is or in ELLPACK-DIB, and transposition. */
#include "conv_sparse.h"

/* im2col. Workgroups: EDGE weights, EDGE windows. */
KERNEL void im2col_columns(global const float *restrict x, global float *restrict columns, uint ld, Windows m) {
  local float tile[EDGE * SPREAD];
  float value[ROWS];
  meet(value, tile, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_columns(value, columns, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

KERNEL void im2col_columns_small(global const float *restrict x, global float *restrict columns, uint ld, Windows m) {
  float value[ROWS];
  meet_small(value, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_columns(value, columns, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

KERNEL void im2col_bundles(global const float *restrict x, global uint *restrict bundles, global uint *restrict absent,
                           uint ld, Windows m) {
  local float tile[EDGE * SPREAD];
  float value[ROWS];
  meet(value, tile, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

KERNEL void im2col_bundles_small(global const float *restrict x, global uint *restrict bundles,
                                 global uint *restrict absent, uint ld, Windows m) {
  float value[ROWS];
  meet_small(value, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.depth, m.windows, group_id_x() * EDGE, group_id_y() * EDGE);
}

/* The same with a column for each weight, of what it meets in all windows: B of the weights' gradients. */
KERNEL void im2col_weights(global const float *restrict x, global float *restrict columns, uint ld, Windows m) {
  float value[ROWS];
  meet_along(value, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_columns(value, columns, ld, m.windows, m.depth, group_id_y() * EDGE, group_id_x() * EDGE);
}

KERNEL void im2col_weight_bundles(global const float *restrict x, global uint *restrict bundles,
                                  global uint *restrict absent, uint ld, Windows m) {
  float value[ROWS];
  meet_along(value, x, m, group_id_x() * EDGE, group_id_y() * EDGE);
  store_bundles(value, bundles, absent, ld, m.windows, m.depth, group_id_y() * EDGE, group_id_x() * EDGE);
}

/* to[c][r] = from[r][c], and bias[c] added to it if `add` is not 0: of each of several matrices.
   Workgroups: rows of from, its columns, matrices. */
KERNEL void transpose(global const float *restrict from, global float *restrict to, global const float *restrict bias,
                      uint rows, uint columns, uint from_ld, uint to_ld, ulong from_step, ulong to_step, uint add,
                      Divisor by_groups) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_row = group_id_x() * EDGE, first_column = column_group(by_groups) * EDGE;
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
