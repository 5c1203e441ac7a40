/* few_rows.cl with A in FP16, eight values at a time: k, lda and ldb are multiples of 8. Products and sums are FP32. A
   workgroup has four m, so that as many bytes of A are on their way as there. */
#include "few_rows.h"

typedef half half8_t __attribute__((ext_vector_type(8)));
typedef float float8_t __attribute__((ext_vector_type(8)));

static inline float dot8(half8_t a, float8_t b, float sum) {
  for (uint i = 0; i < 8u; ++i) sum += (float)a[i] * b[i];
  return sum;
}

static inline half8_t read_halves(Buffer from, uint lane_bytes, uint bytes) {
  return __builtin_astype(read4(from, lane_bytes, bytes), half8_t);
}

/* The distance is in the scalar part of the offset: an offset outside would come round. */
static inline float8_t read_eight(Buffer from, uint lane_bytes, uint bytes) {
  const float4_t first = read_quad(from, lane_bytes, bytes), last = read_quad(from, lane_bytes, bytes + 16u);
  return (float8_t)(first, last);
}

FEW_ROWS(few_rows_1_halves, 1u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_2_halves, 2u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_4_halves, 4u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
FEW_ROWS(few_rows_8_halves, 8u, 4u, 8u, half, half8_t, read_halves, float8_t, read_eight, dot8)
