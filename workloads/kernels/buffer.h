/* Buffer instructions: what lies past the buffer's end reads as zero; the part of an offset that a wavefront shares stays
   in a scalar register. */
#ifndef BUFFER_H
#define BUFFER_H

#include "wavefront.h"

typedef __amdgpu_buffer_rsrc_t Buffer;

/* Its words are put into scalar registers: a 64-bit address that the vector ALU multiplied is not there by itself, and
   the compiler would loop over the lanes for each access. */
static inline Buffer buffer_of(global const void *from, uint bytes) {
  const uint2_t words = __builtin_astype(from, uint2_t);
  const uint2_t base = {scalar(words.x), scalar(words.y)};
  void *pointer = __builtin_astype(base, void *);
  return __builtin_amdgcn_make_buffer_rsrc(pointer, 0, (int)scalar(bytes), 0x00027000);
}

static inline float read(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(__builtin_amdgcn_raw_buffer_load_b32(from, (int)lane_bytes, (int)bytes, 0), float);
}

static inline void write(Buffer to, uint lane_bytes, uint bytes, float value) {
  __builtin_amdgcn_raw_buffer_store_b32(__builtin_astype(value, uint), to, (int)lane_bytes, (int)bytes, 0);
}

static inline void write4(Buffer to, uint lane_bytes, uint bytes, float4_t value) {
  __builtin_amdgcn_raw_buffer_store_b128(__builtin_astype(value, uint4_t), to, (int)lane_bytes, (int)bytes, 0);
}

static inline uint2_t read2(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_amdgcn_raw_buffer_load_b64(from, (int)lane_bytes, (int)bytes, 0);
}

static inline uint4_t read4(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_amdgcn_raw_buffer_load_b128(from, (int)lane_bytes, (int)bytes, 0);
}

#endif
