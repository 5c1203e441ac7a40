"""Sum each column of a matrix by two kernels of your own: rows of a wavefront far apart, then next to each other.

gpusim hip --host-pointers --root FOLDER -- FOLDER/env/bin/python examples/cupy/coalesced.py
"""

import sys

import cupy
import numpy

CODE = r"""
extern "C" __global__ void scattered(const float* a, float* sums, int rows, int columns) {
  int row = threadIdx.x; // neighbours read addresses that are a row apart
  for (int column = blockIdx.x; column < columns; column += gridDim.x)
    for (int k = row; k < rows; k += blockDim.x) atomicAdd(sums + column, a[k * columns + column]);
}
extern "C" __global__ void coalesced(const float* a, float* sums, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x; // neighbours read neighbours
  float sum = 0;
  for (int k = blockIdx.y; k < rows; k += gridDim.y) sum += a[k * columns + column];
  atomicAdd(sums + column, sum);
}
"""


def main(rows: int = 512, columns: int = 512) -> None:
    """Run both kernels, and compare with NumPy."""
    host = numpy.random.default_rng(56).integers(-8, 9, (rows, columns)).astype("f4")
    matrix, sums, more = cupy.asarray(host), cupy.zeros(columns, "f4"), cupy.zeros(columns, "f4")
    sizes = (numpy.int32(rows), numpy.int32(columns))
    module = cupy.RawModule(code=CODE)
    module.get_function("scattered")((columns,), (256,), (matrix, sums, *sizes))
    module.get_function("coalesced")((columns // 64, 32), (64,), (matrix, more, *sizes))
    equal = all(bool((cupy.asnumpy(result) == host.sum(axis=0)).all()) for result in (sums, more))
    print("equal" if equal else "DIFFERENT")
    sys.exit(not equal)


if __name__ == "__main__":
    main()
