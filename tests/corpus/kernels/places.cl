#include "gpu.h"

// where a work-item is in three dimensions, and how large its work-group and the grid are
kernel void places(global uint4 *out, uint width, uint height)
{
    uint x = global_x(), y = global_y(), z = global_z();
    uint linear = local_x() + size_x() * (local_y() + size_y() * local_z());
    out[x + width * (y + height * z)] = (uint4)(linear, group_x() | group_y() << 8 | group_z() << 16,
                                                size_x() | size_y() << 8 | size_z() << 16, total_x());
}

struct settings {
    char low;
    short step;
    float2 factor;
    long offset;
};

// a structure by value, a vector by value, LDS whose size the launch gives
kernel void arguments(global float *out, struct settings given, float4 four, local float *shared, uchar last, double extra)
{
    uint x = local_x(), i = global_x();
    shared[x] = (float)i * given.factor.x + given.factor.y;
    group_barrier();
    float other = shared[size_x() - 1 - x];
    out[i] = other + four.x - four.w * (float)given.step + (float)(given.low + (int)last) + (float)given.offset + (float)extra;
}

// one pointer to private memory, LDS or global memory, by lane
__attribute__((noinline)) static float take(const float *p, uint at) { return p[at]; }
GROUP_SIZE(WAVEFRONT, 1)
kernel void generic_pointers(global float *values, global float *out)
{
    local float shared[WAVEFRONT];
    float mine[4];
    uint x = local_x();
    for (uint k = 0; k < 4; k++)
        mine[k] = values[(x + k) & 63] * 2.0f;
    shared[x] = values[x] + 100.0f;
    group_barrier();
    const float *p = x % 3 == 0 ? (const float *)mine : x % 3 == 1 ? (const float *)shared : (const float *)values;
    out[x] = take(p, x & 3);
}

// lanes that talk to each other: ballot, first lane, shift through rows
kernel void lanes(global const int *in, global int *out, uint n)
{
    uint i = global_x();
    int v = i < n ? in[i] : 0;
    ulong below = __builtin_amdgcn_sicmp(v, 0, 40); // signed less
    int before = __builtin_amdgcn_mbcnt_hi((uint)(below >> 32), __builtin_amdgcn_mbcnt_lo((uint)below, 0));
    int first = __builtin_amdgcn_readfirstlane(v);
    int moved = __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, 1); // row_shr:1
    int swapped = __builtin_amdgcn_ds_swizzle(v, 0x041f);              // xor 1
    if (i < n) {
        out[i] = before;
        out[n + i] = first;
        out[2 * n + i] = moved;
        out[3 * n + i] = swapped;
    }
}
