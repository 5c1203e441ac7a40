"""NumPy back end: the same semantics on arrays of 64 lanes (or one, for scalars), for runs with the JIT disabled.

Denormals are flushed explicitly where the compiled code relies on the host's mode. Rounding in other directions than
to nearest even, and flushing of FP64 results, are computed exactly, lane by lane (`isa.lanes.exact_rounding`).
"""

import ctypes
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from isa.architecture import LANES, ROW_BYTES
from isa.lanes import exact_rounding as exact
from isa.lanes.host_mode import FP32_INPUTS, FP32_RESULTS, FP32_ROUND, HALF_INPUTS, HALF_RESULTS, wanted_fields
from isa.lanes.table import HALF, HALF_NEAREST, HOST_MODE, Operation, rows_of
from isa.lanes.values import BITS, LaneBackend, LaneValue, is_float

_ALL = (1 << 64) - 1
_DTYPE = {"b": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}
_DTYPE |= {f"{s}{n}": np.dtype(f"{s}{n // 8}").type for s in "ui" for n in (8, 16, 32, 64)}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_TINY_F32 = 2.0**-126 * (1 - 2.0**-25)  # below this a number rounded to 24 bits is below FP32's normal range
_ROUND = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}


class NumpyBackend(LaneBackend):
    """Computes results at once, on arrays.

    `flush_inputs`, `flush_results`: whether FP32 and FP64 denormals become zeros, as on the host.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.flush_inputs = self.flush_results = False
        self.rounding = 0
        self.rows: dict[str, int] = {}
        self.masks: dict[str, np.ndarray] = {}

    def value(self, kind: str, array: np.ndarray) -> LaneValue:
        """Wrap an array as a value."""
        return LaneValue(self, kind, array)

    def _in(self, kind: str, a: np.ndarray) -> np.ndarray:
        return _flushed(a) if self.flush_inputs and kind in ("f32", "f64") else a

    def _is_exact(self, kind: str) -> bool:
        return self.rounding != 0 or (self.flush_results and kind == "f64")

    def _exactly(self, function: Callable[..., float], kind: str, *lanes: np.ndarray) -> np.ndarray:
        flush = self.flush_results and kind != "f16"
        each = zip(*(v.tolist() for v in lanes), strict=True)
        return np.array([function(*v, kind, self.rounding, flush) for v in each], _DTYPE[kind])

    def _out(self, kind: str, a: np.ndarray, wide: np.ndarray | None = None) -> np.ndarray:
        """Return a result, flushed to zero if FP32 results are flushed and it is denormal.

        wide: the unrounded FP64 value, by which it is judged if given.
        """
        if not self.flush_results or kind != "f32":
            return a
        return np.where(np.abs(a if wide is None else wide) < _TINY_F32, np.copysign(np.float32(0), a), a)

    def constant(self, kind: str, number: Any) -> LaneValue:
        if not is_float(kind) and kind != "b":
            bits = int(number) & ((1 << BITS[kind]) - 1)
            return LaneValue(self, kind, np.full(self.lanes, bits, f"u{BITS[kind] // 8}").view(_DTYPE[kind]))
        return LaneValue(self, kind, np.full(self.lanes, number, _DTYPE[kind]))

    def binary(self, operation: str, kind: str, a: Any, b: Any) -> Any:
        if is_float(kind):
            a, b = self._in(kind, a), self._in(kind, b)
            if self._is_exact(kind):
                return self._exactly(exact.BINARY[operation], kind, a, b)
            wide = _BINARY[operation](a.astype(np.float64), b) if self.flush_results else None
            return self._out(kind, _BINARY[operation](a, b), wide)
        return _BINARY[operation](a, b)

    def compare(self, operation: str, kind: str, a: Any, b: Any) -> Any:
        return _COMPARE[operation](self._in(kind, a), self._in(kind, b))

    def unary(self, operation: str, kind: str, a: Any) -> Any:
        if operation == "sqrt" and self._is_exact(kind):
            return self._exactly(exact.square_root, kind, self._in(kind, a))
        if operation in _ROUND:
            return self._out(kind, _ROUND[operation](self._in(kind, a)))
        width = BITS[kind]
        words = a.view(f"u{width // 8}").tolist()
        if operation == "ctlz":
            out = [width - w.bit_length() for w in words]
        elif operation == "cttz":
            out = [(w & -w).bit_length() - 1 if w else width for w in words]
        elif operation == "popcount":
            out = [w.bit_count() for w in words]
        else:
            out = [int(f"{w:0{width}b}"[::-1], 2) for w in words]
        return np.array(out, f"u{width // 8}").view(_DTYPE[kind])

    def reinterpret(self, kind: str, to: str, a: Any) -> Any:
        return a.view(_DTYPE[to])

    def convert(self, kind: str, to: str, a: Any) -> Any:
        if is_float(kind) and not is_float(to):
            low = -(2.0 ** (BITS[to] - 1)) if to[0] == "i" else 0.0
            high = 2.0 ** (BITS[to] - 1) - 1 if to[0] == "i" else 2.0 ** BITS[to] - 1
            a = self._in(kind, a)
            wide = np.trunc(np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
            return np.clip(wide, low, high).astype(np.int64).astype(_DTYPE[to])
        if is_float(to) and self._is_exact(to) and not (is_float(kind) and BITS[to] > BITS[kind]):
            return self._exactly(exact.convert, to, self._in(kind, a))
        return self._out(to, self._in(kind, a).astype(_DTYPE[to]), a if kind == "f64" else None)

    def choose(self, kind: str, condition: Any, a: Any, b: Any) -> Any:
        return np.where(condition, a, b)

    def fused(self, kind: str, a: Any, b: Any, c: Any) -> Any:
        a, b, c = (self._in(kind, v) for v in (a, b, c))
        if self._is_exact(kind):
            return self._exactly(exact.fused, kind, a, b, c)
        if kind == "f32":
            wide = _sum_to_odd(a, b, c)
            return self._out(kind, wide.astype(np.float32), wide)
        return np.array([_fused_f64(p, q, r) for p, q, r in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)])

    def lane(self) -> LaneValue:
        return LaneValue(self, "u32", np.arange(self.lanes, dtype=np.uint32))

    def gather(self, argument: str, index: LaneValue, row: int = 0) -> LaneValue:
        return LaneValue(self, "u32", load_row(self.rows[argument] + row * ROW_BYTES)[index.raw])

    def mask_lane(self, argument: str, index: LaneValue) -> LaneValue:
        return LaneValue(self, "b", self.masks[argument][index.raw])

    def lookup(self, table: tuple[int, ...], index: LaneValue) -> LaneValue:
        return LaneValue(self, "u32", np.array(table, np.uint32)[index.raw])


def _flushed(a: np.ndarray) -> np.ndarray:
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def _sum_to_odd(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c of FP32 in FP64, the sum rounded to odd, so that rounding it again, to FP32, is correct."""
    product, addend = a.astype(np.float64) * b, c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    bits = total.view(np.int64)
    even_inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(even_inexact, bits + step, bits).view(np.float64)


