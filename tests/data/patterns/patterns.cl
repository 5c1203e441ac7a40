// Kernels each with one fault of access, and one without: what a report says of them is tested.
// clang-19 -g -fdebug-compilation-dir=. -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O3 -nogpulib
//   -cl-kernel-arg-info patterns.cl -o patterns.hsaco
#define ITEM (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())
#define LOCAL __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

kernel void plain(global float *restrict out, global const float *restrict in)
{
    out[ITEM] = 2.0f * in[ITEM];
}

kernel void gemv(global float *restrict out, global const float *restrict a)
{
    float sum = 0.0f;
    for (int k = 0; k < 64; k++)
        sum += a[ITEM * 1024 + k]; // gemv
    out[ITEM] = sum;
}

kernel void strided(global float *restrict out, global const float *restrict in)
{
    out[ITEM * 8] = in[ITEM]; // strided
}

kernel void transpose(global float *restrict out, global const float *restrict in)
{
    local float tile[64 * 64];
    for (int k = 0; k < 16; k++)
        tile[k * 256 + LOCAL] = in[GROUP * 4096 + k * 256 + LOCAL];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (int k = 0; k < 16; k++)
        out[GROUP * 4096 + k * 256 + LOCAL] = tile[(LOCAL & 63) * 64 + k * 4 + LOCAL / 64]; // transpose
}

kernel void divergent(global float *restrict out, global const float *restrict in)
{
    float x = in[ITEM];
    int times = LOCAL & 63;
    for (int k = 0; k < times * times; k++) x = x * 1.5f + 0.25f; // divergent
    out[ITEM] = x;
}

kernel void partial(global char *restrict out, global const float *restrict in)
{
    if ((LOCAL & 63) < 20)
        out[GROUP * 256 + LOCAL] = (char)in[ITEM]; // partial
}
