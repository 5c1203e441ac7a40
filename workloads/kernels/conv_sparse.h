/* What the kernels of sparse convolutions share: what windows meet, through LDS, and how it is stored. A workgroup passes
   64 x 64 elements through LDS, so that loads and stores both meet whole lines. Each matrix, and the planes of all images,
   has less than 4 GiB. */
#ifndef CONV_SPARSE_H
#define CONV_SPARSE_H

#include "dib.h"
#include "tile.h"

#define EDGE 64u
#define SPREAD (EDGE + 1u) /* elements between rows in LDS: a column of them meets all banks */
#define ROWS (EDGE / (GROUP / WAVEFRONT_LANES)) /* of a wavefront */

/* height, width: of a plane; bytes: of the group's planes, from those of the first image to those of the last; depth:
   weights of a filter; windows: of all images; tap_row, tap_column: between taps; row_step, column_step: between windows;
   image_bytes: between images; by_taps: of a channel; by_tap_columns: of a row of them; by_width: windows of a row;
   by_image: of an image. channel_rows: rows between channels, where other planes lie between (CHANNELS_APART). */
typedef struct {
  uint height, width, bytes, depth, windows, tap_row, tap_column, row_step, column_step, top, left, image_bytes;
#ifdef CHANNELS_APART
#define BETWEEN_CHANNELS(m) (m).channel_rows
  uint channel_rows;
#else
#define BETWEEN_CHANNELS(m) (m).height
#endif
  Divisor by_taps, by_tap_columns, by_width, by_image;
} Windows;

/* Which EDGE columns of a matrix a workgroup transposes: those of its number, moved on by that of its rows. Workgroups
   side by side begin at other columns: the same ones of rows a power of two apart lie in one memory channel. */
static inline uint column_group(Divisor by_groups) {
  const uint sum = group_id_x() + group_id_y();
  return remainder_of(sum, scalar(quotient(sum, by_groups)), by_groups);
}

/* value[i] is what the lane's window meets of the wavefront's weight i, of EDGE weights from first_weight on and EDGE
   windows from first_window on; zero in the padding, anything for weights or windows past the last one. x: the group's
   first plane in the first image. Loads go along windows. */
static inline void meet_along(float *value, global const float *restrict x, const Windows m, uint first_weight,
                              uint first_window) {
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  const Buffer planes = buffer_of(x, m.bytes);

  const uint window = minimum(first_window + lane, m.windows - 1u);
  const uint image = quotient(window, m.by_image), of_image = remainder_of(window, image, m.by_image);
  const uint a = quotient(of_image, m.by_width), b = remainder_of(of_image, a, m.by_width);
  const uint row = a * m.row_step - m.top, column = b * m.column_step - m.left;
  /* below 0 where the first image's window begins in the padding */
  const uint corner = image * m.image_bytes + (row * m.width + column) * 4u;

  const uint weight = minimum(first_weight + first, m.depth - 1u);
  uint channel = scalar(quotient(weight, m.by_taps));
  const uint tap = remainder_of(weight, channel, m.by_taps);
  uint tap_row = scalar(quotient(tap, m.by_tap_columns));
  uint tap_column = remainder_of(tap, tap_row, m.by_tap_columns);
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint below = tap_row * m.tap_row, beside = tap_column * m.tap_column;
    const bool inside = row + below < m.height && column + beside < m.width;
    const uint at = corner + ((channel * BETWEEN_CHANNELS(m) + below) * m.width + beside) * 4u;
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
}

/* The other way round: value[i] is what the lane's weight meets in the wavefront's window i, through the tile of LDS. */
static inline void meet(float *value, local float *tile, global const float *restrict x, const Windows m,
                        uint first_weight, uint first_window) {
  const uint lane = lane_id(), first = wavefront_id() * ROWS;
  meet_along(value, x, m, first_weight, first_window);
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) tile[(first + i) * SPREAD + lane] = value[i];
  workgroup_barrier();
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) value[i] = tile[lane * SPREAD + first + i];
}

