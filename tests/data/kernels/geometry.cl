// what a work-item knows of its place, in three dimensions
kernel void place(global uint *out, uint nx, uint ny)
{
    uint lx = __builtin_amdgcn_workitem_id_x(), ly = __builtin_amdgcn_workitem_id_y();
    uint lz = __builtin_amdgcn_workitem_id_z();
    const constant ushort *packet = (const constant ushort *)__builtin_amdgcn_dispatch_ptr();
    uint x = __builtin_amdgcn_workgroup_id_x() * packet[2] + lx;
    uint y = __builtin_amdgcn_workgroup_id_y() * packet[3] + ly;
    uint z = __builtin_amdgcn_workgroup_id_z() * packet[4] + lz;
    out[x + nx * (y + ny * z)] = lx | ly << 8 | lz << 16 | __builtin_amdgcn_workgroup_id_x() << 24;
}

// many kernel-wide constants and a table in read-only data, with a real function call
constant uint primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__attribute__((noinline)) static uint power(uint base, uint exponent)
{
    uint r = 1;
    while (exponent--)
        r *= base;
    return r;
}
kernel void calls(global uint *out)
{
    uint i = __builtin_amdgcn_workitem_id_x();
    out[i] = power(primes[i & 15], i & 7);
}

// cross-lane operations
kernel void lanes(global const int *in, global int *out)
{
    int i = __builtin_amdgcn_workitem_id_x();
    int v = in[i];
    out[i] = __builtin_amdgcn_ds_bpermute(4 * ((i * 5) & 63), v);
    out[64 + i] = __builtin_amdgcn_ds_permute(4 * (63 - i), v);
    out[128 + i] = __builtin_amdgcn_ds_swizzle(v, 0x041F);
    out[192 + i] = __builtin_amdgcn_readlane(v, 17) + __builtin_amdgcn_readfirstlane(v);
    out[256 + i] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, 0);
    out[320 + i] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

// out of range, endless, and friends
kernel void bad_store(global int *out, uint at)
{
    if (__builtin_amdgcn_workitem_id_x() == 9)
        out[at] = 1;
}
kernel void bad_lds(global int *out, uint at)
{
    local int a[64];
    a[__builtin_amdgcn_workitem_id_x()] = 1;
    __builtin_amdgcn_s_barrier();
    out[__builtin_amdgcn_workitem_id_x()] = a[at];
}
kernel void endless(volatile global int *out)
{
    while (out[0] == 0)
        ;
}