def _fused_f64(a: float, b: float, c: float) -> float:
    if np.isfinite(a) and np.isfinite(b) and np.isinf(c):
        return c  # however large the product
    if not all(np.isfinite([a, b, c])) or not (a and b):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return float(np.float64(a) * np.float64(b) + np.float64(c)) if c == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def _flushed_half(a: LaneValue) -> LaneValue:
    bits = a.bits()
    return a.x.select((bits & 0x7C00) == 0, bits & 0x8000, bits).as_("f16")


def load_row(address: int) -> np.ndarray:
    """Return the 64 dwords of the register row at an address, as a view."""
    return np.ctypeslib.as_array((ctypes.c_uint32 * LANES).from_address(int(address)))


def _load(address: int, kind: str) -> np.ndarray:
    low = load_row(address)
    if BITS[kind] == 64:
        return (low.astype(np.uint64) | (load_row(address + ROW_BYTES).astype(np.uint64) << np.uint64(32))).view(
            _DTYPE[kind]
        )
    return low.astype(f"u{BITS[kind] // 8}").view(_DTYPE[kind])


def lane_bits(mask: int) -> np.ndarray:
    """Return a 64-bit mask as an array of 64 booleans, lane 0 first."""
    word = np.array([int(mask) & _ALL], np.uint64)
    return np.unpackbits(word.view(np.uint8), bitorder="little").astype(np.bool_)


def signed64(word: int) -> int:
    """Return the int64 with the bits of a 64-bit word."""
    word &= _ALL
    return word - (1 << 64) if word >> 63 else word


