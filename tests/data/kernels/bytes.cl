// byte and short loads, stores and arithmetic
kernel void byte_mix(global const uchar *a, global const char *b, global const short *s, global uchar *out8,
                     global ushort *out16, global int *out32)
{
    int i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
    uchar x = a[i];
    char y = b[i];
    out8[i] = (uchar)(x * 3 + y) ^ (uchar)(x >> 3);
    out16[i] = (ushort)(s[i] + x) << 1 | (y & 1);
    out32[i] = (int)y * s[i] - x;
}

// unaligned multi-byte access: 4 bytes at any address
kernel void unaligned(global const uchar *a, global uchar *out)
{
    int i = __builtin_amdgcn_workitem_id_x();
    typedef uint __attribute__((aligned(1))) any_uint;
    *(global any_uint *)(out + 5 * i + 1) = *(global const any_uint *)(a + 5 * i + 3);
}
