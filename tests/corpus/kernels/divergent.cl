#include "gpu.h"

// points of the complex plane: loop with a break of each lane's own
kernel void mandelbrot(global uint *steps, uint width, uint height, uint limit)
{
    uint x = global_x(), y = global_y();
    if (x >= width || y >= height)
        return;
    float cr = -2.0f + 3.0f * (float)x / (float)width, ci = -1.0f + 2.0f * (float)y / (float)height;
    float r = 0.0f, i = 0.0f;
    uint n = 0;
    while (n < limit) {
        float rr = r * r, ii = i * i;
        if (rr + ii > 4.0f)
            break;
        i = 2.0f * r * i + ci;
        r = rr - ii + cr;
        n++;
    }
    steps[y * width + x] = n;
}

// greatest common divisors, Euclid with 32-bit division
kernel void greatest_divisor(global const uint *a, global const uint *b, global uint *out, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    uint x = a[i], y = b[i];
    while (y) {
        uint rest = x % y;
        x = y;
        y = rest;
    }
    out[i] = x;
}

// an interpreter: nested loop, switch, continue, goto and an early return, each by lane
kernel void small_machine(global const uchar *programs, global int *out, uint length, uint n)
{
    uint i = global_x();
    if (i >= n)
        return;
    int a = (int)i, b = 1;
    for (uint at = 0, steps = 0; at < length && steps < 200; at++, steps++) {
        uchar code = programs[i * length + at];
        switch (code & 15) {
        case 0:
            continue;
        case 1:
            a += b;
            break;
        case 2:
            a -= 3;
            break;
        case 3:
            b = b * 3 + a;
            break;
        case 4:
            if (a & 1)
                goto odd;
            a >>= 1;
            break;
        case 5:
            for (int k = a & 7; k > 0; k--) {
                if (k == 3)
                    continue;
                b ^= k << (a & 3);
                if (b & 64)
                    break;
            }
            break;
        case 6:
            if (b > 1000000) {
                out[i] = -1;
                return;
            }
            b += 17;
            break;
        case 7:
            at = a > 0 && b & 1 ? 0 : at;
            break;
        default:
            a ^= code;
        }
        continue;
    odd:
        a = -a;
        if (b & 1)
            b++;
    }
    out[i] = a * 31 + b;
}
