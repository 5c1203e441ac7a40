"""Abstract lane values: what an instruction's semantics is written with.

A semantics function receives a *maker* `x` and one `LaneValue` per operand and returns `LaneValue`s. A back end gives
the operations: LLVM IR text (`llvm_backend`) or NumPy arrays (`numpy_backend`). Operators follow the value's kind:
`>>` is arithmetic for signed kinds, `<` compares as the kind says, integer arithmetic wraps. A Python number next to
a value takes the value's kind. Kinds: `u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64` and `b` (one bit a lane).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

BITS = {"b": 1, "u8": 8, "i8": 8, "u16": 16, "i16": 16, "f16": 16, "u32": 32, "i32": 32, "f32": 32}
BITS |= {"u64": 64, "i64": 64, "f64": 64}


def is_float(kind: str) -> bool:
    """Tell whether `kind` is a floating-point kind."""
    return kind[0] == "f"


def unsigned(kind: str) -> str:
    """Return the unsigned integer kind of the same width."""
    return f"u{BITS[kind]}"


def _arithmetic(operation: str, swapped: bool = False) -> "Callable[[LaneValue, Any], LaneValue]":
    """Make an operator of two values of one kind, or of a value and a number; the latter is the first if swapped."""

    def operator(self: "LaneValue", other: Any) -> "LaneValue":
        a, b = (self._other(other), self) if swapped else (self, self._other(other))
        return LaneValue(self.x, self.kind, self.x.binary(operation, self.kind, a.raw, b.raw))

    return operator


def _comparison(operation: str) -> "Callable[[LaneValue, Any], LaneValue]":
    def operator(self: "LaneValue", other: Any) -> "LaneValue":
        return LaneValue(self.x, "b", self.x.compare(operation, self.kind, self.raw, self._other(other).raw))

    return operator


class LaneValue:
    """Lanes of one kind; `raw` belongs to the back end `x`."""

    __slots__ = ("kind", "raw", "x")

    def __init__(self, x: "LaneBackend", kind: str, raw: Any) -> None:
        self.x, self.kind, self.raw = x, kind, raw

    def _other(self, other: Any) -> "LaneValue":
        if isinstance(other, LaneValue):
            if other.kind != self.kind:
                raise TypeError(f"operands of kinds {self.kind} and {other.kind}")
            return other
        return self.x.constant(self.kind, other)

    __add__ = _arithmetic("add")
    __radd__ = _arithmetic("add", swapped=True)
    __sub__ = _arithmetic("sub")
    __rsub__ = _arithmetic("sub", swapped=True)
    __mul__ = _arithmetic("mul")
    __rmul__ = _arithmetic("mul", swapped=True)
    __truediv__ = _arithmetic("div")
    __rtruediv__ = _arithmetic("div", swapped=True)
    __and__ = _arithmetic("and")
    __or__ = _arithmetic("or")
    __xor__ = _arithmetic("xor")
    # shifts by an amount below the width (mask it as the instruction says); to the right, arithmetic for signed kinds
    __lshift__ = _arithmetic("shl")
    __rshift__ = _arithmetic("shr")
    __lt__ = _comparison("lt")
    __le__ = _comparison("le")
    __gt__ = _comparison("gt")
    __ge__ = _comparison("ge")
    __eq__ = _comparison("eq")  # type: ignore[assignment]
    __ne__ = _comparison("ne")  # type: ignore[assignment]  # for floats true when unordered, as in C
    __hash__ = None  # type: ignore[assignment]

    def __invert__(self) -> "LaneValue":
        return self ^ (True if self.kind == "b" else (1 << BITS[self.kind]) - 1)

    def __neg__(self) -> "LaneValue":
        """Negate: two's complement for integers; for floats only the sign bit flips (NaN included)."""
        if is_float(self.kind):
            return (self.bits() ^ (1 << (BITS[self.kind] - 1))).as_(self.kind)
        return 0 - self

    def __abs__(self) -> "LaneValue":
        if is_float(self.kind):
            return (self.bits() & ((1 << (BITS[self.kind] - 1)) - 1)).as_(self.kind)
        return self.x.select(self < 0, -self, self)

    def as_(self, kind: str) -> "LaneValue":
        """Return the same bits as another kind of the same width."""
        if kind == self.kind:
            return self
        if BITS[kind] != BITS[self.kind]:
            raise TypeError(f"{self.kind} seen as {kind}")
        return LaneValue(self.x, kind, self.x.reinterpret(self.kind, kind, self.raw))

    def bits(self) -> "LaneValue":
        """Return the same bits as an unsigned integer."""
        return self.as_(unsigned(self.kind))

    def to(self, kind: str) -> "LaneValue":
        """Convert the number: integers widen by their own signedness and truncate, floats round by the host's
        mode, float to integer truncates, saturates and takes NaN to 0."""
        if kind == self.kind:
            return self
        return LaneValue(self.x, kind, self.x.convert(self.kind, kind, self.raw))

    def is_nan(self) -> "LaneValue":
        """Tell whether a float is NaN, decided on the bits."""
        return abs(self).bits() > self.x.infinity_bits(self.kind)


