"""The table of instruction semantics and the decorators that fill it.

The signature of a vector operation names its operands in order and, after the arrow, its results:

    u32 i64 f16 ...   the next of the source rows a, b, c (64-bit kinds: a pair of rows; f16, u16, i16: the low half)
    u32x4             the next source, four consecutive rows, as a tuple of values
    imm               the next of the arguments a, b, c as a number (low 32 bits), the same in every lane
    row               the next of the arguments a, b, c, a row read only through `x.gather`; no parameter
    old:KIND          what the destination holds
    mask              the lanes of the argument mask_in          exec   the lanes of the argument exec_mask
    mode              the MODE register as a number, from mask_in; not together with `mask`
    -> KIND           lanes written to the destination           -> mask   lane mask returned

and of a scalar operation: the sources a, b; `old:KIND`, `scc` (a bit); results KIND and `scc`.

An operation of one expression is a row, `vop(names, signature)(lambda x, a: ...)`; a longer one is a function under the
decorator.

`manual` is what the manual says the operation computes: a Python expression on the operands of one lane, as bits, under
the names of the function's parameters. It may use M32, M64, `signed`, and plain functions of the operation's file. The
tests hold the function to it; those without one have a reference in the tests.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from isa.lanes.values import BITS

if TYPE_CHECKING:
    from isa.lanes.matrix import MatrixProduct

# What the host's floating-point state must be while an operation runs (`isa.lanes.host_mode` has the bits).
HOST_MODE = "host"  # as the executor set it: MODE's FP32 rounding and denormals
DOUBLE = "double"  # MODE's FP64 rounding and denormals
HALF = "half"  # MODE's FP16 rounding; FP16 denormals are dealt with around the operation
HALF_NEAREST = "half nearest"  # FP16 transcendentals: to nearest; FP16 denormals as above
NARROWING = "narrowing"  # FP64 to FP32: inputs as MODE's FP64 denormals, the rest as its FP32 fields
KEEP_DENORMALS = "keep"  # denormals kept, rounded to nearest, whatever MODE says: v_div_scale, cube faces
FLUSH_DENORMALS = "flush"  # denormals always flushed, MODE's FP32 rounding: v_mad_f32, v_mac_f32
FLUSH_NEAREST = "flush nearest"  # denormals always flushed, rounded to nearest: FP32 transcendentals


class Signature(NamedTuple):
    """Operands and results of an operation: see the module's docstring for the tokens."""

    operands: tuple[str, ...]
    """Tokens of the operands."""
    results: tuple[str, ...]
    """Tokens of the results."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Kinds of the arguments a, b, c in order (`imm`, `row`, `u32x4` included)."""
        return tuple(t for t in self.operands if t not in ("mask", "mode", "exec", "scc") and not t.startswith("old:"))

    @property
    def source_dwords(self) -> tuple[int, ...]:
        """Consecutive rows (registers) each of a, b, c takes."""
        return tuple(rows_of(t) for t in self.sources)

    @property
    def destination(self) -> str | None:
        """Kind of the destination, None when only a mask or SCC results."""
        return next((t for t in self.results if t not in ("mask", "scc")), None)

    @property
    def destination_dwords(self) -> int:
        """Consecutive rows (registers) written, 0 for none."""
        return rows_of(self.destination) if self.destination else 0

    @property
    def reads_mask(self) -> bool:
        """Whether mask_in (VCC or the third source pair) matters."""
        return "mask" in self.operands

    @property
    def returns_mask(self) -> bool:
        """Whether the returned lane mask goes to VCC or sdst."""
        return "mask" in self.results


class Operation(NamedTuple):
    """A row of the table: `function(x, *operands)` returns one value or a tuple in the order of the results."""

    name: str
    """Name of the operation."""
    signature: Signature
    """Operands and results."""
    function: Callable[..., Any]
    """Returns the result or a tuple of results."""
    scalar: bool
    """It is of scalar instructions."""
    host_mode: str
    """What the host's floating-point state must be while it runs."""
    manual: str | None = None
    """Expression that the manual gives; None: a reference in the tests."""

    def by_the_manual(self) -> Callable[..., Any]:
        """Return `manual` as a function of the operands' bits, in the signature's order; ValueError without one."""
        if self.manual is None:
            raise ValueError(f"{self.name} does not say what the manual says")
        code = self.function.__code__
        parameters = ", ".join(code.co_varnames[1 : code.co_argcount])
        names = {**self.function.__globals__, "M32": M32, "M64": M64, "signed": signed}
        reference: Callable[..., Any] = eval(f"lambda {parameters}: {self.manual}", names)
        return reference

    @property
    def guarded(self) -> bool:
        """Whether MODE is checked on entry."""
        return self.host_mode != HOST_MODE

    @property
    def mode_with_destination(self) -> bool:
        """Whether MODE[7:0] comes in the low byte of the destination's address, as mask_in is taken."""
        return self.guarded and self.signature.reads_mask


M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value: int, bits: int = 32) -> int:
    """Return the low `bits` bits of a value as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


VECTOR: dict[str, Operation] = {}
SCALAR: dict[str, Operation] = {}
MATRIX: "dict[str, MatrixProduct]" = {}
ALIASES: dict[str, str] = {}


def rows_of(token: str) -> int:
    """Return how many rows an operand token takes; 0 for a number."""
    if token == "imm":
        return 0
    if token == "row":
        return 1
    kind, _, count = token.removeprefix("old:").partition("x")
    return int(count or 1) * (2 if BITS[kind] == 64 else 1)


@cache
def parse_signature(text: str) -> Signature:
    """Parse a signature from its text."""
    operands, _, results = text.partition("->")
    return Signature(tuple(operands.split()), tuple(results.split()))


def _register(table: dict[str, Operation], names: str, operation: Operation) -> None:
    first, *others = names.split()
    for name in (first, *others):
        if name in VECTOR or name in SCALAR or name in ALIASES:
            raise ValueError(f"{name} is defined twice")
    table[first] = operation
    ALIASES.update(dict.fromkeys(others, first))


def vop(names: str, signature: str, host_mode: str | None = None, manual: str | None = None) -> Callable[[Any], Any]:
    """Enter a function as the semantics of a vector operation.

    Args:
        names: further names are aliases.
        signature: kinds of its sources and results.
        host_mode: the mode that it follows; None: FP64 and FP16 follow their fields of MODE.
        manual: see the module's docstring.

    Returns:
        The decorator.
    """

    def decorate(function: Any) -> Any:
        default = DOUBLE if "f64" in signature else HALF if "f16" in signature else HOST_MODE
        mode = host_mode or default
        _register(VECTOR, names, Operation(names.split()[0], parse_signature(signature), function, False, mode, manual))
        return function

    return decorate


def sop(names: str, signature: str, manual: str | None = None) -> Callable[[Any], Any]:
    """Enter a function as the semantics of a scalar operation.

    Args:
        names: further names are aliases.
        signature: kinds of its sources and results.
        manual: see the module's docstring.

    Returns:
        The decorator.
    """

    def decorate(function: Any) -> Any:
        parsed = parse_signature(signature)
        _register(SCALAR, names, Operation(names.split()[0], parsed, function, True, HOST_MODE, manual))
        return function

    return decorate
