/* How many elements of an array are zero: a measurement of the sparsity monitor. Both zeros count, numbers too small for
   the normal format do not, so bits are compared. A wavefront's zeros are counted by a mask and a scalar. */
#include "reduce.h"

#define LOADS 8u /* of four elements, of a work-item, a workgroup's length apart */

static inline uint zeros_of(float value) {
  return count_bits(__builtin_amdgcn_uicmp((uint)bits_of(value) << 1, 0u, 32)); /* 32: equal, 33: not */
}

/* The workgroup's sum of a count of each wavefront, to one place. */
static inline void store_sum(uint of_wavefront, local uint *scratch, global uint *to) {
  if (lane_id() == 0u) scratch[wavefront_id()] = of_wavefront;
  workgroup_barrier();
  if (local_id_x() != 0u) return;
  uint sum = scratch[0];
  for (uint k = 1; k < WAVEFRONTS; ++k) sum += scratch[k];
  *to = sum;
}

KERNEL void count_zeros(global const float *restrict x, global uint *restrict counts, uint n) {
  local uint scratch[WAVEFRONTS];
  const uint group = group_id_x() * (GROUP * LOADS * 4u), first = group + local_id_x() * 4u;
  uint zeros = 0;
  if (group + GROUP * LOADS * 4u <= n) {
    float4_t value[LOADS];
    for (uint k = 0; k < LOADS; ++k) value[k] = load4(x, first + k * (GROUP * 4u));
    for (uint k = 0; k < LOADS; ++k)
      for (uint i = 0; i < 4u; ++i) zeros += zeros_of(value[k][i]);
  } else {
    for (uint k = 0; k < LOADS * 4u; ++k) {
      const uint at = group + k * GROUP + local_id_x();
      zeros += zeros_of(at < n ? x[at] : 1.0f);
    }
  }
  store_sum(zeros, scratch, counts + group_id_x());
}

KERNEL void add_counts(global const uint *restrict counts, global uint *restrict zeros, uint n) {
  local uint scratch[WAVEFRONTS];
  uint sum = 0;
  for (uint at = local_id_x(); at < n; at += GROUP) sum += counts[at];
  uint total = 0;
  for (uint bit = 0; bit < 32u; ++bit) total += count_bits(__builtin_amdgcn_uicmp(sum & (1u << bit), 0u, 33)) << bit;
  store_sum(total, scratch, zeros);
}
