/* Kernels whose workgroups cost differently for where they access, not only for how much they do.
 *
 * `plan` has four words for each workgroup: repetitions, step, mask and offset. What they mean is a kernel's own.
 */

/* Arithmetic between accesses: `more` steps of it. */
float busy(float value, uint more)
{
    for (uint k = 0; k < more; k++)
        value = value * 0.875f + 1.0f;
    return value;
}

/* Elements whose places are in a list: the list is read in order, the elements wherever it says. */
kernel void gathered(global const uint4 *plan, global const uint *list, global const float *x, global float *y,
                     uint elements, uint more)
{
    uint4 own = plan[get_group_id(0)];
    uint at = get_global_id(0);
    float sum = 0.0f;
    for (uint k = 0; k < own.x; k++)
        sum = busy(sum + x[list[(at + k * 8192) & (elements - 1)]], more);
    y[at] = sum;
}

/* Elements `step` apart in a window of `mask` + 1 elements that begins at `offset`. */
kernel void strided(global const uint4 *plan, global const float *x, global float *y, uint more)
{
    uint4 own = plan[get_group_id(0)];
    uint at = get_global_id(0);
    float sum = 0.0f;
    for (uint k = 0; k < own.x; k++)
        sum = busy(sum + x[own.w + (((at + k * 8192) * own.y) & own.z)], more);
    y[at] = sum;
}

/* The same in LDS: lanes meet in its banks by `step`. */
kernel void banked(global const uint4 *plan, global float *y, uint more)
{
    local float tile[2048];
    uint4 own = plan[get_group_id(0)];
    uint lane = get_local_id(0);
    for (uint k = lane; k < 2048; k += get_local_size(0))
        tile[k] = (float)k;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (uint k = 0; k < own.x; k++)
        sum = busy(sum + tile[(lane * own.y + k) & 2047], more);
    y[get_global_id(0)] = sum;
}

/* Atomic additions to the words of a window. */
kernel void counted(global const uint4 *plan, global uint *bins, uint more)
{
    uint4 own = plan[get_group_id(0)];
    uint at = get_global_id(0);
    float sum = 1.0f;
    for (uint k = 0; k < own.x; k++) {
        sum = busy(sum, more);
        atomic_add((volatile global uint *)&bins[own.w + (((at + k * 8192) * own.y) & own.z)], sum > 0.0f ? 1u : 2u);
    }
}

/* A list that is followed: each element says where the next one is, from a place of the work-item's own. */
kernel void chased(global const uint4 *plan, global const uint *next, global uint *y, uint more)
{
    uint4 own = plan[get_group_id(0)];
    uint at = own.w + (get_global_id(0) & own.z);
    float sum = 0.0f;
    for (uint k = 0; k < own.x; k++) {
        at = next[at];
        sum = busy(sum, more);
    }
    y[get_global_id(0)] = at + (uint)sum;
}

/* Values decide which of two things is done: arithmetic, or loads of elements far apart. */
kernel void decided(global const uint4 *plan, global const uint *kind, global const float *x, global float *y,
                    uint elements, uint more)
{
    uint4 own = plan[get_group_id(0)];
    uint at = get_global_id(0);
    float sum = 0.0f;
    for (uint k = 0; k < own.x; k++) {
        if (kind[(at >> 6) + k] & own.y)
            sum += x[((at + k) * 4099) & (elements - 1)];
        else
            sum = busy(sum, more);
    }
    y[at] = sum;
}
