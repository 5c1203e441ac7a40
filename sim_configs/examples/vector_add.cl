// c = a + b, compiled from the repository's root:
// clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -cl-kernel-arg-info -O3 -fno-ident
//          -include workloads/toolchain/opencl.h sim_configs/examples/vector_add.cl -o sim_configs/examples/vector_add.hsaco
kernel void vector_add(global const float *a, global const float *b, global float *c, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
