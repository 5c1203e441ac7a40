/* Rows of a table by number, and the gradient of the table: each of its rows' sum over where it was taken, in order. */
#include "elements.h"

KERNEL void embedding_forward(global const float *restrict weight, global const uint *restrict x, global float *restrict y,
                              uint rows, Divisor by_width, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  const uint place = quotient(at, by_width), column = remainder_of(at, place, by_width);
  y[at] = weight[minimum(x[place], rows - 1u) * by_width.divisor + column];
}

/* group_id_y: a row of the table; work-items have columns of it; count: places in all. */
KERNEL void embedding_backward(global const uint *restrict x, global const float *restrict dy,
                               global float *restrict dweight, uint count, uint width) {
  const uint row = group_id_y(), column = group_id_x() * GROUP + local_id_x();
  const uint mine = minimum(column, width - 1u);
  float sum = 0.0f;
  for (uint first = 0; first < count; first += WAVEFRONT_LANES) {
    const uint place = first + lane_id();
    const uint number = x[minimum(place, count - 1u)];
    ulong found = __builtin_amdgcn_uicmp(number, row, 32) & __builtin_amdgcn_uicmp(place, count, 36);
    while (found) {
      const uint lane = (uint)__builtin_ctzl(found);
      found &= found - 1u;
      sum += dy[(first + lane) * width + mine];
    }
  }
  if (column < width) dweight[row * width + column] = sum;
}
