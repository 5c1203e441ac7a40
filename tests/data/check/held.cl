// Kernels in another hand than the corpus, written without running a check on any of them: two-dimensional tiles, floats,
// structures, bytes, queues. Thirty have a fault, marked as elsewhere; the others, `ok_...`, have none.
#include "kernels.h"

#define LANE (LOCAL & 63)
#define WAVE (LOCAL >> 6)
#define ADD_GLOBAL(p, v) __opencl_atomic_fetch_add((volatile global atomic_int *)(p), v, memory_order_relaxed, memory_scope_device)
#define ADD_LOCAL(p, v) __opencl_atomic_fetch_add((volatile local atomic_int *)(p), v, memory_order_relaxed, memory_scope_work_group)

typedef struct { float value; int place; } best_t;
typedef struct __attribute__((packed)) { char tag; int value; } packed_t;

// --- races in LDS

kernel void tile2d_transpose_no_sync(global float *out, global const float *in, int n)
{
    local float tile[16][16];
    const int row = LOCAL / 16, col = LOCAL % 16;
    if (n > 100) tile[row][col] = 0.0f; else tile[row][col] = in[ITEM];
    out[ITEM] = tile[col][row] * 2.0f; // race unwritten
}

kernel void double_buffer_wrong_phase(global int *out, global const int *in, int n)
{
    local int stage[2][256];
    int acc = 0;
    stage[0][LOCAL] = in[ITEM];
    stage[1][LOCAL] = 0;
    together();
    for (int turn = 0; turn < n; ++turn) {
        const int now = turn & 1;
        acc += stage[now][(LOCAL + 64) & 255];
        stage[now][LOCAL] = acc; // race
        together();
    }
    out[ITEM] = acc;
}

kernel void maximum_two_leaders(global int *out, global const int *in, int n)
{
    local int most;
    if (LOCAL % 64 == 0) most = in[ITEM] + LOCAL; // race
    together();
    out[ITEM] = most;
}

kernel void flag_by_all_but_different(global int *out, global const int *in, int n)
{
    local int any;
    if (LOCAL == 0) any = -1;
    together();
    if (in[ITEM] > 10) any = ITEM; // race
    together();
    out[GROUP] = any;
}

kernel void queue_without_atomic(global int *out, global const int *in, int n)
{
    local int items[256];
    local int count;
    if (LOCAL == 0) count = 0;
    items[LOCAL] = 0;
    together();
    if (in[ITEM] & 1) {
        const int at = count; // race
        items[at & 255] = in[ITEM];
        count = at + 1;
    }
    together();
    out[ITEM] = items[LOCAL];
}

kernel void reduction_last_wave_assumed(global int *out, global const int *in, int n)
{   // the last steps are left to one wavefront of 64, but begin at 128
    local volatile int part[256];
    part[LOCAL] = in[ITEM];
    together();
    if (LOCAL < 128) {
        part[LOCAL] += part[LOCAL + 128];
        part[LOCAL] += part[LOCAL + 64]; // race
    }
    together();
    out[ITEM] = part[0];
}

kernel void bytes_of_one_word(global uchar *out, global const uchar *in, int n)
{
    local uchar text[256];
    text[LOCAL] = in[ITEM];
    together();
    text[(LOCAL + 1) & 255] = (uchar)(text[LOCAL] + 1); // race
    together();
    out[ITEM] = text[LOCAL];
}

kernel void structure_half_protected(global int *out, global const int *in, int n)
{
    local best_t best[4];
    if (LANE == 0) { best[WAVE].value = (float)in[ITEM]; best[WAVE].place = ITEM; }
    together();
    if (LANE == 1 && WAVE < 3) best[WAVE + 1].place = best[WAVE].place + 1; // race
    together();
    out[ITEM] = best[WAVE].place;
}

// --- races in memory

kernel void neighbours_in_place(global float *out, global float *in, int n)
{
    const float left = ITEM ? in[ITEM - 1] : 0.0f;
    in[ITEM] = 0.5f * (left + in[ITEM]); // race
    out[ITEM] = left;
}

kernel void group_totals_plain(global int *out, global const int *in, int n)
{
    local int total;
    if (LOCAL == 0) total = 0;
    together();
    ADD_LOCAL(&total, in[ITEM]);
    together();
    if (LOCAL == 0) out[0] += total; // race
}

