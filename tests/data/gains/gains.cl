// Pairs of kernels that do the same work: X has a fault that a finding names, X_mended the change that it proposes.
#define LOCAL __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM (GROUP * 256 + LOCAL)
#define BARRIER                                         \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                          \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#define KERNEL(name) \
    kernel void name(global float *restrict out, global const float *restrict in)
typedef float float4 __attribute__((ext_vector_type(4)));
typedef unsigned uint2 __attribute__((ext_vector_type(2)));

// a row for each work-item, and the transposed array
KERNEL(rows)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += in[ITEM * 80 + k];
    out[ITEM] = sum;
}
KERNEL(rows_mended)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += in[k * 16384 + ITEM];
    out[ITEM] = sum;
}

// rows a power of two apart, and padded by a line
KERNEL(power)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += in[ITEM * 256 + k];
    out[ITEM] = sum;
}
KERNEL(power_mended)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += in[ITEM * 272 + k];
    out[ITEM] = sum;
}

// columns of a tile in LDS, and of one whose rows are padded
#define TILE(name, pitch)                                                                          \
    KERNEL(name)                                                                                     \
    {                                                                                              \
        local float tile[64 * pitch];                                                              \
        for (int k = 0; k < 16; k++) tile[(k * 4 + LOCAL / 64) * pitch + (LOCAL & 63)] = in[ITEM]; \
        BARRIER;                                                                                   \
        float sum = 0.0f;                                                                          \
        for (int turn = 0; turn < 8; turn++)                                                       \
            for (int k = 0; k < 16; k++) sum += tile[(LOCAL & 63) * pitch + k * 4 + LOCAL / 64 ^ turn]; \
        out[ITEM] = sum;                                                                           \
    }
TILE(tile, 64)
TILE(tile_mended, 65)

// work that grows from lane to lane, and as much for each lane
#define WORK(name, number)                                          \
    KERNEL(name)                                                    \
    {                                                               \
        float x = in[ITEM];                                         \
        int turns = number;                                         \
        for (int k = 0; k < turns; k++) x = x * 1.5f + 0.25f;       \
        out[ITEM] = x;                                              \
    }
WORK(lanes, (LOCAL & 63) * 64)
WORK(lanes_mended, 2016 + ((int)in[ITEM] >> 20))

// work for a number of workgroups: 4 of them by 16 turns, 64 by one
#define TURNS(name, turns)                                                               \
    KERNEL(name)                                                                           \
    {                                                                                    \
        for (int turn = 0; turn < turns; turn++) {                                       \
            float x = in[ITEM * turns + turn * 256];                                     \
            for (int k = 0; k < 256; k++) x = x * 1.5f + 0.25f;                          \
            out[GROUP * 256 * turns + turn * 256 + LOCAL] = x;                           \
        }                                                                                \
    }
TURNS(groups, 16)
TURNS(groups_mended, 1)

// loads one after another for a number of workgroups: 36 of them by 16 turns, 576 by one
#define CHASES(name, turns)                                                                        \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        for (int turn = 0; turn < turns; turn++) {                                                 \
            int at = (GROUP * turns + turn) * 256 + LOCAL;                                         \
            float sum = 0.0f;                                                                      \
            _Pragma("unroll 1") for (int k = 0; k < 8; k++) sum += in[at + ((int)sum >> 20) + k]; \
            out[at] = sum;                                                                         \
        }                                                                                          \
    }
CHASES(grid, 16)
CHASES(grid_mended, 1)

// LDS for two workgroups a compute unit, and for as many as fit
#define RESIDENT(name, words)                                                                       \
    KERNEL(name)                                                                                      \
    {                                                                                               \
        local float tile[words];                                                                    \
        tile[LOCAL] = in[ITEM];                                                                     \
        BARRIER;                                                                                    \
        float sum = tile[LOCAL ^ 64];                                                               \
        _Pragma("unroll 1") for (int k = 0; k < 16; k++) sum += in[(ITEM + k * 4096 + ((int)sum >> 20)) & 0x3FFFF]; \
        out[ITEM] = sum;                                                                            \
    }
RESIDENT(resident, 8000)
RESIDENT(resident_mended, 256)

// atomics of all lanes on one word, and one of each workgroup
KERNEL(word)
{
    int value = (int)in[ITEM];  // the compiler would add within the wavefront, if it knew that all addresses are one
    __opencl_atomic_fetch_add((global atomic_int *)out + (value >> 20), value, __ATOMIC_RELAXED, 2);
}
KERNEL(word_mended)
{
    local int sums[256];
    sums[LOCAL] = (int)in[ITEM];
    for (int left = 128; left; left /= 2) {
        BARRIER;
        if (LOCAL < left) sums[LOCAL] += sums[LOCAL + left];
    }
    if (!LOCAL) __opencl_atomic_fetch_add((global atomic_int *)out, sums[0], __ATOMIC_RELAXED, 2);
}

// atomics of all lanes on few words of LDS, and on a copy of these for each lane of 32
#define BINS(name, copies, pitch)                                                                             \
    KERNEL(name)                                                                                                \
    {                                                                                                         \
        local int bins[4 * pitch];                                                                            \
        if (LOCAL < 4 * pitch) bins[LOCAL] = 0;                                                               \
        BARRIER;                                                                                              \
        for (int k = 0; k < 16; k++)                                                                          \
            __opencl_atomic_fetch_add((local atomic_int *)&bins[((int)in[ITEM] + k & 3) * pitch + LOCAL % copies], 1, \
                                      __ATOMIC_RELAXED, 1);                                                   \
        BARRIER;                                                                                              \
        if (LOCAL < 4) {                                                                                      \
            int sum = 0;                                                                                      \
            for (int c = 0; c < copies; c++) sum += bins[LOCAL * pitch + c];                                  \
            out[GROUP * 4 + LOCAL] = sum;                                                                     \
        }                                                                                                     \
    }
BINS(bins, 1, 1)
BINS(bins_mended, 32, 33)

// floats that are read and written, and half as many bytes
KERNEL(bytes) { ((global float4 *)out)[ITEM] = ((global const float4 *)in)[ITEM] + 1.0f; }
KERNEL(bytes_mended) { ((global uint2 *)out)[ITEM] = ((global const uint2 *)in)[ITEM] + 1; }

// a barrier in each step, and none, as each wavefront reads what it has written itself
#define STEPS(name, wait)                                                                 \
    KERNEL(name)                                                                            \
    {                                                                                     \
        local volatile float line[256];                                                   \
        float x = in[ITEM];                                                               \
        for (int k = 0; k < 64; k++) {                                                    \
            line[LOCAL] = x;                                                              \
            wait;                                                                         \
            x = x * 1.5f + line[LOCAL ^ 1];                                               \
            if ((LOCAL / 64 & 3) == (k & 3))                                              \
                for (int more = 0; more < 16; more++) x = x * 1.25f + 0.5f;               \
            wait;                                                                         \
        }                                                                                 \
        out[ITEM] = x;                                                                    \
    }
STEPS(steps, BARRIER)
STEPS(steps_mended, __asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory"))

// arithmetic of a loop with as much work of its own, and unrolled
KERNEL(loop)
{
    float a = in[ITEM], b = a, c = a, d = a;
#pragma unroll 1
    for (int k = 0; k < 256; k++) a += 1.0f, b += a;
    out[ITEM] = a + b + c + d;
}
KERNEL(loop_mended)
{
    float a = in[ITEM], b = a, c = a, d = a;
#pragma unroll 32
    for (int k = 0; k < 256; k++) a += 1.0f, b += a;
    out[ITEM] = a + b + c + d;
}
