// OpenCL C's built-in functions for kernels that stock clang compiles without a device library:
//
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -cl-kernel-arg-info -O3
//            -include library.h kernel.cl -o kernel.hsaco
//
// Any standard from CL1.2 on. Work-item functions, barriers and fences, atomics of int and uint, vector loads and
// stores, conversions that truncate, and single-precision mathematics on scalars and vectors of 2 to 4. exp, log, pow,
// sin, cos and tan have the accuracy of the native_ functions, a few units in the last place for arguments of moderate
// size. What is not here is an undefined symbol when the object is linked.
#ifndef GPUSIM_OPENCL_LIBRARY_H
#define GPUSIM_OPENCL_LIBRARY_H

#define _GPUSIM static inline __attribute__((overloadable, always_inline))

// Global offsets in the implicit arguments (LLVM AMDGPU guide): words 0 to 2 up to code-object version 4, then 5 to 7.
// clang makes version 5 from release 18 on; where -mcode-object-version says otherwise, define
// GPUSIM_CODE_OBJECT_VERSION.
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

// OpenCL 1.2's atomics: relaxed, on memory that the whole device shares
#define _GPUSIM_ATOMIC(space, type, name, operation)                                                                   \
    _GPUSIM type atomic_##name(volatile space type *p, type v) { return operation(p, v, __ATOMIC_RELAXED); }
#define _GPUSIM_ATOMICS(space, type)                                                                                   \
    _GPUSIM_ATOMIC(space, type, add, __atomic_fetch_add)                                                               \
    _GPUSIM_ATOMIC(space, type, sub, __atomic_fetch_sub)                                                               \
    _GPUSIM_ATOMIC(space, type, xchg, __atomic_exchange_n)                                                             \
    _GPUSIM_ATOMIC(space, type, min, __atomic_fetch_min)                                                               \
    _GPUSIM_ATOMIC(space, type, max, __atomic_fetch_max)                                                               \
    _GPUSIM_ATOMIC(space, type, and, __atomic_fetch_and)                                                               \
    _GPUSIM_ATOMIC(space, type, or, __atomic_fetch_or)                                                                 \
    _GPUSIM_ATOMIC(space, type, xor, __atomic_fetch_xor)                                                               \
    _GPUSIM type atomic_inc(volatile space type *p) { return atomic_add(p, (type)1); }                                 \
    _GPUSIM type atomic_dec(volatile space type *p) { return atomic_sub(p, (type)1); }                                 \
    _GPUSIM type atomic_cmpxchg(volatile space type *p, type expected, type v)                                         \
    {                                                                                                                  \
        __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                           \
        return expected;                                                                                               \
    }
_GPUSIM_ATOMICS(__global, int)
_GPUSIM_ATOMICS(__global, uint)
_GPUSIM_ATOMICS(__local, int)
_GPUSIM_ATOMICS(__local, uint)

// integers and comparisons: any scalar or vector type, the other arguments as the first
#define min(a, b) __builtin_elementwise_min(a, (__typeof__(a))(b))
#define max(a, b) __builtin_elementwise_max(a, (__typeof__(a))(b))
#define clamp(x, low, high) min(max(x, low), high)
#define bitselect(a, b, c) (((a) & ~(c)) | ((b) & (c)))
_GPUSIM int mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
_GPUSIM uint mul24(uint a, uint b) { return (a & 0xffffff) * (b & 0xffffff); }
_GPUSIM int mad24(int a, int b, int c) { return mul24(a, b) + c; }
_GPUSIM uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; }
_GPUSIM uint abs(int x) { return x < 0 ? 0u - (uint)x : (uint)x; }
_GPUSIM uint popcount(uint x) { return __builtin_popcount(x); }
_GPUSIM uint clz(uint x) { return x ? __builtin_clz(x) : 32; }
_GPUSIM uint rotate(uint x, uint n) { return x << (n & 31) | x >> (-n & 31); }
_GPUSIM uint mul_hi(uint a, uint b) { return (uint)((ulong)a * b >> 32); }
_GPUSIM int mul_hi(int a, int b) { return (int)((long)a * b >> 32); }
_GPUSIM int select(int a, int b, int c) { return c ? b : a; }
_GPUSIM uint select(uint a, uint b, uint c) { return c ? b : a; }
_GPUSIM float select(float a, float b, int c) { return c ? b : a; }
_GPUSIM int isnan(float x) { return x != x; }
_GPUSIM int isinf(float x) { return __builtin_fabsf(x) == INFINITY; }
_GPUSIM int isfinite(float x) { return __builtin_fabsf(x) < INFINITY; }

// vector loads and stores at any element, and conversions between types
#define _GPUSIM_LOAD(space, type, n)                                                                                   \
    _GPUSIM type##n vload##n(size_t at, const space type *p) { return *(const space _gpusim_##type##n *)(p + at * n); }
