"""The formats that the engine makes of a matrix, each stated in NumPy: what of a column's lines goes on, in order.

A statement takes lines and gives words; `pack_matrix` puts those of a column one after another. Sparse loads are
answered from that, and each line that the engine builds is compared with it. To add a format: a row of FORMATS with its
statement here, and what a compaction unit does with a line in `spartan.selection`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from gpusim.base.errors import UserError
from isa.region import LINE_ELEMENTS, PackedMatrix
from spartan.format import pack
from spartan.selection import (
    FIXED_COUNT,
    KEPT_SHIFT,
    LISTED_LINES,
    MASKED_VALUES,
    NON_ZERO_LINES,
    NON_ZEROS,
    WINDOW_SHIFT,
)

LIST_BITS = 32  # of a word of a list of lines


class FormatError(UserError):
    """A matrix does not fit the format in which the engine is to serve it."""


class Lines(NamedTuple):
    """The lines of a region in the dense matrix."""

    words: np.ndarray
    """uint32 [columns, lines, 16]: elements, 0 in rows that the matrix does not have."""
    listed: np.ndarray | None
    """bool [lines]: the lines that the region's list names; None: it has no list."""

    @property
    def non_zero(self) -> np.ndarray:
        """Whether an element is not zero, as FP32."""
        return self.words & 0x7FFF_FFFF != 0

    @property
    def half(self) -> np.ndarray:
        """The elements as FP16 bits, in uint32."""
        with np.errstate(over="ignore", invalid="ignore"):
            half = self.words.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
        is_nan = self.words & 0x7FFF_FFFF > 0x7F80_0000
        return np.where(is_nan, half | 0x200, half).astype(np.uint32)

    @property
    def bundles(self) -> np.ndarray:
        """The elements with their rows: FP16 value below, row above."""
        rows = np.arange(self.words.shape[1] * LINE_ELEMENTS, dtype=np.uint32).reshape(self.words.shape[1:])
        return self.half | (rows << 16)


Statement = Callable[[Lines], tuple[np.ndarray, np.ndarray]]


def _non_zeros(lines: Lines) -> tuple[np.ndarray, np.ndarray]:
    return lines.bundles, lines.non_zero


