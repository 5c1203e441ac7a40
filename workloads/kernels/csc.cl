/* Dense to compressed sparse columns in software, and C = A.B from them. A wavefront counts the non-zeros of one column
   of B, one workgroup adds the counts up to where each column begins, a wavefront writes its column's values and row
   indices there: two passes over B, where ELLPACK-DIB, whose columns stay in their places, needs one.

   The product: a wavefront owns one column and 64 rows of C, one a lane; every non-zero selects a column of A, read
   coalesced from memory. Rows of A up to the next multiple of 64 exist or are not read. */
#include "wavefront.h"

#define WAVEFRONTS 4u
#define SCANNED 256u /* work-items that add up */
#define GROUP 4u
#define UNORDERED_OR_UNEQUAL 14 /* so that NaN counts */

static inline ulong set_in(float value) { return __builtin_amdgcn_fcmpf(value, 0.0f, UNORDERED_OR_UNEQUAL); }

static inline float element(global const float *from, uint row, uint k) {
  const float value = from[row < k ? row : 0u];
  return row < k ? value : 0.0f;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void csc_count(global const float *restrict b_matrix,
                                                                       global uint *restrict counts, uint n, uint k,
                                                                       uint ldb) {
  const uint column = group_id_x() * WAVEFRONTS + wavefront_id();
  if (column >= n) return;
  global const float *from = b_matrix + (ulong)column * ldb;
  uint count = 0;
  for (uint base = 0; base < k; base += GROUP * WAVEFRONT_LANES) {
    float value[GROUP];
#pragma unroll
    for (uint g = 0; g < GROUP; ++g) value[g] = element(from, base + g * WAVEFRONT_LANES + lane_id(), k);
#pragma unroll
    for (uint g = 0; g < GROUP; ++g) count += count_bits(set_in(value[g]));
  }
  if (lane_id() == 0u) counts[column] = count;
}

/* first[i]: non-zeros in columns before column i, for i from 0 to n; one workgroup */
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void csc_scan(global const uint *restrict counts,
                                                                      global uint *restrict first, uint n) {
  local uint sums[SCANNED];
  const uint id = local_id_x(), share = (n + SCANNED - 1u) / SCANNED;
  const uint begin = minimum(id * share, n), end = minimum(begin + share, n);
  uint sum = 0;
  for (uint i = begin; i < end; ++i) sum += counts[i];
  sums[id] = sum;
  workgroup_barrier();
  for (uint step = 1u; step < SCANNED; step *= 2u) {
    const uint before = id >= step ? sums[id - step] : 0u;
    workgroup_barrier();
    sums[id] += before;
    workgroup_barrier();
  }
  uint at = sums[id] - sum;
  for (uint i = begin; i < end; ++i) {
    first[i] = at;
    at += counts[i];
  }
  if (id == SCANNED - 1u) first[n] = at;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void csc_fill(global const float *restrict b_matrix,
                                                                      global const uint *restrict first,
                                                                      global float *restrict values,
                                                                      global uint *restrict rows, uint n, uint k,
                                                                      uint ldb) {
  const uint column = group_id_x() * WAVEFRONTS + wavefront_id();
  if (column >= n) return;
  global const float *from = b_matrix + (ulong)column * ldb;
  uint at = first[column];
  for (uint base = 0; base < k; base += GROUP * WAVEFRONT_LANES) {
    float value[GROUP];
#pragma unroll
    for (uint g = 0; g < GROUP; ++g) value[g] = element(from, base + g * WAVEFRONT_LANES + lane_id(), k);
#pragma unroll
    for (uint g = 0; g < GROUP; ++g) {
      const ulong mask = set_in(value[g]);
      const uint before = __builtin_amdgcn_mbcnt_hi((uint)(mask >> 32), __builtin_amdgcn_mbcnt_lo((uint)mask, 0u));
      if (!(value[g] == 0.0f)) {
        values[at + before] = value[g];
        rows[at + before] = base + g * WAVEFRONT_LANES + lane_id();
      }
      at += count_bits(mask);
    }
  }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sgemm_csc(
    global const float *restrict a_matrix, global const float *restrict values, global const uint *restrict rows,
    global const uint *restrict first, global float *restrict c_matrix, uint m, uint n, uint lda, uint ldc) {
  const uint lane = lane_id();
  const uint column = group_id_y() * WAVEFRONTS + wavefront_id();
  const uint row = group_id_x() * WAVEFRONT_LANES + lane;
  if (column >= n) return;
  global const float *a_from = a_matrix + minimum(row, lda - 1u);
  const uint begin = scalar(first[column]), end = scalar(first[column + 1u]);
  float sum = 0.0f;
  for (uint base = begin; base < end; base += WAVEFRONT_LANES) {
    const uint at = base + lane;
    const bool is_there = at < end;
    const uint place = is_there ? at : base;
    const uint value = is_there ? __builtin_bit_cast(uint, values[place]) : 0u;
    const uint offset = rows[place] * lda * (uint)sizeof(float); /* A is smaller than 4 GiB */
    const uint count = minimum(end - base, WAVEFRONT_LANES);
    for (uint i = 0; i < count; i += GROUP) {
      float a[GROUP];
#pragma unroll
      for (uint g = 0; g < GROUP; ++g)
        a[g] = *(global const float *)((global const char *)a_from + (ulong)broadcast(offset, i + g));
      keep_order(); /* all of a group's loads are in flight together */
#pragma unroll
      for (uint g = 0; g < GROUP; ++g) sum += a[g] * __builtin_bit_cast(float, broadcast(value, i + g));
    }
  }
  if (row < m) c_matrix[(ulong)column * ldc + row] = sum;
}
