// Kernels that were written after the checks and found at once: none of the checks was made for one of them.
#include "kernels.h"
kernel void scan_hs(global int *out, global const int *in, int n)
{   // Hillis-Steele in place, one barrier a step
    local int t[256];
    t[LOCAL] = in[ITEM]; together();
    for (int s = 1; s < 256; s *= 2) { int v = LOCAL >= s ? t[LOCAL - s] : 0; t[LOCAL] += v; together(); } // race
    out[ITEM] = t[LOCAL];
}
kernel void stencil_inplace(global int *out, global const int *in, int n)
{
    int i = ITEM;
    out[i] = in[i]; 
    if (i > 0) out[i] += out[i - 1]; // race
}
kernel void histogram_plain(global int *out, global const int *in, int n)
{
    local int h[64];
    if (LOCAL < 64) h[LOCAL] = 0;
    together();
    h[in[ITEM] & 63]++; // race
    together();
    if (LOCAL < 64) __opencl_atomic_fetch_add((volatile global atomic_int *)&out[LOCAL], h[LOCAL], memory_order_relaxed, memory_scope_device);
}
kernel void histogram_no_zero(global int *out, global const int *in, int n)
{
    local int h[64];
    together();
    __opencl_atomic_fetch_add((volatile local atomic_int *)&h[in[ITEM] & 63], 1, memory_order_relaxed, memory_scope_work_group);
    together();
    if (LOCAL < 64) out[LOCAL + GROUP * 64] = h[LOCAL]; // unwritten
}
kernel void tile_halo(global int *out, global const int *in, int n)
{   // halo element not loaded
    local int t[258];
    t[LOCAL + 1] = in[ITEM];
    if (LOCAL == 0) t[0] = 0;
    together();
    out[ITEM] = t[LOCAL] + t[LOCAL + 1] + t[LOCAL + 2]; // unwritten
}
kernel void transposed_missing(global int *out, global const int *in, int n)
{
    local int t[16][17];
    int x = LOCAL & 15, y = LOCAL >> 4;
    t[y][x] = in[ITEM];
    out[ITEM] = t[x][y]; // race unwritten
}
kernel void barrier_in_data_loop(global int *out, global const int *in, int n)
{
    int k = in[ITEM & 63 ? 1 : 1] + (LOCAL & 1);
    for (int j = 0; j < k % 3 + 1; j++) __builtin_amdgcn_s_barrier(); // barrier
    out[ITEM] = k;
}
kernel void grid_sum_last_no_atomic(global int *out, global int *in, int n)
{
    local int s;
    if (LOCAL == 0) s = 0;
    together();
    __opencl_atomic_fetch_add((volatile local atomic_int *)&s, in[ITEM], memory_order_relaxed, memory_scope_work_group);
    together();
    if (LOCAL == 0) { out[GROUP + 1] = s; if (GROUP == 3) out[0] = out[1] + out[2] + out[3] + out[4]; } // race
}
kernel void halfword_misaligned(global int *out, global const char *in, int n)
{
    out[ITEM] = *(global const short *)(in + 2 * ITEM + 1); // misaligned
}
kernel void uninit_private_partial(global int *out, global const int *in, int n)
{
    volatile float acc[16];
    for (int k = 0; k < 15; k++) acc[k] = in[k];
    float s = 0; for (int k = 0; k < 16; k++) s += acc[(k + n) & 15];
    out[ITEM] = s; // unwritten
}
