/* Max and average pooling of planes [H, W], forward and backward. Forward, a work-item has one output; of a maximum it
   also keeps the place in its window, row by row, which is what the gradient goes back to. Backward, a work-item has
   one input, or with strides of 1 or 2 those that the same windows cover, and gathers from those windows, so that nothing
   is added up in an order that may vary. Where the window is the whole plane, the forward pass is a reduction by
   wavefronts, the backward pass element-wise. */
#include "reduce.h"

typedef struct {
  uint rows, columns, out_rows, out_columns;
  uint kernel_rows, kernel_columns, stride_rows, stride_columns;
  uint pad_rows, pad_columns; /* at the top and left */
  uint end_rows, end_columns; /* where the plane ends with the padding at its bottom and right */
} Pooling;

static inline int least(int a, int b) { return a < b ? a : b; }
static inline int most(int a, int b) { return a > b ? a : b; }

/* An output's window: where it begins, and which of its rows and columns lie on the plane. */
typedef struct {
  int top, left, row, row_end, column, column_end;
} Window;

static inline Window window_of(Pooling p, uint out_row, uint out_column) {
  Window w;
  w.top = (int)(out_row * p.stride_rows) - (int)p.pad_rows;
  w.left = (int)(out_column * p.stride_columns) - (int)p.pad_columns;
  w.row = most(0, -w.top);
  w.column = most(0, -w.left);
  w.row_end = least((int)p.kernel_rows, (int)p.rows - w.top);
  w.column_end = least((int)p.kernel_columns, (int)p.columns - w.left);
  return w;
}

/* 1 / the elements that an average is over; with padding, that of the plane's right and lower edge counts no further
   than the padding goes. */
static inline float average_weight(Pooling p, Window w, uint count_padding) {
  const int rows = count_padding ? least((int)p.kernel_rows, (int)p.end_rows - w.top) : w.row_end - w.row;
  const int columns = count_padding ? least((int)p.kernel_columns, (int)p.end_columns - w.left)
                                    : w.column_end - w.column;
  return inverse((float)(rows * columns));
}

#define OUTPUT_PLACE                                                                                                   \
  const uint item = group_id_x() * GROUP + local_id_x();                                                               \
  if (item >= n) return;                                                                                               \
  const uint out_line = quotient(item, by_out_columns), plane = quotient(out_line, by_out_rows);                       \
  const Window w = window_of(p, remainder_of(out_line, plane, by_out_rows),                                            \
                             remainder_of(item, out_line, by_out_columns));                                            \
  global const float *corner = x + plane * p.rows * p.columns;

INLINE Maximum maximum_of(global const float *corner, Pooling p, Window w) {
  Maximum best = {-__builtin_inff(), (uint)w.row * p.kernel_columns + (uint)w.column};
  for (int r = w.row; r < w.row_end; ++r)
    for (int c = w.column; c < w.column_end; ++c)
      best = larger(best, corner[(uint)((w.top + r) * (int)p.columns + w.left + c)], (uint)r * p.kernel_columns + (uint)c);
  return best;
}

/* A window of size * size, without branches: for a row or column past the plane's edge the one at the edge is taken
   again. row, column: in the window, of what was taken. */
typedef struct {
  float value[3][3];
  int row[3], column[3];
} Square;

INLINE Square square_of(global const float *corner, Pooling p, Window w, int size) {
  Square found;
  uint offset[3];
  for (int k = 0; k < size; ++k) {
    found.row[k] = least(most(k, w.row), w.row_end - 1);
    found.column[k] = least(most(k, w.column), w.column_end - 1);
    offset[k] = (uint)(w.left + found.column[k]) * 4u;
  }
  for (int r = 0; r < size; ++r) {
    global const char *line = (global const char *)(corner + (uint)(w.top + found.row[r]) * p.columns);
    for (int c = 0; c < size; ++c) found.value[r][c] = *(global const float *)(line + offset[c]);
  }
  return found;
}

