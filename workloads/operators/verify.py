"""Compare results with what they should be: every element within the error that its arithmetic allows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workloads.operators.operator import Operator, overwritten

UNIT_ROUNDOFF = 2.0**-24  # FP32, round to nearest
SMALLEST_NORMAL = 2.0**-126  # the kernels' v_mac_f32 flushes smaller products and sums to zero
LARGEST = float(np.finfo(np.float32).max)


class ReferencePart(NamedTuple):
    """Expected values of a part of an output."""

    output: str
    """Name of the output."""
    where: tuple[slice, ...]
    """Position of the part: a range for each axis."""
    value: np.ndarray
    """Expected values, in the part's shape."""
    bound: np.ndarray | float
    """Bound on the absolute error, in the part's shape or as one number."""


@dataclass(frozen=True)
class Mismatch:
    """Elements of one output that are off by more than allowed: their number, that of all, and the first of them."""

    output: str
    """Name of the output."""
    wrong: int
    """Elements beyond their bounds."""
    size: int
    """Elements in all."""
    index: tuple[int, ...]
    """Place of the first wrong element."""
    found: object
    """What stands there."""
    wanted: object
    """What should stand there."""

    def __str__(self) -> str:
        return (
            f"{self.output}: {self.wrong} of {self.size} elements differ by more than allowed; first at"
            f" {list(self.index)}: {self.found}, expected {self.wanted}"
        )


@dataclass(frozen=True)
class Verification:
    """Comparison of all outputs with their expected values."""

    passed: bool
    """Every element is within its bound."""
    max_error: float
    """Absolute error of the element that is closest to its bound, or exceeds it most."""
    bound: float
    """Bound of that element."""
    output: str = ""
    """Output of that element."""
    index: tuple[int, ...] = ()
    """Index of that element."""
    mismatches: tuple[Mismatch, ...] = ()
    """One message for each wrong output."""


def verify(operator: Operator, inputs: Mapping[str, np.ndarray] | None = None) -> Verification:
    """Compare an operator's outputs in device memory with its reference.

    Args:
        operator: The operator, after its launches.
        inputs: As they were before the launches (workloads.operators.operator.before).

    Raises:
        ValueError: Results took the memory of inputs, which are not given.
    """
    if inputs is None:
        inputs = operator.inputs
        if lost := overwritten(operator):
            raise ValueError(f"{operator.name}: {', '.join(lost)} must be kept before the launches overwrite them")
    with np.errstate(all="ignore"):  # of infinities and NaN, which are compared like other values
        checked = compare(operator.outputs, operator.expected(inputs))
        flushed = {name: flush(array) for name, array in inputs.items()}
        if checked.passed or all(flushed[name] is array for name, array in inputs.items()):
            return checked
        # arithmetic reads subnormal numbers as 0; what only moves or counts values keeps them
        expected = (part._replace(bound=part.bound + SMALLEST_NORMAL) for part in operator.expected(flushed))
        return compare(operator.outputs, expected)


def flush(array: np.ndarray) -> np.ndarray:
    """Return FP32 values as the kernels' arithmetic reads them: those below the normal numbers are 0.

    The array itself is returned where it has none such.
    """
    if array.dtype != np.float32:
        return array
    magnitude = np.abs(array)
    small = (magnitude < SMALLEST_NORMAL) & (magnitude > 0.0)
    return np.where(small, np.float32(0.0), array) if small.any() else array


