// workgroups that wait for one another, and private arrays that are accessed past their ends
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM __builtin_amdgcn_workitem_id_x()

// every workgroup waits for the next one's flag; the last one, which is begun last, sets the first
kernel void wait_for_the_next(volatile global uint *flags, global uint *out, uint groups)
{
    if (GROUP + 1 < groups)
        while (!__atomic_load_n(&flags[GROUP + 1], __ATOMIC_RELAXED))
            ;
    out[GROUP * 64 + ITEM] = GROUP + ITEM;
    __atomic_store_n(&flags[GROUP], 1u, __ATOMIC_RELAXED);
}

// steps with a barrier of the whole grid between them: each adds what the workgroup beside it had
kernel void grid_barrier(global uint *arrived, global uint *values, uint groups, uint steps)
{
    for (uint step = 0; step < steps; step++) {
        uint mine = values[(step & 1) * groups + GROUP], next = values[(step & 1) * groups + (GROUP + 1) % groups];
        if (ITEM == 0)
            values[(~step & 1) * groups + GROUP] = mine + next + 1;
        __builtin_amdgcn_s_barrier();
        if (ITEM == 0) {
            __atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED);
            while (__atomic_fetch_add(arrived, 0u, __ATOMIC_RELAXED) < groups * (step + 1))
                ;
        }
        __builtin_amdgcn_s_barrier();
    }
}

// a workgroup whose wavefronts all look for the flag again after each barrier
kernel void barrier_in_the_loop(volatile global uint *flag, global uint *out)
{
    local uint seen;
    if (GROUP == 1)
        __atomic_store_n(flag, 7u, __ATOMIC_RELAXED);
    uint found;
    do {
        if (ITEM == 0)
            seen = __atomic_load_n(flag, __ATOMIC_RELAXED);
        __builtin_amdgcn_s_barrier();
        found = seen;
        __builtin_amdgcn_s_barrier();
    } while (found == 0);
    out[GROUP * 128 + ITEM] = found;
}

// wavefront 0 waits for a word that wavefront 1 writes to LDS
kernel void wait_within(global uint *out)
{
    local volatile uint word;
    if (ITEM < 64) {
        while (word == 0)
            ;
        out[ITEM] = word;
    } else
        word = 5;
}

// stores to `at` of a private array of 16 dwords, bytes or pairs of dwords
kernel void private_dwords(global uint *out, uint at)
{
    uint item = GROUP * 128 + ITEM;
    volatile uint mine[16];
    for (uint k = 0; k < 16; k++)
        mine[k] = item;
    mine[ITEM == 70 ? at : 3] = 1;
    uint sum = 0;
    for (uint k = 0; k < 16; k++)
        sum += mine[k];
    out[item] = sum;
}

kernel void private_bytes(global uint *out, uint at)
{
    uint item = GROUP * 128 + ITEM;
    volatile uchar mine[64];
    for (uint k = 0; k < 64; k++)
        mine[k] = k;
    out[item] = mine[ITEM == 70 ? at : 3];
}

__attribute__((noinline)) static uint through(volatile uint *p, uint at) { return p[at] + p[0]; }

kernel void private_flat(global uint *out, uint at)
{
    uint item = GROUP * 128 + ITEM;
    volatile uint mine[16];
    for (uint k = 0; k < 16; k++)
        mine[k] = item;
    volatile uint *p = out[0] == 77 ? (volatile uint *)out : (volatile uint *)mine;
    out[item] = through(p, ITEM == 70 ? at : 3);
}

// sums of a private array that is not written before it is read
kernel void private_unwritten(global uint *out, uint at)
{
    volatile uint mine[16];
    uint before = mine[at & 15];
    mine[(at + ITEM) & 15] = ITEM + 1;
    mine[at & 15] = 9;
    out[GROUP * 128 + ITEM] = before;
}
