/* C = A.B with B compacted on the fly: Algorithm 3 of Dong 2020, tile_size 32. A workgroup computes 32 x 32 elements of
   C. Its work-items load a tile of B, a compacted line of each of its 32 columns, and unpack it into LDS; after a barrier
   each multiplies its column's bundles with the elements of A that their row indices select, four rows a work-item. It
   goes on until each column of the tile has had its last line: the status bit takes the place of `nnz_col` (section
   6.4.1), and a column that is over counts as padded with zeros.

   A tile of A in LDS, as printed (line 14), cannot be: every column selects rows of its own, so elements of A are read
   from memory where they are multiplied, 128 consecutive bytes by the work-items of a column, those of a whole line of
   bundles in flight together. The next tile of B is on its way meanwhile. Workgroups that run at the same time share
   their rows of A (their numbers go along C's columns first), and meet in the same part of it, as bundles are sorted.

   lda and ldc are multiples of 4; rows of A and C up to the next multiple of 4 exist. A is smaller than 4 GiB. */
#include "buffer.h"
#include "dib.h"

#define TILE 32u
#define ROWS_OF_A 4u                      /* of a work-item */
#define COLUMN_LANES (TILE / ROWS_OF_A)   /* work-items that share a column */
#define LINE 16u                          /* bundles */
#define PITCH (LINE + 2u)                 /* bundles from column to column in LDS, where eight columns then meet all banks */
#define WORK_ITEMS 256u
#define LOADS (TILE * LINE / WORK_ITEMS)

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void dib_algorithm3(
    global const float *restrict a_matrix, global const float *restrict b_matrix, global float *restrict c_matrix, uint m,
    uint n, uint k, uint lda, uint ldb, uint ldc) {
  local uint4_t tile[TILE * PITCH / 2u]; /* [column][bundle]: value and where its column of A begins, in bytes */
  local uint over[TILE];
  const uint id = local_id_x();
  const uint mine = id / COLUMN_LANES; /* column of the tile that is multiplied */
  const uint row = group_id_y() * TILE + ROWS_OF_A * (id % COLUMN_LANES);
  const uint loaded = id / LINE, bundle = id % LINE; /* column and bundle that is loaded, of each 16 columns */
  const Buffer a = buffer_of(a_matrix, lda * ((k + 15u) & ~15u) * (uint)sizeof(float));
  const uint row_bytes = minimum(row, lda - ROWS_OF_A) * (uint)sizeof(float);
  const uint lda_bytes = lda * (uint)sizeof(float);

  global const float *line[LOADS];
  uint2_t next[LOADS];
#pragma unroll
  for (uint i = 0; i < LOADS; ++i) {
    const uint column = minimum(group_id_x() * TILE + loaded + LINE * i, n - 1u);
    line[i] = b_matrix + (ulong)column * ldb + bundle;
    next[i] = sparse_load(line[i]);
  }
  float4_t sum = 0.0f;
  bool more = true;
  while (more) {
    local uint2_t *bundles = (local uint2_t *)tile;
#pragma unroll
    for (uint i = 0; i < LOADS; ++i) {
      const uint column = loaded + LINE * i;
      const uint2_t unpacked = {__builtin_bit_cast(uint, half_bits_to_float(next[i].x & 0xffffu)),
                                (next[i].x >> 16) * lda_bytes};
      bundles[column * PITCH + bundle] = unpacked;
      if (bundle == 0u) over[column] = next[i].y & STATUS_LAST;
    }
    workgroup_barrier();
    more = lanes_below(over[id % TILE], 1u) != 0ul;
#pragma unroll
    for (uint i = 0; i < LOADS; ++i) {
      line[i] += LINE;
      if (next[i].y & STATUS_LAST) {
        next[i].x = 0u; /* zero-padded */
      } else {
        next[i] = sparse_load(line[i]);
      }
    }
    uint4_t b[LINE / 2u], value[LINE];
#pragma unroll
    for (uint j = 0; j < LINE / 2u; ++j) b[j] = tile[mine * PITCH / 2u + j];
#pragma unroll
    for (uint j = 0; j < LINE; ++j) value[j] = read4(a, (j & 1u ? b[j / 2u].w : b[j / 2u].y) + row_bytes, 0u);
    keep_order(); /* all loads of a line's elements are in flight together */
#pragma unroll
    for (uint j = 0; j < LINE; ++j)
      sum += __builtin_astype(value[j], float4_t) * __builtin_bit_cast(float, j & 1u ? b[j / 2u].z : b[j / 2u].x);
    workgroup_barrier();
  }
  const uint column = group_id_x() * TILE + mine;
  if (row < m && column < n) *(global float4_t *)(c_matrix + (ulong)column * ldc + row) = sum;
}
