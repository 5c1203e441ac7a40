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

#define MOST_PARTS 64u

/* Windows that meet the planes with the same taps. columns: of the product, by positions and then images; the next part's
   begin at a multiple of 64; position: the first of an image's windows, position_row windows before that a row below; width:
   windows of a row. The first tap of the first window meets `row` and `column`; base: bytes of the filters before that tap. */
typedef struct {
  uint first_column, columns, width, position, position_row, row, column, base;
} Part;

/* images, and planes of height x width; from one window to the next, and from one tap to the next; taps of a row;
   before: columns of other products. */
typedef struct {
  uint images, height, width, row_step, column_step, tap_row, tap_column, tap_columns, taps, columns, before, of_pixel, parts;
} PartsShape;

typedef struct {
  Part part[MOST_PARTS];
} Parts;

/* As the argument block of `part_places` has it. */
typedef struct {
  global const void *places, *bases, *positions;
  PartsShape s;
  Parts parts;
} Arguments;

/* Where windows of parts with as many taps find their pixels: places [taps][columns] as of `window_places`; for each 64
   columns the bytes before their first tap; for each position of an image the first image's column, -1 where no tap meets the
   planes. Workgroups: columns, taps and one more. */
KERNEL void part_places(global int *restrict places, global uint *restrict bases, global int *restrict positions,
                        PartsShape s, Parts parts) {
  const uint number = group_id_x() * GROUP + local_id_x(), tap = group_id_y();
  const bool after = tap == s.taps;
  if (number >= s.columns + (after ? 4u : 0u)) return;
  if (after) {
    if (s.taps) places[(ulong)tap * s.columns + number] = -1;
    if (s.taps || number >= s.columns) return;
  }
  constant const Part *part = ((constant const Arguments *)__builtin_amdgcn_kernarg_segment_ptr())->parts.part;
  for (uint i = 1; i < s.parts && number >= part[1].first_column; ++i) ++part;
  const uint in_part = number - part->first_column, position = in_part / s.images, image = in_part - position * s.images;
  const uint a = position / part->width, b = position - a * part->width;
  const uint i = s.tap_columns ? tap / s.tap_columns : 0u, j = tap - i * s.tap_columns;
  const uint row = part->row + a * s.row_step + i * s.tap_row, column = part->column + b * s.column_step + j * s.tap_column;
  const bool used = in_part < part->columns;
  if (s.taps) places[(ulong)tap * s.columns + number] = used ? (int)(((image * s.height + row) * s.width + column) * s.of_pixel) : -1;
  if (tap) return;
  if (number % 64u == 0u && s.taps) bases[number / 64u] = part->base;
  if (used && image == 0u) positions[part->position + a * part->position_row + b] = s.taps ? (int)(s.before + number) : -1;
}

/* to[image][filter][position] = the position's column of the products, 0 where there is none; the bias of the filter is added
   if `add` is not 0. Workgroups: positions, filters, images. */
KERNEL void columns_results(global const float *restrict from, constant int *restrict positions, global float *restrict to,
                            global const float *restrict bias, uint rows, uint columns, uint from_ld, uint of_image, uint add) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const uint first_row = group_id_x() * EDGE, first_column = group_id_y() * EDGE, image = group_id_z();
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint row = minimum(first_row + first + i, rows - 1u);
    const int column = positions[row];
    const Buffer source = buffer_of(from + (ulong)(column < 0 ? 0 : column + (int)image) * from_ld, column < 0 ? 0u : columns * 4u);
    tile[(first + i) * SPREAD + lane] = read(source, (first_column + lane) * 4u, 0u);
  }
  workgroup_barrier();
  const uint to_bytes = columns * rows * 4u;
  const Buffer target = buffer_of(to + (ulong)image * of_image, to_bytes);
  const uint write_at = first_row + lane < rows ? (first_row + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint column = first_column + first + i;
    const float moved = tile[lane * SPREAD + first + i];
    const float shift = add ? bias[minimum(column, columns - 1u)] : 0.0f;
    write(target, write_at, column < columns ? column * rows * 4u : to_bytes, add ? moved + shift : moved);
  }
}
