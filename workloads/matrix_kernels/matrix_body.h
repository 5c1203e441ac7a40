/* One kernel: FUNCTION, its VALUES (32: FP32, 16: FP16, 17: BF16), its SOURCE of B's lines (DENSE; not all zero: ENGINE,
   LISTED; rows of a list: ROUTED by the engine, INDEXED) and, of a dense one, how many TILES of columns a wavefront has. */

#if VALUES == 32
#define TILE_COLUMNS 16u
#else
#define TILE_COLUMNS 32u
#endif

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void FUNCTION(
    global const uint *restrict a_matrix, global const uint *restrict b_matrix,
#if SOURCE == LISTED
    global const uint *restrict numbers, global const uint *restrict counts,
#endif
#if SOURCE == INDEXED
    global const uint *restrict numbers,
#endif
#if SOURCE == ROUTED || SOURCE == INDEXED
    uint count, uint tile_lines,
#endif
    global float *restrict c_matrix, uint n, uint a_words, uint depth, uint parts, uint ldc, uint part_size) {
  local float sums[WAVEFRONTS * ROWS * 16u];
  const uint lane = lane_id(), place = lane % 16u, group = lane / 16u;
  const uint row = group_id_x() * ROWS, part = group_id_z() * WAVEFRONTS + wavefront_id();
#if VALUES == 32
  global const uint *const a_from = a_matrix + row + 4u * place;
#else
  global const uint *const a_from = a_matrix + row / 2u + 2u * place;
#endif
#if SOURCE == ROUTED || SOURCE == INDEXED
  /* a quarter is one of the list: places from `begin` to `end` of it */
  const uint begin = scalar(part) * depth, end = minimum(begin + depth, count);
  const uint tile_first = group_id_y() * TILES * tile_lines, a_first = 0;
  const uint first = tile_first + (SOURCE == ROUTED ? begin : 0u);
#else
  const uint lines = group_id_y() * TILES * parts + part; /* of the first tile: its column of lines */
  const uint first = lines * depth, a_first = part * depth * a_words;
#endif
#if SOURCE == DENSE
  const uint tile_words = parts * depth * LINE_WORDS; /* from tile to tile */
#endif
#if VALUES == 32
  float4_t sum[TILES][4] = {};
  /* load u: lines 4u to 4u + 3, one of them for each group of 16 lanes */
  global const uint *line = b_matrix + (ulong)first * LINE_WORDS + lane;
  const uint load_words = 4u * LINE_WORDS, own = group, line_step = 4u;
#else
  float4_t sum[2u * TILES][4] = {};
  /* load u: line u of the four of each group of 16 lanes */
  global const uint *line = b_matrix + (ulong)first * LINE_WORDS + group * 4u * LINE_WORDS + place;
  const uint load_words = LINE_WORDS, own = 4u * group, line_step = 1u;
#endif
#if SOURCE == ENGINE
  (void)own, (void)line_step; /* the engine says which lines come */
  uint2_t next[LOADS];
#pragma unroll
  for (uint u = 0; u < LOADS; ++u) next[u] = sparse_load(line + u * load_words);
  bool last;
  do {
#elif SOURCE == ROUTED
  (void)own, (void)line_step, (void)parts;
  uint2_t next[LOADS];
  if (begin < end) {
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) next[u] = sparse_load(line + u * load_words);
  }
  for (uint at = begin; at < end; at += BATCH) {
#elif SOURCE == INDEXED
  (void)load_words, (void)parts;
  global const uint *number = numbers + begin + own;
  line = b_matrix + (ulong)first * LINE_WORDS + place;
  uint next[LOADS], next_number[LOADS], later_number[LOADS];
  if (begin < end) {
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) next_number[u] = number[u * line_step], later_number[u] = number[BATCH + u * line_step];
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) next[u] = line[next_number[u] * LINE_WORDS];
  }
  for (uint at = begin; at < end; at += BATCH) {
#elif SOURCE == LISTED
  const uint count = scalar(counts[lines]);
  global const uint *number = numbers + first + own;
  uint next[LOADS], next_number[LOADS];
#pragma unroll
  for (uint u = 0; u < LOADS; ++u) next[u] = line[u * load_words], next_number[u] = number[u * line_step];
  for (uint done = 0; done < count; done += BATCH) {
#else
  uint next[TILES][LOADS];
#pragma unroll
  for (uint t = 0; t < TILES; ++t)
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) next[t][u] = line[t * tile_words + u * load_words];
  uint a_line = a_first;
  for (uint done = 0; done < depth; done += BATCH, a_line += BATCH * a_words) {
#endif
    uint b[TILES][LOADS], offset[LOADS];
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) {
#if SOURCE == ENGINE || SOURCE == ROUTED
      b[0][u] = next[u].x;
      offset[u] = (next[u].y >> 1) * a_words + a_first;
#elif SOURCE == LISTED || SOURCE == INDEXED
      b[0][u] = next[u];
      offset[u] = next_number[u] * a_words + a_first;
#else
      offset[u] = a_line + (own + u * line_step) * a_words;
#pragma unroll
      for (uint t = 0; t < TILES; ++t) b[t][u] = next[t][u];
#endif
    }
#if VALUES == 32
    uint4_t a[LOADS];
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) a[u] = load_rows_4(a_from, offset[u]);
#else
    uint2_t a[LOADS];
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) a[u] = load_rows_2(a_from, offset[u]);
#endif
    keep_order(); /* the next lines are asked for behind what is needed now */
