/* Benchmarks that move whole arrays through L2 and DRAM. */

kernel void vector_add(global const float *a, global const float *b, global float *c, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

kernel void relu(global const float *x, global float *y, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

#define TILE 32

/* `to` = transpose of `from` [rows, columns], both multiples of TILE; through LDS, so that both sides go by lines.
   Workgroups of 32 x 8. */
kernel void transpose(global const uint *from, global uint *to, uint rows, uint columns)
{
    local uint tile[TILE][TILE + 1];
    uint x = get_local_id(0), y = get_local_id(1);
    uint row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
    for (uint k = 0; k < TILE; k += 8)
        tile[y + k][x] = from[(row + y + k) * columns + column + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < TILE; k += 8)
        to[(column + y + k) * rows + row + x] = tile[x][y + k];
}

/* The same without LDS: a wavefront writes a column, one word of each of 64 lines. Workgroups of 64 x 1. */
kernel void transpose_direct(global const uint *from, global uint *to, uint rows, uint columns)
{
    uint x = get_global_id(0), y = get_global_id(1);
    to[x * rows + y] = from[y * columns + x];
}
