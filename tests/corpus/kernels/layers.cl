#include "gpu.h"

// direct convolution [images, channels, height, width] with [filters, channels, side, side], zero padding
kernel void convolution(global const float *in, global const float *weights, global const float *bias, global float *out,
                        int channels, int height, int width, int filters, int side, int stride, int padding)
{
    int out_height = (height + 2 * padding - side) / stride + 1, out_width = (width + 2 * padding - side) / stride + 1;
    int x = global_x(), y = global_y(), f = global_z() % (uint)filters, image = global_z() / (uint)filters;
    if (x >= out_width || y >= out_height)
        return;
    float sum = bias[f];
    for (int c = 0; c < channels; c++)
        for (int r = 0; r < side; r++)
            for (int s = 0; s < side; s++) {
                int row = y * stride + r - padding, column = x * stride + s - padding;
                if (row >= 0 && row < height && column >= 0 && column < width)
                    sum += in[((image * channels + c) * height + row) * width + column] *
                           weights[((f * channels + c) * side + r) * side + s];
            }
    out[((image * filters + f) * out_height + y) * out_width + x] = sum;
}

// columns[channel, r, s, y, x] of one image
kernel void im2col(global const float *image, global float *columns, int channels, int height, int width, int side,
                   int stride, int padding)
{
    int out_height = (height + 2 * padding - side) / stride + 1, out_width = (width + 2 * padding - side) / stride + 1;
    int i = global_x(), places = out_height * out_width;
    if (i >= channels * side * side * places)
        return;
    int x = i % out_width, y = i / out_width % out_height, s = i / places % side, r = i / places / side % side;
    int c = i / places / (side * side);
    int row = y * stride + r - padding, column = x * stride + s - padding;
    bool inside = row >= 0 && row < height && column >= 0 && column < width;
    columns[i] = inside ? image[(c * height + row) * width + column] : 0.0f;
}

// the sum of what lies in columns for each element of the image
kernel void col2im(global const float *columns, global float *image, int channels, int height, int width, int side,
                   int stride, int padding)
{
    int out_height = (height + 2 * padding - side) / stride + 1, out_width = (width + 2 * padding - side) / stride + 1;
    int i = global_x();
    if (i >= channels * height * width)
        return;
    int column = i % width, row = i / width % height, c = i / (width * height);
    float sum = 0.0f;
    for (int r = 0; r < side; r++)
        for (int s = 0; s < side; s++) {
            int y = row + padding - r, x = column + padding - s;
            if (y % stride || x % stride)
                continue;
            y /= stride;
            x /= stride;
            if (y >= 0 && y < out_height && x >= 0 && x < out_width)
                sum += columns[(((c * side + r) * side + s) * out_height + y) * out_width + x];
        }
    image[i] = sum;
}

// windows may overlap the border; `places` are the elements that won
kernel void max_pooling(global const float *in, global float *out, global int *places, int height, int width,
                        int out_height, int out_width, int side, int stride, int padding)
{
    int x = global_x(), y = global_y(), plane = global_z();
    if (x >= out_width || y >= out_height)
        return;
    float best = -__builtin_inff();
    int place = -1;
    for (int r = 0; r < side; r++)
        for (int s = 0; s < side; s++) {
            int row = y * stride + r - padding, column = x * stride + s - padding;
            if (row < 0 || row >= height || column < 0 || column >= width)
                continue;
            float value = in[(plane * height + row) * width + column];
            if (value > best) {
                best = value;
                place = row * width + column;
            }
        }
    out[(plane * out_height + y) * out_width + x] = best;
    places[(plane * out_height + y) * out_width + x] = place;
}

// the average over what lies inside the image
kernel void average_pooling(global const float *in, global float *out, int height, int width, int out_height,
                            int out_width, int side, int stride, int padding)
{
    int x = global_x(), y = global_y(), plane = global_z();
    if (x >= out_width || y >= out_height)
        return;
    int top = y * stride - padding, left = x * stride - padding;
    int bottom = top + side < height ? top + side : height, right = left + side < width ? left + side : width;
    top = top > 0 ? top : 0;
    left = left > 0 ? left : 0;
    float sum = 0.0f;
    for (int row = top; row < bottom; row++)
        for (int column = left; column < right; column++)
            sum += in[(plane * height + row) * width + column];
    out[(plane * out_height + y) * out_width + x] = sum / (float)((bottom - top) * (right - left));
}