class LaneBackend(ABC):
    """Base of both back ends: constants and operations made of the basic ones."""

    @abstractmethod
    def constant(self, kind: str, number: Any) -> LaneValue:
        """Return a value with the same number in every lane."""

    @abstractmethod
    def binary(self, operation: str, kind: str, a: Any, b: Any) -> Any:
        """Apply add, sub, mul, div, and, or, xor, shl or shr to two raws of one kind."""

    @abstractmethod
    def compare(self, operation: str, kind: str, a: Any, b: Any) -> Any:
        """Compare by lt, le, gt, ge or eq (false when unordered), or ne (true when unordered)."""

    @abstractmethod
    def unary(self, operation: str, kind: str, a: Any) -> Any:
        """Apply ctlz, cttz (0 gives the width), popcount, bitreverse, sqrt, floor, ceil, trunc or rint."""

    @abstractmethod
    def reinterpret(self, kind: str, to: str, a: Any) -> Any:
        """Return the same bits as another kind."""

    @abstractmethod
    def convert(self, kind: str, to: str, a: Any) -> Any:
        """Convert the numbers to another kind."""

    @abstractmethod
    def choose(self, kind: str, condition: Any, a: Any, b: Any) -> Any:
        """Return the lanes of a where the condition holds, else of b."""

    @abstractmethod
    def fused(self, kind: str, a: Any, b: Any, c: Any) -> Any:
        """Return a * b + c, rounded once."""

    @abstractmethod
    def lane(self) -> LaneValue:
        """Return the lane's number as u32."""

    @abstractmethod
    def gather(self, argument: str, index: LaneValue, row: int = 0) -> LaneValue:
        """Read u32 lanes of a row.

        Args:
            argument: `a`, `b` or `c`, which has the address of the first row.
            index: of each lane, a u32 lane number below 64.
            row: rows after the first.

        Returns:
            The lanes.
        """

    @abstractmethod
    def mask_lane(self, argument: str, index: LaneValue) -> LaneValue:
        """Return the bit of the argument `exec` or `mask` at a u32 lane number below 64."""

    @abstractmethod
    def lookup(self, table: tuple[int, ...], index: LaneValue) -> LaneValue:
        """Return u32 words of a constant table at a u32 index within it."""

    def __getattr__(self, kind: str) -> Any:
        if kind not in BITS:
            raise AttributeError(kind)
        return lambda number: self.constant(kind, number)

    def select(self, condition: LaneValue, a: Any, b: Any) -> LaneValue:
        """Return the lanes of a where the condition holds, else of b; one of them may be a Python number."""
        if not isinstance(a, LaneValue):
            a = b._other(a)
        b = a._other(b)
        return LaneValue(self, a.kind, self.choose(a.kind, condition.raw, a.raw, b.raw))

    def fma(self, a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
        """Return a * b + c, rounded once."""
        return LaneValue(self, a.kind, self.fused(a.kind, a.raw, b.raw, c.raw))

    def _unary(self, operation: str, a: LaneValue) -> LaneValue:
        return LaneValue(self, a.kind, self.unary(operation, a.kind, a.raw))

    def ctlz(self, a: LaneValue) -> LaneValue:
        """Count leading zeros; the width for 0."""
        return self._unary("ctlz", a)

    def cttz(self, a: LaneValue) -> LaneValue:
        """Count trailing zeros; the width for 0."""
        return self._unary("cttz", a)

    def popcount(self, a: LaneValue) -> LaneValue:
        """Count set bits."""
        return self._unary("popcount", a)

    def bitreverse(self, a: LaneValue) -> LaneValue:
        """Reverse the order of the bits."""
        return self._unary("bitreverse", a)

    def sqrt(self, a: LaneValue) -> LaneValue:
        """Return the correctly rounded square root."""
        return self._unary("sqrt", a)

    def floor(self, a: LaneValue) -> LaneValue:
        """Round towards minus infinity."""
        return self._unary("floor", a)

    def ceil(self, a: LaneValue) -> LaneValue:
        """Round towards plus infinity."""
        return self._unary("ceil", a)

    def trunc(self, a: LaneValue) -> LaneValue:
        """Round towards zero."""
        return self._unary("trunc", a)

    def rint(self, a: LaneValue) -> LaneValue:
        """Round to nearest, ties to even."""
        return self._unary("rint", a)

    def min(self, a: LaneValue, b: Any) -> LaneValue:
        """Return the smaller of two integers."""
        b = a._other(b)
        return self.select(a < b, a, b)

    def max(self, a: LaneValue, b: Any) -> LaneValue:
        """Return the larger of two integers."""
        b = a._other(b)
        return self.select(a > b, a, b)

    @staticmethod
    def infinity_bits(kind: str) -> int:
        """Return the bit pattern of plus infinity."""
        return {"f16": 0x7C00, "f32": 0x7F80_0000, "f64": 0x7FF0_0000_0000_0000}[kind]
