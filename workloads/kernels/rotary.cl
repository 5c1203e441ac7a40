/* Rotary position embedding of rows [.., positions, width]: elements d and d + width / 2 are turned by an angle of the
   position's number times a frequency that falls with d. turn: 1, or -1 for the gradient, which turns back. y may be x. */
#include "elements.h"

KERNEL void rotary(global const float *x, global float *y, Divisor by_half, Divisor by_positions, float first,
                   float log2_base_share, float turn, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  const uint row = quotient(at, by_half), d = remainder_of(at, row, by_half), half_width = by_half.divisor;
  const uint position = remainder_of(row, quotient(row, by_positions), by_positions);
  const float turns = ((float)position + first) * (exp2_of(-(float)d * log2_base_share) * 0.159154943f);
  const float part = __builtin_amdgcn_fractf(turns);
  const float c = __builtin_amdgcn_cosf(part), s = __builtin_amdgcn_sinf(part) * turn;
  const uint place = row * 2u * half_width + d;
  const float left = x[place], right = x[place + half_width];
  y[place] = left * c - right * s;
  y[place + half_width] = right * c + left * s;
}