#if SOURCE != INDEXED
    line += BATCH * LINE_WORDS;
#endif
#if SOURCE == ROUTED
    if (at + BATCH < end) {
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) next[u] = sparse_load(line + u * load_words);
    }
#elif SOURCE == INDEXED
    number += BATCH;
    if (at + BATCH < end) {
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) next_number[u] = later_number[u], next[u] = line[next_number[u] * LINE_WORDS];
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) later_number[u] = number[BATCH + u * line_step]; /* the list has one batch more */
    }
#elif SOURCE == ENGINE
    last = (broadcast(next[LOADS - 1u].y, 63u) & STATUS_LAST) != 0u;
    if (!last) {
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) next[u] = sparse_load(line + u * load_words);
    }
#elif SOURCE == LISTED
    number += BATCH;
    if (done + BATCH < count) {
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) next[u] = line[u * load_words], next_number[u] = number[u * line_step];
    }
#else
    if (done + BATCH < depth) {
#pragma unroll
      for (uint t = 0; t < TILES; ++t)
#pragma unroll
        for (uint u = 0; u < LOADS; ++u) next[t][u] = line[t * tile_words + u * load_words];
    }
#endif
    keep_order();
#if VALUES == 32
#pragma unroll
    for (uint u = 0; u < LOADS; ++u)
#pragma unroll
      for (uint t = 0; t < TILES; ++t)
#pragma unroll
        for (uint s = 0; s < 4u; ++s)
          sum[t][s] = __builtin_amdgcn_mfma_f32_16x16x4f32(as_float32(a[u][s]), as_float32(b[t][u]), sum[t][s], 0, 0, 0);
#else
    /* row 4i + s of four k: halves of word s / 2 of four loads; columns 2i and 2i + 1 of a tile likewise */
#pragma unroll
    for (uint s = 0; s < 4u; ++s) {
      uint2_t rows;
#pragma unroll
      for (uint pair = 0; pair < 2u; ++pair) {
        const uint one = a[2u * pair][s / 2u], other = a[2u * pair + 1u][s / 2u];
        rows[pair] = s % 2u ? high_halves(one, other) : low_halves(one, other);
      }
#pragma unroll
      for (uint t = 0; t < 2u * TILES; ++t) {
        uint2_t columns;
#pragma unroll
        for (uint pair = 0; pair < 2u; ++pair) {
          const uint one = b[t / 2u][2u * pair], other = b[t / 2u][2u * pair + 1u];
          columns[pair] = t % 2u ? high_halves(one, other) : low_halves(one, other);
        }
#if VALUES == 16
        sum[t][s] = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(half4_t, rows),
                                                          __builtin_bit_cast(half4_t, columns), sum[t][s], 0, 0, 0);
#else
#pragma unroll
        for (uint pair = 0; pair < 2u; ++pair)
          sum[t][s] = __builtin_amdgcn_mfma_f32_16x16x8bf16(as_shorts(rows[pair]), as_shorts(columns[pair]), sum[t][s],
                                                            0, 0, 0);
#endif
      }
    }
#endif
#if SOURCE == ENGINE
  } while (!last);
#else
  }
#endif
  global float *const c = c_matrix + (ulong)group_id_z() * part_size;
  const uint column = group_id_y() * TILES * TILE_COLUMNS;
#if VALUES == 32
#pragma unroll
  for (uint t = 0; t < TILES; ++t) store_sum(sum[t], sums, c, row, column + t * 16u + place, n, ldc);
#else
#pragma unroll
  for (uint t = 0; t < 2u * TILES; ++t)
    store_sum(sum[t], sums, c, row, column + t / 2u * TILE_COLUMNS + 2u * place + t % 2u, n, ldc);
#endif
}

#undef FUNCTION
#undef TILE_COLUMNS
