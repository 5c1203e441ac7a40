// one marked load a lane: value and "last line of the column"
typedef uint uint2_t __attribute__((ext_vector_type(2)));
kernel void sparse_read(global const uint *b, global uint2_t *out)
{
    uint i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
    out[i] = __builtin_nontemporal_load((global const uint2_t *)(b + i));
}
