// Kernels for arrays of zeros: in those with a fault, lanes of one wavefront update a word with what is there already.
#include "kernels.h"

kernel void lanes_add_to_one_place(global float *out, global const float *in, int n)
{
    if (ITEM < 64)
        out[0] += in[ITEM]; // race
}

kernel void lanes_count_in_lds(global int *out, global const int *in, int n)
{
    local int bins[4];
    if (LOCAL < 4)
        bins[LOCAL] = 0;
    together();
    if (LOCAL < 64)
        bins[LOCAL & 3] |= in[ITEM]; // race
    together();
    if (LOCAL < 4)
        out[4 * GROUP + LOCAL] = bins[LOCAL];
}

kernel void lanes_keep_the_largest(global float *out, global const float *in, int n)
{
    if (ITEM < 64)
        for (int k = 0; k < n; k++)
            out[k] = fmax(out[k], in[ITEM + k]); // race
}

kernel void ok_lanes_clear_what_they_read(global float *out, global const float *in, int n)
{
    if (ITEM < 64) {
        float before = out[0];
        out[64 + LOCAL] = before;
        out[0] = 0;
    }
}

kernel void ok_lanes_write_the_same(global int *out, global const int *in, int n)
{
    local int waves[4];
    waves[LOCAL >> 6] = (LOCAL >> 6) * n;
    together();
    out[ITEM] = waves[LOCAL >> 6];
    waves[LOCAL >> 6] = waves[LOCAL >> 6] * n;
}

kernel void ok_each_lane_its_own(global float *out, global const float *in, int n)
{
    for (int k = 0; k < n; k++)
        out[ITEM] += in[ITEM + k];
}

kernel void ok_one_lane_adds(global float *out, global const float *in, int n)
{
    if (ITEM == 0)
        for (int k = 0; k < n; k++)
            out[0] += in[k];
}

kernel void ok_a_flag_after_a_look(global int *out, global const int *in, int n)
{
    if (ITEM < 64 && out[0] == 0 && in[ITEM] == 0)
        out[0] = 0;
}
