#include "gpu.h"
#define BLOCK 128

static float group_sum(local float *part, uint x, float value)
{
    group_barrier();
    part[x] = value;
    for (uint step = BLOCK / 2; step > 0; step >>= 1) {
        group_barrier();
        if (x < step)
            part[x] += part[x + step];
    }
    group_barrier();
    return part[0];
}

static float group_largest(local float *part, uint x, float value)
{
    part[x] = value;
    for (uint step = BLOCK / 2; step > 0; step >>= 1) {
        group_barrier();
        if (x < step)
            part[x] = larger(part[x], part[x + step]);
    }
    group_barrier();
    return part[0];
}

// softmax of each row, a row a work-group
GROUP_SIZE(BLOCK, 1)
kernel void softmax(global const float *in, global float *out, uint columns)
{
    local float part[BLOCK];
    uint x = local_x();
    global const float *row = in + group_x() * columns;
    float top = -__builtin_inff();
    for (uint i = x; i < columns; i += BLOCK)
        top = larger(top, row[i]);
    top = group_largest(part, x, top);
    float sum = 0.0f;
    for (uint i = x; i < columns; i += BLOCK)
        sum += e_power(row[i] - top);
    sum = group_sum(part, x, sum);
    for (uint i = x; i < columns; i += BLOCK)
        out[group_x() * columns + i] = e_power(row[i] - top) / sum;
}

// batch normalisation of [images, channels, area], a channel a work-group; keeps mean and 1 / deviation
GROUP_SIZE(BLOCK, 1)
kernel void batch_forward(global const float *in, global const float *scale, global const float *shift, global float *out,
                          global float *means, global float *inverses, uint images, uint channels, uint area,
                          float epsilon)
{
    local float part[BLOCK];
    uint x = local_x(), c = group_x(), count = images * area;
    float sum = 0.0f;
    for (uint i = x; i < count; i += BLOCK)
        sum += in[(i / area * channels + c) * area + i % area];
    float mean = group_sum(part, x, sum) / (float)count;
    float squares = 0.0f;
    for (uint i = x; i < count; i += BLOCK) {
        float d = in[(i / area * channels + c) * area + i % area] - mean;
        squares += d * d;
    }
    float inverse = 1.0f / root(group_sum(part, x, squares) / (float)count + epsilon);
    for (uint i = x; i < count; i += BLOCK) {
        uint at = (i / area * channels + c) * area + i % area;
        out[at] = (in[at] - mean) * inverse * scale[c] + shift[c];
    }
    if (x == 0) {
        means[c] = mean;
        inverses[c] = inverse;
    }
}

GROUP_SIZE(BLOCK, 1)
kernel void batch_backward(global const float *in, global const float *slope, global const float *scale,
                           global const float *means, global const float *inverses, global float *in_slope,
                           global float *scale_slope, global float *shift_slope, uint images, uint channels, uint area)
{
    local float part[BLOCK];
    uint x = local_x(), c = group_x(), count = images * area;
    float mean = means[c], inverse = inverses[c], shift_sum = 0.0f, scale_sum = 0.0f;
    for (uint i = x; i < count; i += BLOCK) {
        uint at = (i / area * channels + c) * area + i % area;
        shift_sum += slope[at];
        scale_sum += slope[at] * (in[at] - mean) * inverse;
    }
    shift_sum = group_sum(part, x, shift_sum);
    scale_sum = group_sum(part, x, scale_sum);
    for (uint i = x; i < count; i += BLOCK) {
        uint at = (i / area * channels + c) * area + i % area;
        float normal = (in[at] - mean) * inverse;
        in_slope[at] = scale[c] * inverse * (slope[at] - (shift_sum + normal * scale_sum) / (float)count);
    }
    if (x == 0) {
        scale_slope[c] = scale_sum;
        shift_slope[c] = shift_sum;
    }
}

// local response normalisation over `window` channels: scales = k + alpha / window * sum of squares, out = in / scales^beta
kernel void response_forward(global const float *in, global float *out, global float *scales, int channels, int area,
                             int window, float k, float alpha, float beta)
{
    int place = global_x(), c = global_y(), image = global_z();
    if (place >= area)
        return;
    int first = c - window / 2, last = c + window / 2;
    first = first < 0 ? 0 : first;
    last = last >= channels ? channels - 1 : last;
    float sum = 0.0f;
    for (int i = first; i <= last; i++) {
        float value = in[(image * channels + i) * area + place];
        sum += value * value;
    }
    float scale = k + alpha / (float)window * sum;
    int at = (image * channels + c) * area + place;
    scales[at] = scale;
    out[at] = in[at] * power_of_2(-beta * logarithm_2(scale));
}

kernel void response_backward(global const float *in, global const float *out, global const float *scales,
                              global const float *slope, global float *in_slope, int channels, int area, int window,
                              float alpha, float beta)
{
    int place = global_x(), c = global_y(), image = global_z();
    if (place >= area)
        return;
    int first = c - window / 2, last = c + window / 2;
    first = first < 0 ? 0 : first;
    last = last >= channels ? channels - 1 : last;
    float sum = 0.0f;
    for (int i = first; i <= last; i++) {
        int at = (image * channels + i) * area + place;
        sum += slope[at] * out[at] / scales[at];
    }
    int at = (image * channels + c) * area + place;
    in_slope[at] = slope[at] * power_of_2(-beta * logarithm_2(scales[at])) -
                   2.0f * alpha * beta / (float)window * in[at] * sum;
}
