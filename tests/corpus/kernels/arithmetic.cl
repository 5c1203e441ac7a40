#include "gpu.h"

// 64-bit integers: product, high product, quotient, rest, shifts
kernel void long_integers(global const ulong *a, global const ulong *b, global ulong *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    ulong x = a[i], y = b[i];
    out[i] = x * y;
    out[n + i] = x / y;
    out[2 * n + i] = x % y;
    out[3 * n + i] = (ulong)((long)x / (long)y);
    out[4 * n + i] = (ulong)((long)x % (long)y);
    out[5 * n + i] = x << (y & 63);
    out[6 * n + i] = (ulong)((long)x >> (y & 63));
    out[7 * n + i] = (x > y) + 2 * ((long)x > (long)y);
}

// 32-bit and narrower integers
kernel void integers(global const int *a, global const int *b, global int *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    int x = a[i], y = b[i];
    out[i] = x / y;
    out[n + i] = x % y;
    out[2 * n + i] = (int)(((long)x * y) >> 32);
    out[3 * n + i] = (int)(((ulong)(uint)x * (uint)y) >> 32);
    out[4 * n + i] = __builtin_popcount(x) | __builtin_clz(x | 1) << 8 | __builtin_ctz(x | 0x80000000) << 16;
    out[5 * n + i] = (int)((uint)x << (y & 31) | (uint)x >> (-y & 31));
    out[6 * n + i] = (short)x * (short)y + (char)(x >> 3) - (uchar)y;
    out[7 * n + i] = (int)((uint)x / 10u) ^ y / 7;
    out[8 * n + i] = (x > y ? x : y) - (x < 100 ? x : 100) + (x < 0 ? -x : x);
    out[9 * n + i] = (x >> 5 & 0x3ff) | (y & 0x3ff) << 10;
    out[10 * n + i] = (int)__builtin_bitreverse32((uint)x) ^ (int)__builtin_bswap32((uint)y);
}

// single precision with IEEE division and root, rounding, conversions
kernel void single_floats(global const float *a, global const float *b, global float *out, global int *whole, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    float x = a[i], y = b[i];
    out[i] = x / y;
    out[n + i] = root(magnitude(x));
    out[2 * n + i] = __builtin_floorf(x) + __builtin_ceilf(y);
    out[3 * n + i] = __builtin_truncf(x) - __builtin_rintf(y);
    out[4 * n + i] = smaller(larger(x, -1.0f), 1.0f) * -y;
    out[5 * n + i] = multiply_add(x, y, -x);
    out[6 * n + i] = (float)(half)(x * 0.01f);
    out[7 * n + i] = __builtin_amdgcn_ldexpf(x, (int)i % 20 - 10);
    whole[i] = (int)x;
    whole[n + i] = (int)(uint)magnitude(y);
    whole[2 * n + i] = x < y ? 1 : x == y ? 2 : x != x ? 3 : 4;
    whole[3 * n + i] = (uchar)(uint)magnitude(x);
}

// double precision
kernel void doubles(global const double *a, global const double *b, global double *out, global long *whole, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    double x = a[i], y = b[i];
    out[i] = x / y;
    out[n + i] = __builtin_sqrt(x < 0 ? -x : x);
    out[2 * n + i] = __builtin_floor(x) + __builtin_ceil(y);
    out[3 * n + i] = __builtin_fma(x, y, -x) - __builtin_rint(x);
    out[4 * n + i] = (double)(float)x + (double)(int)y;
    out[5 * n + i] = __builtin_fmax(x, y) - __builtin_fmin(x, 0.5);
    out[6 * n + i] = (double)(long)(x * 1048576.0);
    whole[i] = (long)(x * 1e6);
    whole[n + i] = x < y ? (long)(uint)(y < 0 ? -y : y) : -1;
}

// half precision
kernel void halves(global const half *a, global const half *b, global half *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    half x = a[i], y = b[i];
    out[i] = x + y;
    out[n + i] = x * y - (half)1;
    out[2 * n + i] = x > y ? x : -y;
    out[3 * n + i] = (half)(short)(x * (half)8);
    out[4 * n + i] = (half)((float)x / (float)y);
}
