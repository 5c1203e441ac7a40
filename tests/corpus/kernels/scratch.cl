#include "gpu.h"

// more live values than registers: what does not fit is spilt
__attribute__((amdgpu_num_vgpr(24))) kernel void spilling(global const float *in, global float *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    float v[32];
#pragma unroll
    for (uint k = 0; k < 32; k++)
        v[k] = in[k * n + i];
#pragma unroll
    for (uint round = 0; round < 4; round++)
#pragma unroll
        for (uint k = 0; k < 32; k++)
            v[k] = v[k] * v[(k + 7) & 31] + v[(k + 13 + round) & 31];
#pragma unroll
    for (uint k = 0; k < 32; k++)
        out[k * n + i] = v[k];
}

// insertion sort in a private array indexed by data
kernel void private_sort(global const int *in, global int *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    int held[24];
    for (uint k = 0; k < 24; k++) {
        int value = in[i * 24 + k];
        int at = (int)k;
        while (at > 0 && held[at - 1] > value) {
            held[at] = held[at - 1];
            at--;
        }
        held[at] = value;
    }
    for (uint k = 0; k < 24; k++)
        out[i * 24 + k] = held[k];
}

// bytes, shorts and doubles in one private structure
struct mixed {
    uchar bytes[8];
    short shorts[8];
    double doubles[8];
};
kernel void private_structure(global const uchar *in, global double *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    struct mixed m;
    for (uint k = 0; k < 8; k++) {
        m.bytes[k] = in[8 * i + k];
        m.shorts[k] = (short)(m.bytes[k] * 7 - 900);
        m.doubles[k] = 0.5 * k;
    }
    double sum = 0;
    for (uint k = 0; k < 8; k++) {
        uint at = in[8 * i + k] & 7;
        m.doubles[at] += m.shorts[(at + k) & 7];
        m.bytes[at] ^= (uchar)k;
        sum += m.doubles[m.bytes[k] & 7] * m.bytes[at];
    }
    out[i] = sum;
}

// calls that are not inlined, one of them recursive in form of a stack of our own
__attribute__((noinline)) static uint mix(uint a, uint b) { return (a ^ b) * 0x9e3779b1u + (a >> 7); }
__attribute__((noinline)) static uint fold(const uint *values, uint count)
{
    uint r = 1;
    for (uint k = 0; k < count; k++)
        r = mix(r, values[k]);
    return r;
}
kernel void calls(global const uint *in, global uint *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    uint values[10];
    for (uint k = 0; k < 10; k++)
        values[k] = in[(i + k * k) % n];
    out[i] = mix(fold(values, 1 + i % 10), i);
}