#define _GPUSIM_STORE(space, type, n)                                                                                  \
    _GPUSIM void vstore##n(type##n v, size_t at, space type *p) { *(space _gpusim_##type##n *)(p + at * n) = v; }
#define _GPUSIM_VECTOR(type, n)                                                                                        \
    typedef type##n _gpusim_##type##n __attribute__((aligned(sizeof(type))));                                          \
    _GPUSIM_LOAD(__global, type, n)                                                                                    \
    _GPUSIM_LOAD(__constant, type, n)                                                                                  \
    _GPUSIM_LOAD(__local, type, n)                                                                                     \
    _GPUSIM_LOAD(__private, type, n)                                                                                   \
    _GPUSIM_STORE(__global, type, n)                                                                                   \
    _GPUSIM_STORE(__local, type, n)                                                                                    \
    _GPUSIM_STORE(__private, type, n)
#define _GPUSIM_CONVERSION(from, type, n)                                                                              \
    _GPUSIM type##n convert_##type##n(from##n v) { return __builtin_convertvector(v, type##n); }
#define _GPUSIM_WIDTH(type, n)                                                                                         \
    _GPUSIM_VECTOR(type, n)                                                                                            \
    _GPUSIM_CONVERSION(char, type, n)                                                                                  \
    _GPUSIM_CONVERSION(uchar, type, n)                                                                                 \
    _GPUSIM_CONVERSION(short, type, n)                                                                                 \
    _GPUSIM_CONVERSION(ushort, type, n)                                                                                \
    _GPUSIM_CONVERSION(int, type, n)                                                                                   \
    _GPUSIM_CONVERSION(uint, type, n)                                                                                  \
    _GPUSIM_CONVERSION(long, type, n)                                                                                  \
    _GPUSIM_CONVERSION(ulong, type, n)                                                                                 \
    _GPUSIM_CONVERSION(float, type, n)
#define _GPUSIM_TYPE(type)                                                                                             \
    _GPUSIM_WIDTH(type, 2) _GPUSIM_WIDTH(type, 4) _GPUSIM_WIDTH(type, 8) _GPUSIM_WIDTH(type, 16)
_GPUSIM_TYPE(char)
_GPUSIM_TYPE(uchar)
_GPUSIM_TYPE(short)
_GPUSIM_TYPE(ushort)
_GPUSIM_TYPE(int)
_GPUSIM_TYPE(uint)
_GPUSIM_TYPE(long)
_GPUSIM_TYPE(ulong)
_GPUSIM_TYPE(float)
#define convert_char(x) ((char)(x))
#define convert_uchar(x) ((uchar)(x))
#define convert_short(x) ((short)(x))
#define convert_ushort(x) ((ushort)(x))
#define convert_int(x) ((int)(x))
#define convert_uint(x) ((uint)(x))
#define convert_long(x) ((long)(x))
#define convert_ulong(x) ((ulong)(x))
#define convert_float(x) ((float)(x))
#define convert_double(x) ((double)(x))
_GPUSIM uchar convert_uchar_sat(int x) { return (uchar)(x < 0 ? 0 : x > 255 ? 255 : x); }
_GPUSIM uchar convert_uchar_sat(float x) { return (uchar)(x > 0.0f ? x < 255.0f ? x : 255.0f : 0.0f); }
_GPUSIM int convert_int_rte(float x) { return (int)__builtin_rintf(x); }

// single precision, on scalars and on vectors of 2 to 4
#define _GPUSIM_1(name, x, value)                                                                                      \
    _GPUSIM float name(float x) { return value; }                                                                      \
    _GPUSIM float2 name(float2 v) { return (float2)(name(v.x), name(v.y)); }                                           \
    _GPUSIM float3 name(float3 v) { return (float3)(name(v.x), name(v.y), name(v.z)); }                                \
    _GPUSIM float4 name(float4 v) { return (float4)(name(v.x), name(v.y), name(v.z), name(v.w)); }
#define _GPUSIM_2(name, a, b, value)                                                                                   \
    _GPUSIM float name(float a, float b) { return value; }                                                             \
    _GPUSIM float2 name(float2 v, float2 w) { return (float2)(name(v.x, w.x), name(v.y, w.y)); }                       \
    _GPUSIM float3 name(float3 v, float3 w) { return (float3)(name(v.x, w.x), name(v.y, w.y), name(v.z, w.z)); }       \
    _GPUSIM float4 name(float4 v, float4 w) { return (float4)(name(v.lo, w.lo), name(v.hi, w.hi)); }
