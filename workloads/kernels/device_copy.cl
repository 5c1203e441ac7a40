/* Copies bytes within device memory: 16 a work-item, so that a wavefront moves whole lines; the last work-item moves
   what is left byte by byte. Both arrays begin at a multiple of 16. */
#include "wavefront.h"


#define BYTES_PER_ITEM 16ul

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void device_copy(global const uint4_t *restrict from,
                                                                         global uint4_t *restrict to, ulong bytes) {
  const ulong item = (ulong)group_id_x() * 256ul + local_id_x();
  const ulong start = item * BYTES_PER_ITEM;
  if (start + BYTES_PER_ITEM <= bytes) {
    to[item] = from[item];
  } else {
    for (ulong at = start; at < bytes; ++at) ((global uchar *)to)[at] = ((global const uchar *)from)[at];
  }
}
