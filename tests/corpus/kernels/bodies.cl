#include "gpu.h"
#define TILE 64

// accelerations of bodies (x, y, z, mass), a tile of them at a time in LDS
GROUP_SIZE(TILE, 1)
kernel void nbody(global const float4 *bodies, global float4 *accelerations, uint n, float softening)
{
    local float4 tile[TILE];
    uint i = group_x() * TILE + local_x();
    float4 self = i < n ? bodies[i] : (float4)(0.0f);
    float3 sum = (float3)(0.0f);
    for (uint t = 0; t < n; t += TILE) {
        tile[local_x()] = t + local_x() < n ? bodies[t + local_x()] : (float4)(0.0f);
        group_barrier();
        for (uint j = 0; j < TILE; j++) {
            float3 d = tile[j].xyz - self.xyz;
            float inverse = native_inverse_root(d.x * d.x + d.y * d.y + d.z * d.z + softening);
            sum += d * (tile[j].w * inverse * inverse * inverse);
        }
        group_barrier();
    }
    if (i < n)
        accelerations[i] = (float4)(sum, 0.0f);
}

// nearest of `clusters` centres for each point of `dimensions` coordinates (structure of arrays)
kernel void kmeans_assign(global const float *points, constant float *centres, global uint *nearest, uint n,
                          uint clusters, uint dimensions)
{
    uint i = global_x();
    if (i >= n)
        return;
    float best = 3.4e38f;
    uint found = 0;
    for (uint c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (uint d = 0; d < dimensions; d++) {
            float difference = points[d * n + i] - centres[c * dimensions + d];
            distance += difference * difference;
        }
        if (distance < best) {
            best = distance;
            found = c;
        }
    }
    nearest[i] = found;
}

// sums and counts of each centre's points, for their means
kernel void kmeans_accumulate(global const float *points, global const uint *nearest, volatile global atomic_uint *sums,
                              volatile global atomic_uint *counts, uint n, uint dimensions)
{
    uint i = global_x();
    if (i >= n)
        return;
    uint c = nearest[i];
    __opencl_atomic_fetch_add(&counts[c], 1, DEVICE);
    for (uint d = 0; d < dimensions; d++)
        add_to_float(&sums[c * dimensions + d], points[d * n + i]);
}