kernel void counter_read_plainly(global int *out, global const int *in, int n)
{
    ADD_GLOBAL(&out[7], 1);
    if (LOCAL == 0 && GROUP == 3) out[9] = out[7]; // race
}

kernel void scatter_collides(global int *out, global const int *in, int n)
{
    out[in[ITEM]] = ITEM; // race
}

kernel void halo_written_twice(global int *out, global const int *in, int n)
{   // each workgroup writes 257 places
    out[ITEM] = in[ITEM];
    if (LOCAL == 255) out[ITEM + 1] = -in[ITEM]; // race
}

kernel void hand_over_without_order(global volatile int *out, global const int *in, int n)
{   // a later workgroup reads what an earlier one left, and hopes that it came first
    out[ITEM] = in[ITEM] + 1;
    if (GROUP) out[ITEM + 4096] = out[ITEM - 256]; // race
}

// --- values never written

kernel void tile_border_left_out(global float *out, global const float *in, int n)
{
    local float tile[18][18];
    const int row = LOCAL / 16 + 1, col = LOCAL % 16 + 1;
    tile[row][col] = in[ITEM];
    together();
    out[ITEM] = tile[row - 1][col] + tile[row + 1][col]; // unwritten
}

kernel void half_of_the_histogram_cleared(global int *out, global const int *in, int n)
{
    local int bins[128];
    if (LOCAL < 64) bins[LOCAL] = 0;
    together();
    ADD_LOCAL(&bins[in[ITEM] % 128], 1);
    together();
    if (LOCAL < 128) out[GROUP * 128 + LOCAL] = bins[LOCAL]; // unwritten
}

kernel void private_table_gap(global int *out, global const int *in, int n)
{
    volatile int table[8];
    for (int k = 0; k < 8; ++k) if (k != 5) table[k] = k * in[ITEM];
    out[ITEM] = table[in[ITEM] & 7]; // unwritten
}

kernel void last_found_never_set(global int *out, global const int *in, int n)
{
    volatile int found[1];
    for (int k = 0; k < n; ++k)
        if (in[ITEM + k] == 1000) found[0] = k;
    out[ITEM] = found[0]; // unwritten
}

kernel void odd_lanes_have_no_value(global int *out, global const int *in, int n)
{
    local int left[256];
    if (!(LOCAL & 1)) left[LOCAL] = in[ITEM];
    together();
    if (left[LOCAL ^ 2] > n) out[ITEM] = 1; // unwritten
    else out[ITEM] = 2;
}

kernel void structure_without_its_place(global int *out, global const int *in, int n)
{
    local best_t seen[256];
    seen[LOCAL].value = in[ITEM];
    together();
    out[ITEM] = seen[255 - LOCAL].place; // unwritten
}

kernel void index_from_nowhere(global int *out, global const int *in, int n)
{
    local int permutation[256];
    if (LOCAL < 250) permutation[LOCAL] = 249 - LOCAL;
    together();
    out[ITEM] = in[permutation[LOCAL] & 255]; // unwritten
}

// --- barriers

kernel void early_way_out(global int *out, global const int *in, int n)
{
    if (LOCAL >= 200 - n) return;
    local int shared[256];
    shared[LOCAL] = in[ITEM];
    together(); // barrier
    out[ITEM] = shared[LOCAL];
}

kernel void barrier_in_a_branch(global int *out, global const int *in, int n)
{
    local int shared[256];
    shared[LOCAL] = in[ITEM];
    if (in[ITEM] % 3 == 0) together(); // barrier
    out[ITEM] = shared[LOCAL];
}

kernel void waves_turn_unequally_often(global int *out, global const int *in, int n)
{
    int sum = 0;
    for (int k = 0; k <= __builtin_amdgcn_readfirstlane(WAVE); ++k) {
        sum += in[ITEM] + k;
        __builtin_amdgcn_s_barrier(); // barrier
    }
    out[ITEM] = sum;
}

// --- addresses

kernel void dword_of_odd_bytes(global int *out, global const char *in, int n)
{
    out[ITEM] = *(global const volatile int *)(in + ITEM * 4 + 1); // misaligned
}

