// OpenCL's built-in functions of AMD's device library: FP64, FP16, single precision, and functions of work-groups
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void doubles(global const double *x, global double *out, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    double v = x[i];
    uint k = 0;
#define PUT(e) out[k++ * n + i] = (e)
    PUT(floor(v));
    PUT(fabs(-v));
    PUT(sqrt(v));
    PUT(rsqrt(v));
    PUT(exp(v));
    PUT(log(v));
    PUT(sin(v));
    PUT(tan(v));
    PUT(pow(v, 1.5));
    PUT(fma(v, v, -v));
    PUT(atan2(v, 2.0));
    PUT(erf(v));
}

kernel void halves(global const half *x, global half *out, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    half v = x[i];
    out[i] = sqrt(v);
    out[n + i] = floor(v) + cos(v);
}

kernel void singles(global const float *x, global float *out, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    out[i] = exp(x[i]);
    out[n + i] = sin(x[i] * 1e5f);
    out[2 * n + i] = pow(x[i], 3.3f);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void groups(global const int *x, global int *out)
{
    int v = x[get_global_id(0)];
    int sum = work_group_reduce_add(v), before = work_group_scan_exclusive_add(v), most = work_group_reduce_max(v);
    out[3 * get_global_id(0)] = sum;
    out[3 * get_global_id(0) + 1] = before;
    out[3 * get_global_id(0) + 2] = most;
}
