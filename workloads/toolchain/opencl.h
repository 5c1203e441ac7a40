// OpenCL C's built-in functions for kernels that stock clang compiles without a device library:
//
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -cl-kernel-arg-info -O3
//            -include library.h kernel.cl -o kernel.hsaco
//
// Any standard from CL1.2 on. Where AMD's device library is installed (Debian: rocm-device-libs), it has all of
// OpenCL's functions and is the better choice. Here are work-item functions, barriers and fences, atomics of int and uint,
// vector loads and stores, conversions that truncate, integer functions on scalars, and of mathematics, on scalars and
// vectors of 2 to 4, what keeps OpenCL's limits of error for every argument:
//
//   every precision    fabs floor ceil trunc rint round sign step fmin fmax copysign fma mad mix sqrt rsqrt
//   single and half    exp2 log log2 log10 hypot; native_ functions, whose error OpenCL does not limit
//   single             dot length distance cross
//
// Another mathematical function is an error of the compiler which says where to get it; what else is not here is an
// undefined symbol when the object is linked.
#ifndef GPUSIM_OPENCL_LIBRARY_H
#define GPUSIM_OPENCL_LIBRARY_H

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define _GPUSIM static inline __attribute__((overloadable, always_inline))
#define _GPUSIM_LIBRARY                                                                                                \
    "install Debian's rocm-device-libs (Debian 13: rocm-device-libs-17) or set GPUSIM_DEVICE_LIBRARY to its folder, "  \
    "and gpusim kernels build links it, with a clang that reads it"
// a function whose argument would else be converted to another type, and which would compute something else
#define _GPUSIM_NOT(signature)                                                                                         \
    __attribute__((overloadable, unavailable("only AMD's device library has it for double: " _GPUSIM_LIBRARY)))        \
    signature;

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

// integer functions, of every width: a wider argument must not lose its upper bits
#define _GPUSIM_INTEGER(type, utype, bits)                                                                             \
    _GPUSIM utype abs(type x) { return x < (type)1 && x != (type)0 ? (utype)((utype)0 - (utype)x) : (utype)x; }        \
    _GPUSIM type popcount(type x) { return (type)__builtin_popcountl((ulong)(utype)x); }                               \
    _GPUSIM type clz(type x) { return (type)((utype)x ? __builtin_clzl((ulong)(utype)x) - (64 - bits) : bits); }       \
    _GPUSIM type rotate(type x, type n)                                                                                \
    {                                                                                                                  \
        utype value = (utype)x, left = (utype)n & (bits - 1);                                                          \
        return (type)(left ? (utype)(value << left) | (utype)(value >> (bits - left)) : value);                        \
    }
_GPUSIM_INTEGER(char, uchar, 8)
_GPUSIM_INTEGER(uchar, uchar, 8)
_GPUSIM_INTEGER(short, ushort, 16)
_GPUSIM_INTEGER(ushort, ushort, 16)
_GPUSIM_INTEGER(int, uint, 32)
_GPUSIM_INTEGER(uint, uint, 32)
_GPUSIM_INTEGER(long, ulong, 64)
_GPUSIM_INTEGER(ulong, ulong, 64)
_GPUSIM char mul_hi(char a, char b) { return (char)((int)a * b >> 8); }
_GPUSIM uchar mul_hi(uchar a, uchar b) { return (uchar)((uint)a * b >> 8); }
_GPUSIM short mul_hi(short a, short b) { return (short)((int)a * b >> 16); }
_GPUSIM ushort mul_hi(ushort a, ushort b) { return (ushort)((uint)a * b >> 16); }
_GPUSIM int mul_hi(int a, int b) { return (int)((long)a * b >> 32); }
_GPUSIM uint mul_hi(uint a, uint b) { return (uint)((ulong)a * b >> 32); }
_GPUSIM ulong mul_hi(ulong a, ulong b)
{
    ulong low = (a & 0xffffffff) * (b & 0xffffffff);
    ulong one = (a >> 32) * (b & 0xffffffff), other = (a & 0xffffffff) * (b >> 32);
    ulong middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32) + (middle >> 32);
}
_GPUSIM long mul_hi(long a, long b)
{
    return (long)(mul_hi((ulong)a, (ulong)b) - (a < 0 ? (ulong)b : 0) - (b < 0 ? (ulong)a : 0));
}
#define _GPUSIM_SELECT(type, condition)                                                                                \
    _GPUSIM type select(type a, type b, condition c) { return c ? b : a; }
