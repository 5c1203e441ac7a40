/* Convolutions without padding, by parts (conv_padding_free.h): forward, with weights contiguous along the sum, and backward
   to the data, with the filters turned round. Names: forward or backward; then wavefronts along pixels and along filters. */
#include "conv_padding_free.h"

#define EDGE 64u
#define SPREAD (EDGE + 1u)
#define EDGE_ROWS 16u /* of a wavefront, of four */

/* to[image][row] = the sum over the splits of from[split][row][image], the bias of the row's plane added where `biased` is
   not 0, results below zero made zero where `rectified` is, and 0 where `masked` is and `mask`, as `to`, is not positive.
   Workgroups: EDGE rows, EDGE images. */
KERNEL void images_first(global const float *restrict from, global const float *restrict bias,
                         global const float *restrict mask, global float *restrict to, uint rows, uint images, uint splits,
                         uint biased, uint rectified_, uint masked, Divisor by_plane) {
  local float tile[EDGE * SPREAD];
  const uint lane = lane_id(), first = wavefront_id() * EDGE_ROWS;
  const uint first_row = group_id_x() * EDGE, first_image = group_id_y() * EDGE, bytes = rows * images * 4u;
  const uint read_at = where(first_image + lane < images, (first_image + lane) * 4u);
  float value[EDGE_ROWS] = {0.0f};
  for (uint split = 0; split < splits; ++split) {
    const Buffer source = buffer_of(from + (ulong)split * rows * images, bytes);
#pragma unroll
    for (uint i = 0; i < EDGE_ROWS; ++i) value[i] += read(source, read_at, minimum((first_row + first + i) * images * 4u, bytes));
  }
#pragma unroll
  for (uint i = 0; i < EDGE_ROWS; ++i) tile[(first + i) * SPREAD + lane] = value[i];
  workgroup_barrier();

  const Buffer target = buffer_of(to, bytes), masks = buffer_of(mask, bytes);
  const uint row = first_row + lane, write_at = where(row < rows, row * 4u);
  const float shift = biased ? bias[quotient(minimum(row, rows - 1u), by_plane)] : 0.0f;
#pragma unroll
  for (uint i = 0; i < EDGE_ROWS; ++i) {
    const uint image = first_image + first + i, image_bytes = image < images ? image * rows * 4u : bytes;
    float moved = tile[lane * SPREAD + first + i];
    moved = biased ? moved + shift : moved;
    moved = rectified_ ? rectified(moved) : moved;
    moved = masked ? passed_on(read(masks, write_at, image_bytes), moved) : moved;
    write(target, write_at, image_bytes, moved);
  }
}

#define NAME conv_padding_free_forward_2x2x8
#define ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_padding_free_body.h"

#define NAME conv_padding_free_forward_2x1x4
#define ALONG 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_body.h"

#define NAME conv_padding_free_forward_1x1x4
#define ALONG 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_body.h"

#define NAME conv_padding_free_backward_2x2x8
#define ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_padding_free_body.h"

#define NAME conv_padding_free_backward_2x1x4
#define ALONG 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_body.h"

#define NAME conv_padding_free_backward_1x1x4
#define ALONG 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_body.h"
