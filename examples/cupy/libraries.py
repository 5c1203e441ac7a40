"""A matrix product by rocBLAS and a Fourier transform by rocFFT, through CuPy.

gpusim hip --host-pointers --root FOLDER -- FOLDER/env/bin/python examples/cupy/libraries.py
"""

import sys

import cupy
import numpy


def main(size: int = 256) -> None:
    """Compute both, and compare with NumPy."""
    draw = numpy.random.default_rng(56)
    a, b = draw.standard_normal((2, size, size)).astype("f4")
    signal = draw.standard_normal((16, 1024)).astype("c8")
    product = cupy.asarray(a) @ cupy.asarray(b)
    spectrum = cupy.fft.fft(cupy.asarray(signal))
    equal = numpy.allclose(cupy.asnumpy(product), a @ b, atol=1e-3)
    equal &= numpy.allclose(cupy.asnumpy(spectrum), numpy.fft.fft(signal), atol=1e-3)
    print("equal" if equal else "DIFFERENT")
    sys.exit(not equal)


if __name__ == "__main__":
    main()
