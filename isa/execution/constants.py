"""Constants that a program's instructions read by address, and where registers lie."""

from typing import Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.jit import address_of
from isa.architecture import LANES, ROW_BYTES


class Constants:
    """The constants of one program: 256-byte rows for vector operands, 64-bit words for scalar ones."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], int] = {}
        self._words: dict[int, int] = {}
        self._row_values: list[int] = []
        self._in_rows: list[tuple[Any, int, int]] = []
        self._in_words: list[tuple[Any, int, int]] = []

    def vector(self, row: Any, k: int, bits: int, dwords: int) -> None:
        """Let source `k` of a program row become the address of rows that hold `bits` in every lane."""
        key = (bits, dwords)
        if key not in self._rows:
            self._rows[key] = len(self._row_values)
            self._row_values += [(bits >> 32 * d) & 0xFFFF_FFFF for d in range(dwords)]
        self._in_rows.append((row, k, self._rows[key]))

    def scalar(self, row: Any, k: int, bits: int) -> None:
        """Let source `k` of a program row become the address of a 64-bit word that holds `bits`."""
        index = self._words.setdefault(bits & (1 << 64) - 1, len(self._words))
        self._in_words.append((row, k, index))

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Lay the constants out and fill in their addresses; returns the buffers, to be kept alive."""
        rows = zeroed((len(self._row_values) + 1) * ROW_BYTES, huge_pages=False)
        lanes = rows.view(np.uint32).reshape(-1, LANES)
        for i, value in enumerate(self._row_values):
            lanes[i] = value
        words = np.array(list(self._words) or [0], np.uint64)
        for row, k, i in self._in_rows:
            row.source[k] = address_of(rows) + i * ROW_BYTES
        for row, k, i in self._in_words:
            row.source[k] = address_of(words) + 8 * i
        return rows, words


def vgpr(number: int) -> int:
    """Byte offset of a vector register in the register file."""
    return number * ROW_BYTES
