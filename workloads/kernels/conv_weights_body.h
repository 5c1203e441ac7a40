/* One kernel of conv_weights.cl. Defined before each inclusion: NAME; SWATHS_X, SWATHS_Y, wavefronts of the workgroup along
   weights of a filter and along filters. */
TILE_KERNEL void NAME(
    global const float *restrict x, global const float *restrict dy, constant Step *restrict positions,
    global float *restrict sums_of_parts, Reduction w) {
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * SWATHS_X, first_y = group_id_y() * SWATH * SWATHS_Y;
  const uint part = scalar(quotient(group_id_z(), w.by_groups)), group = group_id_z() - part * w.by_groups.divisor;
  const uint begin = part * w.part_depth, end = minimum(begin + w.part_depth, w.depth);
  const View view = taps_of(x, w, first_x, SWATHS_X, group);
  Way way = way_of(dy, w, first_y, wavefront, SLOTS_Y, group, begin);
  uint cycle = scalar(quotient(begin, w.by_cycle)), number = begin - cycle * w.by_cycle.divisor;
  uint first = cycle * w.cycle_bytes, next = begin;
  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  const uint first_k = wavefront * SLOTS_X / SWATHS_X;
  Sums sums = {{0.0f}};
  float x_value[SLOTS_X], dy_value[SLOTS_Y];

#define LOAD()                                                                                                         \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) {                                                                               \
      const uint k = first_k + i / SWATHS_X;                                                                            \
      const Step position = positions[next + k < end ? number + k : w.by_cycle.divisor];                               \
      x_value[i] = read(view.buffer, seen(&view, w.height, w.width, i % SWATHS_X, position), first + position.bytes);   \
    }                                                                                                                  \
    load_way(&way, w, SLOTS_Y, end, dy_value);                                                                         \
    next += DEPTH;                                                                                                     \
    number += DEPTH;                                                                                                   \
    first = number == w.by_cycle.divisor ? first + w.cycle_bytes : first;                                              \
    number = number == w.by_cycle.divisor ? 0u : number;                                                               \
  }

  LOAD();
  uint buffer = 0;
  keep_across(tiles, SWATHS_X, wavefront, SLOTS_X, x_value);
  keep_along(tiles + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, dy_value);
  for (uint k = begin; k < end; k += DEPTH) {
    TOGETHER();
    LOAD();
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(SWATHS_X), tiles + buffer + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS,
             sums);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, SWATHS_X, wavefront, SLOTS_X, x_value);
    keep_along(tiles + buffer + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, dy_value);
  }
  store_matrix(sums_of_parts + (ulong)group_id_z() * w.filters * w.columns, w.columns, w.filters, w.columns,
               first_x + swath_x + 4u * (lane_id() & 7u), first_y + swath_y + 4u * (lane_id() >> 3), ROWS, sums);
}

#undef LOAD
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