_GPUSIM_SELECT(int, int)
_GPUSIM_SELECT(uint, int)
_GPUSIM_SELECT(float, int)
_GPUSIM_SELECT(long, long)
_GPUSIM_SELECT(ulong, long)
_GPUSIM_SELECT(double, long)
_GPUSIM_SELECT(half, short)
#define _GPUSIM_CLASSES(type)                                                                                          \
    _GPUSIM int isnan(type x) { return x != x; }                                                                       \
    _GPUSIM int isinf(type x) { return x == (type)INFINITY || x == -(type)INFINITY; }                                  \
    _GPUSIM int isfinite(type x) { return x > -(type)INFINITY && x < (type)INFINITY; }
_GPUSIM_CLASSES(float)
_GPUSIM_CLASSES(double)
_GPUSIM_CLASSES(half)

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
    _GPUSIM_CONVERSION(float, type, n)                                                                                 \
    _GPUSIM_CONVERSION(double, type, n)
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
_GPUSIM_TYPE(double)
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
_GPUSIM uchar convert_uchar_sat(double x) { return (uchar)(x > 0.0 ? x < 255.0 ? x : 255.0 : 0.0); }
_GPUSIM int convert_int_rte(float x) { return (int)__builtin_rintf(x); }
_GPUSIM int convert_int_rte(double x) { return (int)__builtin_rint(x); }

// mathematics, on scalars and on vectors of 2 to 4
#define _GPUSIM_OF_1(type, name, x, value)                                                                             \
    _GPUSIM type name(type x) { return value; }                                                                        \
    _GPUSIM type##2 name(type##2 v) { return (type##2)(name(v.x), name(v.y)); }                                        \
    _GPUSIM type##3 name(type##3 v) { return (type##3)(name(v.x), name(v.y), name(v.z)); }                             \
    _GPUSIM type##4 name(type##4 v) { return (type##4)(name(v.x), name(v.y), name(v.z), name(v.w)); }
#define _GPUSIM_OF_2(type, name, a, b, value)                                                                          \
    _GPUSIM type name(type a, type b) { return value; }                                                                \
    _GPUSIM type##2 name(type##2 v, type##2 w) { return (type##2)(name(v.x, w.x), name(v.y, w.y)); }                   \
    _GPUSIM type##3 name(type##3 v, type##3 w) { return (type##3)(name(v.x, w.x), name(v.y, w.y), name(v.z, w.z)); }   \
    _GPUSIM type##4 name(type##4 v, type##4 w) { return (type##4)(name(v.lo, w.lo), name(v.hi, w.hi)); }
