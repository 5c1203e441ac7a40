/* The transforms of winograd.cl for one size of tiles. Defined before: TILE, 2 or 4. */
#define SIZE (TILE + 2)
#define JOINED(name, size) name##_##size
#define OF(name, size) JOINED(name, size)
#define OF_TILE(name) OF(name, TILE)

/* A work-item: the filter of a channel, 3 x 3 weights, or turned round by half a turn. by_channels: of a filter; gap:
   elements between filters, at each place. */
KERNEL void OF_TILE(winograd_filters)(global const float *restrict weight, global float *restrict filters, uint count,
                                      uint place_bytes, Divisor by_channels, uint gap, uint turned) {
  const uint number = group_id_x() * GROUP + local_id_x();
  if (number >= count) return;
  const Buffer from = buffer_of(weight, count * 36u);
  float tap[9], value[SIZE * SIZE];
#pragma unroll
  for (uint k = 0; k < 9u; ++k) tap[k] = read(from, number * 36u, (turned ? 8u - k : k) * 4u);
  transform_both(OF_TILE(FILTERS), SIZE, 3u, tap, value);
  keep_places(buffer_of(filters, SIZE * SIZE * place_bytes), SIZE * SIZE, place_bytes,
              (number + quotient(number, by_channels) * gap) * 4u, value);
}

/* A work-item: a tile's window of a channel. */
KERNEL void OF_TILE(winograd_windows)(global const float *restrict x, global float *restrict windows, Tiles w) {
  const Item item = item_of(w);
  if (item.plane >= w.planes || item.tile >= w.held) return;
  float window[SIZE * SIZE], value[SIZE * SIZE];
  window_of(x, w, item, TILE, SIZE, window);
  transform_both(OF_TILE(WINDOWS), SIZE, SIZE, window, value);
  keep_places(buffer_of(windows, w.transformed_bytes), SIZE * SIZE, w.place_bytes,
              item.plane * w.plane_bytes + item.tile * 4u, value);
}

/* A work-item: a tile's results of a filter. bias: `biases` values, 0 where there is none; relu: whether results below
   zero become zero; masked: whether those become zero where `mask`, of y's shape, is not positive. pooled_bytes: of the maxima of
   windows of 2 x 2, which tiles consist of, 0 where there are none; kept: whether the results themselves and the places of
   the maxima in their windows are stored beside them. */
