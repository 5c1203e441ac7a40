// OpenCL C's built-in functions for kernels that stock clang compiles without a device library:
//
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -cl-kernel-arg-info -O3
//            -include library.h kernel.cl -o kernel.hsaco
//
// Work-item functions, barriers and fences, atomics of int and uint, and single-precision mathematics from the
// machine's own instructions. exp, log, pow, sin, cos and tan have the accuracy of the native_ functions, about
// 1 to 4 units in the last place for arguments of moderate size; what is not here is an undefined symbol at linking.
#ifndef GPUSIM_OPENCL_LIBRARY_H
#define GPUSIM_OPENCL_LIBRARY_H

#define _GPUSIM static inline __attribute__((overloadable, always_inline))

// Global offsets in the implicit arguments (LLVM AMDGPU guide): words 0 to 2 up to code-object version 4, then 5 to 7.
// clang makes version 5 from release 18 on; define GPUSIM_CODE_OBJECT_VERSION when -mcode-object-version says otherwise.
#ifndef GPUSIM_CODE_OBJECT_VERSION
#define GPUSIM_CODE_OBJECT_VERSION (__clang_major__ >= 18 ? 5 : 4)
#endif
_GPUSIM size_t get_global_offset(uint d)
{
    const __constant ulong *words = (const __constant ulong *)__builtin_amdgcn_implicitarg_ptr();
    return d < 3 ? words[(GPUSIM_CODE_OBJECT_VERSION >= 5 ? 5 : 0) + d] : 0;
}

_GPUSIM size_t get_local_id(uint d)
{
    return d == 0   ? __builtin_amdgcn_workitem_id_x()
           : d == 1 ? __builtin_amdgcn_workitem_id_y()
           : d == 2 ? __builtin_amdgcn_workitem_id_z()
                    : 0;
}
_GPUSIM size_t get_group_id(uint d)
{
    return d == 0   ? __builtin_amdgcn_workgroup_id_x()
           : d == 1 ? __builtin_amdgcn_workgroup_id_y()
           : d == 2 ? __builtin_amdgcn_workgroup_id_z()
                    : 0;
}
_GPUSIM size_t get_enqueued_local_size(uint d)
{
    return d == 0   ? __builtin_amdgcn_workgroup_size_x()
           : d == 1 ? __builtin_amdgcn_workgroup_size_y()
           : d == 2 ? __builtin_amdgcn_workgroup_size_z()
                    : 1;
}
_GPUSIM size_t get_global_size(uint d)
{
    return d == 0   ? __builtin_amdgcn_grid_size_x()
           : d == 1 ? __builtin_amdgcn_grid_size_y()
           : d == 2 ? __builtin_amdgcn_grid_size_z()
                    : 1;
}
_GPUSIM size_t get_local_size(uint d)
{
    size_t left = get_global_size(d) - get_group_id(d) * get_enqueued_local_size(d);
    return left < get_enqueued_local_size(d) ? left : get_enqueued_local_size(d);
}
_GPUSIM size_t get_num_groups(uint d)
{
    return (get_global_size(d) + get_enqueued_local_size(d) - 1) / get_enqueued_local_size(d);
}
_GPUSIM size_t get_global_id(uint d)
{
    return get_global_offset(d) + (uint)get_group_id(d) * (uint)get_enqueued_local_size(d) + (uint)get_local_id(d);
}
_GPUSIM size_t get_local_linear_id(void)
{
    return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
_GPUSIM size_t get_global_linear_id(void)
{
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
    size_t z = get_global_id(2) - get_global_offset(2);
    return (z * get_global_size(1) + y) * get_global_size(0) + x;
}
_GPUSIM uint get_work_dim(void)
{
    // the dispatch packet's setup field
    return ((const __constant ushort *)__builtin_amdgcn_dispatch_ptr())[1] & 3;
}

_GPUSIM void mem_fence(cl_mem_fence_flags flags)
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
_GPUSIM void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
_GPUSIM void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
_GPUSIM void barrier(cl_mem_fence_flags flags)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
_GPUSIM void work_group_barrier(cl_mem_fence_flags flags) { barrier(flags); }

// OpenCL 1.2's atomics: relaxed, device scope
#define _GPUSIM_ATOMIC(space, type, atomic, name, operation)                                                          \
    _GPUSIM type atomic_##name(volatile space type *p, type v)                                                        \
    {                                                                                                                  \
        return __opencl_atomic_##operation((volatile space atomic *)p, v, __ATOMIC_RELAXED, memory_scope_device);      \
    }
#define _GPUSIM_ATOMICS(space, type, atomic)                                                                           \
    _GPUSIM_ATOMIC(space, type, atomic, add, fetch_add)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, sub, fetch_sub)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, xchg, exchange)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, min, fetch_min)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, max, fetch_max)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, and, fetch_and)                                                                \
    _GPUSIM_ATOMIC(space, type, atomic, or, fetch_or)                                                                  \
    _GPUSIM_ATOMIC(space, type, atomic, xor, fetch_xor)                                                                \
    _GPUSIM type atomic_inc(volatile space type *p) { return atomic_add(p, (type)1); }                                 \
    _GPUSIM type atomic_dec(volatile space type *p) { return atomic_sub(p, (type)1); }                                 \
    _GPUSIM type atomic_cmpxchg(volatile space type *p, type expected, type v)                                         \
    {                                                                                                                  \
        __opencl_atomic_compare_exchange_strong((volatile space atomic *)p, &expected, v, __ATOMIC_RELAXED,            \
                                                __ATOMIC_RELAXED, memory_scope_device);                                \
        return expected;                                                                                               \
    }
