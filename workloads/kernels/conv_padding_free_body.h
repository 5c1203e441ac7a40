/* One kernel of conv_padding_free.cl. Defined before each inclusion: NAME; SWATHS_X, SWATHS_Y, wavefronts of the workgroup
   along pixels and along filters; ROWS; ALONG, whether a filter's weights are contiguous along the sum.
   Workgroups: tiles of all parts, tiles of filters, groups for the first split of the sum, then for the next one: those that
   read the same weights are side by side. */
kernel __attribute__((reqd_work_group_size(64 * WAVES, 1, 1), amdgpu_waves_per_eu(WAVES == 4 && ROWS == 4 ? 3 : 2)))
void NAME(
    global const float *restrict input, global const float *restrict weight, global float *restrict output,
    local uint *restrict table, Product p, Parts parts) {
  local float tiles[2 * BUFFER_FLOATS];
  constant const Arguments *a = arguments();
  constant const Part *part = &a->parts.part[part_of(a, group_id_x())];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint split = scalar(group_id_z() / a->p.groups), group = group_id_z() - split * a->p.groups;
  const uint first_x = (group_id_x() - part->first_tile) * SWATH * SWATHS_X, first_y = group_id_y() * SWATH * SWATHS_Y;

  const uint taps = part->tap_rows * part->tap_columns, cycle = cycle_channels(taps);
  const uint entries = taps ? taps * cycle : DEPTH;
  for (uint entry = local_id_x(); entry < entries; entry += 64u * WAVES) {
    const uint channel = entry / maximum(taps, 1u), tap = entry - channel * taps;
    const uint i = tap / maximum(part->tap_columns, 1u), j = tap - i * part->tap_columns;
    local uint *to = table + entry / DEPTH * CYCLE_WORDS + entry % DEPTH;
    to[0] = channel * a->p.plane + i * part->tap_row + j * part->tap_column;
    to[DEPTH] = channel * a->p.channel + part->weight + i * part->weight_row + j * part->weight_column;
  }

  const uint begin = split * a->p.split_channels;
  const uint channels = minimum(a->p.split_channels, a->p.channels - begin), depth = channels * taps;
  const Buffer from = buffer_of(input + ((ulong)group * a->p.channels + begin) * (a->p.plane / 4u), channels * a->p.plane);
  const uint weight_bytes = ALONG ? a->p.weights - begin * a->p.channel : channels * a->p.channel;
  const Buffer weights = buffer_of(weight + ((ulong)group * a->p.weights + begin * a->p.channel) / 4u, weight_bytes);
  uint x_lane[SWATHS_X];
#pragma unroll
  for (uint swath = 0; swath < SWATHS_X; ++swath) {
    const uint number = minimum(first_x + swath * SWATH + lane(), part->pixels - 1u);
    x_lane[swath] = part->input + bytes_of_pixel(number, a->p.images, part->columns, part->input_row, part->input_column);
  }
#if ALONG
  const uint y_lane = (lane() >> 3) * a->p.filter;
  uint fixed[SLOTS_Y], next_y, k = lane() & 7u;
#pragma unroll
  for (uint i = 0; i < SLOTS_Y; ++i)
    fixed[i] = minimum(first_y + (wavefront * SLOTS_Y + i) * 8u, a->p.filters - 1u) * a->p.filter;
#else
  uint y_lane[SWATHS_Y], next_y[SLOTS_Y / SWATHS_Y];
#pragma unroll
  for (uint swath = 0; swath < SWATHS_Y; ++swath)
    y_lane[swath] = minimum(first_y + swath * SWATH + lane(), a->p.filters - 1u) * a->p.filter;
  const uint first_k_y = wavefront * SLOTS_Y / SWATHS_Y;
#endif
  const uint first_k = wavefront * SLOTS_X / SWATHS_X;
  const uint cycle_plane = cycle * a->p.plane, cycle_weights = cycle * a->p.channel;
  local const uint *entry = table, *last = table + (entries / DEPTH - 1u) * CYCLE_WORDS;
  uint next_x[SLOTS_X / SWATHS_X];
#if ALONG
  /* Weights of filters are often a power of two apart, in few channels of L2: filters begin at channels apart. */
  const uint cycles = channels / cycle, turns = (a->p.filters + TURN - 1u) / TURN;
  const uint turn = cycles * cycle == channels ? scalar(first_y / TURN * cycles / turns) : 0u;
  uint x_bytes = turn * cycle_plane, y_bytes = turn * cycle_weights;
  k += turn * entries;
#else
  uint x_bytes = 0, y_bytes = 0;
#endif

/* the steps of a block, before it is loaded */
#if ALONG
#define LOOK_UP_Y() next_y = entry[DEPTH + (lane() & 7u)] + y_lane
#define LOAD_Y()                                                                                                       \
  {                                                                                                                    \
    const uint y_from = where(k < depth, next_y + y_bytes);                                                            \
    for (uint i = 0; i < SLOTS_Y; ++i) y[i] = read(weights, y_from, fixed[i]);                                         \
    k += DEPTH;                                                                                                        \
  }
#define KEEP_Y(to) keep_along(to, SWATHS_Y, wavefront, SLOTS_Y, y)
#define TURN_ROUND()                                                                                                   \
  if (turn && x_bytes >= channels * a->p.plane) {                                                                      \
    x_bytes = y_bytes = 0;                                                                                             \
    k -= depth;                                                                                                        \
  }
#else
#define TURN_ROUND()
#define LOOK_UP_Y()                                                                                                    \
  for (uint i = 0; i < SLOTS_Y / SWATHS_Y; ++i) next_y[i] = entry[DEPTH + first_k_y + i]
#define LOAD_Y()                                                                                                       \
  for (uint i = 0; i < SLOTS_Y; ++i) y[i] = read(weights, y_lane[i % SWATHS_Y] + next_y[i / SWATHS_Y], y_bytes)
#define KEEP_Y(to) keep_across(to, SWATHS_Y, wavefront, SLOTS_Y, y)
#endif
#define LOOK_UP()                                                                                                      \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X / SWATHS_X; ++i) next_x[i] = entry[first_k + i];                                      \
    LOOK_UP_Y();                                                                                                       \
  }
