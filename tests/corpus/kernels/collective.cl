#include "gpu.h"
#define BLOCK 256

// sums[group] = sum of up to 512 elements
GROUP_SIZE(BLOCK, 1)
kernel void reduce_sum(global const float *in, global float *sums, uint n)
{
    local float part[BLOCK];
    uint x = local_x(), i = group_x() * 2 * BLOCK + x;
    part[x] = (i < n ? in[i] : 0.0f) + (i + BLOCK < n ? in[i + BLOCK] : 0.0f);
    for (uint step = BLOCK / 2; step > 0; step >>= 1) {
        group_barrier();
        if (x < step)
            part[x] += part[x + step];
    }
    if (x == 0)
        sums[group_x()] = part[0];
}

// largest element and where it is, over everything, by 64-bit atomics; keys are value in the high half, place in the low
kernel void find_largest(global const int *in, volatile global atomic_long *best, uint n)
{
    uint i = global_x();
    if (i < n)
        __opencl_atomic_fetch_max(best, (long)in[i] << 32 | i, DEVICE);
}

// exclusive prefix sum of each block of 512 (Blelloch), and the blocks' sums
GROUP_SIZE(BLOCK, 1)
kernel void scan_blocks(global const uint *in, global uint *out, global uint *sums, uint n)
{
    local uint part[2 * BLOCK];
    uint x = local_x(), base = group_x() * 2 * BLOCK;
    part[x] = base + x < n ? in[base + x] : 0;
    part[x + BLOCK] = base + x + BLOCK < n ? in[base + x + BLOCK] : 0;
    uint stride = 1;
    for (uint active = BLOCK; active > 0; active >>= 1, stride <<= 1) {
        group_barrier();
        if (x < active)
            part[stride * (2 * x + 2) - 1] += part[stride * (2 * x + 1) - 1];
    }
    group_barrier();
    if (x == 0) {
        sums[group_x()] = part[2 * BLOCK - 1];
        part[2 * BLOCK - 1] = 0;
    }
    for (uint active = 1; active <= BLOCK; active <<= 1) {
        stride >>= 1;
        group_barrier();
        if (x < active) {
            uint low = stride * (2 * x + 1) - 1, high = stride * (2 * x + 2) - 1;
            uint left = part[low];
            part[low] = part[high];
            part[high] += left;
        }
    }
    group_barrier();
    if (base + x < n)
        out[base + x] = part[x];
    if (base + x + BLOCK < n)
        out[base + x + BLOCK] = part[x + BLOCK];
}

// adds what lies before a block
GROUP_SIZE(BLOCK, 1)
kernel void scan_add(global uint *out, global const uint *offsets, uint n)
{
    uint i = group_x() * 2 * BLOCK + local_x();
    if (i < n)
        out[i] += offsets[group_x()];
    if (i + BLOCK < n)
        out[i + BLOCK] += offsets[group_x()];
}

// bins of bytes: first in LDS, then in memory
GROUP_SIZE(BLOCK, 1)
kernel void histogram_lds(global const uchar *in, volatile global atomic_uint *bins, uint n)
{
    local atomic_uint counts[BLOCK];
    uint x = local_x();
    __opencl_atomic_init(&counts[x], 0);
    group_barrier();
    for (uint i = group_x() * BLOCK + x; i < n; i += total_x())
        __opencl_atomic_fetch_add(&counts[in[i]], 1, GROUP);
    group_barrier();
    uint count = __opencl_atomic_load(&counts[x], GROUP);
    if (count)
        __opencl_atomic_fetch_add(&bins[x], count, DEVICE);
}

kernel void histogram_global(global const uchar *in, volatile global atomic_uint *bins, uint n)
{
    uint i = global_x();
    if (i < n)
        __opencl_atomic_fetch_add(&bins[in[i]], 1, DEVICE);
}

// sorts each block of 512 keys
GROUP_SIZE(BLOCK, 1)
kernel void bitonic_sort(global int *keys)
{
    local int part[2 * BLOCK];
    uint x = local_x(), base = group_x() * 2 * BLOCK;
    part[x] = keys[base + x];
    part[x + BLOCK] = keys[base + x + BLOCK];
    for (uint size = 2; size <= 2 * BLOCK; size <<= 1)
        for (uint step = size >> 1; step > 0; step >>= 1) {
            group_barrier();
            uint low = 2 * x - (x & (step - 1)), high = low + step;
            bool descending = (low & size) != 0;
            int a = part[low], b = part[high];
            if (a > b != descending) {
                part[low] = b;
                part[high] = a;
            }
        }
    group_barrier();
    keys[base + x] = part[x];
    keys[base + x + BLOCK] = part[x + BLOCK];
}

// one compare-and-exchange pass over the whole array; n/2 work-items
kernel void bitonic_pass(global int *keys, uint size, uint step, uint n)
{
    uint x = global_x();
    uint low = 2 * x - (x & (step - 1)), high = low + step;
    if (high >= n)
        return;
    int a = keys[low], b = keys[high];
    if (a > b == ((low & size) == 0)) {
        keys[low] = b;
        keys[high] = a;
    }
}
