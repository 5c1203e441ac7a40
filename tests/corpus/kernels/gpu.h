// What OpenCL's device library would provide, from clang's builtins alone: places in the grid, barriers, native math.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define WAVEFRONT 64
#define DEVICE memory_order_relaxed, memory_scope_device
#define GROUP memory_order_relaxed, memory_scope_work_group
#define GROUP_SIZE(x, y) __attribute__((reqd_work_group_size(x, y, 1)))

static inline uint local_x(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint local_y(void) { return __builtin_amdgcn_workitem_id_y(); }
static inline uint local_z(void) { return __builtin_amdgcn_workitem_id_z(); }
static inline uint group_x(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint group_y(void) { return __builtin_amdgcn_workgroup_id_y(); }
static inline uint group_z(void) { return __builtin_amdgcn_workgroup_id_z(); }

// clang reads these from the dispatch packet or, in code-object version 5, from the implicit arguments
static inline uint size_x(void) { return __builtin_amdgcn_workgroup_size_x(); }
static inline uint size_y(void) { return __builtin_amdgcn_workgroup_size_y(); }
static inline uint size_z(void) { return __builtin_amdgcn_workgroup_size_z(); }
static inline uint global_x(void) { return group_x() * size_x() + local_x(); }
static inline uint global_y(void) { return group_y() * size_y() + local_y(); }
static inline uint global_z(void) { return group_z() * size_z() + local_z(); }
static inline uint total_x(void) { return __builtin_amdgcn_grid_size_x(); }

// work-group barrier that orders LDS and global memory
static inline void group_barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline float native_reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
static inline float native_inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
static inline float power_of_2(float x) { return __builtin_exp2f(x); }
static inline float logarithm_2(float x) { return __builtin_log2f(x); }
static inline float e_power(float x) { return __builtin_exp2f(x * 1.44269504f); }
static inline float root(float x) { return __builtin_sqrtf(x); }
static inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float larger(float a, float b) { return __builtin_fmaxf(a, b); }
static inline float smaller(float a, float b) { return __builtin_fminf(a, b); }
static inline float magnitude(float x) { return __builtin_fabsf(x); }

// addition to a float in memory that several work-items add to
static inline void add_to_float(volatile global atomic_uint *at, float value)
{
    uint seen = __opencl_atomic_load(at, DEVICE);
    while (!__opencl_atomic_compare_exchange_strong(at, &seen, __builtin_astype(__builtin_astype(seen, float) + value, uint),
                                                    memory_order_relaxed, memory_order_relaxed, memory_scope_device))
        ;
}