/* What is taken twice changes no maximum. */
INLINE Maximum maximum_of_square(global const float *corner, Pooling p, Window w, int size) {
  const Square square = square_of(corner, p, w, size);
  Maximum best = {square.value[0][0], (uint)(square.row[0] * size + square.column[0])};
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c)
      if (r || c) best = larger(best, square.value[r][c], (uint)(square.row[r] * size + square.column[c]));
  return best;
}

/* What is taken twice counts once. */
INLINE float sum_of_square(global const float *corner, Pooling p, Window w, int size) {
  const Square square = square_of(corner, p, w, size);
  float sum = 0.0f;
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c)
      sum += square.row[r] == r && square.column[c] == c ? square.value[r][c] : 0.0f;
  return sum;
}

INLINE float sum_of(global const float *corner, Pooling p, Window w) {
  float sum = 0.0f;
  for (int r = w.row; r < w.row_end; ++r)
    for (int c = w.column; c < w.column_end; ++c)
      sum += corner[(uint)((w.top + r) * (int)p.columns + w.left + c)];
  return sum;
}

#define MAX_FORWARD(name, maximum)                                                                                     \
  KERNEL void name(global const float *restrict x, global float *restrict y, Pooling p, Divisor by_out_columns,        \
                   Divisor by_out_rows, uint n) {                                                                      \
    OUTPUT_PLACE                                                                                                       \
    y[item] = maximum.value;                                                                                           \
  }

#define MAX_PLACES(name, type, maximum)                                                                                \
  KERNEL void name(global const float *restrict x, global float *restrict y, global type *restrict places, Pooling p,  \
                   Divisor by_out_columns, Divisor by_out_rows, uint n) {                                              \
    OUTPUT_PLACE                                                                                                       \
    const Maximum found = maximum;                                                                                     \
    y[item] = found.value;                                                                                             \
    places[item] = (type)found.place;                                                                                  \
  }
MAX_FORWARD(max_pooling, maximum_of(corner, p, w))
MAX_FORWARD(max_pooling_2x2, maximum_of_square(corner, p, w, 2))
MAX_FORWARD(max_pooling_3x3, maximum_of_square(corner, p, w, 3))
MAX_PLACES(max_pooling_places8, uchar, maximum_of(corner, p, w))
MAX_PLACES(max_pooling_places32, uint, maximum_of(corner, p, w))
MAX_PLACES(max_pooling_places8_2x2, uchar, maximum_of_square(corner, p, w, 2))
MAX_PLACES(max_pooling_places8_3x3, uchar, maximum_of_square(corner, p, w, 3))

#define AVERAGE_FORWARD(name, sum)                                                                                     \
  KERNEL void name(global const float *restrict x, global float *restrict y, Pooling p, Divisor by_out_columns,        \
                   Divisor by_out_rows, uint count_padding, uint n) {                                                  \
    OUTPUT_PLACE                                                                                                       \
    y[item] = sum * average_weight(p, w, count_padding);                                                               \
  }
AVERAGE_FORWARD(average_pooling, sum_of(corner, p, w))
AVERAGE_FORWARD(average_pooling_2x2, sum_of_square(corner, p, w, 2))
AVERAGE_FORWARD(average_pooling_3x3, sum_of_square(corner, p, w, 3))

/* The outputs whose windows may cover an input: from `first` up to `last`. */
typedef struct {
  uint first, last;
} Outputs;

static inline Outputs covering(uint padded, uint kernel_size, Divisor by_stride, uint outputs) {
  Outputs found;
  found.first = padded < kernel_size ? 0u : quotient(padded - kernel_size, by_stride) + 1u;
  found.last = minimum(quotient(padded, by_stride), outputs - 1u);
  return found;
}

