#include "gpu.h"

// y = A x, compressed rows, a row a work-item
kernel void spmv_rows(global const uint *starts, global const uint *columns, global const float *values,
                      global const float *x, global float *y, uint rows)
{
    uint row = global_x();
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

// y = A x, compressed rows, a row a wavefront; lanes added with swizzles and permutations
GROUP_SIZE(WAVEFRONT, 1)
kernel void spmv_wavefront(global const uint *starts, global const uint *columns, global const float *values,
                           global const float *x, global float *y)
{
    uint row = group_x(), lane = local_x();
    float sum = 0.0f;
    for (uint i = starts[row] + lane; i < starts[row + 1]; i += WAVEFRONT)
        sum += values[i] * x[columns[i]];
    for (uint step = 1; step < WAVEFRONT; step <<= 1)
        sum += __builtin_astype(__builtin_amdgcn_ds_bpermute((lane ^ step) << 2, __builtin_astype(sum, int)), float);
    if (lane == 0)
        y[row] = sum;
}

// rank of a page from the pages that link to it
kernel void pagerank_step(global const uint *starts, global const uint *sources, global const uint *degrees,
                          global const float *rank, global float *next, uint n, float damping)
{
    uint page = global_x();
    if (page >= n)
        return;
    float sum = 0.0f;
    for (uint i = starts[page]; i < starts[page + 1]; i++)
        sum += rank[sources[i]] / (float)degrees[sources[i]];
    next[page] = (1.0f - damping) / (float)n + damping * sum;
}

// all pairs' distances, the way through `middle`
kernel void floyd_warshall_step(global int *distance, uint n, uint middle)
{
    uint to = global_x(), from = global_y();
    if (to >= n || from >= n)
        return;
    int through = distance[from * n + middle] + distance[middle * n + to];
    if (through < distance[from * n + to])
        distance[from * n + to] = through;
}

// vertices at distance `level` reach their neighbours; 0xffffffff: not reached
kernel void bfs_step(global const uint *starts, global const uint *neighbours, volatile global atomic_uint *distance,
                     volatile global atomic_uint *found, uint n, uint level)
{
    uint vertex = global_x();
    if (vertex >= n || __opencl_atomic_load(&distance[vertex], DEVICE) != level)
        return;
    for (uint i = starts[vertex]; i < starts[vertex + 1]; i++) {
        uint unreached = 0xffffffff;
        if (__opencl_atomic_compare_exchange_strong(&distance[neighbours[i]], &unreached, level + 1, memory_order_relaxed,
                                                    memory_order_relaxed, memory_scope_device))
            __opencl_atomic_fetch_add(found, 1, DEVICE);
    }
}
