"""Constants that a program's instructions read by address, and where registers lie."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.base.jit import address_of
from isa.architecture import LANES, ROW_BYTES


@dataclass(frozen=True)
class ConstantValues:
    """The constants of a program and the operands that read them, independent of addresses."""

    rows: np.ndarray
    """uint32 [constants, 64]: constants of vector operands, repeated in every lane."""
    words: np.ndarray
    """uint64 [constants]: constants of scalar operands."""
    in_rows: np.ndarray
    """int64 [uses, 3]: program row, its source, and number of the constant in `rows`."""
    in_words: np.ndarray
    """int64 [uses, 3]: program row, its source, and number of the constant in `words`."""

    def lay_out(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make the constants and fill their addresses into a program table; returns the buffers, to be kept alive."""
        rows = zeroed((len(self.rows) + 1) * ROW_BYTES, huge_pages=False)
        rows.view(np.uint32).reshape(-1, LANES)[: len(self.rows)] = self.rows[:, None]
        words = self.words if len(self.words) else np.zeros(1, np.uint64)
        for uses, base, size in (
            (self.in_rows, address_of(rows), ROW_BYTES),
            (self.in_words, address_of(words), words.itemsize),
        ):
            table["source"][uses[:, 0], uses[:, 1]] = base + uses[:, 2] * size
        return rows, words


class Constants:
    """Collects the constants of a program while its rows are filled; row_number: of the row being filled."""

    def __init__(self) -> None:
        self.row_number = 0
        self._rows: dict[tuple[int, int], int] = {}
        self._words: dict[int, int] = {}
        self._row_values: list[int] = []
        # by program row: its sources, and the numbers of the constants that they read
        self._in_rows: dict[int, list[tuple[int, int]]] = {}
        self._in_words: dict[int, list[tuple[int, int]]] = {}

    def vector(self, row: Any, k: int, bits: int, dwords: int) -> None:
        """Let source `k` of the row become the address of rows that hold `bits` in every lane."""
        key = (bits, dwords)
        if key not in self._rows:
            self._rows[key] = len(self._row_values)
            self._row_values += [(bits >> 32 * d) & 0xFFFF_FFFF for d in range(dwords)]
        self._in_rows.setdefault(self.row_number, []).append((k, self._rows[key]))

    def scalar(self, row: Any, k: int, bits: int) -> None:
        """Let source `k` of the row become the address of a 64-bit word that holds `bits`."""
        index = self._words.setdefault(bits & (1 << 64) - 1, len(self._words))
        self._in_words.setdefault(self.row_number, []).append((k, index))

    def repeat(self, row_number: int) -> None:
        """Let the present row read the constants that an earlier row reads."""
        for uses in (self._in_rows, self._in_words):
            if row_number in uses:
                uses[self.row_number] = uses[row_number]

    def values(self) -> ConstantValues:
        """Return all constants collected so far and their uses."""
        return ConstantValues(
            np.array(self._row_values, np.uint32),
            np.array(list(self._words), np.uint64),
            _listed(self._in_rows),
            _listed(self._in_words),
        )


def _listed(uses: dict[int, list[tuple[int, int]]]) -> np.ndarray:
    found = [(row, k, index) for row, in_row in uses.items() for k, index in in_row]
    return np.array(found, np.int64).reshape(-1, 3)


def vgpr(number: int) -> int:
    """Return the byte offset of a vector register in the register file."""
    return number * ROW_BYTES
