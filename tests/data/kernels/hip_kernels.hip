// What HIP kernels are made of: templates, shared memory, lane exchange, atomics, FP64, a function that is called
#include <hip/hip_runtime.h>

template <typename T, unsigned GROUP> __global__ void scaled_sum(const T *in, T *out, T factor, unsigned n)
{
    __shared__ T part[GROUP / 64];
    T sum = 0;
    for (unsigned i = blockIdx.x * GROUP + threadIdx.x; i < n; i += gridDim.x * GROUP)
        sum += factor * in[i];
    for (int lane = 32; lane > 0; lane /= 2)
        sum += __shfl_xor(sum, lane);
    if (threadIdx.x % 64 == 0)
        part[threadIdx.x / 64] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned wave = 1; wave < GROUP / 64; wave++)
            sum += part[wave];
        out[blockIdx.x] = sum;
    }
}
template __global__ void scaled_sum<float, 256>(const float *, float *, float, unsigned);
template __global__ void scaled_sum<double, 128>(const double *, double *, double, unsigned);

__global__ void histogram(const unsigned *keys, unsigned *bins, unsigned n)
{
    extern __shared__ unsigned own[];
    for (unsigned k = threadIdx.x; k < 64; k += blockDim.x)
        own[k] = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&own[keys[i] % 64], 1u);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < 64; k += blockDim.x)
        if (own[k])
            atomicAdd(&bins[k], own[k]);
}

__device__ __noinline__ double shifted(double x, double by) { return sin(x + by) * exp(-x); }

namespace damped {
__global__ void waves(double *out, double by)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned at = y * gridDim.x * blockDim.x + x;
    out[at] = shifted(at * 0.01, by) + floor(123456789.123 + at);
}
}  // namespace damped
