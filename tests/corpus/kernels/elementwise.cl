#include "gpu.h"

kernel void vector_add(global const float *a, global const float *b, global float *c, uint n)
{
    uint i = global_x();
    if (i < n)
        c[i] = a[i] + b[i];
}

// y = alpha x + y, each work-item every total-th element
kernel void saxpy(global const float *x, global float *y, float alpha, uint n)
{
    for (uint i = global_x(); i < n; i += total_x())
        y[i] = multiply_add(alpha, x[i], y[i]);
}

kernel void relu(global const float *in, global float *out, uint n)
{
    uint i = global_x();
    if (i < n)
        out[i] = larger(in[i], 0.0f);
}

kernel void relu_backward(global const float *in, global const float *slope, global float *out, uint n)
{
    uint i = global_x();
    if (i < n)
        out[i] = in[i] > 0.0f ? slope[i] : 0.0f;
}

kernel void sigmoid(global const float *in, global float *out, uint n)
{
    uint i = global_x();
    if (i < n)
        out[i] = native_reciprocal(1.0f + e_power(-in[i]));
}

// tanh from the exponential of the magnitude, so that nothing overflows
kernel void hyperbolic_tangent(global const float *in, global float *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    float e = e_power(-2.0f * magnitude(in[i]));
    out[i] = __builtin_copysignf((1.0f - e) / (1.0f + e), in[i]);
}

// four elements a work-item with vector types; n counts vectors
kernel void vector_types(global const float4 *a, global const uchar4 *b, global float4 *out, global short4 *shorts, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    float4 x = a[i];
    uchar4 y = b[i];
    out[i] = x.wzyx * 2.0f + (float4)(y.x, y.y, y.z, y.w);
    shorts[i] = (short4)(y.x - y.y, y.y * y.z, y.z - 300, -y.w);
}