_GPUSIM_ATOMICS(__global, int, atomic_int)
_GPUSIM_ATOMICS(__global, uint, atomic_uint)
_GPUSIM_ATOMICS(__local, int, atomic_int)
_GPUSIM_ATOMICS(__local, uint, atomic_uint)

// integers and comparisons: any scalar or vector type
#define min(a, b) __builtin_elementwise_min(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define clamp(x, low, high) min(max(x, low), high)
#define mul24(a, b) __builtin_amdgcn_mul_i24(a, b)
#define mad24(a, b, c) (mul24(a, b) + (c))
_GPUSIM uint popcount(uint x) { return __builtin_popcount(x); }
_GPUSIM uint clz(uint x) { return x ? __builtin_clz(x) : 32; }
_GPUSIM uint rotate(uint x, uint n) { return x << (n & 31) | x >> (-n & 31); }
_GPUSIM uint mul_hi(uint a, uint b) { return (uint)((ulong)a * b >> 32); }

// single precision
_GPUSIM float fabs(float x) { return __builtin_fabsf(x); }
_GPUSIM float sqrt(float x) { return __builtin_sqrtf(x); }
_GPUSIM float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
_GPUSIM float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
_GPUSIM float mad(float a, float b, float c) { return a * b + c; }
_GPUSIM float fmin(float a, float b) { return __builtin_fminf(a, b); }
_GPUSIM float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
_GPUSIM float floor(float x) { return __builtin_floorf(x); }
_GPUSIM float ceil(float x) { return __builtin_ceilf(x); }
_GPUSIM float trunc(float x) { return __builtin_truncf(x); }
_GPUSIM float rint(float x) { return __builtin_rintf(x); }
_GPUSIM float round(float x) { return __builtin_copysignf(__builtin_truncf(__builtin_fabsf(x) + 0.5f), x); }
_GPUSIM float copysign(float x, float y) { return __builtin_copysignf(x, y); }
_GPUSIM float mix(float a, float b, float t) { return a + (b - a) * t; }
_GPUSIM float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
_GPUSIM float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
_GPUSIM float native_recip(float x) { return __builtin_amdgcn_rcpf(x); }
_GPUSIM float native_divide(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }
_GPUSIM float native_sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }
_GPUSIM float native_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
_GPUSIM float exp2(float x) { return __builtin_exp2f(x); }
_GPUSIM float log2(float x) { return __builtin_log2f(x); }
_GPUSIM float exp(float x) { return __builtin_exp2f(x * 1.44269504f); }
_GPUSIM float log(float x) { return __builtin_log2f(x) * 0.693147181f; }
_GPUSIM float log10(float x) { return __builtin_log2f(x) * 0.301029996f; }
_GPUSIM float pow(float x, float y) { return __builtin_exp2f(y * __builtin_log2f(x)); }
_GPUSIM float sin(float x) { return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.159154943f)); }
_GPUSIM float cos(float x) { return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.159154943f)); }
_GPUSIM float tan(float x) { return sin(x) / cos(x); }
_GPUSIM float tanh(float x) { return 1.0f - 2.0f / (exp(2.0f * x) + 1.0f); }
#define native_exp exp
#define native_exp2 exp2
#define native_log log
#define native_log2 log2
#define native_sin sin
#define native_cos cos
#define native_powr pow
#define powr pow

#define _GPUSIM_DOT(n, sum)                                                                                            \
    _GPUSIM float dot(float##n a, float##n b) { return sum; }                                                          \
    _GPUSIM float length(float##n a) { return __builtin_sqrtf(dot(a, a)); }
_GPUSIM_DOT(2, a.x * b.x + a.y * b.y)
_GPUSIM_DOT(3, a.x * b.x + a.y * b.y + a.z * b.z)
_GPUSIM_DOT(4, a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w)

#endif
