// every mathematical function of workloads/toolchain/opencl.h whose error OpenCL limits, one row of `out` for each
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define PUT(e) out[k++ * n + i] = (e);
#define KERNEL(type, more)                                                                                             \
    kernel void of_##type(global const type *a, global const type *b, global const type *c, global type *out, uint n)  \
    {                                                                                                                  \
        uint i = get_global_id(0), k = 0;                                                                              \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        type x = a[i], y = b[i], z = c[i];                                                                             \
        PUT(fabs(x)) PUT(floor(x)) PUT(ceil(x)) PUT(trunc(x)) PUT(rint(x)) PUT(round(x)) PUT(sign(x))                  \
        PUT(sqrt(x)) PUT(rsqrt(x)) PUT(fmin(x, y)) PUT(fmax(x, y)) PUT(copysign(x, y)) PUT(step(x, y))                 \
        more                                                                                                           \
    }
#define SINGLE PUT(fma(x, y, z)) PUT(exp2(x)) PUT(log(x)) PUT(log2(x)) PUT(log10(x)) PUT(hypot(x, y))
#define GEOMETRY                                                                                                       \
    PUT(length((float2)(x, y)))                                                                                        \
    PUT(length((float3)(x, y, z)))                                                                                     \
    PUT(length((float4)(x, y, z, y)))                                                                                  \
    PUT(distance((float2)(x, y), (float2)(y, z)))                                                                      \
    PUT(distance((float3)(x, y, z), (float3)(y, z, x)))                                                                \
    PUT(distance((float4)(x, y, z, x), (float4)(y, z, x, z)))                                                          \
    PUT(dot((float2)(x, y), (float2)(z, x)))                                                                           \
    PUT(dot((float3)(x, y, z), (float3)(y, z, x)))                                                                     \
    PUT(dot((float4)(x, y, z, x), (float4)(z, x, y, x)))                                                               \
    PUT(cross((float3)(x, y, z), (float3)(y, z, x)).x)                                                                 \
    PUT(cross((float3)(x, y, z), (float3)(y, z, x)).y)                                                                 \
    PUT(cross((float3)(x, y, z), (float3)(y, z, x)).z)
KERNEL(double, (void)z;)
KERNEL(half, SINGLE)
KERNEL(float, SINGLE GEOMETRY)
