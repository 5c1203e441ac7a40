// Atomics and exchanges, whose faults are named by test_access_patterns.py: do not move lines. Built by clang-15 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -O1 -fno-ident -cl-kernel-arg-info -gdwarf-5 (ld.lld-19)
#define ADD(word) __opencl_atomic_fetch_add((volatile atomic_int *)(word), 1, memory_order_relaxed, memory_scope_device)

kernel void contended(global int *out) {
    ADD(out); // contended
}

kernel void spread(global int *out) {
    ADD(out + __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()); // spread
}

kernel void exchanged(global int *out) {
    int lane = __builtin_amdgcn_workitem_id_x(), value = lane;
    for (int k = 0; k < 64; k++)
        value += __builtin_amdgcn_ds_bpermute(value << 2, lane); // exchanged
    out[__builtin_amdgcn_workgroup_id_x() * 64 + lane] = value;
}
