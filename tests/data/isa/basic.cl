// Small kernels for the code-object tests; built as tests/data/isa/README.md says.

static __constant float table[4] = {1.0f, 2.0f, 3.0f, 5.0f};

__attribute__((noinline)) static float weighted(float x, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; i++) sum += x * table[i & 3];
  return sum;
}

__kernel void add(__global const float *a, __global const float *b, __global float *c, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) c[i] = a[i] + b[i];
}

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void reverse(__global const float *a, __global float *c, __local float *dynamic) {
  __local float fixed[64];
  int lane = __builtin_amdgcn_workitem_id_x();
  fixed[lane] = a[lane];
  dynamic[lane] = a[lane] * 2.0f;
  __builtin_amdgcn_s_barrier();
  c[lane] = fixed[63 - lane] + dynamic[63 - lane];
}

__kernel void spill(__global int *a, int n) {
  volatile int kept[32];
  for (int i = 0; i < 32; i++) kept[i] = a[i];
  a[__builtin_amdgcn_workitem_id_y()] = kept[n & 31] + __builtin_amdgcn_workgroup_id_y();
}

__kernel void calls(__global float *a, double scale, long n) {
  int i = __builtin_amdgcn_workitem_id_x();
  a[i] = weighted(a[i], (int)n) / (float)scale;
}
