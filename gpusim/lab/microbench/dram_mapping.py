"""Which address bits choose DRAM's channel and bank, read off by rows that put each other out.

A bank holds one row open. Two groups of lines, each of one row, are read by a chase, once in turn and once one group
after the other: if both rows are of one bank, the first way opens a row for each line, and takes longer; otherwise both
take the same, whatever translations or cold caches cost. What separates the rows of such a pair is an address
difference that a bank's number, with its channel's, does not see (as in Pessl et al., USENIX Security 2016, DRAMA).
All such differences together give the number's masks, but for what its banks are called.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import xor

import numpy as np

from gpusim.lab.microbench.bench import LINE_BYTES, Bench
from isa.device_memory import DeviceMemory

GROUP_LINES = 4  # of one row: the 256 bytes that a channel interleaves
FIRST_BIT = (GROUP_LINES * LINE_BYTES).bit_length() - 1
LAST_BIT = 27  # of rows; there a difference of this bit alone has to be one of rows
REACH_BYTES = 2 << LAST_BIT
NEEDED_BYTES = (
    4 * REACH_BYTES
)  # of device memory: an allocation that has space wherever it begins, and what else there is
PLAIN_CYCLES = 8.0  # by which the two ways differ at most where no row is put out: what queues and turns do


class _RowProbe:
    """Pairs of rows, told apart by whether they are of one bank."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._memory: DeviceMemory = bench.memory()
        held = self._memory.allocate(2 * REACH_BYTES, "rows")
        self._first = -(-held.address // REACH_BYTES) * REACH_BYTES  # where all of the bits are 0
        self._words = self._memory.view(held, np.uint64)
        self._start = held.address
        self._table = self._memory.upload(np.array([self._first], np.uint64), "start")
        self._threshold = PLAIN_CYCLES
        self._threshold = self._longer(1 << LAST_BIT) / 2

    @property
    def found(self) -> bool:
        """Whether the highest bit alone puts a row out, by which everything else is measured."""
        return self._threshold > PLAIN_CYCLES

    def _cycles(self, offsets: Sequence[int]) -> int:
        """Read lines in this order, the first one of them at offset 0, through cold caches."""
        for here, after in zip(offsets, [*offsets[1:], 0], strict=True):
            self._words[(self._first + here - self._start) // 8] = self._first + after
        block = struct.pack("<QII", self._table.address, len(offsets), 0)
        return self._bench.run(("chase", "vector_chase"), self._memory, block, 1, 1, gpu=self._bench.one_cu).cycles

    def _longer(self, difference: int) -> int:
        one = [line * LINE_BYTES for line in range(GROUP_LINES)]
        other = [offset ^ difference for offset in one]
        in_turn = [offset for pair in zip(one, other, strict=True) for offset in pair]
        return self._cycles(in_turn) - self._cycles([*one, *other])

    def unseen(self, difference: int) -> bool:
        """Tell whether the number of channel and bank is the same for two addresses with this difference.

        The highest bit is of the row alone: added to the difference, the rows differ in any case.
        """
        return self._longer(difference ^ 1 << LAST_BIT) > self._threshold


def _sums(bits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all sets of the bits, small ones first."""
    for size in range(len(bits) + 1):
        yield from combinations(bits, size)


def bank_masks(bench: Bench) -> list[int]:
    """Return the masks of the number of channel and bank in reduced form: each has an address bit that no other has.

    Empty where the highest bit does not tell rows of one bank apart.
    """
    rows = _RowProbe(bench)
    own: list[int] = []
    seen: dict[int, tuple[int, ...]] = {}
    for bit in bench.each("mapping: address bits of DRAM's banks", range(FIRST_BIT, LAST_BIT) if rows.found else ()):
        for some in _sums(own):
            if rows.unseen(reduce(xor, (1 << one for one in some), 1 << bit)):
                seen[bit] = some
                break
        else:
            own.append(bit)
    return [reduce(xor, (1 << bit for bit, some in seen.items() if one in some), 1 << one) for one in own]