kernel void packed_member_as_int(global int *out, global packed_t *in, int n)
{
    global volatile int *value = (global volatile int *)((global char *)&in[ITEM] + 1);
    *value = ITEM; // misaligned
    out[ITEM] = n;
}

kernel void two_bytes_at_odd_place(global short *out, global const uchar *in, int n)
{
    out[ITEM] = *(global const volatile short *)(in + 2 * ITEM + 1); // misaligned
}

kernel void lds_one_row_too_many(global int *out, global const int *in, int n)
{
    local volatile int rows[4][64];
    for (int k = 0; k <= n; ++k)
        rows[k][LANE] = in[ITEM] - in[ITEM] + k; // fault
    out[ITEM] = rows[0][LANE];
}

kernel void far_behind_the_array(global int *out, global const int *in, int n)
{
    out[(ITEM + 1) * 65536] = in[ITEM]; // fault
}

kernel void private_index_too_large(global int *out, global const int *in, int n)
{
    volatile int slots[4];
    for (int k = 0; k < 4; ++k) slots[k] = k;
    slots[4096 * (n + in[ITEM] % 7)] = 1; // fault
    out[ITEM] = slots[1];
}

// --- without a fault

kernel void ok_tile2d(global float *out, global const float *in, int n)
{
    local float tile[16][17];
    const int row = LOCAL / 16, col = LOCAL % 16;
    tile[row][col] = in[ITEM];
    together();
    out[ITEM] = tile[col][row];
}

kernel void ok_queue(global int *out, global const int *in, int n)
{
    local int items[256];
    local int count;
    if (LOCAL == 0) count = 0;
    together();
    if (in[ITEM] & 1) items[ADD_LOCAL(&count, 1)] = in[ITEM];
    together();
    if (LOCAL < count) out[ITEM] = items[LOCAL];
}

kernel void ok_wave_reduction(global int *out, global const int *in, int n)
{
    local volatile int part[256];
    part[LOCAL] = in[ITEM];
    together();
    if (LOCAL < 128) part[LOCAL] += part[LOCAL + 128];
    together();
    if (LOCAL < 64) {
        part[LOCAL] += part[LOCAL + 64];
        for (int step = 32; step; step >>= 1)
            if (LOCAL < step) part[LOCAL] += part[LOCAL + step];
    }
    together();
    out[ITEM] = part[0];
}

kernel void ok_waves_with_their_own_lds(global int *out, global const int *in, int n)
{
    local volatile int own[4][64];
    own[WAVE][LANE] = in[ITEM];
    for (int k = 0; k < n; ++k) own[WAVE][63 - LANE] = own[WAVE][LANE] + 1;
    out[ITEM] = own[WAVE][LANE];
}

kernel void ok_halo(global int *out, global const int *in, int n)
{
    local int line[258];
    line[LOCAL + 1] = in[ITEM];
    if (LOCAL == 0) line[0] = ITEM ? in[ITEM - 1] : 0;
    if (LOCAL == 255) line[257] = in[ITEM + 1];
    together();
    out[ITEM] = line[LOCAL] - 2 * line[LOCAL + 1] + line[LOCAL + 2];
}

kernel void ok_early_way_out_of_waves(global int *out, global const int *in, int n)
{
    if (GROUP == 2) return;
    together();
    out[ITEM] = in[ITEM];
}

kernel void ok_bytes(global uchar *out, global const uchar *in, int n)
{
    local uchar text[256];
    text[LOCAL] = in[ITEM];
    together();
    out[ITEM] = text[(LOCAL * 7) & 255];
}

kernel void ok_private_table(global int *out, global const int *in, int n)
{
    int table[8];
    for (int k = 0; k < 8; ++k) table[k] = k * in[ITEM];
    out[ITEM] = table[in[ITEM] & 7];
}

kernel void ok_totals(global int *out, global const int *in, int n)
{
    local int total;
    if (LOCAL == 0) total = 0;
    together();
    ADD_LOCAL(&total, in[ITEM]);
    together();
    if (LOCAL == 0) ADD_GLOBAL(&out[0], total);
}

kernel void ok_structures(global int *out, global const int *in, int n)
{
    local best_t seen[256];
    seen[LOCAL].value = in[ITEM];
    seen[LOCAL].place = ITEM;
    together();
    const best_t mine = seen[255 - LOCAL];
    out[ITEM] = mine.place + (mine.value > 3.0f);
}
