/* C = A.B by matrix cores: dense, over lines that are not all zero, and over lines of a list; by the compaction engine and
   without one. */
#include "matrix_tile.h"

#define DENSE 0
#define ENGINE 1
#define LISTED 2
#define ROUTED 3
#define INDEXED 4

#define SOURCE DENSE
#define VALUES 32
#define TILES 1u
#define FUNCTION dense_float32_1
#include "matrix_body.h"
#undef TILES
#define TILES 2u
#define FUNCTION dense_float32_2
#include "matrix_body.h"
#undef TILES
#define TILES 4u
#define FUNCTION dense_float32_4
#include "matrix_body.h"
#undef TILES
#undef VALUES
#define VALUES 16
#define TILES 1u
#define FUNCTION dense_float16_1
#include "matrix_body.h"
#undef TILES
#define TILES 2u
#define FUNCTION dense_float16_2
#include "matrix_body.h"
#undef TILES
#undef VALUES
#define VALUES 17
#define TILES 1u
#define FUNCTION dense_bfloat16_1
#include "matrix_body.h"
#undef TILES
#define TILES 2u
#define FUNCTION dense_bfloat16_2
#include "matrix_body.h"
#undef TILES
#undef VALUES
#undef SOURCE

#define TILES 1u
#define SOURCE ENGINE
#define VALUES 32
#define FUNCTION gathered_float32_1
#include "matrix_body.h"
#undef VALUES
#define VALUES 16
#define FUNCTION gathered_float16_1
#include "matrix_body.h"
#undef VALUES
#undef SOURCE

#define SOURCE LISTED
#define VALUES 32
#define FUNCTION listed_float32_1
#include "matrix_body.h"
#undef VALUES
#define VALUES 16
#define FUNCTION listed_float16_1
#include "matrix_body.h"
#undef VALUES
#undef SOURCE

#define SOURCE ROUTED
#define VALUES 32
#define FUNCTION routed_float32_1
#include "matrix_body.h"
#undef VALUES
#define VALUES 16
#define FUNCTION routed_float16_1
#include "matrix_body.h"
#undef VALUES
#undef SOURCE

#define SOURCE INDEXED
#define VALUES 32
#define FUNCTION indexed_float32_1
#include "matrix_body.h"
#undef VALUES
#define VALUES 16
#define FUNCTION indexed_float16_1
#include "matrix_body.h"
#undef VALUES
#undef SOURCE

#define GATHERED_LOADS 4u /* of four lines each, that are under way together */

/* What software does in the engine's stead, a pass before the product: of each column of B's lines those that are not
   all zero, one after another, with their numbers and count. A wavefront has a column; lines of zeros fill the last
   batch. */
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void gather_lines(global const uint *restrict b_matrix,
                                                                          global uint *restrict gathered,
                                                                          global uint *restrict numbers,
                                                                          global uint *restrict counts, uint depth,
                                                                          uint columns) {
  const uint lane = lane_id(), group = lane / 16u;
  const uint column = group_id_x() * WAVEFRONTS + wavefront_id();
  if (column >= columns) return;
  global const uint *from = b_matrix + (ulong)column * depth * LINE_WORDS + lane;
  global uint *to = gathered + (ulong)column * depth * LINE_WORDS + lane % 16u;
  global uint *const list = numbers + column * depth;
  uint count = 0;
  for (uint line = 0; line < depth; line += 4u * GATHERED_LOADS) {
    uint words[GATHERED_LOADS];
#pragma unroll
    for (uint u = 0; u < GATHERED_LOADS; ++u) words[u] = from[(line + 4u * u) * LINE_WORDS];
    keep_order();
#pragma unroll
    for (uint u = 0; u < GATHERED_LOADS; ++u) {
      const ulong set = lanes_below(0u, words[u]);
      uint before = 0, all = 0, mine = 0;
#pragma unroll
      for (uint g = 0; g < 4u; ++g) {
        const uint any = (set >> (16u * g) & 0xffffu) != 0u;
        before += g < group ? any : 0u;
        mine = g == group ? any : mine;
        all += any;
      }
      if (mine) {
        to[(count + before) * LINE_WORDS] = words[u];
        if (lane % 16u == 0u) list[count + before] = line + 4u * u + group;
      }
      count += all;
    }
  }
  const uint padded = (count + BATCH - 1u) / BATCH * BATCH;
  for (uint at = count + group; at < padded; at += 4u) {
    to[at * LINE_WORDS] = 0u;
    if (lane % 16u == 0u) list[at] = 0u;
  }
  if (lane == 0u) counts[column] = count;
}

/* the sum of the parts of C, four elements a work-item */
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sum_matrix_parts(global const float4_t *restrict partial,
                                                                              global float4_t *restrict c_matrix,
                                                                              uint parts, uint fours) {
  const uint i = group_id_x() * 256u + local_id_x();
  if (i >= fours) return;
  float4_t sum = 0.0f;
  for (uint part = 0; part < parts; ++part) sum += partial[part * fours + i];
  c_matrix[i] = sum;
}
