"""Matrix products in NumPy, for runs with the JIT disabled: the twin of `isa.lanes.matrix_text`."""

from collections.abc import Callable

import numpy as np

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.matrix import MatrixProduct
from isa.lanes.numpy_backend import NumpyBackend, load_row

_TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def _numbers(product: MatrixProduct, address: int) -> np.ndarray:
    """Return the elements of A or B, in the type of the sums: [elements, lanes]."""
    registers = int(product.signature.sources[0].partition("x")[2])
    words = np.stack([load_row(address + r * ROW_BYTES).copy() for r in range(registers)])
    if product.kind == "f32":
        return words.view(np.float32)
    if product.kind == "f64":
        return np.ascontiguousarray(words.T).view(np.float64).T
    if product.kind == "i8":
        return np.ascontiguousarray(words.T).view(np.int8).T.astype(np.int32)
    halves = np.ascontiguousarray(words.T).view(np.uint16).T
    if product.kind == "bf16":
        return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if product.flushes:
        halves = np.where(halves & 0x7C00, halves, halves & 0x8000)
    return halves.astype(np.uint16).view(np.float16).astype(np.float32)


def matrix_callable(product: MatrixProduct) -> Callable[..., int]:
    """Return a Python function of the product with the ABI of a vector operation."""
    kind = product.sum_kind
    dwords = 2 if kind == "f64" else 1

    def run(d: int, a: int, b: int, c: int, exec_mask: int, mask_in: int) -> int:
        x = NumpyBackend(LANES)
        x.flush_inputs = x.flush_results = product.flushes
        left, right = _numbers(product, int(a)), _numbers(product, int(b))
        for register in range(product.results):
            rows = [load_row(int(c) + (register * dwords + part) * ROW_BYTES).copy() for part in range(dwords)]
            sums = np.ascontiguousarray(np.stack(rows, axis=1)).view(_TYPES[kind]).ravel()
            for k in range(product.k):
                element, a_lanes, b_lanes = product.sources(k)
                factors = left[element][a_lanes[register]], right[element][b_lanes[register]]
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