#define _GPUSIM_OF_3(type, name, a, b, c, value)                                                                       \
    _GPUSIM type name(type a, type b, type c) { return value; }                                                        \
    _GPUSIM type##2 name(type##2 u, type##2 v, type##2 w)                                                              \
    {                                                                                                                  \
        return (type##2)(name(u.x, v.x, w.x), name(u.y, v.y, w.y));                                                    \
    }                                                                                                                  \
    _GPUSIM type##3 name(type##3 u, type##3 v, type##3 w)                                                              \
    {                                                                                                                  \
        return (type##3)(name(u.x, v.x, w.x), name(u.y, v.y, w.y), name(u.z, v.z, w.z));                               \
    }                                                                                                                  \
    _GPUSIM type##4 name(type##4 u, type##4 v, type##4 w)                                                              \
    {                                                                                                                  \
        return (type##4)(name(u.lo, v.lo, w.lo), name(u.hi, v.hi, w.hi));                                              \
    }

// in single precision; in half precision by way of it; in double precision exactly, or not at all
#define _GPUSIM_1(name, x, value)                                                                                      \
    _GPUSIM_OF_1(float, name, x, value)                                                                                \
    _GPUSIM_OF_1(half, name, x, (half)name((float)x))
#define _GPUSIM_2(name, a, b, value)                                                                                   \
    _GPUSIM_OF_2(float, name, a, b, value)                                                                             \
    _GPUSIM_OF_2(half, name, a, b, (half)name((float)a, (float)b))
#define _GPUSIM_SINGLE_1(name, x, value) _GPUSIM_1(name, x, value) _GPUSIM_NOT(double name(double))
#define _GPUSIM_SINGLE_2(name, a, b, value) _GPUSIM_2(name, a, b, value) _GPUSIM_NOT(double name(double, double))
#define _GPUSIM_EXACT_1(name, x, value, double_value)                                                                  \
    _GPUSIM_1(name, x, value) _GPUSIM_OF_1(double, name, x, double_value)
#define _GPUSIM_EXACT_2(name, a, b, value, double_value)                                                               \
    _GPUSIM_2(name, a, b, value) _GPUSIM_OF_2(double, name, a, b, double_value)
// double before half: a function of three halves that is not yet there would else be taken for the one being defined
#define _GPUSIM_EXACT_3(name, a, b, c, value, double_value, half_value)                                                \
    _GPUSIM_OF_3(float, name, a, b, c, value)                                                                          \
    _GPUSIM_OF_3(double, name, a, b, c, double_value)                                                                  \
    _GPUSIM_OF_3(half, name, a, b, c, half_value)

// Goldschmidt's iteration from the estimate of the hardware, with small numbers scaled out of the way of underflow
_GPUSIM double _gpusim_sqrt(double x)
{
    bool small = x < 0x1p-767;
    double y = __builtin_amdgcn_ldexp(x, small ? 256 : 0), estimate = __builtin_amdgcn_rsq(y);
    double root = y * estimate, half_inverse = 0.5 * estimate;
    double error = __builtin_fma(-half_inverse, root, 0.5);
    root = __builtin_fma(root, error, root);
    half_inverse = __builtin_fma(half_inverse, error, half_inverse);
    root = __builtin_fma(__builtin_fma(-root, root, y), half_inverse, root);
    root = __builtin_fma(__builtin_fma(-root, root, y), half_inverse, root);
    root = __builtin_amdgcn_ldexp(root, small ? -128 : 0);
    return x == 0.0 || x == (double)INFINITY ? x : root;
}

// a zero keeps its sign, and NaN has none
#define _gpusim_sign(x) (x > 0 ? 1 : x < 0 ? -1 : x == 0 ? x * 0 : 0)

_GPUSIM_EXACT_1(fabs, x, __builtin_fabsf(x), __builtin_fabs(x))
_GPUSIM_EXACT_1(sqrt, x, __builtin_sqrtf(x), _gpusim_sqrt(x))
_GPUSIM_EXACT_1(rsqrt, x, 1.0f / __builtin_sqrtf(x), 1.0 / _gpusim_sqrt(x))
_GPUSIM_EXACT_1(floor, x, __builtin_floorf(x), __builtin_floor(x))
_GPUSIM_EXACT_1(ceil, x, __builtin_ceilf(x), __builtin_ceil(x))
_GPUSIM_EXACT_1(trunc, x, __builtin_truncf(x), __builtin_trunc(x))
_GPUSIM_EXACT_1(rint, x, __builtin_rintf(x), __builtin_rint(x))
// clang up to 16 rounds -0 to 0
_GPUSIM_EXACT_1(round, x, __builtin_copysignf(__builtin_roundf(x), x), __builtin_copysign(__builtin_round(x), x))
_GPUSIM_EXACT_1(sign, x, _gpusim_sign(x), _gpusim_sign(x))
_GPUSIM_SINGLE_1(exp2, x, __builtin_exp2f(x))
_GPUSIM_SINGLE_1(log2, x, __builtin_log2f(x))
_GPUSIM_SINGLE_1(log, x, __builtin_log2f(x) * 0.693147181f)
_GPUSIM_SINGLE_1(log10, x, __builtin_log2f(x) * 0.301029996f)
#define native_exp2 exp2
#define native_log log
#define native_log2 log2
#define native_log10 log10
_GPUSIM_SINGLE_1(native_exp, x, __builtin_exp2f(x * 1.44269504f))
_GPUSIM_SINGLE_1(native_exp10, x, __builtin_exp2f(x * 3.32192809f))
_GPUSIM_SINGLE_1(native_sin, x, __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.159154943f)))
_GPUSIM_SINGLE_1(native_cos, x, __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.159154943f)))
_GPUSIM_SINGLE_1(native_tan, x, native_sin(x) / native_cos(x))
_GPUSIM_SINGLE_1(native_recip, x, __builtin_amdgcn_rcpf(x))
_GPUSIM_SINGLE_1(native_sqrt, x, __builtin_amdgcn_sqrtf(x))
_GPUSIM_SINGLE_1(native_rsqrt, x, __builtin_amdgcn_rsqf(x))
_GPUSIM_SINGLE_2(native_divide, a, b, a * __builtin_amdgcn_rcpf(b))
_GPUSIM_EXACT_2(fmin, a, b, __builtin_fminf(a, b), __builtin_fmin(a, b))
_GPUSIM_EXACT_2(fmax, a, b, __builtin_fmaxf(a, b), __builtin_fmax(a, b))
_GPUSIM_EXACT_2(copysign, a, b, __builtin_copysignf(a, b), __builtin_copysign(a, b))
_GPUSIM_SINGLE_2(native_powr, a, b, __builtin_exp2f(b * __builtin_log2f(a)))
_GPUSIM_EXACT_2(step, edge, x, x < edge ? 0.0f : 1.0f, x < edge ? 0.0 : 1.0)
// of values of single precision: no square overflows, and none is rounded
_GPUSIM double _gpusim_hypot(double a, double b)
{
    return isinf(a) || isinf(b) ? INFINITY : _gpusim_sqrt(a * a + b * b);
}
_GPUSIM_SINGLE_2(hypot, a, b, (float)_gpusim_hypot(a, b))
_GPUSIM_EXACT_3(fma, a, b, c, __builtin_fmaf(a, b, c), __builtin_fma(a, b, c), __builtin_fmaf16(a, b, c))
_GPUSIM_EXACT_3(mad, a, b, c, a * b + c, a * b + c, a * b + c)
_GPUSIM_EXACT_3(mix, a, b, t, a + (b - a) * t, a + (b - a) * t, a + (b - a) * t)
#define _GPUSIM_GEOMETRY(n, sum, size)                                                                                 \
    _GPUSIM float dot(float##n a, float##n b) { return sum; }                                                          \
    _GPUSIM float distance(float##n a, float##n b)                                                                     \
    {                                                                                                                  \
        double##n d = __builtin_convertvector(a, double##n) - __builtin_convertvector(b, double##n);                   \
        return (float)size;                                                                                            \
    }                                                                                                                  \
    _GPUSIM float length(float##n a) { return distance(a, (float##n)0.0f); }
_GPUSIM_GEOMETRY(2, a.x * b.x + a.y * b.y, _gpusim_hypot(d.x, d.y))
_GPUSIM_GEOMETRY(3, a.x * b.x + a.y * b.y + a.z * b.z, _gpusim_hypot(_gpusim_hypot(d.x, d.y), d.z))
_GPUSIM_GEOMETRY(4, a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w,
                 _gpusim_hypot(_gpusim_hypot(d.x, d.y), _gpusim_hypot(d.z, d.w)))
_GPUSIM float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }

// what is not here: clang finds a name unavailable before it looks at the arguments, whatever they are
__attribute__((unavailable("only AMD's device library has it: " _GPUSIM_LIBRARY))) void
    exp(void), exp10(void), expm1(void), log1p(void), logb(void), ilogb(void), ldexp(void), frexp(void), modf(void),
    pow(void), pown(void), powr(void), rootn(void), cbrt(void), fmod(void), remainder(void), remquo(void), fract(void),
    fdim(void), sin(void), sincos(void), sinpi(void), sinh(void), asin(void), asinpi(void), asinh(void), cos(void),
    cospi(void), cosh(void), acos(void), acospi(void), acosh(void), tan(void), tanpi(void), tanh(void), atan(void),
    atanpi(void), atanh(void), atan2(void), atan2pi(void), erf(void), erfc(void), tgamma(void), lgamma(void),
    lgamma_r(void), nan(void), nextafter(void), maxmag(void), minmag(void), degrees(void), radians(void),
    smoothstep(void), normalize(void), fast_normalize(void), fast_length(void), fast_distance(void), half_cos(void),
    half_divide(void), half_exp(void), half_exp2(void), half_exp10(void), half_log(void), half_log2(void),
    half_log10(void), half_powr(void), half_recip(void), half_rsqrt(void), half_sin(void), half_sqrt(void),
    half_tan(void);

#endif
