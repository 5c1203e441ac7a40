/* Scores [.., queries, keys] of which a query sees the keys up to its own place; the others become `masked`. The same
   with 0 is the gradient's mask. y may be x. */
#include "elements.h"

KERNEL void causal_mask(global const float *x, global float *y, Divisor by_keys, Divisor by_queries, uint before,
                        float masked, uint n) {
  const uint at = group_id_x() * GROUP + local_id_x();
  if (at >= n) return;
  const uint row = quotient(at, by_keys), key = remainder_of(at, row, by_keys);
  const uint query = remainder_of(row, quotient(row, by_queries), by_queries);
  y[at] = key <= query + before ? x[at] : masked;
}
