"""Columns of comparisons, whose number is that of the sides; rows have a cell for each column."""

from collections.abc import Sequence

from gpusim.base.table import Column, columns

WHY = "why, first of all"


def letter(number: int) -> str:
    """Return the letter of a side, from A in order; 'S26' and so on after Z."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] if number < 26 else f"S{number}"


def side_columns(before: Sequence[str], letters: Sequence[str], after: str) -> list[Column]:
    """Return columns of a value on each side and of the ratio of the last to the first, all aligned to the right.

    Args:
        before: Heads of the columns to the left.
        letters: Letters of the sides.
        after: Head of the column to the right.
    """
    ratio = f"{letters[-1]}/{letters[0]}"
    return [*columns(*before), *columns(*letters, ratio, right=True), *columns(after)]
