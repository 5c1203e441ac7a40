// Collatz steps of each element: every lane leaves the loop in its own iteration, nested branches
kernel void collatz(global const uint *in, global uint *out, uint limit)
{
    uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    uint v = in[i], steps = 0;
    while (v > 1 && steps < limit) {
        if (v & 1)
            v = 3 * v + 1;
        else if (v & 2)
            v >>= 1;
        else {
            v >>= 2;
            steps++;
        }
        steps++;
    }
    out[i] = steps;
}

// switch over the lane number
kernel void classes(global int *out)
{
    int i = __builtin_amdgcn_workitem_id_x();
    int r;
    switch (i % 7) {
    case 0: r = i * 3; break;
    case 1: r = -i; break;
    case 2: r = i * i; break;
    case 5: r = i / 3; break;
    default: r = i % 3 ? 1000 + i : 2000 - i;
    }
    out[i + __builtin_amdgcn_workgroup_id_x() * 64] = r;
}
