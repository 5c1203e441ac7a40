#define RELAXED memory_order_relaxed, memory_scope_device
#define GROUP memory_order_relaxed, memory_scope_work_group

// histogram of bytes: LDS atomics, then global ones
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void histogram(global const uchar *in, volatile global atomic_uint *bins)
{
    local atomic_uint counts[256];
    uint x = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
    __opencl_atomic_init(&counts[x], 0);
    __opencl_atomic_init(&counts[x + 128], 0);
    __builtin_amdgcn_s_barrier();
    for (uint i = 0; i < 8; i++)
        __opencl_atomic_fetch_add(&counts[in[(g * 8 + i) * 128 + x]], 1, GROUP);
    __builtin_amdgcn_s_barrier();
    __opencl_atomic_fetch_add(&bins[x], __opencl_atomic_load(&counts[x], GROUP), RELAXED);
    __opencl_atomic_fetch_add(&bins[x + 128], __opencl_atomic_load(&counts[x + 128], GROUP), RELAXED);
}

// every kind of global atomic, one word each; out[lane] gets the old value where order cannot matter
kernel void all_atomics(volatile global atomic_int *w, volatile global atomic_uint *u, volatile global atomic_long *q,
                        global int *out)
{
    int i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
    __opencl_atomic_fetch_add(&w[0], i, RELAXED);
    __opencl_atomic_fetch_sub(&w[1], i, RELAXED);
    __opencl_atomic_fetch_min(&w[2], 5 - i, RELAXED);
    __opencl_atomic_fetch_max(&w[3], i - 5, RELAXED);
    __opencl_atomic_fetch_and(&w[4], ~(1 << (i & 15)), RELAXED);
    __opencl_atomic_fetch_or(&w[5], 1 << (i & 31), RELAXED);
    __opencl_atomic_fetch_xor(&w[6], i * 77, RELAXED);
    __opencl_atomic_fetch_min(&u[0], 0x80000000u + i, RELAXED);
    __opencl_atomic_fetch_max(&u[1], 0x80000000u - i, RELAXED);
    __opencl_atomic_fetch_add(&q[0], 0x100000000L * i + 1, RELAXED);
    __opencl_atomic_fetch_max(&q[1], -(long)i, RELAXED);
    out[i] = __opencl_atomic_exchange(&w[8 + i], i + 1, RELAXED);
    int expected = 2 * i;
    __opencl_atomic_compare_exchange_strong(&w[8 + i], &expected, -7, memory_order_relaxed, memory_order_relaxed,
                                            memory_scope_device);
}
