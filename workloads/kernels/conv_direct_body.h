/* One kernel of conv_direct.cl or conv_direct_rectified.cl. Defined before each inclusion: NAME; FILTERS, of a work-item;
   RECTIFIED, where results below zero become zero, if `relu`, and zero where `mask`, of the output's shape, is not
   positive, if `masked`. */
KERNEL void NAME(global const float *restrict input, constant float *restrict filters, constant Step *restrict taps,
                 global const float *restrict bias, global float *restrict output, Windows w
#ifdef RECTIFIED
                 , global const float *restrict mask, uint relu, uint masked
#endif
                 ) {
  const uint number = group_id_x() * GROUP + local_id_x(), filter = group_id_y() * FILTERS, group = group_id_z();
  const Pixel pixel = pixel_of(minimum(number, w.pixels - 1u), w.by_plane, w.by_columns);
  const uint row = pixel.row * w.row_step, column = pixel.column * w.column_step;
  View view;
  view.buffer = buffer_of(input + w.shift + (ulong)group * (w.group_bytes / 4u), w.bytes - group * w.group_bytes);
  view.lane[0] = pixel.image * w.image_bytes + (row * w.width + column) * 4u;
  view.row[0] = number < w.pixels ? (int)row + w.first_row : NOWHERE;
  view.column[0] = (int)column + w.first_column;
  constant float *weights = filters + ((ulong)group * w.depth * w.filters + filter);

#define LOAD(value, first)                                                                                             \
  for (uint i = 0; i < AHEAD; ++i) {                                                                                   \
    const Step tap = taps[minimum((first) + i, w.depth)];                                                              \
    (value)[i] = read(view.buffer, seen(&view, w.height, w.width, 0u, tap), tap.bytes);                                 \
  }

  float sum[FILTERS] = {0.0f}, x[AHEAD], next[AHEAD];
  LOAD(x, 0u);
  for (uint k = 0; k < w.depth; k += AHEAD) {
    LOAD(next, k + AHEAD);
#pragma unroll
    for (uint i = 0; i < AHEAD; ++i) {
      /* past the last step what is read is zero, and the weights are those of that step */
      constant float *of_step = weights + minimum(k + i, w.depth - 1u) * w.filters;
#pragma unroll
      for (uint f = 0; f < FILTERS; ++f) sum[f] += x[i] * of_step[f];
    }
#pragma unroll
    for (uint i = 0; i < AHEAD; ++i) x[i] = next[i];
  }

  const Buffer added = buffer_of(bias, w.bias_bytes);
  const Buffer to = buffer_of(output + (ulong)group * w.filters * (w.out_plane / 4u),
                              w.out_bytes - group * w.filters * w.out_plane);
  const uint at = result_of(w, number, filter);
#pragma unroll
  for (uint f = 0; f < FILTERS; ++f) {
    const uint of = group * w.filters + minimum(filter + f, w.filters - 1u);
#ifdef RECTIFIED
    float value = sum[f] + read(added, of * 4u, 0u);
    if (relu) value = rectified(value);
    if (masked) {
      const Buffer kept = buffer_of(mask + (ulong)group * w.filters * (w.out_plane / 4u),
                                    w.out_bytes - group * w.filters * w.out_plane);
      value = passed_on(read(kept, where(at != OUTSIDE && filter + f < w.filters, at + f * w.out_plane), 0u), value);
    }
#else
    const float value = sum[f] + read(added, of * 4u, 0u);
#endif
    write(to, where(at != OUTSIDE && filter + f < w.filters, at + f * w.out_plane), 0u, value);
  }
}

#undef LOAD
#undef FILTERS
#undef NAME
