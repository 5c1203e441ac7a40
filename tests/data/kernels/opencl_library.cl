// the functions of workloads/toolchain/opencl.h, against NumPy
kernel void functions(global const float *x, global float *out, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    float v = x[i];
    uint k = 0;
#define PUT(e) out[k++ * n + i] = (e)
    PUT(sqrt(v));
    PUT(rsqrt(v));
    PUT(native_exp(v));
    PUT(log(v));
    PUT(native_powr(v, 1.5f));
    PUT(native_sin(v));
    PUT(native_cos(v));
    PUT(native_tan(0.2f * v) * native_recip(native_exp10(v)));
    PUT(floor(v));
    PUT(round(-v));
    PUT(fmin(v, 2.0f) + fmax(v, 3.0f));
    PUT(clamp(v, 1.0f, 2.0f));
    PUT(max(v, 2.5f) - min(v, 0.5f));
    PUT(fabs(-v) + sign(v - 2.0f) + step(2.0f, v));
    PUT(dot((float4)(v, 1.0f, 2.0f, v), (float4)(v, 3.0f, 4.0f, 1.0f)));
    PUT(mad(v, 2.0f, 1.0f) + fma(v, v, v) + mix(v, 3.0f, 0.5f));
    float4 w = native_exp((float4)(v, -v, 0.0f, 1.0f)) + clamp((float4)(v), 1.0f, 2.0f);
    PUT(w.x + w.y + w.z + w.w);
    PUT(native_divide(v, native_sqrt(v)) + native_rsqrt(v) + native_log2(v) + hypot(v, 1.0f));
    PUT(length(cross((float3)(v, 0.0f, 0.0f), (float3)(0.0f, 2.0f, 0.0f))) + distance((float2)(v, 1.0f), (float2)(0.0f, 1.0f)));
    PUT(isnan(sqrt(-v)) + 2 * isinf(v) + 4 * isfinite(v) + select(0.0f, 8.0f, v > 1.0f));
}

// elements moved four at a time, through bytes
kernel void conversions(global const float *x, global uchar *bytes, global int *out)
{
    uint i = get_global_id(0);
    float4 v = vload4(i, x + 1);
    vstore4(convert_uchar4(v), i, bytes + 1);
    vstore2(convert_int2(v.xz) * 2, i, out);
    bytes[0] = convert_uchar_sat(-3) + convert_uchar_sat(300.5f) + convert_uchar_sat(7);
    if (i == 0)
        out[2 * get_global_size(0)] = abs(mad24(-3, 5, convert_int_rte(2.5f))) + mul_hi(1u << 31, 6u) + max(i, 3);
}

// each work-item's place, and a few integer functions
kernel void places(global uint *out)
{
    uint at = get_global_linear_id() * 8;
    out[at] = get_global_id(0) | get_global_id(1) << 8 | get_global_id(2) << 16;
    out[at + 1] = get_local_id(0) | get_local_id(1) << 8 | get_group_id(0) << 16 | get_group_id(1) << 24;
    out[at + 2] = get_local_size(0) | get_local_size(1) << 8 | get_enqueued_local_size(0) << 16;
    out[at + 3] = get_global_size(0) | get_global_size(1) << 8 | get_global_size(2) << 16;
    out[at + 4] = get_num_groups(0) | get_num_groups(1) << 8 | get_work_dim() << 16;
    out[at + 5] = get_local_linear_id();
    out[at + 6] = popcount(at) | clz(at | 1) << 8 | rotate(1u, at & 31) << 16;
    out[at + 7] = mul_hi(at << 24, 1u << 20);
}

// a histogram by all the atomics' ways: local, global, and a maximum
kernel void atomics(global const uint *keys, global uint *bins, volatile global int *facts, uint n, local uint *own)
{
    for (uint b = get_local_id(0); b < 16; b += get_local_size(0))
        own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) < n) {
        uint key = keys[get_global_id(0)];
        atomic_inc(&own[key & 15]);
        atomic_max(&facts[0], (int)key);
        atomic_xor(&facts[1], (int)key);
        atomic_cmpxchg(&facts[2], -1, (int)key & 0);
        atomic_sub(&facts[3], 2);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = get_local_id(0); b < 16; b += get_local_size(0))
        atomic_add(&bins[b], own[b]);
}
