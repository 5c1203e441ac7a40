#include "gpu.h"
#define TILE 16

// out = transpose of in, [rows, columns], through a padded LDS tile
GROUP_SIZE(TILE, TILE)
kernel void transpose(global const float *in, global float *out, uint rows, uint columns)
{
    local float tile[TILE][TILE + 1];
    uint x = local_x(), y = local_y();
    uint column = group_x() * TILE + x, row = group_y() * TILE + y;
    if (row < rows && column < columns)
        tile[y][x] = in[row * columns + column];
    group_barrier();
    column = group_y() * TILE + x;
    row = group_x() * TILE + y;
    if (row < columns && column < rows)
        out[row * rows + column] = tile[x][y];
}

// C = A B, row-major; one element a work-item
kernel void gemm_plain(global const float *a, global const float *b, global float *c, uint m, uint n, uint k)
{
    uint column = global_x(), row = global_y();
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (uint i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// C = A B with both tiles in LDS, edges filled with zeros
GROUP_SIZE(TILE, TILE)
kernel void gemm_tiles(global const float *a, global const float *b, global float *c, uint m, uint n, uint k)
{
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint x = local_x(), y = local_y();
    uint column = group_x() * TILE + x, row = group_y() * TILE + y;
    float sum = 0.0f;
    for (uint t = 0; t < k; t += TILE) {
        tile_a[y][x] = row < m && t + x < k ? a[row * k + t + x] : 0.0f;
        tile_b[y][x] = t + y < k && column < n ? b[(t + y) * n + column] : 0.0f;
        group_barrier();
        for (uint i = 0; i < TILE; i++)
            sum = multiply_add(tile_a[y][i], tile_b[i][x], sum);
        group_barrier();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

// C = alpha A B + beta C; 4 x 4 elements a work-item in registers, m and n are multiples of 32
GROUP_SIZE(8, 8)
kernel void gemm_registers(global const float *a, global const float *b, global float *c, uint m, uint n, uint k,
                           float alpha, float beta)
{
    uint column = (group_x() * 8 + local_x()) * 4, row = (group_y() * 8 + local_y()) * 4;
    float4 sum[4] = {0, 0, 0, 0};
    for (uint i = 0; i < k; i++) {
        float4 right = *(global const float4 *)(b + i * n + column);
        for (uint r = 0; r < 4; r++)
            sum[r] += a[(row + r) * k + i] * right;
    }
    for (uint r = 0; r < 4; r++) {
        global float4 *out = (global float4 *)(c + (row + r) * n + column);
        *out = alpha * sum[r] + beta * *out;
    }
}

// y = A x: a wavefront takes a row and adds its lanes up with LDS
GROUP_SIZE(WAVEFRONT, 1)
kernel void gemv(global const float *a, global const float *x, global float *y, uint columns)
{
    local float part[WAVEFRONT];
    uint lane = local_x(), row = group_x();
    float sum = 0.0f;
    for (uint i = lane; i < columns; i += WAVEFRONT)
        sum += a[row * columns + i] * x[i];
    part[lane] = sum;
    for (uint step = WAVEFRONT / 2; step > 0; step >>= 1) {
        group_barrier();
        if (lane < step)
            part[lane] += part[lane + step];
    }
    if (lane == 0)
        y[row] = part[0];
}

// y = A x in double precision, a row a work-item
kernel void gemv_double(global const double *a, global const double *x, global double *y, uint rows, uint columns)
{
    uint row = global_x();
    if (row >= rows)
        return;
    double sum = 0.0;
    for (uint i = 0; i < columns; i++)
        sum = __builtin_fma(a[row * columns + i], x[i], sum);
    y[row] = sum;
}

// C = A B in half precision, the sum too
kernel void gemm_half(global const half *a, global const half *b, global half *c, uint m, uint n, uint k)
{
    uint column = global_x(), row = global_y();
    if (row >= m || column >= n)
        return;
    half sum = 0;
    for (uint i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// C = A B from half-precision operands, the sum in single precision
kernel void gemm_half_float(global const half *a, global const half *b, global float *c, uint m, uint n, uint k)
{
    uint column = global_x(), row = global_y();
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (uint i = 0; i < k; i++)
        sum += (float)a[row * k + i] * (float)b[i * n + column];
    c[row * n + column] = sum;
}
