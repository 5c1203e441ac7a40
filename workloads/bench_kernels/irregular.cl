/* Benchmarks whose addresses or branches depend on data. */

/* y = M x of a sparse matrix in ELLPACK format: `width` non-zeros a row, element k of row r at [k * rows + r]. */
kernel void sparse_gather(global const float *values, global const uint *places, global const float *x,
                          global float *y, uint rows, uint width)
{
    uint row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint k = 0; k < width; k++)
        sum += values[k * rows + row] * x[places[k * rows + row]];
    y[row] = sum;
}

/* Steps of the 3n + 1 sequence to 1: every lane runs both loops another number of times. */
kernel void collatz(global const uint *start, global uint *steps, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    uint value = start[i], count = 0;
    for (;;) {
        while ((value & 1) == 0) {
            value >>= 1;
            count++;
        }
        if (value == 1)
            break;
        value = 3 * value + 1;
        count++;
    }
    steps[i] = count;
}

/* Each work-item counts `rounds` keys into `bins`, by atomic additions in L2. */
kernel void histogram(global const uint *keys, global uint *bins, uint rounds)
{
    uint at = get_global_id(0), step = get_global_size(0);
    for (uint r = 0; r < rounds; r++) {
        atomic_inc((volatile global uint *)&bins[keys[at]]);
        at += step;
    }
}
