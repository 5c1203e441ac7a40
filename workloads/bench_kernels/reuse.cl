/* Benchmarks that read the same data over and over: from L1, L2 or LDS, by the size of what they read. Workgroups of
   256. */

#define WORKGROUP 256

/* `rounds` reads of a table of `mask` + 1 elements, a power of two, of which a wavefront reads every second one, so that
   it touches 32 lines at a time. Workgroup g starts `spread` * g elements into the table. */
kernel void table_reads(global const uint4 *table, global uint *out, uint mask, uint spread, uint rounds)
{
    uint at = get_group_id(0) * spread + 2 * get_local_id(0);
    uint4 sum = 0;
#pragma unroll 4
    for (uint r = 0; r < rounds; r++) {
        sum += table[at & mask];
        at += 2 * WORKGROUP;
    }
    out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}

#define LDS_WORDS 1024

/* Each work-item follows the links of a table in LDS for `rounds` steps: banks at random. */
kernel void lds_links(global const uint *links, global uint *out, uint rounds)
{
    local uint table[LDS_WORDS];
    uint lane = get_local_id(0);
    for (uint k = 0; k < LDS_WORDS; k += WORKGROUP)
        table[k + lane] = links[k + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = get_global_id(0) & (LDS_WORDS - 1);
    for (uint r = 0; r < rounds; r++)
        at = table[at];
    out[get_global_id(0)] = at;
}