#define INPUT_PLACE                                                                                                    \
  const uint item = group_id_x() * GROUP + local_id_x();                                                               \
  if (item >= n) return;                                                                                               \
  const uint line = quotient(item, by_columns), plane = quotient(line, by_rows);                                       \
  const uint row = remainder_of(line, plane, by_rows) + p.pad_rows;                                                    \
  const uint column = remainder_of(item, line, by_columns) + p.pad_columns;                                            \
  const Outputs rows = covering(row, p.kernel_rows, by_stride_rows, p.out_rows);                                       \
  const Outputs columns = covering(column, p.kernel_columns, by_stride_columns, p.out_columns);                        \
  float sum = 0.0f;

#define MAX_BACKWARD(name, type)                                                                                       \
  KERNEL void name(global const float *restrict dy, global const type *restrict places, global float *restrict dx,     \
                   Pooling p, Divisor by_columns, Divisor by_rows, Divisor by_stride_rows, Divisor by_stride_columns,  \
                   uint n) {                                                                                           \
    INPUT_PLACE                                                                                                        \
    for (uint r = rows.first; r <= rows.last; ++r)                                                                     \
      for (uint c = columns.first; c <= columns.last; ++c) {                                                           \
        const uint at = (plane * p.out_rows + r) * p.out_columns + c;                                                  \
        const uint mine = (row - r * p.stride_rows) * p.kernel_columns + column - c * p.stride_columns;                \
        const float gradient = dy[at];                                                                                 \
        sum += places[at] == mine ? gradient : 0.0f;                                                                   \
      }                                                                                                                \
    dx[item] = sum;                                                                                                    \
  }
MAX_BACKWARD(max_pooling_backward8, uchar)
MAX_BACKWARD(max_pooling_backward32, uint)

KERNEL void average_pooling_backward(global const float *restrict dy, global float *restrict dx, Pooling p,
                                     Divisor by_columns, Divisor by_rows, Divisor by_stride_rows,
                                     Divisor by_stride_columns, uint count_padding, uint n) {
  INPUT_PLACE
  for (uint r = rows.first; r <= rows.last; ++r)
    for (uint c = columns.first; c <= columns.last; ++c)
      sum += dy[(plane * p.out_rows + r) * p.out_columns + c] * average_weight(p, window_of(p, r, c), count_padding);
  dx[item] = sum;
}

/* Strides of 1 or 2, in both directions: a work-item has a block of `stride` by `stride` inputs of the padded plane, from
   row stride * b and column stride * a on, which the same windows cover: that of the output at (b, a) and as many before
   it as a window reaches on. Which of a window's places these inputs are, is the same for all work-items. by_lines,
   by_columns: of these blocks; size: of a square window, so that its loads are under way together, 0 for others. */
#define BLOCK_PLACE(size)                                                                                              \
  const uint item = group_id_x() * GROUP + local_id_x();                                                               \
  if (item >= n) return;                                                                                               \
  const uint line = quotient(item, by_columns), plane = quotient(line, by_lines);                                      \
  const int block_row = (int)remainder_of(line, plane, by_lines);                                                      \
  const int block_column = (int)remainder_of(item, line, by_columns);                                                  \
  const uint outputs = plane * p.out_rows * p.out_columns;                                                             \
  const uint kernel_rows = size ? size : p.kernel_rows, kernel_columns = size ? size : p.kernel_columns;                \
  float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

