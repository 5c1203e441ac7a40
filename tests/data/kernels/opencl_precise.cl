// double, half and integers through workloads/toolchain/opencl.h, against NumPy
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define PUT(e) out[k++ * n + i] = (e)

kernel void doubles(global const double *x, global const double *y, global double *out, uint n)
{
    uint i = get_global_id(0), k = 0;
    if (i >= n)
        return;
    double v = x[i], w = y[i];
    PUT(floor(v));
    PUT(ceil(v));
    PUT(trunc(v));
    PUT(rint(v));
    PUT(round(v));
    PUT(fabs(v));
    PUT(sign(v));
    PUT(sqrt(v));
    PUT(fmin(v, w));
    PUT(fmax(v, w));
    PUT(copysign(v, w));
    PUT(step(v, w));
    PUT(fma(v, w, -v));
    PUT(mad(v, 2.0, w));
    PUT(mix(v, w, 0.25));
    PUT(max(v, w) - min(v, w));
    PUT(clamp(v, -1.0, 1.0));
    PUT(isnan(v) + 2 * isinf(v) + 4 * isfinite(v));
    PUT(select(v, w, (long)(v < w)));
    double2 both = sqrt((double2)(fabs(v), fabs(w)));
    PUT(both.x + both.y);
    PUT(convert_int_rte(clamp(v, -1e9, 1e9)));
    vstore2((double2)(v, w), i, out + k * n);
}

kernel void halves(global const half *x, global const half *y, global half *out, uint n)
{
    uint i = get_global_id(0), k = 0;
    if (i >= n)
        return;
    half v = x[i], w = y[i];
    PUT(floor(v));
    PUT(rint(v));
    PUT(fabs(v));
    PUT(sqrt(v));
    PUT(fmin(v, w));
    PUT(fma(v, w, (half)1));
    PUT(exp2(v));
    PUT(log(v));
    PUT(hypot(v, w));
    PUT(isnan(v) + 2 * isinf(v) + 4 * isfinite(v));
}

kernel void integers(global const ulong *x, global const ulong *y, global ulong *out, uint n)
{
    uint i = get_global_id(0), k = 0;
    if (i >= n)
        return;
    ulong v = x[i], w = y[i];
#define OF(type, utype)                                                                                                \
    PUT((ulong)(utype)abs((type)v));                                                                                   \
    PUT((ulong)(utype)popcount((type)v));                                                                              \
    PUT((ulong)(utype)clz((type)v));                                                                                   \
    PUT((ulong)(utype)rotate((type)v, (type)w));                                                                       \
    PUT((ulong)(utype)mul_hi((type)v, (type)w));
    OF(char, uchar) OF(uchar, uchar) OF(short, ushort) OF(ushort, ushort)
    OF(int, uint) OF(uint, uint) OF(long, ulong) OF(ulong, ulong)
}
