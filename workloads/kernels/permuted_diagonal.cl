/* Matrices of blocks of K x K, K = 1 << shift, of which each has a permuted diagonal: row r of block (i, j) has one value,
   in column (r + i + j) mod K (Deng et al. 2018, with a permutation for each block that follows from its place). The values
   are w [rows of blocks, columns of blocks, K]; vectors have `width` values, fewer than whole blocks have. */
#include "elements.h"

#define IMAGES 8u /* of a work-item, which multiply by the value that it loads */

/* y[n] = the matrix times x[n], or its transpose times x[n]. A work-item: a value of y of IMAGES vectors; `sums`: blocks that
   are added up. The matrix has `columns` columns of blocks, y `across` values of a vector, of which `y_width` are stored. */
INLINE void multiply(bool transposed, global const float *restrict w, global const float *restrict x,
                     global float *restrict y, uint shift, uint columns, uint sums, uint across, uint x_width,
                     uint y_width, uint images) {
  const uint item = group_id_x() * GROUP + local_id_x(), first = group_id_y() * IMAGES;
  if (item >= across) return;
  const uint mine = item >> shift, last = (1u << shift) - 1u, place = item & last;
  float sum[IMAGES];
  _Pragma("unroll") for (uint n = 0; n < IMAGES; ++n) sum[n] = 0.0f;
  _Pragma("unroll 4") for (uint other = 0; other < sums; ++other) {
    const uint turn = mine + other;
    /* the place of the block that has the value, which is its row */
    const uint met = (transposed ? place - turn : place + turn) & last;
    const uint row = transposed ? met : place;
    const uint number = transposed ? other * columns + mine : mine * columns + other;
    const float value = w[((ulong)number << shift) + row];
    const uint from = (other << shift) + met;
    const bool inside = from < x_width;
    _Pragma("unroll") for (uint n = 0; n < IMAGES; ++n) {
      const uint image = minimum(first + n, images - 1u);
      sum[n] += inside ? value * x[(ulong)image * x_width + from] : 0.0f;
    }
  }
  if (item < y_width)
    _Pragma("unroll") for (uint n = 0; n < IMAGES; ++n)
      if (first + n < images) y[(ulong)(first + n) * y_width + item] = sum[n];
}

KERNEL void permuted_diagonal(global const float *restrict w, global const float *restrict x, global float *restrict y,
                              uint shift, uint columns, uint sums, uint across, uint x_width, uint y_width,
                              uint images) {
  multiply(false, w, x, y, shift, columns, sums, across, x_width, y_width, images);
}

KERNEL void permuted_diagonal_transposed(global const float *restrict w, global const float *restrict x,
                                         global float *restrict y, uint shift, uint columns, uint sums, uint across,
                                         uint x_width, uint y_width, uint images) {
  multiply(true, w, x, y, shift, columns, sums, across, x_width, y_width, images);
}

/* dw = the sum over vectors of dy at a value's row times x at its column; values of rows or columns past the matrix's are 0.
   A work-item: a value; by_row: values of a row of blocks. */
KERNEL void permuted_diagonal_weights(global const float *restrict x, global const float *restrict dy,
                                      global float *restrict dw, Divisor by_row, uint shift, uint count, uint x_width,
                                      uint y_width, uint images) {
  const uint item = group_id_x() * GROUP + local_id_x();
  if (item >= count) return;
  const uint i = quotient(item, by_row), within = remainder_of(item, i, by_row), j = within >> shift;
  const uint last = (1u << shift) - 1u, place = within & last;
  const uint row = (i << shift) + place, column = (j << shift) + ((place + i + j) & last);
  float sum = 0.0f;
  if (row < y_width && column < x_width) {
    global const float *a = dy + row, *b = x + column;
    _Pragma("unroll 8") for (uint n = 0; n < images; ++n, a += y_width, b += x_width) sum += *a * *b;
  }
  dw[item] = sum;
}
