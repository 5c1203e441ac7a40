/* One kernel of sgemm_lines.cl or sgemm_lines_half.cl. Defined before each inclusion: NAME; SWATHS_X, SWATHS_Y, ROWS, the
   tile; and of the file, WEIGHT and WEIGHTS: A's elements and quads. */
TILE_KERNEL void NAME(global const WEIGHT *restrict a_matrix, global const float *restrict b_matrix,
                      global float *restrict c_matrix, uint m, uint n, uint k, uint lda, uint ldb, uint ldc,
                      uint apart, uint step, uint length, uint add) {
  const uint part = group_id_x(), begin = part * apart, end = minimum(begin + length, k);
  global float *c = c_matrix + (ulong)part * n * ldc;
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_y() * SWATH * SWATHS_X, first_y = group_id_z() * SWATH * SWATHS_Y;
  const Side a_side = side_along_k(a_matrix, m, k, lda, sizeof(WEIGHT));
  const Side b_side = side_of(b_matrix, n, k, ldb, true);
  Lines a_place = lines(&a_side, first_x, wavefront, SLOTS_X / 2, begin, sizeof(WEIGHT));
  Lines b_place = lines(&b_side, first_y, wavefront, SLOTS_Y / 2, begin, sizeof(float));
#define LOAD()                                                                                                         \
  OF_WEIGHTS(load_lines_, WEIGHTS)(&a_side, &a_place, SLOTS_X / 2, step, x);                                           \
  load_lines_floats(&b_side, &b_place, SLOTS_Y / 2, step, y)
#define KEEP(later, to)                                                                                                 \
  OF_WEIGHTS(keep_half_, WEIGHTS)(to, SWATHS_X, wavefront, SLOTS_X / 2, later, x);                                      \
  keep_half_floats(to + TILE_FLOATS(SWATHS_X), SWATHS_Y, wavefront, SLOTS_Y / 2, later, y)
#define MULTIPLY(from)                                                                                                 \
  multiply(from + at_x, PITCH(SWATHS_X), from + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS, sums)

  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  Sums sums = {{0.0f}};
  QUAD_OF(WEIGHT) x[SLOTS_X / 2];
  float4_t y[SLOTS_Y / 2];
  LOAD();
  KEEP(0, tiles);
  for (uint at = begin; at < end; at += step) {
    TOGETHER();
    KEEP(1, (tiles + BUFFER_FLOATS));
    keep_order();
    LOAD();
    keep_order();
    MULTIPLY(tiles);
    TOGETHER();
    MULTIPLY((tiles + BUFFER_FLOATS));
    KEEP(0, tiles);
  }
  add_matrix(c, m, n, ldc, first_x + swath_x, first_y + swath_y, ROWS, add, sums);
  const uint number = lane_anew();
  store_matrix(c, m, n, ldc, first_x + swath_x + 4u * (number & 7u), first_y + swath_y + 4u * (number >> 3), ROWS, sums);
}

#undef LOAD
#undef KEEP
#undef MULTIPLY
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