#define FOR_WINDOWS(stride)                                                                                            \
  for (uint down = 0; down < kernel_rows; down += stride)                                                            \
    for (uint along = 0; along < kernel_columns; along += stride) {                                                  \
      const uint r = (uint)block_row - down / stride, c = (uint)block_column - along / stride;                         \
      const bool there = r < p.out_rows && c < p.out_columns;                                                          \
      const uint at = there ? outputs + r * p.out_columns + c : 0u;

#define FOR_BLOCK(stride)                                                                                              \
  for (uint i = 0; i < stride; ++i)                                                                                    \
    for (uint j = 0; j < stride; ++j)

INLINE void store_block(uint stride, global float *dx, Pooling p, uint plane, int block_row, int block_column,
                        float sum[2][2]) {
  global float *to = dx + plane * p.rows * p.columns;
  FOR_BLOCK(stride) {
    const uint row = (uint)((int)stride * block_row + (int)i - (int)p.pad_rows);
    const uint column = (uint)((int)stride * block_column + (int)j - (int)p.pad_columns);
    if (row < p.rows && column < p.columns) to[row * p.columns + column] = sum[i][j];
  }
}

#define MAX_BLOCKS(name, type, stride, size)                                                                                 \
  KERNEL void name(global const float *restrict dy, global const type *restrict places, global float *restrict dx,     \
                   Pooling p, Divisor by_columns, Divisor by_lines, uint n) {                                          \
    BLOCK_PLACE(size)                                                                                                \
    FOR_WINDOWS(stride)                                                                                                \
      const float gradient = there ? dy[at] : 0.0f;                                                                    \
      const uint place = places[at];                                                                                   \
      FOR_BLOCK(stride) {                                                                                              \
        if (down + i < kernel_rows && along + j < kernel_columns)                                                  \
          sum[i][j] += place == (down + i) * kernel_columns + along + j ? gradient : 0.0f;                           \
      }                                                                                                                \
    }                                                                                                                  \
    store_block(stride, dx, p, plane, block_row, block_column, sum);                                                   \
  }
MAX_BLOCKS(max_pooling_blocks1_8, uchar, 1u, 0u)
MAX_BLOCKS(max_pooling_blocks1_32, uint, 1u, 0u)
MAX_BLOCKS(max_pooling_blocks1_8_2x2, uchar, 1u, 2u)
MAX_BLOCKS(max_pooling_blocks1_8_3x3, uchar, 1u, 3u)
MAX_BLOCKS(max_pooling_blocks2_8, uchar, 2u, 0u)
MAX_BLOCKS(max_pooling_blocks2_32, uint, 2u, 0u)
MAX_BLOCKS(max_pooling_blocks2_8_2x2, uchar, 2u, 2u)
MAX_BLOCKS(max_pooling_blocks2_8_3x3, uchar, 2u, 3u)

#define AVERAGE_BLOCKS(name, stride, size)                                                                                   \
  KERNEL void name(global const float *restrict dy, global float *restrict dx, Pooling p, Divisor by_columns,          \
                   Divisor by_lines, uint count_padding, uint n) {                                                     \
    BLOCK_PLACE(size)                                                                                                \
    FOR_WINDOWS(stride)                                                                                                \
      const float share = there ? dy[at] * average_weight(p, window_of(p, r, c), count_padding) : 0.0f;                \
      FOR_BLOCK(stride) {                                                                                              \
        if (down + i < kernel_rows && along + j < kernel_columns) sum[i][j] += share;                              \
      }                                                                                                                \
    }                                                                                                                  \
    store_block(stride, dx, p, plane, block_row, block_column, sum);                                                   \
  }
AVERAGE_BLOCKS(average_pooling_blocks1, 1u, 0u)
AVERAGE_BLOCKS(average_pooling_blocks1_2x2, 1u, 2u)
AVERAGE_BLOCKS(average_pooling_blocks1_3x3, 1u, 3u)
AVERAGE_BLOCKS(average_pooling_blocks2, 2u, 0u)
AVERAGE_BLOCKS(average_pooling_blocks2_2x2, 2u, 2u)
AVERAGE_BLOCKS(average_pooling_blocks2_3x3, 2u, 3u)

/* The window is the plane: a wavefront reduces four planes, whose loads are under way together. */
#define PLANES 4u

KERNEL void average_pooling_planes(global const float *restrict x, global float *restrict y, uint planes, uint size,
                                   float weight) {
  const uint first = (group_id_x() * WAVEFRONTS + wavefront_id()) * PLANES;
  if (first >= planes) return;
  float sum[PLANES] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (uint at = lane_id(); at < size; at += WAVEFRONT_LANES)
    for (uint k = 0; k < PLANES; ++k)
      if (first + k < planes) sum[k] += x[(first + k) * size + at];
  float mine = 0.0f;
  for (uint k = 0; k < PLANES; ++k) {
    const float total = wavefront_sum(sum[k]) * weight;
    if (lane_id() == k) mine = total;
  }
  if (lane_id() < PLANES && first + lane_id() < planes) y[first + lane_id()] = mine;
}

