/* ELLPACK-DIB: one non-zero in 32 bits, FP16 value in the low half and row index in the high half. */
#ifndef DIB_H
#define DIB_H

#include "wavefront.h"

#define LINE_BUNDLES 16u /* of a compacted line */
#define BUNDLES_PER_BATCH 64u /* four compacted lines: what one load of a wavefront brings */
#define STATUS_LAST 1u
#define NO_BUNDLE 0xffffffffu /* sorts behind every row */

static inline float half_bits_to_float(uint bits) {
  return (float)__builtin_bit_cast(_Float16, (ushort)bits);
}

static inline uint float_to_half_bits(float value) {
  return (uint)__builtin_bit_cast(ushort, (_Float16)value);
}

/* The sparse load: FLAT_LOAD_DWORDX2 with glc and slc. The first dword is the bundle of that dword address in the
   compacted line, the second the line's status. The pointer is only dword aligned, which FLAT loads allow. */
static inline uint2_t sparse_load(global const float *address) {
  return __builtin_nontemporal_load((global const uint2_t *)address);
}

#endif