def compare(outputs: Mapping[str, np.ndarray], expected: Iterable[ReferencePart]) -> Verification:
    """Compare arrays with what their parts should hold.

    NaN equals NaN, an infinity itself and what FP32 cannot hold within the bound; where one side alone is not finite
    otherwise, the error is infinite.

    Args:
        outputs: Arrays by name.
        expected: Expected parts with their bounds.
    """
    worst, worst_ratio = Verification(True, 0.0, 0.0), -1.0
    mismatches: dict[str, Mismatch] = {}
    for part in expected:
        output = outputs[part.output][part.where]
        first = [s.start or 0 for s in part.where] + [0] * (output.ndim - len(part.where))
        error = _error(output, part.value)
        bound = np.broadcast_to(np.asarray(part.bound, np.float64), output.shape)
        beyond = np.isinf(output) if output.dtype.kind == "f" else np.zeros(output.shape, bool)
        if beyond.any():
            value = np.asarray(part.value, np.float64)
            error[beyond & (np.sign(output) == np.sign(value)) & (np.abs(value) + bound > LARGEST)] = 0.0
        # a bound that is not finite allows equality alone
        wrong = (error != 0.0) & ~((error <= bound) & np.isfinite(error) & np.isfinite(bound))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            index = tuple(a + b for a, b in zip(first, at, strict=True))
            before = mismatches.get(part.output)
            wrongs = int(wrong.sum()) + (before.wrong if before else 0)
            size = outputs[part.output].size
            shown = before or Mismatch(part.output, 0, size, index, output[at], part.value[at])
            mismatches[part.output] = Mismatch(part.output, wrongs, size, shown.index, shown.found, shown.wanted)
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.where(error == 0.0, 0.0, error / np.maximum(bound, np.finfo(np.float64).tiny))
        ratio = np.where(np.isfinite(ratio), ratio, np.inf)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
        if ratio[at] > worst_ratio:
            worst_ratio = float(ratio[at])
            index = tuple(a + b for a, b in zip(first, at, strict=True))
            # numbers that JSON holds, whatever was found
            largest, allowed = float(np.nan_to_num(error[at])), float(np.nan_to_num(bound[at]))
            worst = Verification(True, largest, allowed, part.output, index)
    return Verification(
        not mismatches, worst.max_error, worst.bound, worst.output, worst.index, tuple(mismatches.values())
    )


def joined(parts: Sequence[tuple[int, Verification]]) -> Verification:
    """Merge verifications of parts of the same outputs, each with the place where its first axis begins."""
    mismatches: dict[str, Mismatch] = {}
    for first, part in parts:
        for one in part.mismatches:
            before = mismatches.get(one.output)
            index = (one.index[0] + first, *one.index[1:])
            shown = before or replace(one, index=index, wrong=0, size=0)
            mismatches[one.output] = replace(shown, wrong=shown.wrong + one.wrong, size=shown.size + one.size)

    def ratio(each: tuple[int, Verification]) -> float:
        return each[1].max_error / max(each[1].bound, np.finfo(np.float64).tiny) if each[1].max_error else 0.0

    first, worst = max(parts, key=ratio)
    index = (worst.index[0] + first, *worst.index[1:]) if worst.index else ()
    return replace(worst, passed=not mismatches, index=index, mismatches=tuple(mismatches.values()))


def inner_product_bound(terms: np.ndarray | float, magnitude: np.ndarray, longest: int) -> np.ndarray:
    """Bound the error of inner products in FP32, each product and each sum rounded, added in any order.

    An inner product of t terms is off by at most t·u / (1 - t·u) times that sum (Higham 2002, section 3.1), and by 2t
    flushed results. Products with a zero are exact, so t counts the non-zeros alone.

    Args:
        terms: Non-zero terms of each, or of all.
        magnitude: Sums of |a|·|b|, themselves added up in FP32 over `longest` terms.
    """
    growth = terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)
    bound = growth * (1.0 + 2.0 * longest * UNIT_ROUNDOFF) * magnitude
    return bound + 2.0 * terms * SMALLEST_NORMAL


def _error(result: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return |found - wanted|: 0 where equal or both NaN, infinite where one is, at least 1 for unequal integers."""
    a, b = result.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b)
    error[np.isnan(error)] = np.inf
    if result.dtype.kind in "biu" and wanted.dtype.kind in "biu":
        error = np.maximum(error, 1.0)
    return np.where((result == wanted) | (np.isnan(a) & np.isnan(b)), 0.0, error)
