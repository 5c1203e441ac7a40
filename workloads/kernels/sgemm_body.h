/* One kernel of sgemm.cl or sgemm_batched.cl. Defined before each inclusion: NAME; SWATHS_X, SWATHS_Y, wavefronts of the
   workgroup along m and along n; A_ALONG, B_ALONG, whether that matrix is contiguous along k; BATCHED, where there are
   several products; RECTIFIED, where each row of C has a bias (an empty array: none) and results below zero become zero,
   in place of an addition to C. */
TILE_KERNEL void NAME(
    global const float *restrict a_matrix, global const float *restrict b_matrix, global float *restrict c_matrix, uint m,
    uint n, uint k, uint lda, uint ldb, uint ldc, uint split_depth,
#ifdef BATCHED
    uint add, Batch batch) {
  const uint part = scalar(quotient(group_id_z(), batch.by_matrices));
  const uint matrix = group_id_z() - part * batch.by_matrices.divisor;
  const uint place = scalar(quotient(matrix, batch.by_groups)), group = matrix - place * batch.by_groups.divisor;
  a_matrix += (ulong)place * batch.a_place + (ulong)group * batch.a_group;
  b_matrix += (ulong)place * batch.b_place + (ulong)group * batch.b_group;
  global float *c = c_matrix + ((ulong)part * batch.c_part + (ulong)place * batch.c_place + (ulong)group * batch.c_group);
#else
#ifdef RECTIFIED
    global const float *restrict bias, uint biases) {
#else
    uint add) {
#endif
  const uint part = group_id_z();
  global float *c = c_matrix + (ulong)part * n * ldc;
#endif
  local float tiles[2 * BUFFER_FLOATS];
  const uint wavefront = WAVES == 1 ? 0u : wavefront_id();
  const uint first_x = group_id_x() * SWATH * SWATHS_X, first_y = group_id_y() * SWATH * SWATHS_Y;
  const uint begin = part * split_depth, end = minimum(begin + split_depth, k);
  const Side a_side = side_of(a_matrix, m, k, lda, A_ALONG);
  const Side b_side = side_of(b_matrix, n, k, ldb, B_ALONG);
#if A_ALONG
  Place a_place = along(&a_side, first_x, wavefront, SLOTS_X, begin);
#define LOAD_X() load_along(&a_side, &a_place, SLOTS_X, x)
#define KEEP_X(to) keep_along(to, SWATHS_X, wavefront, SLOTS_X, x)
#else
  Place a_place = across(&a_side, first_x, SWATHS_X, wavefront, SLOTS_X, begin);
#define LOAD_X() load_across(&a_side, &a_place, SWATHS_X, SLOTS_X, x)
#define KEEP_X(to) keep_across(to, SWATHS_X, wavefront, SLOTS_X, x)
#endif
#if B_ALONG
  Place b_place = along(&b_side, first_y, wavefront, SLOTS_Y, begin);
#define LOAD_Y() load_along(&b_side, &b_place, SLOTS_Y, y)
#define KEEP_Y(to) keep_along(to, SWATHS_Y, wavefront, SLOTS_Y, y)
#else
  Place b_place = across(&b_side, first_y, SWATHS_Y, wavefront, SLOTS_Y, begin);
#define LOAD_Y() load_across(&b_side, &b_place, SWATHS_Y, SLOTS_Y, y)
#define KEEP_Y(to) keep_across(to, SWATHS_Y, wavefront, SLOTS_Y, y)
#endif

  const uint swath_x = SWATH_X(wavefront), swath_y = SWATH_Y(wavefront);
  const uint at_x = swath_x + 4u * (lane() & 7u), at_y = swath_y + 4u * (lane() >> 3);
  Sums sums = {{0.0f}};
  float x[SLOTS_X], y[SLOTS_Y];
  LOAD_X();
  LOAD_Y();
  uint buffer = 0;
  KEEP_X(tiles);
  KEEP_Y(tiles + TILE_FLOATS(SWATHS_X));
  for (uint at = begin; at < end; at += DEPTH) {
    TOGETHER();
    LOAD_X();
    LOAD_Y();
    keep_order();
    multiply(tiles + buffer + at_x, PITCH(SWATHS_X), tiles + buffer + TILE_FLOATS(SWATHS_X) + at_y, PITCH(SWATHS_Y), ROWS,
             sums);
    buffer = BUFFER_FLOATS - buffer;
    KEEP_X(tiles + buffer);
    KEEP_Y(tiles + buffer + TILE_FLOATS(SWATHS_X));
  }
#ifdef RECTIFIED
  const uint number = lane_anew();
  add_of_rows(buffer_of(bias, biases * 4u), first_y + swath_y + 4u * (number >> 3), n, ROWS, sums);
  rectify(ROWS, sums);
#else
  add_matrix(c, m, n, ldc, first_x + swath_x, first_y + swath_y, ROWS, add, sums);
  const uint number = lane_anew();
#endif
  store_matrix(c, m, n, ldc, first_x + swath_x + 4u * (number & 7u), first_y + swath_y + 4u * (number >> 3), ROWS, sums);
}

#undef LOAD_X
#undef KEEP_X
#undef LOAD_Y
#undef KEEP_Y
#undef A_ALONG
#undef B_ALONG
#undef ROWS
#undef SWATHS_X
#undef SWATHS_Y
#undef NAME