/* The same as `meet` where a line of memory holds planes of several channels: loads go along weights, which meet few lines. */
static inline void meet_small(float *value, global const float *restrict x, const Windows m, uint first_weight,
                              uint first_window) {
  const uint first = first_window + wavefront_id() * ROWS;
  const Buffer planes = buffer_of(x, m.bytes);
  const uint weight = minimum(first_weight + lane_id(), m.depth - 1u);
  const uint channel = quotient(weight, m.by_taps), tap = remainder_of(weight, channel, m.by_taps);
  const uint tap_row = quotient(tap, m.by_tap_columns), tap_column = remainder_of(tap, tap_row, m.by_tap_columns);
  const uint below = tap_row * m.tap_row, beside = tap_column * m.tap_column;
  const uint within = ((channel * BETWEEN_CHANNELS(m) + below) * m.width + beside) * 4u;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint window = minimum(first + i, m.windows - 1u);
    const uint image = scalar(quotient(window, m.by_image)), of_image = remainder_of(window, image, m.by_image);
    const uint a = scalar(quotient(of_image, m.by_width)), b = remainder_of(of_image, a, m.by_width);
    const uint row = a * m.row_step - m.top, column = b * m.column_step - m.left;
    const bool inside = row + below < m.height && column + beside < m.width;
    const uint corner = image * m.image_bytes + (row * m.width + column) * 4u;
    value[i] = read(planes, inside ? corner + within : OUTSIDE, 0u);
  }
}

/* A matrix of `columns` columns, each of `rows` elements: columns[column][row] = value, whose lanes go along the rows; ld:
   between columns. Of im2col a column is a window and its rows are weights, or the other way round. */
static inline void store_columns(const float *value, global float *restrict columns, uint ld, uint row_count,
                                 uint column_count, uint first_row, uint first_column) {
  const uint lane = lane_id(), first = first_column + wavefront_id() * ROWS;
  const uint bytes = ((column_count - 1u) * ld + row_count) * 4u;
  const Buffer to = buffer_of(columns, bytes);
  const uint at = first_row + lane < row_count ? (first_row + lane) * 4u : OUTSIDE;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) write(to, at, first + i < column_count ? (first + i) * ld * 4u : bytes, value[i]);
}

/* The same in ELLPACK-DIB at once, as dib_convert_blocks makes it of columns: each EDGE rows of a column are compacted
   by themselves, into the same place of `bundles`; absent[block][column], or, with ABSENT_BY_COLUMN, absent[column][block]:
   how many of a block's bundles lie in lines that are not written. What is no non-zero goes behind the others, as a zero bundle, so that all are stored at once. */
static inline void store_bundles(const float *value, global uint *restrict bundles, global uint *restrict absent, uint ld,
                                 uint row_count, uint column_count, uint first_row, uint first_column) {
  const uint lane = lane_id(), first = first_column + wavefront_id() * ROWS;
  const uint bytes = column_count * ld * 4u;
  const Buffer to = buffer_of((global const float *)bundles, bytes);
  uint absent_of_lane = 0;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const float met = first_row + lane < row_count ? value[i] : 0.0f;
    const ulong mask = __builtin_amdgcn_fcmpf(met, 0.0f, 14); /* 14: unordered or unequal, so that NaN counts */
    const uint before = __builtin_amdgcn_mbcnt_hi((uint)(mask >> 32), __builtin_amdgcn_mbcnt_lo((uint)mask, 0u));
    const uint count = count_bits(mask), held = count == 0u ? LINE_BUNDLES : (count + LINE_BUNDLES - 1u) & -LINE_BUNDLES;
    const bool present = !(met == 0.0f);
    const uint bundle = present ? (lane << 16) | float_to_half_bits(met) : 0u;
    const uint place = present ? before : count + lane - before;
    const int packed = __builtin_amdgcn_ds_permute((int)(place * 4u), (int)bundle);
    const uint at = lane < held ? (first_row + lane) * 4u : OUTSIDE;
    write(to, at, first + i < column_count ? (first + i) * ld * 4u : bytes, __builtin_astype(packed, float));
    absent_of_lane = lane == i ? WAVEFRONT_LANES - held : absent_of_lane;
  }
#ifdef ABSENT_BY_COLUMN
  const Buffer counts = buffer_of((global const float *)absent, column_count * ld / EDGE * 4u);
  const uint place = ((first + lane) * (ld / EDGE) + first_row / EDGE) * 4u;
  const uint at = lane < ROWS && first + lane < column_count ? place : OUTSIDE;
#else
  const Buffer counts =
      buffer_of((global const float *)absent + (ulong)(first_row / EDGE) * column_count, column_count * 4u);
  const uint at = lane < ROWS && first + lane < column_count ? (first + lane) * 4u : OUTSIDE;
#endif
  write(counts, at, 0u, __builtin_astype(absent_of_lane, float));
}

#endif
