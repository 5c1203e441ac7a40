/* One kernel of conv_padding_free_weights.cl. Defined before each inclusion: NAME; SWATHS_X, SWATHS_Y, wavefronts of the
   workgroup along channels and along filters; ROWS.
   Workgroups: tiles of channels, tiles of filters, groups for the first split of the sum and so on for the first tap, then
   for the next one. */
TILE_KERNEL void NAME(global const float *restrict x, global const float *restrict dy, global float *restrict sums, Sum s,
                      Taps taps) {
  local float tiles[2 * BUFFER_FLOATS];
  constant const Arguments *a = (constant const Arguments *)__builtin_amdgcn_kernarg_segment_ptr();
  const uint number = scalar(group_id_z() / a->s.groups), group = group_id_z() - number * a->s.groups;
  const uint in_order = scalar(number / a->s.splits), split = number - in_order * a->s.splits;
  constant const Tap *tap = &a->taps.tap[in_order];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * SWATHS_X, first_y = group_id_y() * SWATH * SWATHS_Y;
  const uint x_bytes = a->s.x_bytes - group * a->s.channels * 4u, dy_bytes = a->s.dy_bytes - group * a->s.filters * 4u;
  const Buffer x_from = buffer_of(x + group * a->s.channels, x_bytes);
  const Buffer dy_from = buffer_of(dy + group * a->s.filters, dy_bytes);
  uint x_lane[SWATHS_X], y_lane[SWATHS_Y];
  for (uint swath = 0; swath < SWATHS_X; ++swath)
    x_lane[swath] = minimum(first_x + swath * SWATH + lane(), a->s.channels - 1u) * 4u;
  for (uint swath = 0; swath < SWATHS_Y; ++swath)
    y_lane[swath] = minimum(first_y + swath * SWATH + lane(), a->s.filters - 1u) * 4u;
  const uint first_k = wavefront * SLOTS_X / SWATHS_X, first_k_y = wavefront * SLOTS_Y / SWATHS_Y;
  const uint begin = split * a->s.split_images, end = minimum(begin + a->s.split_images, a->s.images);
  const uint columns = tap->columns, blocks = tap->rows * columns * ((end - begin + DEPTH - 1u) / DEPTH);
  const uint x_row = a->s.x_row - (columns - 1u) * a->s.x_column, dy_row = a->s.dy_row - (columns - 1u) * a->s.dy_column;
  uint x_position = tap->x, dy_position = tap->dy, image = blocks ? begin : end, column = 0;

/* eight images of a position; what comes after the last one, and after the last position, is multiplied by nothing */
#define LOAD()                                                                                                         \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) {                                                                               \
      const uint at = image + first_k + i / SWATHS_X;                                                                  \
      x_value[i] = read(x_from, x_lane[i % SWATHS_X], at < end ? x_position + at * a->s.x_image : x_bytes);            \
    }                                                                                                                  \
    for (uint i = 0; i < SLOTS_Y; ++i) {                                                                               \
      const uint at = image + first_k_y + i / SWATHS_Y;                                                                \
      y_value[i] = read(dy_from, y_lane[i % SWATHS_Y], at < end ? dy_position + at * a->s.dy_image : dy_bytes);        \
    }                                                                                                                  \
    image += DEPTH;                                                                                                    \
    if (image >= end) {                                                                                                \
      image = begin;                                                                                                   \
      const bool next = ++column == columns;                                                                           \
      column = next ? 0u : column;                                                                                     \
      x_position += next ? x_row : a->s.x_column;                                                                      \
      dy_position += next ? dy_row : a->s.dy_column;                                                                   \
    }                                                                                                                  \
  }

  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  Sums sums_of_tile = {{0.0f}};
  float x_value[SLOTS_X], y_value[SLOTS_Y];
  LOAD();
  uint buffer = 0;
  keep_across(tiles, SWATHS_X, wavefront, SLOTS_X, x_value);
  keep_across(tiles + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, y_value);
  for (uint block = 0; block < blocks; ++block) {
    TOGETHER();
    LOAD();
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(SWATHS_X), tiles + buffer + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS,
             sums_of_tile);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, SWATHS_X, wavefront, SLOTS_X, x_value);
    keep_across(tiles + buffer + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, y_value);
  }

  const uint at_lane = lane_anew(), filters = a->s.groups * a->s.filters;
  const ulong before = (ulong)(split * a->s.weights_of_channel + tap->number) * filters + group * a->s.filters;
  store_matrix(sums + before * a->s.channels, a->s.channels, a->s.filters, a->s.channels,
               first_x + swath_x + 4u * (at_lane & 7u), first_y + swath_y + 4u * (at_lane >> 3), ROWS, sums_of_tile);
}

#undef LOAD
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