#define LOAD()                                                                                                         \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) x[i] = read(from, x_lane[i % SWATHS_X] + next_x[i / SWATHS_X], x_bytes);        \
    LOAD_Y();                                                                                                          \
    const bool again = entry == last;                                                                                  \
    x_bytes += again ? cycle_plane : 0u;                                                                               \
    y_bytes += again ? cycle_weights : 0u;                                                                             \
    TURN_ROUND();                                                                                                      \
    entry = again ? table : entry + CYCLE_WORDS;                                                                       \
    LOOK_UP();                                                                                                         \
  }

  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  Sums sums = {{0.0f}};
  float x[SLOTS_X], y[SLOTS_Y];
  TOGETHER();
  LOOK_UP();
  LOAD();
  uint buffer = 0;
  keep_across(tiles, SWATHS_X, wavefront, SLOTS_X, x);
  KEEP_Y(tiles + TILE_FLOATS(SWATHS_X));
  for (uint done = 0; done < depth; done += DEPTH) {
    TOGETHER();
    LOAD();
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(SWATHS_X), tiles + buffer + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS,
             sums);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, SWATHS_X, wavefront, SLOTS_X, x);
    KEEP_Y(tiles + buffer + TILE_FLOATS(SWATHS_X));
  }

  const uint number = lane_anew(), pixel = first_x + swath_x + 4u * (number & 7u);
  const uint filter = first_y + swath_y + 4u * (number >> 3), plane = a->p.output_plane;
  const Buffer to = buffer_of(output + (ulong)group_id_z() * a->p.filters * (plane / 4u), a->p.filters * plane);
  const uint first = part->output + filter * plane;
  uint at[8];
#define RESULT(number)                                                                                                 \
  where((number) < part->pixels,                                                                                       \
        first + bytes_of_pixel(number, a->p.images, part->columns, part->output_row, part->output_column))
  if ((a->p.images & 3u) == 0u) {
    for (uint h = 0; h < 2; ++h) at[h] = RESULT(pixel + h * 32u);
    store_quads(to, at, filter, a->p.filters, plane, ROWS, sums);
  } else {
    for (uint e = 0; e < 8; ++e) at[e] = RESULT(pixel + e / 4u * 32u + e % 4u);
    store_elements(to, at, filter, a->p.filters, plane, ROWS, sums);
  }
}

#undef RESULT
#undef LOOK_UP
#undef LOOK_UP_Y
#undef LOAD
#undef LOAD_Y
#undef KEEP_Y
#undef TURN_ROUND
#undef ALONG
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
