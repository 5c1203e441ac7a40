"""Multiply a vector with each column of a matrix that is mostly zeros: dense, or by compacted lines of the engine.

gpusim hip --host-pointers --engine default --root FOLDER -- FOLDER/env/bin/python examples/cupy/sparse_region.py
"""

import sys

import cupy
import numpy
from gpusim_spartan import region

CODE = r"""
typedef unsigned pair __attribute__((ext_vector_type(2)));
extern "C" __global__ void dense(const float* b, const float* x, float* y, int rows) {
  float sum = 0;
  for (int k = threadIdx.x; k < rows; k += 64) sum += b[blockIdx.x * rows + k] * x[k];
  for (int d = 32; d; d /= 2) sum += __shfl_xor(sum, d);
  if (!threadIdx.x) y[blockIdx.x] = sum;
}
extern "C" __global__ void sparse(const float* b, const float* x, float* y, int rows) {
  const float* line = b + blockIdx.x * rows + threadIdx.x;
  float sum = 0;
  for (int last = 0; !last; line += 64) {
    pair got = __builtin_nontemporal_load((const pair*)line); // a bundle: FP16 value, row; the line's status
    sum += (float)__builtin_bit_cast(_Float16, (unsigned short)got.x) * x[got.x >> 16];
    last = __shfl((int)got.y, 63) & 1;
  }
  for (int d = 32; d; d /= 2) sum += __shfl_xor(sum, d);
  if (!threadIdx.x) y[blockIdx.x] = sum;
}
"""


def main(rows: int = 4096, columns: int = 256, zeros: float = 0.9) -> None:
    """Multiply, and compare with NumPy."""
    draw = numpy.random.default_rng(56)
    b = numpy.where(draw.random((rows, columns)) < zeros, 0, draw.integers(-8, 9, (rows, columns))).astype(
        "f4", order="F"
    )
    x = draw.integers(-8, 9, rows).astype("f4")
    matrix, vector, result = cupy.asarray(b, order="F"), cupy.asarray(x), cupy.empty(columns, "f4")
    with region(matrix) as served:
        kernel = cupy.RawKernel(CODE, "sparse" if served else "dense")
        kernel((columns,), (64,), (matrix, vector, result, numpy.int32(rows)))
    equal = bool((cupy.asnumpy(result) == x @ b).all())
    print(f"engine {'on' if served else 'off'}: {'equal' if equal else 'DIFFERENT'}")
    sys.exit(not equal)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
