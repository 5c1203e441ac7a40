/* One kernel of conv.cl or conv_rectified.cl, which defines RECTIFIED: results below zero become zero. Defined before each
   inclusion: NAME; SWATHS_X, SWATHS_Y, wavefronts of the workgroup along pixels
   and along filters; EIGHT_CHANNELS, whether eight steps of the sum have the same tap, of eight channels. */
TILE_KERNEL void NAME(
    global const float *restrict input, global const float *restrict filters, constant Step *restrict taps,
    global const float *restrict bias, global float *restrict output, Windows w) {
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * SWATHS_X, first_y = group_id_y() * SWATH * SWATHS_Y, group = group_id_z();
  View view = view_of(input, w, first_x, SWATHS_X, group, 0u);
  const Side side = side_of(filters + (ulong)group * w.depth * w.filters, w.filters, w.depth, w.filters, false);
  Place place = across(&side, first_y, SWATHS_Y, wavefront, SLOTS_Y, 0u);
  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  const uint first_k = wavefront * SLOTS_X / SWATHS_X;
  Sums sums = {{0.0f}};
  float x[SLOTS_X], y[SLOTS_Y];

#if EIGHT_CHANNELS
#define LOAD_X()                                                                                                       \
  {                                                                                                                    \
    uint lane[SWATHS_X];                                                                                                \
    for (uint swath = 0; swath < SWATHS_X; ++swath) lane[swath] = seen(&view, w.height, w.width, swath, tap);                           \
    for (uint i = 0; i < SLOTS_X; ++i)                                                                                 \
      x[i] = read(view.buffer, lane[i % SWATHS_X], tap.bytes + (first_k + i / SWATHS_X) * w.plane_bytes);                \
    view.k += DEPTH;                                                                                                   \
    tap = taps[minimum(view.k, w.depth)];                                                                              \
  }
  Step tap = taps[0];
#else
#define LOAD_X()                                                                                                       \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) {                                                                               \
      const Step tap = taps[minimum(view.k + first_k + i / SWATHS_X, w.depth)];                                         \
      x[i] = read(view.buffer, seen(&view, w.height, w.width, i % SWATHS_X, tap), tap.bytes);                                           \
    }                                                                                                                  \
    view.k += DEPTH;                                                                                                   \
  }
#endif

  LOAD_X();
  load_across(&side, &place, SWATHS_Y, SLOTS_Y, y);
  uint buffer = 0;
  keep_across(tiles, SWATHS_X, wavefront, SLOTS_X, x);
  keep_across(tiles + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, y);
  for (uint k = 0; k < w.depth; k += DEPTH) {
    TOGETHER();
    LOAD_X();
    load_across(&side, &place, SWATHS_Y, SLOTS_Y, y);
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(SWATHS_X), tiles + buffer + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS,
             sums);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, SWATHS_X, wavefront, SLOTS_X, x);
    keep_across(tiles + buffer + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y, y);
  }

  const uint pixel = first_x + swath_x + 4u * (lane_id() & 7u), filter = first_y + swath_y + 4u * (lane_id() >> 3);
  add_bias(bias, w, filter, group, ROWS, sums);
#ifdef RECTIFIED
  rectify(ROWS, sums);
#endif
  const Buffer to = buffer_of(output + (ulong)group * w.filters * (w.out_plane / 4u),
                              w.out_bytes - group * w.filters * w.out_plane);
  uint at[8];
  if (w.out_column == 4u && w.out_row == w.by_columns.divisor * 4u && (w.by_plane.divisor & 3u) == 0u) {
    for (uint h = 0; h < 2; ++h) at[h] = result_of(w, pixel + h * 32u, filter);
    store_quads(to, at, filter, w.filters, w.out_plane, ROWS, sums);
  } else {
    for (uint e = 0; e < 8; ++e) at[e] = result_of(w, pixel + e / 4u * 32u + e % 4u, filter);
    store_elements(to, at, filter, w.filters, w.out_plane, ROWS, sums);
  }
}

#undef LOAD_X
#undef EIGHT_CHANNELS
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
