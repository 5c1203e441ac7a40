// Every function whose accuracy docs/reference/opencl.md lists, on arguments of its own: row k of `x` is function k's.
// HEADER: workloads/toolchain/opencl.h, which has fewer.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define EXACT(F) F(sqrt) F(rsqrt)
#define UNARY(F)                                                                                                       \
    EXACT(F) F(exp2) F(log) F(log2) F(log10) F(exp) F(exp10) F(sin) F(cos) F(tan) F(sin) F(cos) F(tan) F(tanh)
#define BINARY(F) F(hypot) F(pow) F(powr) F(fmod)
#define NONE(F)
#ifdef HEADER
#define SINGLE_1(F) EXACT(F) F(exp2) F(log) F(log2) F(log10)
#define SINGLE_2(F) F(hypot)
#define DOUBLE_1 EXACT
#define DOUBLE_2 NONE
#else
#define SINGLE_1 UNARY
#define SINGLE_2 BINARY
#define DOUBLE_1 UNARY
#define DOUBLE_2 BINARY
#endif

#define PUT_1(f) { out[k * n + i] = f(x[k * n + i]); k++; }
#define PUT_2(f) { out[k * n + i] = f(x[k * n + i], y[k * n + i]); k++; }
#define KERNELS(type, one, two)                                                                                        \
    kernel void type##_1(global const type *x, global type *out, uint n)                                               \
    {                                                                                                                  \
        uint i = get_global_id(0), k = 0;                                                                              \
        one(PUT_1)                                                                                                     \
    }                                                                                                                  \
    kernel void type##_2(global const type *x, global const type *y, global type *out, uint n)                         \
    {                                                                                                                  \
        uint i = get_global_id(0), k = 0;                                                                              \
        two(PUT_2)                                                                                                     \
    }
KERNELS(float, SINGLE_1, SINGLE_2)
KERNELS(half, SINGLE_1, SINGLE_2)
KERNELS(double, DOUBLE_1, DOUBLE_2)
