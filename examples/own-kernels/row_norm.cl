// y = (x - mean) / sqrt(variance + epsilon) of each row: one workgroup a row, sums by a tree in local memory
float sum_over_group(float value, local float *scratch)
{
    uint i = get_local_id(0);
    scratch[i] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (i < half_size)
            scratch[i] += scratch[i + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float sum = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

kernel void row_norm(global const float *x, global float *y, uint columns, float epsilon, local float *scratch)
{
    global const float *row = x + get_group_id(0) * columns;
    float sum = 0.0f, squares = 0.0f;
    for (uint c = get_local_id(0); c < columns; c += get_local_size(0))
        sum += row[c];
    float mean = sum_over_group(sum, scratch) / columns;
    for (uint c = get_local_id(0); c < columns; c += get_local_size(0))
        squares += (row[c] - mean) * (row[c] - mean);
    float scale = rsqrt(sum_over_group(squares, scratch) / columns + epsilon);
    for (uint c = get_local_id(0); c < columns; c += get_local_size(0))
        y[get_group_id(0) * columns + c] = (row[c] - mean) * scale;
}
