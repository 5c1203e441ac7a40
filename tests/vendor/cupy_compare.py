"""Thirteen uses of CuPy, each compared with NumPy: run by `gpusim hip`, it prints a line for each and counts them.

    gpusim hip --timing off --root FOLDER -- FOLDER/env/bin/python tests/vendor/cupy_compare.py [NAME...]

A use that raises is reported with its error, and the program ends with 1 unless all are equal.
"""

import sys
import traceback
from collections.abc import Callable
from typing import Any

import cupy
import cupyx.scipy.sparse
import numpy

ADD = r"""extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}"""
Pair = tuple[Any, Any]


def values(shape: Any, seed: int = 56, dtype: Any = numpy.float32) -> numpy.ndarray:
    """Return normally distributed values of the host."""
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def elementwise() -> Pair:
    """Return CuPy's and NumPy's result of a fused expression and a broadcast."""
    a, b = values((100, 33)), values(33, 57)
    return cupy.sin(cupy.asarray(a)) * cupy.asarray(b) + 2, numpy.sin(a) * b + 2


def elementwise_kernel() -> Pair:
    """Return those of an `ElementwiseKernel`."""
    a, b = values(1000), values(1000, 57)
    kernel = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared")
    return kernel(cupy.asarray(a), cupy.asarray(b)), (a - b) ** 2


def raw_kernel() -> Pair:
    """Return those of a `RawKernel` in HIP C++."""
    a, b = values(1000), values(1000, 57)
    result = cupy.zeros(1000, cupy.float32)
    cupy.RawKernel(ADD, "add")((4,), (256,), (cupy.asarray(a), cupy.asarray(b), result, numpy.int32(1000)))
    return result, a + b


def reduction() -> Pair:
    """Return those of sums along an axis, a mean and the place of a maximum."""
    a = values((64, 100), dtype=numpy.float64)
    on_gpu = cupy.asarray(a)
    results = [on_gpu.sum(axis=0), on_gpu.mean(axis=1), cupy.asarray([on_gpu.argmax()])]
    return cupy.concatenate(results), numpy.concatenate([a.sum(axis=0), a.mean(axis=1), [a.argmax()]])


def scan() -> Pair:
    """Return those of a prefix sum."""
    a = numpy.random.default_rng(56).integers(0, 100, 5000)
    return cupy.cumsum(cupy.asarray(a)), numpy.cumsum(a)


def matmul() -> Pair:
    """Return those of a product (rocBLAS)."""
    a, b = values((100, 60)), values((60, 70), 57)
    return cupy.asarray(a) @ cupy.asarray(b), a @ b


def sort() -> Pair:
    """Return those of a sort (rocPRIM)."""
    a = values(5000)
    return cupy.sort(cupy.asarray(a)), numpy.sort(a)


def unique() -> Pair:
    """Return those of distinct values."""
    a = numpy.random.default_rng(56).integers(0, 300, 2000)
    return cupy.unique(cupy.asarray(a)), numpy.unique(a)


def fft() -> Pair:
    """Return those of a transform of planes (rocFFT, whose kernels are compiled as it runs)."""
    a = values((4, 16, 32), dtype=numpy.float64)
    return cupy.fft.fft2(cupy.asarray(a)), numpy.fft.fft2(a)


def solve() -> Pair:
    """Return those of a system of equations (rocSOLVER)."""
    a, b = values((40, 40), dtype=numpy.float64), values(40, 57, numpy.float64)
    return cupy.linalg.solve(cupy.asarray(a), cupy.asarray(b)), numpy.linalg.solve(a, b)


def svd() -> Pair:
    """Return those of singular values (rocSOLVER)."""
    a = values((24, 16), dtype=numpy.float64)
    return cupy.linalg.svd(cupy.asarray(a), compute_uv=False), numpy.linalg.svd(a, compute_uv=False)


def random() -> Pair:
    """Return the mean and deviation of random numbers (rocRAND), rounded, and what they have to be."""
    a = cupy.random.RandomState(56).standard_normal(20000)
    return cupy.asarray([a.mean(), a.std()]).round(1), numpy.array([0.0, 1.0])


def sparse() -> Pair:
    """Return those of a sparse matrix times a vector (rocSPARSE)."""
    a, b = values((60, 50), dtype=numpy.float64), values(50, 57, numpy.float64)
    a[abs(a) < 1] = 0
    return cupyx.scipy.sparse.csr_matrix(cupy.asarray(a)) @ cupy.asarray(b), a @ b


USES: dict[str, Callable[[], Pair]] = {
    use.__name__: use
    for use in (elementwise, elementwise_kernel, raw_kernel, reduction, scan, matmul, sort, unique, fft, solve, svd)
} | {"random": random, "sparse": sparse}


def main() -> None:
    """Run the named uses, or all, and print what each came to."""
    names = sys.argv[1:] or list(USES)
    equal = 0
    for name in names:
        try:
            result, expected = USES[name]()
            result = cupy.asnumpy(result)
            same = result.shape == expected.shape and numpy.allclose(result, expected, rtol=1e-4, atol=1e-4)
            word = "equal" if same else "DIFFERENT"
        except Exception as error:
            traceback.print_exc()
            same, word = False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        equal += same
        print(f"{name}: {word}", flush=True)
    print(f"{equal} of {len(names)} equal")
    sys.exit(equal < len(names))


if __name__ == "__main__":
    main()
