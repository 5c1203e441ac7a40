/* Rows of one array into the places of rows of another: a part of the channels of every image. */
#include "elements.h"

/* by_length: a row's elements that are copied, or its fours of them; distances and offsets in the same unit. */
#define COPY_ROWS(name, type)                                                                                          \
  KERNEL void name(global const type *restrict from, global type *restrict to, Divisor by_length, uint from_distance,  \
                   uint from_offset, uint to_distance, uint to_offset, uint n) {                                       \
    const uint item = group_id_x() * GROUP + local_id_x();                                                             \
    if (item >= n) return;                                                                                             \
    const uint row = quotient(item, by_length), at = remainder_of(item, row, by_length);                               \
    to[row * to_distance + to_offset + at] = from[row * from_distance + from_offset + at];                             \
  }
COPY_ROWS(copy_rows, float)
COPY_ROWS(copy_rows4, float4_t)
