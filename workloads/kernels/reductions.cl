/* Sums over one axis of an array [outer, count, inner], times a number, in parts of `length` of the axis: the result is
   [outer, parts, inner]. With an inner axis a work-item has a column, else a wavefront a row. */
#include "reduce.h"

KERNEL void sum_rows(global const float *restrict x, global float *restrict y, uint count, uint length, Divisor by_parts,
                     float scale, uint rows) {
  const uint row = group_id_x() * WAVEFRONTS + wavefront_id();
  if (row >= rows) return;
  const uint outer = quotient(row, by_parts), part = remainder_of(row, outer, by_parts);
  const uint begin = part * length, end = minimum(begin + length, count);
  float sum = 0.0f;
  for (uint k = begin + lane_id(); k < end; k += WAVEFRONT_LANES) sum += x[outer * count + k];
  sum = wavefront_sum(sum) * scale;
  if (lane_id() == 0u) y[row] = sum;
}

KERNEL void sum_columns(global const float *restrict x, global float *restrict y, uint count, uint length,
                        Divisor by_parts, Divisor by_inner, float scale, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  const uint row = quotient(at, by_inner), column = remainder_of(at, row, by_inner);
  const uint outer = quotient(row, by_parts), part = remainder_of(row, outer, by_parts);
  const uint begin = part * length, end = minimum(begin + length, count);
  float sum = 0.0f;
  for (uint k = begin; k < end; ++k) sum += x[(outer * count + k) * by_inner.divisor + column];
  y[at] = sum * scale;
}
