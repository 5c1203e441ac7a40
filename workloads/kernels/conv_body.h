/* One kernel of conv.cl. Defined before each inclusion: NAME; WAVES_X, WAVES_Y, wavefronts of the workgroup along pixels
   and along filters; EIGHT_CHANNELS, whether eight steps of the sum have the same tap, of eight channels. */
#define WAVES (WAVES_X * WAVES_Y)
#define SLOTS_X (DEPTH / WAVES_Y)
#define SLOTS_Y (DEPTH / WAVES_X)
#define BUFFER_FLOATS (TILE_FLOATS(WAVES_X) + TILE_FLOATS(WAVES_Y))

kernel __attribute__((reqd_work_group_size(64 * WAVES, 1, 1), amdgpu_waves_per_eu(2, 2))) void NAME(
    global const float *restrict input, global const float *restrict filters, constant Step *restrict taps,
    global const float *restrict bias, global float *restrict output, Windows w) {
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * WAVES_X, first_y = group_id_y() * SWATH * WAVES_Y, group = group_id_z();
  View view = view_of(input, w, first_x, WAVES_X, group, 0u);
  const Side side = side_of(filters + (ulong)group * w.depth * w.filters, w.filters, w.depth, w.filters, false);
  Place place = across(&side, first_y, WAVES_Y, wavefront, SLOTS_Y, 0u);
  const uint swath_x = wavefront % WAVES_X * SWATH, swath_y = wavefront / WAVES_X * SWATH;
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  const uint first_k = wavefront * SLOTS_X / WAVES_X;
  Sums sums = {{0.0f}};
  float x[SLOTS_X], y[SLOTS_Y];

#if EIGHT_CHANNELS
#define LOAD_X()                                                                                                       \
  {                                                                                                                    \
    uint lane[WAVES_X];                                                                                                \
    for (uint swath = 0; swath < WAVES_X; ++swath) lane[swath] = seen(&view, w.height, w.width, swath, tap);                           \
    for (uint i = 0; i < SLOTS_X; ++i)                                                                                 \
      x[i] = read(view.buffer, lane[i % WAVES_X], tap.bytes + (first_k + i / WAVES_X) * w.plane_bytes);                \
    view.k += DEPTH;                                                                                                   \
    tap = taps[minimum(view.k, w.depth)];                                                                              \
  }
  Step tap = taps[0];
#else
#define LOAD_X()                                                                                                       \
  {                                                                                                                    \
    for (uint i = 0; i < SLOTS_X; ++i) {                                                                               \
      const Step tap = taps[minimum(view.k + first_k + i / WAVES_X, w.depth)];                                         \
      x[i] = read(view.buffer, seen(&view, w.height, w.width, i % WAVES_X, tap), tap.bytes);                                           \
    }                                                                                                                  \
    view.k += DEPTH;                                                                                                   \
  }
#endif

  LOAD_X();
  load_across(&side, &place, WAVES_Y, SLOTS_Y, y);
  uint buffer = 0;
  keep_across(tiles, WAVES_X, wavefront, SLOTS_X, x);
  keep_across(tiles + TILE_FLOATS(WAVES_X), WAVES_Y, wavefront, SLOTS_Y, y);
  for (uint k = 0; k < w.depth; k += DEPTH) {
    TOGETHER(WAVES);
    LOAD_X();
    load_across(&side, &place, WAVES_Y, SLOTS_Y, y);
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(WAVES_X), tiles + buffer + TILE_FLOATS(WAVES_X) + at_y, PITCH(WAVES_Y), sums);
    buffer = BUFFER_FLOATS - buffer;
    keep_across(tiles + buffer, WAVES_X, wavefront, SLOTS_X, x);
    keep_across(tiles + buffer + TILE_FLOATS(WAVES_X), WAVES_Y, wavefront, SLOTS_Y, y);
  }

  const uint pixel = first_x + swath_x + 4u * (lane_id() & 7u), filter = first_y + swath_y + 4u * (lane_id() >> 3);
  add_bias(bias, w, filter, group, sums);
  const Buffer to = buffer_of(output + (ulong)group * w.filters * (w.out_plane / 4u),
                              w.out_bytes - group * w.filters * w.out_plane);
  const bool quads = w.out_column == 4u && w.out_row == w.by_columns.divisor * 4u && (w.by_plane.divisor & 3u) == 0u;
#pragma unroll
  for (uint h = 0; h < 2; ++h)
#pragma unroll
    for (uint i = 0; i < 4; ++i) {
      if (quads && i > 0u) break;
      const uint number = pixel + h * 32u + i;
      const Pixel p = pixel_of(minimum(number, w.pixels - 1u), w.by_plane, w.by_columns);
      const uint bytes = p.image * w.out_image + p.row * w.out_row + p.column * w.out_column + w.out_first;
      const uint at = where(number < w.pixels, bytes + filter * w.out_plane);
      if (quads)
        store_quads(to, at, h, filter, w.filters, w.out_plane, sums);
      else
        store_elements(to, at, h, i, filter, w.filters, w.out_plane, sums);
    }
}

#undef WAVES
#undef SLOTS_X
#undef SLOTS_Y
#undef BUFFER_FLOATS
#undef LOAD_X
#undef EIGHT_CHANNELS
#undef WAVES_X
#undef WAVES_Y
#undef NAME
