// Sum aggregation of a graph network (Xu et al. 2019, GIN): a node's result is the sum of its neighbours' features, which
// are rows after a ReLU. Dense; by lines that the compaction engine makes; and by rows that software had packed before.
// Compiled by `gpusim kernels build examples/own-kernels/aggregation.cl`, as the repository has it.
#include "../../workloads/kernels/dib.h"

#define FEATURES 256u
#define AT_ONCE 4u // neighbours of a wavefront whose loads are in flight together
#define WAVEFRONTS 4u
#define ROOM (FEATURES + 1u) // of a wavefront in LDS: its sums, and one that padding is added to

// A workgroup has a node, whose neighbours are neighbours[first[node]] and so on up to neighbours[first[node + 1]]. Its
// wavefronts take four of them in turn, and add what each has found.
#define EACH_FOUR(i) for (uint i = first[node] + AT_ONCE * wavefront_id(); i < end; i += AT_ONCE * WAVEFRONTS)
#define KERNEL kernel __attribute__((reqd_work_group_size(256, 1, 1))) void

static inline void finish(global float *sums, local const float *sum, uint node)
{
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    const uint f = local_id_x();
    sums[node * FEATURES + f] = sum[f] + sum[f + ROOM] + sum[f + 2u * ROOM] + sum[f + 3u * ROOM];
}

KERNEL dense(global const float *restrict features, global const uint *restrict first,
             global const uint *restrict neighbours, global float *restrict sums)
{
    local float parts[WAVEFRONTS * ROOM];
    const uint node = group_id_x(), lane = lane_id(), end = first[node + 1u];
    float4_t sum = 0.0f;
    EACH_FOUR(i) {
        float4_t row[AT_ONCE];
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u)
            row[u] = ((global const float4_t *)features)[neighbours[minimum(i + u, end - 1u)] * (FEATURES / 4u) + lane];
        keep_order();
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u)
            if (i + u < end) sum += row[u];
    }
#pragma unroll
    for (uint f = 0; f < 4u; ++f) parts[wavefront_id() * ROOM + 4u * lane + f] = sum[f];
    finish(sums, parts, node);
}

// A bundle's row belongs to one lane of a batch, so that a wavefront adds to LDS without atomics. Padding has row 0, which
// another lane may have. Without a branch, for a branch of lanes would go around the loop's end, which all lanes decide.
static inline void add(local float *sum, uint bundle)
{
    sum[bundle & 0x7fffu ? bundle >> 16 : FEATURES] += half_bits_to_float(bundle & 0xffffu);
}

static inline void start(local float *sum, uint lane)
{
#pragma unroll
    for (uint f = 0; f < FEATURES; f += 64u) sum[f + lane] = 0.0f;
}

KERNEL compacted(global const float *restrict features, global const uint *restrict first,
                 global const uint *restrict neighbours, global float *restrict sums)
{
    local float parts[WAVEFRONTS * ROOM];
    local float *sum = parts + wavefront_id() * ROOM;
    const uint node = group_id_x(), lane = lane_id(), end = first[node + 1u];
    start(sum, lane);
    EACH_FOUR(i) {
        global const float *line[AT_ONCE];
        uint2_t batch[AT_ONCE];
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u) {
            line[u] = features + neighbours[minimum(i + u, end - 1u)] * FEATURES + lane;
            batch[u] = sparse_load(line[u]);
        }
        keep_order();
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u) {
            if (i + u >= end) break;
            add(sum, batch[u].x);
            while (!(broadcast(batch[u].y, 63u) & STATUS_LAST)) {
                line[u] += BUNDLES_PER_BATCH;
                batch[u] = sparse_load(line[u]);
                add(sum, batch[u].x);
            }
        }
    }
    finish(sums, parts, node);
}

// bundles and counts are those of dib_convert: a row's bundles begin where the dense row would.
KERNEL packed(global const uint *restrict bundles, global const uint *restrict counts, global const uint *restrict first,
              global const uint *restrict neighbours, global float *restrict sums)
{
    local float parts[WAVEFRONTS * ROOM];
    local float *sum = parts + wavefront_id() * ROOM;
    const uint node = group_id_x(), lane = lane_id(), end = first[node + 1u];
    start(sum, lane);
    EACH_FOUR(i) {
        global const uint *line[AT_ONCE];
        uint batch[AT_ONCE], count[AT_ONCE];
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u) {
            const uint neighbour = neighbours[minimum(i + u, end - 1u)];
            count[u] = counts[neighbour];
            line[u] = bundles + neighbour * FEATURES + lane;
            batch[u] = lane < count[u] ? *line[u] : 0u;
        }
        keep_order();
#pragma unroll
        for (uint u = 0; u < AT_ONCE; ++u) {
            if (i + u >= end) break;
            add(sum, batch[u]);
            for (uint done = 64u; done < count[u]; done += 64u) {
                line[u] += BUNDLES_PER_BATCH;
                add(sum, done + lane < count[u] ? *line[u] : 0u);
            }
        }
    }
    finish(sums, parts, node);
}
