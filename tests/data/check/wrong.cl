// Kernels with one fault each; the line that a check must name ends in a comment with the kinds of findings.
#include "kernels.h"

kernel void lds_read_too_early(global int *out, global const int *in, int n)
{
    local int tile[256];
    tile[LOCAL] = in[ITEM];
    out[ITEM] = tile[255 - LOCAL]; // race unwritten
}

kernel void lds_write_too_early(global int *out, global const int *in, int n)
{
    local int tile[256];
    int sum = 0;
    for (int k = 0; k < n; k++) {
        tile[LOCAL] = in[ITEM] + k; // race
        together();
        sum += tile[255 - LOCAL];
    }
    out[ITEM] = sum;
}

kernel void tree_without_barrier(global int *out, global const int *in, int n)
{
    local int sums[256];
    sums[LOCAL] = in[ITEM];
    together();
    for (int step = 128; step > 0; step >>= 1)
        if (LOCAL < step)
            sums[LOCAL] += sums[LOCAL + step]; // race
    together();
    out[ITEM] = sums[0];
}

kernel void groups_write_one_place(global int *out, global const int *in, int n)
{
    out[LOCAL] = GROUP; // race
}

kernel void sum_without_atomic(global int *out, global const int *in, int n)
{
    if (LOCAL == 0)
        out[0] += in[ITEM]; // race
}

kernel void reads_its_neighbour(global int *out, global const int *in, int n)
{
    out[ITEM + 256] = out[ITEM] + 1; // race
}

kernel void flag_without_release(global int *out, global int *flag, int n)
{
    if (GROUP == 0) {
        out[LOCAL] = 7;
        return;
    }
    out[ITEM] = out[LOCAL]; // race
}

kernel void lanes_disagree(global int *out, global const int *in, int n)
{
    local int last;
    if (LOCAL < 64)
        last = LOCAL; // race
    together();
    out[ITEM] = last;
}

kernel void atomic_beside_plain(global int *out, global int *in, int n)
{
    if (LOCAL == 64)
        out[0] = 100;
    __opencl_atomic_fetch_add((volatile global atomic_int *)out, 1, memory_order_relaxed, memory_scope_device); // race
}

kernel void lds_never_written(global int *out, global const int *in, int n)
{
    local int tile[512];
    tile[LOCAL] = in[ITEM];
    together();
    out[ITEM] = tile[LOCAL + 1]; // unwritten
}

kernel void register_never_written(global int *out, global const int *in, int n)
{
    int value;
    __asm__ volatile("; %0 is not written" : "=v"(value));
    out[ITEM] = value; // unwritten
}

kernel void scalar_never_written(global int *out, global const int *in, int n)
{
    int value;
    __asm__ volatile("; %0 is not written" : "={s40}"(value));
    if (value > n) // unwritten
        out[ITEM] = 1;
}

kernel void address_never_written(global int *out, global const int *in, int n)
{
    local int tile[256];
    if (LOCAL < 100)
        tile[LOCAL] = LOCAL;
    together();
    out[tile[LOCAL] & 255] = 1; // unwritten
}

kernel void private_never_written(global int *out, global const int *in, int n)
{
    volatile int held[32];
    for (int k = 0; k < n; k++)
        held[k] = in[ITEM] + k;
    out[ITEM] = held[n]; // unwritten
}

kernel void some_lanes_at_the_barrier(global int *out, global const int *in, int n)
{
    local int tile[256];
    tile[LOCAL] = in[ITEM];
    if (LOCAL < 224)
        __builtin_amdgcn_s_barrier(); // barrier
    out[ITEM] = n;
}

kernel void a_wavefront_skips_the_barrier(global int *out, global const int *in, int n)
{
    if (LOCAL < 64) {
        out[ITEM] = 0;
        return;
    }
    __builtin_amdgcn_s_barrier(); // barrier
    out[ITEM] = n;
}

kernel void loops_of_unequal_length(global int *out, global const int *in, int n)
{
    int turns = __builtin_amdgcn_readfirstlane(LOCAL / 64);
    for (int k = 0; k <= turns; k++)
        __builtin_amdgcn_s_barrier(); // barrier
    out[ITEM] = n;
}

kernel void misaligned(global int *out, global const char *in, int n)
{
    out[ITEM] = *(global const int *)(in + 4 * ITEM + 1); // misaligned
}

kernel void past_the_end(global int *out, global const int *in, int n)
{
    out[ITEM + 100000000] = 1; // fault
}

kernel void past_the_private_array(global int *out, global const int *in, int n)
{
    volatile int held[8];
    for (int k = 0; k < n * 1000; k++)
        held[k] = k; // fault
    out[ITEM] = held[n & 7];
}
