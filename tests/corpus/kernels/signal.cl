#include "gpu.h"

static inline float2 complex_product(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// e^(-2 pi i turns), native functions
static inline float2 rotation(float turns)
{
    return (float2)(__builtin_amdgcn_cosf(turns), -__builtin_amdgcn_sinf(turns));
}

// one Stockham pass of radix 2: half = n / 2 butterflies, `span` the length of what is transformed already
kernel void fft_pass(global const float2 *in, global float2 *out, uint half_size, uint span)
{
    uint i = global_x();
    if (i >= half_size)
        return;
    uint k = i & (span - 1);
    float2 a = in[i], b = complex_product(in[i + half_size], rotation((float)k / (float)(2 * span)));
    uint at = ((i - k) << 1) + k;
    out[at] = a + b;
    out[at + span] = a - b;
}

// transforms of 256 points in LDS, radix 4, one a work-group of 64
#define POINTS 256
GROUP_SIZE(WAVEFRONT, 1)
kernel void fft_256(global const float2 *in, global float2 *out)
{
    local float2 data[POINTS];
    uint x = local_x(), base = group_x() * POINTS;
    float2 v[4];
    for (uint r = 0; r < 4; r++)
        v[r] = in[base + x + r * (POINTS / 4)];
    for (uint span = 1; span < POINTS; span <<= 2) {
        uint k = x & (span - 1);
        float turns = (float)k / (float)(4 * span);
        for (uint r = 1; r < 4; r++)
            v[r] = complex_product(v[r], rotation(r * turns));
        float2 even = v[0] + v[2], odd = v[0] - v[2], sum = v[1] + v[3], difference = v[1] - v[3];
        float2 turned = (float2)(difference.y, -difference.x);
        uint at = ((x - k) << 2) + k;
        group_barrier();
        data[at] = even + sum;
        data[at + span] = odd + turned;
        data[at + 2 * span] = even - sum;
        data[at + 3 * span] = odd - turned;
        group_barrier();
        for (uint r = 0; r < 4; r++)
            v[r] = data[x + r * (POINTS / 4)];
    }
    for (uint r = 0; r < 4; r++)
        out[base + x + r * (POINTS / 4)] = v[r];
}

// finite impulse response, taps in constant memory
kernel void fir(global const float *in, constant float *taps, global float *out, uint n, uint count)
{
    uint i = global_x();
    if (i >= n)
        return;
    float sum = 0.0f;
    for (uint t = 0; t < count && t <= i; t++)
        sum = multiply_add(taps[t], in[i - t], sum);
    out[i] = sum;
}

// five-point stencil, borders kept
kernel void stencil_5(global const float *in, global float *out, uint width, uint height, float centre, float side)
{
    uint x = global_x(), y = global_y();
    if (x >= width || y >= height)
        return;
    uint i = y * width + x;
    float value = in[i];
    if (x > 0 && x + 1 < width && y > 0 && y + 1 < height)
        value = centre * value + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
    out[i] = value;
}

// 3 x 3 box filter over an LDS tile with a halo; outside counts as 0
#define TILE 16
GROUP_SIZE(TILE, TILE)
kernel void stencil_box(global const float *in, global float *out, int width, int height)
{
    local float tile[TILE + 2][TILE + 2];
    int left = (int)group_x() * TILE - 1, top = (int)group_y() * TILE - 1;
    for (uint i = local_y() * TILE + local_x(); i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        int x = left + (int)(i % (TILE + 2)), y = top + (int)(i / (TILE + 2));
        tile[i / (TILE + 2)][i % (TILE + 2)] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
    }
    group_barrier();
    int x = left + 1 + (int)local_x(), y = top + 1 + (int)local_y();
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (uint dy = 0; dy < 3; dy++)
        for (uint dx = 0; dx < 3; dx++)
            sum += tile[local_y() + dy][local_x() + dx];
    out[y * width + x] = sum / 9.0f;
}