def mask_of(lanes: np.ndarray) -> int:
    """Return the int64 with booleans as its bits; the inverse of `lane_bits`."""
    return signed64(int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little"))


class NumpyMode:
    """The MODE of the emulated host: the twin of `set_host_float_mode` and `restore_host_float_mode`."""

    def __init__(self) -> None:
        self.mode = 0x30  # denormals kept, as a host starts

    def set(self, mode: int, *_: int) -> int:
        """Set the mode to MODE[7:0] and return the mode before."""
        before, self.mode = self.mode, int(mode)
        return before

    def restore(self, mode: int, *_: int) -> int:
        """Set the mode to one that `set` returned."""
        self.mode = int(mode)
        return 0

    def apply(self, x: NumpyBackend, operation: Operation, mode: int) -> None:
        """Set a maker's rounding and flushing as an operation needs them. mode: MODE as given to the operation."""
        wants = operation.host_mode
        fields = wanted_fields(wants, self.mode if wants == HOST_MODE else mode)
        x.rounding = fields & FP32_ROUND
        x.flush_inputs, x.flush_results = not fields & FP32_INPUTS, not fields & FP32_RESULTS


def vector_callable(operation: Operation, host: NumpyMode) -> Callable[..., int]:
    """Return a Python function of the operation with the ABI of a vector operation."""
    signature = operation.signature

    def run(d: int, a: int, b: int, c: int, exec_mask: int, mask_in: int) -> int:
        x = NumpyBackend(LANES)
        mode = int(d) & 0xFF if operation.mode_with_destination else int(mask_in)
        if operation.mode_with_destination:
            d = int(d) & ~0xFF
        host.apply(x, operation, mode)
        halves = operation.host_mode in (HALF, HALF_NEAREST)
        flush_half_inputs = halves and not mode & HALF_INPUTS
        flush_half_results = halves and not mode & HALF_RESULTS
        x.rows = {"a": int(a), "b": int(b), "c": int(c)}
        live = lane_bits(exec_mask)
        x.masks = {"exec": live, "mask": lane_bits(mask_in)}
        arguments = iter((int(a), int(b), int(c)))
        operands: list[Any] = []
        for token in signature.operands:
            if token in ("mask", "exec"):
                operands.append(LaneValue(x, "b", x.masks[token]))
            elif token == "mode":
                operands.append(x.constant("u32", mode))
            elif token.startswith("old:"):
                operands.append(LaneValue(x, token[4:], _load(int(d), token[4:])))
            elif token == "imm":
                operands.append(x.constant("u32", next(arguments)))
            elif token == "row":
                next(arguments)
            else:
                kind, _, count = token.partition("x")
                base = next(arguments)
                stride = ROW_BYTES * rows_of(kind)
                values = [LaneValue(x, kind, _load(base + i * stride, kind)) for i in range(int(count or 1))]
                operands.append(tuple(values) if count else values[0])
        if flush_half_inputs:
            operands = [_flushed_half(v) if isinstance(v, LaneValue) and v.kind == "f16" else v for v in operands]
        with np.errstate(all="ignore"):
            results = operation.function(x, *operands)
        produced = iter(results if isinstance(results, tuple) else (results,))
        returned = 0
        row = int(d)
        for token in signature.results:
            if token == "mask":
                returned = mask_of(next(produced).raw & live)
                continue
            kind, _, count = token.partition("x")
            for value in [next(produced) for _ in range(int(count or 1))]:
                if flush_half_results and kind == "f16":
                    value = _flushed_half(value)
                bits = value.to("u32") if value.kind == "b" else value.as_(kind).bits()
                for word in [bits.raw, bits.raw >> 32] if BITS[kind] == 64 else [bits.raw]:
                    np.copyto(load_row(row), word.astype(np.uint32), where=live)
                    row += ROW_BYTES
        return returned

    return run


def scalar_callable(operation: Operation) -> Callable[..., int]:
    """Return a Python function of the operation with the ABI of a scalar operation."""
    signature = operation.signature

    def run(a: int, b: int, old_d: int, scc: int, out: int) -> int:
        x = NumpyBackend(1)
        arguments = iter((a, b))
        operands = []
        for token in signature.operands:
            if token == "scc":
                operands.append(LaneValue(x, "b", np.array([bool(scc)])))
                continue
            kind = token.removeprefix("old:")
            operands.append(x.constant(kind, old_d if token.startswith("old:") else next(arguments)))
        with np.errstate(all="ignore"):
            results = operation.function(x, *operands)
        result = 0
        for token, value in zip(signature.results, results if isinstance(results, tuple) else (results,), strict=True):
            word = int((value if value.kind == "b" else value.bits()).raw[0])
            if token == "scc":
                scc = word
            else:
                result = signed64(word)
        ctypes.c_int64.from_address(int(out)).value = int(scc)
        return result

    return run