def _lines_where(lines: Lines, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return lines.words, np.broadcast_to(wanted[..., None], lines.words.shape)


def _non_zero_lines(lines: Lines) -> tuple[np.ndarray, np.ndarray]:
    return _lines_where(lines, np.any(lines.words, axis=2))


def _listed_lines(lines: Lines) -> tuple[np.ndarray, np.ndarray]:
    assert lines.listed is not None
    return _lines_where(lines, np.broadcast_to(lines.listed, lines.words.shape[:2]))


def _masked_values(lines: Lines) -> tuple[np.ndarray, np.ndarray]:
    set_ = lines.non_zero
    masks = (set_ << np.arange(LINE_ELEMENTS, dtype=np.uint32)).sum(axis=2, dtype=np.uint32)
    first = np.argsort(~set_, axis=2, kind="stable")  # the non-zeros of a line, in order, then its zeros
    halves = np.where(np.take_along_axis(set_, first, 2), np.take_along_axis(lines.half, first, 2), 0)
    numbers = np.arange(set_.shape[1], dtype=np.uint32) << 16
    pairs = halves[..., ::2] | (halves[..., 1::2] << 16)
    words = np.zeros(lines.words.shape, np.uint32)
    words[..., 0], words[..., 1:9] = masks | numbers, pairs
    count = set_.sum(axis=2)
    return words, np.arange(LINE_ELEMENTS) < np.where(count, 1 + (count + 1) // 2, 0)[..., None]


def _fixed_count(kept: int, window: int, lines: Lines) -> tuple[np.ndarray, np.ndarray]:
    columns, count, _ = lines.words.shape
    set_ = lines.non_zero.reshape(columns, count, -1, window)
    if (most := int(set_.sum(axis=3).max())) > kept:
        column, line, part = (int(i) for i in np.argwhere(set_.sum(axis=3) > kept)[0])
        raise FormatError(
            f"format {kept}:{window}: rows {line * LINE_ELEMENTS + part * window} to "
            f"{line * LINE_ELEMENTS + (part + 1) * window - 1} of column {column} have more than {kept} non-zeros "
            f"(at most {most}); allowed are {kept} of {window}"
        )
    wanting = kept - set_.sum(axis=3, keepdims=True)
    chosen = set_ | (~set_ & (np.cumsum(~set_, axis=3) <= wanting))
    values = np.where(lines.non_zero, lines.half, 0)
    return (lines.bundles & 0xFFFF_0000) | values, chosen.reshape(lines.words.shape)


@dataclass(frozen=True)
class CompactionFormat:
    """A format of compacted lines."""

    code: int
    """Number by which a compaction unit knows it (spartan.selection)."""
    meaning: str
    """What a compacted line has."""
    statement: Statement
    """Returns the words that lines become [columns, lines, 16] and which of them go on."""
    numbered: bool = False
    """A compacted line is a sparse line, whose number comes with it in the status word."""
    listed: bool = False
    """A region needs a list of the lines that go on."""


def _fixed(kept: int, window: int) -> CompactionFormat:
    code = FIXED_COUNT | kept << KEPT_SHIFT | window << WINDOW_SHIFT
    meaning = f"{kept} bundles of each {window} rows: the non-zeros, and zeros where there are fewer"
    return CompactionFormat(code, meaning, partial(_fixed_count, kept, window))


FORMATS: dict[str, CompactionFormat] = {
    "ellpack_dib": CompactionFormat(NON_ZEROS, "non-zeros in FP16, each bundled with its row", _non_zeros),
    "gathered_lines": CompactionFormat(
        NON_ZERO_LINES, "a line that is not all zero, as it is, with its number", _non_zero_lines, numbered=True
    ),
    "listed_lines": CompactionFormat(
        LISTED_LINES, "a line that a list names, as it is, with its number", _listed_lines, numbered=True, listed=True
    ),
    "bitmap": CompactionFormat(
        MASKED_VALUES, "of each line with non-zeros its mask and number, then the non-zeros in FP16", _masked_values
    ),
    "2:4": _fixed(2, 4),
    "4:8": _fixed(4, 8),
    "8:16": _fixed(8, 16),
}


def state_matrix(
    name: str, dense: np.ndarray, rows: int, leading_dimension: int, listed: np.ndarray | None = None
) -> PackedMatrix:
    """Return a matrix in a format, by the format's statement.

    Args:
        name: format.
        dense: flat float32, columns one after another, `leading_dimension` elements apart.
        rows: elements of a column that are the matrix's.
        leading_dimension: a multiple of 16.
        listed: bool [lines], for a format with a list.

    Raises:
        FormatError: the matrix does not fit the format.
    """
    kind = FORMATS[name]
    columns, count = dense.size // leading_dimension, -(-rows // LINE_ELEMENTS)
    words = dense.view(np.uint32).reshape(columns, leading_dimension)[:, : count * LINE_ELEMENTS].copy()
    words[:, rows:] = 0
    words, chosen = kind.statement(Lines(words.reshape(columns, count, LINE_ELEMENTS), listed))
    flat, chosen_flat = words.reshape(columns, -1), chosen.reshape(columns, -1)
    image = np.zeros((columns, leading_dimension), np.uint32)
    at = np.nonzero(chosen_flat)
    image[at[0], (np.cumsum(chosen_flat, axis=1) - 1)[at]] = flat[at]
    lines = np.maximum(1, -(-chosen_flat.sum(axis=1) // LINE_ELEMENTS)).astype(np.int64)
    if not kind.numbered:
        return PackedMatrix(image.ravel(), lines)
    numbers = np.zeros((columns, leading_dimension // LINE_ELEMENTS), np.uint32)
    column, line = np.nonzero(chosen[..., 0])
    numbers[column, (np.cumsum(chosen[..., 0], axis=1) - 1)[column, line]] = line
    return PackedMatrix(image.ravel(), lines, numbers.ravel())


def pack_matrix(
    name: str, dense: np.ndarray, rows: int, leading_dimension: int, listed: np.ndarray | None = None
) -> PackedMatrix:
    """Return what `state_matrix` does; ELLPACK-DIB by compiled code, which is faster."""
    if name == "ellpack_dib":
        return PackedMatrix(*pack(dense, rows, dense.size // leading_dimension, leading_dimension))
    return state_matrix(name, dense, rows, leading_dimension, listed)
