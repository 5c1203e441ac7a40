// Kernels without a fault, which do what looks like one.
#include "kernels.h"

kernel void reversed(global int *out, global const int *in, int n)
{
    local int tile[256];
    tile[LOCAL] = in[ITEM];
    together();
    out[ITEM] = tile[255 - LOCAL];
}

kernel void two_buffers(global int *out, global const int *in, int n)
{
    local int tile[2][256];
    int sum = 0;
    for (int k = 0; k < n; k++) {
        tile[k & 1][LOCAL] = in[ITEM] + k;
        together();
        sum += tile[k & 1][255 - LOCAL];
    }
    out[ITEM] = sum;
}

kernel void tree(global int *out, global const int *in, int n)
{
    local int sums[256];
    sums[LOCAL] = in[ITEM];
    together();
    for (int step = 128; step > 0; step >>= 1) {
        if (LOCAL < step)
            sums[LOCAL] += sums[LOCAL + step];
        together();
    }
    out[ITEM] = sums[0];
}

kernel void within_a_wavefront(global int *out, global const int *in, int n)
{
    local volatile int tile[256];
    tile[LOCAL] = in[ITEM];
    out[ITEM] = tile[LOCAL ^ 63];
}

kernel void counts(global int *out, global const int *in, int n)
{
    __opencl_atomic_fetch_add((volatile global atomic_int *)out, 1, memory_order_relaxed, memory_scope_device);
}

kernel void all_say_the_same(global int *out, global const int *in, int n)
{
    if (in[ITEM] >= 0)
        out[0] = 1;
}

// The last workgroup to come adds up what all have left, ordered by an atomic counter.
kernel void last_one_adds(global int *out, global int *in, int n)
{
    local int last;
    out[ITEM + 1] = 1;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    together();
    if (LOCAL == 0)
        last = __opencl_atomic_fetch_add((volatile global atomic_int *)in, 1, memory_order_acq_rel, memory_scope_device);
    together();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    if (last == n - 1 && LOCAL == 0) {
        int sum = 0;
        for (int k = 0; k < n * 256; k++)
            sum += out[k + 1];
        out[0] = sum;
    }
}

kernel void bytes_side_by_side(global char *out, global const int *in, int n)
{
    out[ITEM] = (char)in[ITEM];
}

kernel void padded(global int *out, global const int *in, int n)
{
    local int tile[256];
    if (LOCAL < 200)
        tile[LOCAL] = in[ITEM];
    together();
    int value = tile[LOCAL]; // some were never written, and are not used
    out[ITEM] = LOCAL < 200 ? value : 0;
}

kernel void private_array(global int *out, global const int *in, int n)
{
    volatile int held[32];
    for (int k = 0; k < n; k++)
        held[k] = in[ITEM] + k;
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += held[k];
    out[ITEM] = sum;
}

kernel void divergent_loop(global int *out, global const int *in, int n)
{
    int x = in[ITEM];
    for (int k = 0; k < (LOCAL & 31); k++) {
        if (x & 1)
            x = 3 * x + 1;
        else
            x >>= 1;
        if (x == 1)
            break;
    }
    out[ITEM] = x;
}
