// sum of 256 elements a work-group through LDS, then one atomic to the total
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void reduce_sum(global const int *in, global int *sums, volatile global atomic_int *total)
{
    local int part[256];
    uint x = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
    part[x] = in[g * 256 + x];
    for (uint s = 128; s > 0; s >>= 1) {
        __builtin_amdgcn_s_barrier();
        if (x < s)
            part[x] += part[x + s];
    }
    if (x == 0) {
        sums[g] = part[0];
        __opencl_atomic_fetch_add(total, part[0], memory_order_relaxed, memory_scope_device);
    }
}
