// c = a + b over a one-dimensional grid that need not be a multiple of the work-group size
kernel void vector_add(global const float *a, global const float *b, global float *c, uint n)
{
    uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        c[i] = a[i] + b[i];
}
