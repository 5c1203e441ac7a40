"""Triton's kernels on the simulated GPU: a sum, a softmax and matrix products, compiled by Triton as it is.

    pip install triton numpy
    gpusim hip --gpu mi50 -- python tests/vendor/triton_kernels.py        # mi100, mi210: by matrix instructions
    gpusim hip --gpu mi210 --set architecture=gfx942 --timing off -- python tests/vendor/triton_kernels.py

Prints each kernel's largest error against NumPy in FP64, and ends with 1 if one is too large. Triton asks PyTorch for
the device and the stream; there is no PyTorch for these GPUs here, so that a driver of a few lines answers, and arrays
are the HIP runtime's memory. Triton has no code for gfx803, and knows gfx906.
"""

import ctypes
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils

HIP = ctypes.CDLL("libamdhip64.so", mode=ctypes.RTLD_GLOBAL)


def check_status(status: int) -> None:
    """Raise RuntimeError unless a function of HIP succeeded."""
    if status:
        raise RuntimeError(f"HIP error {status}")


class Driver(HIPDriver):
    """Triton's own driver for AMD's GPUs, with the first device and its default stream."""

    def __init__(self) -> None:
        self.utils, self.launcher_cls = HIPUtils(), HIPLauncher  # the base's asks PyTorch

    def get_current_device(self) -> int:
        """Return the device's number."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Keep the only device."""

    def get_current_stream(self, device: int) -> int:
        """Return the default stream's handle."""
        return 0


class Array:
    """A NumPy array's copy in the GPU's memory, as Triton wants a tensor to be: a type and an address."""

    def __init__(self, values: np.ndarray) -> None:
        self.shape, self._numpy = values.shape, values.dtype
        self.dtype = tl.float16 if values.dtype == np.float16 else tl.float32
        self._address = ctypes.c_void_p()
        self._bytes = ctypes.c_size_t(values.nbytes)
        check_status(HIP.hipMalloc(ctypes.byref(self._address), self._bytes))
        check_status(
            HIP.hipMemcpy(self._address, np.ascontiguousarray(values).ctypes.data_as(ctypes.c_void_p), self._bytes, 1)
        )

    def data_ptr(self) -> int:
        """Return the address."""
        return self._address.value or 0

    def numpy(self) -> np.ndarray:
        """Return a copy of the values."""
        values = np.empty(self.shape, self._numpy)
        check_status(HIP.hipMemcpy(values.ctypes.data_as(ctypes.c_void_p), self._address, self._bytes, 2))
        return values


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    """Add two vectors of n numbers."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    there = at < n
    tl.store(out + at, tl.load(x + at, mask=there) + tl.load(y + at, mask=there), mask=there)


@triton.jit
def softmax(x, out, columns, block: tl.constexpr):
    """Make each row's softmax, a program a row."""
    row, at = tl.program_id(0), tl.arange(0, block)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def product(a, b, c, n, k, tile: tl.constexpr, depth: tl.constexpr):
    """Multiply a [m, k] and b [k, n], a tile of c a program."""
    rows = tl.program_id(0) * tile + tl.arange(0, tile)
    columns = tl.program_id(1) * tile + tl.arange(0, tile)
    total = tl.zeros((tile, tile), tl.float32)
    for first in range(0, k, depth):
        within = first + tl.arange(0, depth)
        left = tl.load(a + rows[:, None] * k + within[None, :])
        right = tl.load(b + within[:, None] * n + columns[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total)


def main() -> int:
    """Run them, and compare."""
    triton.runtime.driver.set_active(Driver())
    random = np.random.default_rng(0)

    def made(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    x, y, rows, a, b = made(5000), made(5000), made(16, 300), made(128, 96), made(96, 64)
    half_a, half_b = a.astype(np.float16), b.astype(np.float16)
    sums, shares = Array(np.zeros_like(x)), Array(np.zeros_like(rows))
    products, of_halves = (Array(np.zeros((128, 64), np.float32)) for _ in range(2))
    add[(5,)](Array(x), Array(y), sums, 5000, block=1024)
    softmax[(16,)](Array(rows), shares, 300, block=512)
    product[(4, 2)](Array(a), Array(b), products, 64, 96, tile=32, depth=16)
    product[(4, 2)](Array(half_a), Array(half_b), of_halves, 64, 96, tile=32, depth=16)
    powers = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    expected = {
        "add": (sums, x + y),
        "softmax": (shares, powers / powers.sum(axis=1, keepdims=True)),
        "product": (products, a.astype(np.float64) @ b.astype(np.float64)),
        "product of halves": (of_halves, half_a.astype(np.float64) @ half_b.astype(np.float64)),
    }
    errors = {name: float(np.abs(found.numpy() - right).max()) for name, (found, right) in expected.items()}
    for name, error in errors.items():
        print(f"{name}: error {error:.1e}")
    return int(max(errors.values()) > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