KERNEL void OF_TILE(winograd_results)(global const float *restrict products, global const float *restrict bias,
                                      global const float *restrict mask, global float *restrict y,
                                      global float *restrict pooled, global uchar *restrict places, Tiles w,
                                      uint biases, uint relu, uint masked, uint pooled_bytes, uint kept) {
  const Item item = item_of(w);
  if (item.plane >= w.planes || item.tile >= w.tiles) return;
  float product[SIZE * SIZE], value[TILE * TILE];
  take_places(buffer_of(products, w.transformed_bytes), SIZE * SIZE, w.place_bytes,
              item.plane * w.plane_bytes + item.tile * 4u, product);
  transform_both(OF_TILE(RESULTS), TILE, SIZE, product, value);
  const float added = read(buffer_of(bias, biases * 4u), item.plane * 4u, 0u);
#pragma unroll
  for (uint i = 0; i < TILE * TILE; ++i) value[i] = relu ? rectified(value[i] + added) : value[i] + added;
  const Pixel at = pixel_of(item.tile, w.by_plane, w.by_columns);
  const uint row = at.row * TILE, column = at.column * TILE;
  const uint first = (((at.image * w.planes + item.plane) * w.height + row) * w.width + column) * 4u;
  const Buffer to = buffer_of(y, w.bytes);
  if (masked) {
    const Buffer from = buffer_of(mask, w.bytes);
#pragma unroll
    for (uint i = 0; i < TILE * TILE; ++i) {
      const bool inside = row + i / TILE < w.height && column + i % TILE < w.width;
      const uint here = first + (i / TILE * w.width + i % TILE) * 4u;
      value[i] = passed_on(read(from, where(inside, here), 0u), value[i]);
    }
  }
  if (pooled_bytes) {
    const Buffer maxima = buffer_of(pooled, pooled_bytes);
    const Buffer of_maxima = buffer_of((global const float *)places, kept ? pooled_bytes / 4u : 0u);
    const uint rows = w.height / 2u, columns = w.width / 2u;
#pragma unroll
    for (uint i = 0; i < TILE; i += 2u)
#pragma unroll
      for (uint j = 0; j < TILE; j += 2u) {
        Maximum best = {value[i * TILE + j], 0u};
#pragma unroll
        for (uint k = 1; k < 4u; ++k) best = larger(best, value[(i + k / 2u) * TILE + j + k % 2u], k);
        const uint r = (row + i) / 2u, c = (column + j) / 2u;
        const uint number = ((at.image * w.planes + item.plane) * rows + r) * columns + c;
        write(maxima, where(r < rows && c < columns, number * 4u), 0u, best.value);
        write_byte(of_maxima, where(r < rows && c < columns, number), best.place);
      }
    if (!kept) return;
  }
#pragma unroll
  for (uint i = 0; i < TILE; ++i) {
    const bool inside = row + i < w.height;
    const uint here = first + i * w.width * 4u;
    float *line = value + i * TILE;
    if ((w.width & (TILE - 1u)) == 0u) { /* whole tiles lie in a row */
#if TILE == 4
      const float4_t four = {line[0], line[1], line[2], line[3]};
      write4(to, where(inside, here), 0u, four);
#else
      write2(to, where(inside, here), line[0], line[1]);
#endif
    } else {
#pragma unroll
      for (uint j = 0; j < TILE; ++j)
        write(to, where(inside && column + j < w.width, here + j * 4u), 0u, line[j]);
    }
  }
}

/* A work-item: a tile of dy's elements of a filter, for the gradient of the weights. */
KERNEL void OF_TILE(winograd_gradients)(global const float *restrict dy, global float *restrict gradients, Tiles w) {
  const Item item = item_of(w);
  if (item.plane >= w.planes || item.tile >= w.held) return;
  float window[TILE * TILE], value[SIZE * SIZE];
  window_of(dy, w, item, TILE, TILE, window);
  transform_both(OF_TILE(GRADIENTS), SIZE, TILE, window, value);
  keep_places(buffer_of(gradients, w.transformed_bytes), SIZE * SIZE, w.place_bytes,
              item.plane * w.plane_bytes + item.tile * 4u, value);
}

/* A work-item: the gradient of a filter's weights of a channel, from the products' sums in `parts` parts. */
KERNEL void OF_TILE(winograd_weights)(global const float *restrict sums, global float *restrict dweight, uint count,
                                      uint place_bytes, Divisor by_channels, uint gap, uint parts) {
  const uint number = group_id_x() * GROUP + local_id_x();
  if (number >= count) return;
  const uint at = (number + quotient(number, by_channels) * gap) * 4u;
  float sum[SIZE * SIZE] = {0.0f}, tap[9];
  for (uint part = 0; part < parts; ++part) {
    float value[SIZE * SIZE];
    const Buffer from = buffer_of(sums + (ulong)part * (SIZE * SIZE * place_bytes / 4u), SIZE * SIZE * place_bytes);
    take_places(from, SIZE * SIZE, place_bytes, at, value);
#pragma unroll
    for (uint place = 0; place < SIZE * SIZE; ++place) sum[place] += value[place];
  }
  transform_both(OF_TILE(WEIGHTS), 3u, SIZE, sum, tap);
  const Buffer to = buffer_of(dweight, count * 36u);
#pragma unroll
  for (uint k = 0; k < 9u; ++k) write(to, number * 36u, k * 4u, tap[k]);
}

#undef SIZE
#undef JOINED
#undef OF
#undef OF_TILE