#define _GPUSIM_3(name, a, b, c, value)                                                                                \
    _GPUSIM float name(float a, float b, float c) { return value; }                                                    \
    _GPUSIM float2 name(float2 u, float2 v, float2 w) { return (float2)(name(u.x, v.x, w.x), name(u.y, v.y, w.y)); }   \
    _GPUSIM float3 name(float3 u, float3 v, float3 w)                                                                  \
    {                                                                                                                  \
        return (float3)(name(u.x, v.x, w.x), name(u.y, v.y, w.y), name(u.z, v.z, w.z));                                \
    }                                                                                                                  \
    _GPUSIM float4 name(float4 u, float4 v, float4 w)                                                                  \
    {                                                                                                                  \
        return (float4)(name(u.lo, v.lo, w.lo), name(u.hi, v.hi, w.hi));                                               \
    }
_GPUSIM_1(fabs, x, __builtin_fabsf(x))
_GPUSIM_1(sqrt, x, __builtin_sqrtf(x))
_GPUSIM_1(rsqrt, x, 1.0f / __builtin_sqrtf(x))
_GPUSIM_1(floor, x, __builtin_floorf(x))
_GPUSIM_1(ceil, x, __builtin_ceilf(x))
_GPUSIM_1(trunc, x, __builtin_truncf(x))
_GPUSIM_1(rint, x, __builtin_rintf(x))
_GPUSIM_1(round, x, __builtin_roundf(x))
_GPUSIM_1(sign, x, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f)
_GPUSIM_1(exp2, x, __builtin_exp2f(x))
_GPUSIM_1(log2, x, __builtin_log2f(x))
_GPUSIM_1(exp, x, __builtin_exp2f(x * 1.44269504f))
_GPUSIM_1(exp10, x, __builtin_exp2f(x * 3.32192809f))
_GPUSIM_1(log, x, __builtin_log2f(x) * 0.693147181f)
_GPUSIM_1(log10, x, __builtin_log2f(x) * 0.301029996f)
_GPUSIM_1(sin, x, __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.159154943f)))
_GPUSIM_1(cos, x, __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.159154943f)))
_GPUSIM_1(tan, x, sin(x) / cos(x))
_GPUSIM_1(tanh, x, 1.0f - 2.0f / (exp(2.0f * x) + 1.0f))
_GPUSIM_1(native_recip, x, __builtin_amdgcn_rcpf(x))
_GPUSIM_1(native_sqrt, x, __builtin_amdgcn_sqrtf(x))
_GPUSIM_1(native_rsqrt, x, __builtin_amdgcn_rsqf(x))
_GPUSIM_2(native_divide, a, b, a * __builtin_amdgcn_rcpf(b))
_GPUSIM_2(fmin, a, b, __builtin_fminf(a, b))
_GPUSIM_2(fmax, a, b, __builtin_fmaxf(a, b))
_GPUSIM_2(copysign, a, b, __builtin_copysignf(a, b))
_GPUSIM_2(fmod, a, b, __builtin_fmodf(a, b))
_GPUSIM_2(powr, a, b, __builtin_exp2f(b * __builtin_log2f(a)))
_GPUSIM_2(step, edge, x, x < edge ? 0.0f : 1.0f)
_GPUSIM_2(hypot, a, b, __builtin_sqrtf(a * a + b * b))
_GPUSIM_3(fma, a, b, c, __builtin_fmaf(a, b, c))
_GPUSIM_3(mad, a, b, c, a * b + c)
_GPUSIM_3(mix, a, b, t, a + (b - a) * t)
_GPUSIM float pown(float x, int n)
{
    float size = powr(__builtin_fabsf(x), (float)n);
    return n == 0 ? 1.0f : x < 0.0f && n & 1 ? -size : size;
}
// a negative base has a power only for whole exponents
_GPUSIM float _gpusim_pow(float x, float y)
{
    float size = powr(__builtin_fabsf(x), y);
    float half_y = 0.5f * y;
    bool whole = __builtin_truncf(y) == y, odd = whole && __builtin_truncf(half_y) != half_y;
    return y == 0.0f ? 1.0f : x < 0.0f ? (whole ? (odd ? -size : size) : __builtin_nanf("")) : size;
}
_GPUSIM_2(pow, a, b, _gpusim_pow(a, b))
#define native_exp exp
#define native_exp2 exp2
#define native_exp10 exp10
#define native_log log
#define native_log2 log2
#define native_log10 log10
#define native_sin sin
#define native_cos cos
#define native_tan tan
#define native_powr powr

#define _GPUSIM_GEOMETRY(n, sum)                                                                                       \
    _GPUSIM float dot(float##n a, float##n b) { return sum; }                                                          \
    _GPUSIM float length(float##n a) { return __builtin_sqrtf(dot(a, a)); }                                            \
    _GPUSIM float distance(float##n a, float##n b) { return length(a - b); }                                           \
    _GPUSIM float##n normalize(float##n a) { return a / length(a); }
_GPUSIM_GEOMETRY(2, a.x * b.x + a.y * b.y)
_GPUSIM_GEOMETRY(3, a.x * b.x + a.y * b.y + a.z * b.z)
_GPUSIM_GEOMETRY(4, a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w)
_GPUSIM float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }

#endif
