#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef half f16x4 __attribute__((ext_vector_type(4)));

// C (M x N) = A (M x K) B (N x K) transposed, row-major; a wavefront computes a tile of 32 x 32
kernel void product(global const half *a, global const half *b, global float *c, int n, int k) {
  int lane = get_local_id(0), row = get_group_id(0) * 32, column = get_group_id(1) * 32;
  f32x16 sums = 0;
  for (int at = 0; at < k; at += 8) {
    f16x4 x = *(global const f16x4 *)(a + (row + lane % 32) * k + at + lane / 32 * 4);
    f16x4 y = *(global const f16x4 *)(b + (column + lane % 32) * k + at + lane / 32 * 4);
    sums = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sums, 0, 0, 0);
  }
  for (int r = 0; r < 16; r++)
    c[(row + r / 4 * 8 + lane / 32 * 4 + r % 4) * n + column + lane % 32] = sums[r];
}

// products of registers, two independent ones in each iteration: the matrix units are full
kernel void registers(global const half *a, global float *c, int count) {
  f16x4 x = *(global const f16x4 *)(a + 4 * (get_local_id(0) % 64));
  f32x16 one = 0, other = 0;
  for (int at = 0; at < count; at++) {
    one = __builtin_amdgcn_mfma_f32_32x32x8f16(x, x, one, 0, 0, 0);
    other = __builtin_amdgcn_mfma_f32_32x32x8f16(x, x, other, 0, 0, 0);
  }
  c[get_global_id(0)] = one[0] + other[1];
}
