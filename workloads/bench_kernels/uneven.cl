/* Kernels whose workgroups have different amounts, or kinds, of work: what a sampled launch must not take for alike. */

/* Arithmetic alone: the workgroup's number of rounds is in a table. */
kernel void looped(global const uint *work, global float *y)
{
    uint rounds = work[get_group_id(0)];
    float sum = (float)get_local_id(0);
    for (uint k = 0; k < rounds; k++)
        sum = sum * 0.875f + (float)k;
    y[get_global_id(0)] = sum;
}

/* The same with a load in each round, from a table of a power of two of elements. */
kernel void streamed(global const uint *work, global const float *x, global float *y, uint elements)
{
    uint rounds = work[get_group_id(0)];
    uint at = get_global_id(0);
    float sum = 0.0f;
    for (uint k = 0; k < rounds; k++) {
        sum += x[at & (elements - 1)];
        at += get_local_size(0);
    }
    y[get_global_id(0)] = sum;
}

/* Two kernels in one grid: workgroups below `first` compute, the others read places far from one another. */
kernel void two_phases(global const float *x, global float *y, uint first, uint rounds, uint elements)
{
    uint at = get_global_id(0);
    float sum = 0.0f;
    if (get_group_id(0) < first) {
        for (uint k = 0; k < 4 * rounds; k++)
            sum = sum * 0.875f + (float)(at ^ k);
    } else {
        for (uint k = 0; k < rounds; k++)
            sum += x[(at * 33 + k * 4099) & (elements - 1)];
    }
    y[at] = sum;
}

/* y = M x, M in rows of non-zeros: a work-item for each row. */
kernel void csr_scalar(global const uint *begins, global const uint *places, global const float *values,
                       global const float *x, global float *y)
{
    uint row = get_global_id(0);
    float sum = 0.0f;
    for (uint k = begins[row]; k < begins[row + 1]; k++)
        sum += values[k] * x[places[k]];
    y[row] = sum;
}

/* The same with a workgroup of 64 work-items for each row. */
kernel void csr_vector(global const uint *begins, global const uint *places, global const float *values,
                       global const float *x, global float *y)
{
    local float sums[64];
    uint row = get_group_id(0), lane = get_local_id(0);
    float sum = 0.0f;
    for (uint k = begins[row] + lane; k < begins[row + 1]; k += 64)
        sum += values[k] * x[places[k]];
    sums[lane] = sum;
    for (uint left = 32; left > 0; left >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < left)
            sums[lane] += sums[lane + left];
    }
    if (lane == 0)
        y[row] = sums[0];
}

/* Steps until z^2 + c leaves the circle of radius 2, for the pixels of an image of -2 ... 1 by -1.5 ... 1.5. */
kernel void mandelbrot(global uint *steps, uint width, uint height, uint most)
{
    uint column = get_global_id(0), row = get_global_id(1);
    float cx = (float)column * (3.0f / (float)width) - 2.0f, cy = (float)row * (3.0f / (float)height) - 1.5f;
    float x = 0.0f, y = 0.0f;
    uint k = 0;
    while (k < most && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        k++;
    }
    steps[row * width + column] = k;
}
