// a private array indexed by data lives in scratch memory
kernel void private_table(global const uint *in, global uint *out, uint n)
{
    uint i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
    uint table[40];
    for (uint k = 0; k < 40; k++)
        table[k] = in[(i + k) % n] * k;
    uint sum = 0;
    for (uint k = 0; k < 40; k++) {
        uint at = in[(i * 7 + k) % n] % 40;
        table[at] += k;
        sum = sum * 31 + table[(at + 13) % 40];
    }
    out[i] = sum;
}

__attribute__((noinline)) static uint pick(const uint *p, uint at) { return p[at] + p[0]; }

// the same pointer is to private memory, LDS or global memory by lane: flat addressing
kernel void generic_pointer(global uint *g, global uint *out)
{
    local uint shared[64];
    uint i = __builtin_amdgcn_workitem_id_x();
    uint mine[8];
    for (uint k = 0; k < 8; k++)
        mine[k] = g[(i + k) % 64] + 1000;
    shared[i] = g[i] + 100;
    __builtin_amdgcn_s_barrier();
    const uint *p = i % 3 == 0 ? (const uint *)mine : i % 3 == 1 ? (const uint *)shared : (const uint *)g;
    out[i] = pick(p, i % 8);
}
