// The softmax of each row: one workgroup a row; sums go over the lanes by exchange, over the wavefronts by shared memory
#include <hip/hip_runtime.h>

template <unsigned GROUP, typename T, typename Combine> __device__ T over_group(T value, T *part, Combine combine)
{
    for (int lane = 32; lane > 0; lane /= 2)
        value = combine(value, __shfl_xor(value, lane));
    if (threadIdx.x % 64 == 0)
        part[threadIdx.x / 64] = value;
    __syncthreads();
    value = part[0];
    for (unsigned wave = 1; wave < GROUP / 64; wave++)
        value = combine(value, part[wave]);
    __syncthreads();
    return value;
}

template <typename T, unsigned GROUP> __global__ void softmax(const T *x, T *y, unsigned columns)
{
    __shared__ T part[GROUP / 64];
    const T *row = x + blockIdx.x * columns;
    T largest = row[0], sum = 0;
    for (unsigned c = threadIdx.x; c < columns; c += GROUP)
        largest = row[c] > largest ? row[c] : largest;
    largest = over_group<GROUP>(largest, part, [](T a, T b) { return a > b ? a : b; });
    for (unsigned c = threadIdx.x; c < columns; c += GROUP)
        sum += exp(row[c] - largest);
    sum = over_group<GROUP>(sum, part, [](T a, T b) { return a + b; });
    for (unsigned c = threadIdx.x; c < columns; c += GROUP)
        y[blockIdx.x * columns + c] = exp(row[c] - largest) / sum;
}

template __global__ void softmax<float, 64>(const float *, float *, unsigned);
template __global__ void softmax<float, 256>(const float *, float *, unsigned);
template __global__ void softmax<double, 256>(const double *, double *, unsigned);
