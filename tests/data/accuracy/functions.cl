// Every function whose accuracy docs/opencl.md lists, on arguments of its own: row k of `x` is function k's.
// HEADER: gpusim/opencl/library.h, which has fewer in double precision.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define EXACT(F) F(sqrt) F(rsqrt)
#define UNARY(F) EXACT(F) F(exp) F(exp2) F(exp10) F(log) F(log2) F(log10) F(sin) F(cos) F(tan) F(sin) F(cos) F(tan) F(tanh)
#define BINARY(F) F(pow) F(powr) F(hypot) F(fmod)
#ifdef HEADER
#define DOUBLE_UNARY EXACT
#define DOUBLE_BINARY(F)
#else
#define DOUBLE_UNARY UNARY
#define DOUBLE_BINARY BINARY
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
KERNELS(float, UNARY, BINARY)
KERNELS(half, UNARY, BINARY)
KERNELS(double, DOUBLE_UNARY, DOUBLE_BINARY)
