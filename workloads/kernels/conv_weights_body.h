/* One kernel of conv_weights.cl. Defined before each inclusion: NAME; WAVES_X, WAVES_Y, wavefronts of the workgroup along
   weights of a filter and along filters. */
#define WAVES (WAVES_X * WAVES_Y)
#define SLOTS_X (DEPTH / WAVES_Y)
#define SLOTS_Y (DEPTH / WAVES_X)
#define BUFFER_FLOATS (TILE_FLOATS(WAVES_X) + TILE_FLOATS(WAVES_Y))

kernel __attribute__((reqd_work_group_size(64 * WAVES, 1, 1), amdgpu_waves_per_eu(2, 2))) void NAME(
    global const float *restrict x, global const float *restrict dy, constant Step *restrict positions,
    global float *restrict sums_of_parts, Reduction w) {
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * WAVES_X, first_y = group_id_y() * SWATH * WAVES_Y;
  const uint part = scalar(quotient(group_id_z(), w.by_groups)), group = group_id_z() - part * w.by_groups.divisor;
  const uint begin = part * w.part_depth, end = minimum(begin + w.part_depth, w.depth);
  const View view = taps_of(x, w, first_x, WAVES_X, group);
  Way way = way_of(dy, w, first_y, wavefront, SLOTS_Y, group, begin);
  uint cycle = scalar(quotient(begin, w.by_cycle)), number = begin - cycle * w.by_cycle.divisor;
  uint first = cycle * w.cycle_bytes, next = begin;
  const uint swath_x = wavefront % WAVES_X * SWATH, swath_y = wavefront / WAVES_X * SWATH;
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  const uint first_k = wavefront * SLOTS_X / WAVES_X;
  Sums sums = {{0.0f}};
  float x_value[SLOTS_X], dy_value[SLOTS_Y];

#define LOAD()                                                                                                         \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) {                                                                               \
      const uint k = first_k + i / WAVES_X;                                                                            \
      const Step position = positions[next + k < end ? number + k : w.by_cycle.divisor];                               \
      x_value[i] = read(view.buffer, seen(&view, w.height, w.width, i % WAVES_X, position), first + position.bytes);   \
    }                                                                                                                  \
    load_way(&way, w, SLOTS_Y, end, dy_value);                                                                         \
    next += DEPTH;                                                                                                     \
    number += DEPTH;                                                                                                   \
    first = number == w.by_cycle.divisor ? first + w.cycle_bytes : first;                                              \
    number = number == w.by_cycle.divisor ? 0u : number;                                                               \
  }

  LOAD();
  uint buffer = 0;
  keep_across(tiles, WAVES_X, wavefront, SLOTS_X, x_value);
  keep_along(tiles + TILE_FLOATS(WAVES_X), WAVES_Y, wavefront, SLOTS_Y, dy_value);
  for (uint k = begin; k < end; k += DEPTH) {
    TOGETHER(WAVES);
    LOAD();
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(WAVES_X), tiles + buffer + TILE_FLOATS(WAVES_X) + at_y, PITCH(WAVES_Y), sums);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, WAVES_X, wavefront, SLOTS_X, x_value);
    keep_along(tiles + buffer + TILE_FLOATS(WAVES_X), WAVES_Y, wavefront, SLOTS_Y, dy_value);
  }
  store_matrix(sums_of_parts + (ulong)group_id_z() * w.filters * w.columns, w.columns, w.filters, w.columns,
               first_x + swath_x + 4u * (lane_id() & 7u), first_y + swath_y + 4u * (lane_id() >> 3), sums);
}

#undef WAVES
#undef SLOTS_X
#undef SLOTS_Y
#undef BUFFER_FLOATS
#undef LOAD
#undef WAVES_X
#undef WAVES_Y
#undef NAME
