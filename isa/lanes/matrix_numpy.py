"""Matrix products in NumPy, for runs with the JIT disabled: the twin of `isa.lanes.matrix_text`."""

from collections.abc import Callable

import numpy as np

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.matrix import FP8_FORMATS, SPARSE_GROUP, MatrixProduct
from isa.lanes.numpy_backend import NumpyBackend, load_row

_TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def _numbers(product: MatrixProduct, matrix: str, address: int) -> np.ndarray:
    """Return the elements of A or B, in the type of the sums: [elements, lanes]."""
    registers = int(product.signature.sources["ab".index(matrix)].partition("x")[2])
    words = np.stack([load_row(address + r * ROW_BYTES).copy() for r in range(registers)])
    kind = product.kind_of(matrix)
    if kind == "f32":
        return words.view(np.float32)
    if kind == "f64":
        return np.ascontiguousarray(words.T).view(np.float64).T
    if kind == "i8":
        return np.ascontiguousarray(words.T).view(np.int8).T.astype(np.int32)
    if kind in FP8_FORMATS:
        return _eighths(np.ascontiguousarray(words.T).view(np.uint8).T, *FP8_FORMATS[kind])
    halves = np.ascontiguousarray(words.T).view(np.uint16).T
    if kind == "bf16":
        return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if product.flushes:
        halves = np.where(halves & 0x7C00, halves, halves & 0x8000)
    return halves.astype(np.uint16).view(np.float16).astype(np.float32)


def _eighths(codes: np.ndarray, mantissa: int, bias: int) -> np.ndarray:
    """Return the numbers that bytes mean with a mantissa of so many bits and this bias."""
    exponent, fraction = (codes & 0x7F) >> mantissa, (codes & ((1 << mantissa) - 1)) / (1 << mantissa)
    size = np.where(exponent, 1 + fraction, fraction) * 2.0 ** (np.maximum(exponent, 1).astype(np.int64) - bias)
    return np.where(codes == 0x80, np.nan, np.where(codes >> 7, -size, size)).astype(np.float32)


def matrix_callable(product: MatrixProduct) -> Callable[..., int]:
    """Return a Python function of the product with the ABI of a vector operation."""
    kind = product.sum_kind
    dwords = 2 if kind == "f64" else 1

    def run(d: int, a: int, b: int, c: int, exec_mask: int, mask_in: int) -> int:
        x = NumpyBackend(LANES)
        x.flush_inputs = x.flush_results = product.flushes
        left, right = _numbers(product, "a", int(a)), _numbers(product, "b", int(b))
        chosen, added = (load_row(int(c)).copy(), d) if product.sparse else (None, c)
        for register in range(product.results):
            rows = [load_row(int(added) + (register * dwords + part) * ROW_BYTES).copy() for part in range(dwords)]
            sums = np.ascontiguousarray(np.stack(rows, axis=1)).view(_TYPES[kind]).ravel()
            for k in range(product.k // 2 if product.sparse else product.k):
                element, a_lanes, b_lanes = product.sources(k)
                at = np.full(LANES, element)
                if chosen is not None:
                    at = element // 2 * SPARSE_GROUP + (chosen[a_lanes[register]] >> 2 * element & 3)
                factors = left[element][a_lanes[register]], right[at, b_lanes[register]]
                with np.errstate(all="ignore"):
                    if kind == "i32":
                        sums = sums + factors[0] * factors[1]
                    else:
                        sums = x.fused(kind, *factors, sums)
            words = np.ascontiguousarray(sums).view(np.uint32).reshape(LANES, dwords)
            for part in range(dwords):
                load_row(int(d) + (register * dwords + part) * ROW_BYTES)[:] = words[:, part]
        return 0

    return run
