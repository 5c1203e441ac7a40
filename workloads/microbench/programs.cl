/* The access patterns of the programs whose bandwidths of cards are published, compiled as those are. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define GROUP 256u
#define VALUES 16u /* of a work-item that reads */
#define KERNEL kernel __attribute__((reqd_work_group_size(256, 1, 1)))

typedef float float4_t __attribute__((ext_vector_type(4)));

/* BabelStream: an element of FP64 a work-item */
static inline uint element(void) { return __builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x(); }

KERNEL void copy(global const double *a, global double *c) { c[element()] = a[element()]; }

KERNEL void triad(global double *a, global const double *b, global const double *c) {
  a[element()] = b[element()] + 0.4 * c[element()];
}

/* clpeak: a work-item adds up sixteen values of four floats; group and step say in which order they are read */
KERNEL void read_values(global const float4_t *from, global float *to, uint group, uint step) {
  from += __builtin_amdgcn_workgroup_id_x() * group + __builtin_amdgcn_workitem_id_x();
  float4_t sum = 0.0f;
  for (uint k = 0; k < VALUES; ++k) sum += from[k * step];
  to[element()] = sum.x + sum.y + sum.z + sum.w;
}