/* Floats as numbers without sign in the same order; what is no number is the largest, -0 is 0. */
static inline uint ordered(float value) {
  const uint bits = (uint)bits_of(value + 0.0f);
  return value != value ? ~0u : bits ^ ((bits >> 31) ? ~0u : 0x80000000u);
}

static inline float from_ordered(uint key) {
  return float_of((int)(key ^ ((key >> 31) ? 0x80000000u : ~0u)));
}

#define MAX_PLANES(name, type)                                                                                         \
  KERNEL void name(global const float *restrict x, global float *restrict y, global type *restrict places,             \
                   uint planes, uint size) {                                                                           \
    const uint first = (group_id_x() * WAVEFRONTS + wavefront_id()) * PLANES;                                          \
    if (first >= planes) return;                                                                                       \
    uint best[PLANES] = {0u, 0u, 0u, 0u}, place[PLANES] = {~0u, ~0u, ~0u, ~0u};                                        \
    for (uint at = lane_id(); at < size; at += WAVEFRONT_LANES)                                                        \
      for (uint k = 0; k < PLANES; ++k)                                                                                \
        if (first + k < planes) {                                                                                      \
          const uint key = ordered(x[(first + k) * size + at]);                                                        \
          if (key > best[k]) {                                                                                         \
            best[k] = key;                                                                                             \
            place[k] = at;                                                                                             \
          }                                                                                                            \
        }                                                                                                              \
    uint mine = 0u, mine_at = 0u;                                                                                      \
    for (uint k = 0; k < PLANES; ++k) {                                                                                \
      const uint largest = wavefront_max_uint(best[k]);                                                                \
      const uint at = ~wavefront_max_uint(best[k] == largest ? ~place[k] : 0u);                                        \
      if (lane_id() == k) {                                                                                            \
        mine = largest;                                                                                                \
        mine_at = at;                                                                                                  \
      }                                                                                                                \
    }                                                                                                                  \
    if (lane_id() < PLANES && first + lane_id() < planes) {                                                            \
      y[first + lane_id()] = from_ordered(mine);                                                                       \
      if (places) places[first + lane_id()] = (type)mine_at;                                                           \
    }                                                                                                                  \
  }
MAX_PLANES(max_pooling_planes8, uchar)
MAX_PLANES(max_pooling_planes32, uint)

/* The gradient of the whole plane's average or maximum; by_size: of a plane. */
KERNEL void average_pooling_spread(global const float *restrict dy, global float *restrict dx, Divisor by_size,
                                   float weight, uint n) {
  const uint first = first_element(), count = elements_from(first, n);
  float4_t value;
  for (uint k = 0; k < 4u; ++k) value[k] = dy[quotient(minimum(first + k, n - 1u), by_size)] * weight;
  store_some(dx, first, count, value);
}

#define MAX_SPREAD(name, type)                                                                                         \
  KERNEL void name(global const float *restrict dy, global const type *restrict places, global float *restrict dx,     \
                   Divisor by_size, uint n) {                                                                          \
    const uint first = first_element(), count = elements_from(first, n);                                               \
    float4_t value;                                                                                                    \
    for (uint k = 0; k < 4u; ++k) {                                                                                    \
      const uint at = minimum(first + k, n - 1u), plane = quotient(at, by_size);                                       \
      const float gradient = dy[plane];                                                                                \
      value[k] = places[plane] == remainder_of(at, plane, by_size) ? gradient : 0.0f;                                  \
    }                                                                                                                  \
    store_some(dx, first, count, value);                                                                               \
  }
MAX_SPREAD(max_pooling_spread8, uchar)
MAX_SPREAD(max_pooling_spread32, uint)
