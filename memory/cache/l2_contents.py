"""What L2 holds, taken out of one machine and put into another, which may cache lines in another part of its L2."""

from dataclasses import dataclass, field

import numpy as np

from gpusim.base.jit import Machine
from memory.address_map import L2_CHANNEL
from memory.cache.l2_state import CODE_BITS, DIRTY, SOME_BYTES
from memory.sets.rows import FILLING, NO_TAG, stride_of

_DIRTY_CODE = ((1 << CODE_BITS) - 1) << (CODE_BITS * DIRTY)  # of a note


@dataclass
class L2Contents:
    """Tags, replacement order and dirty bytes saved from an L2; empty at first."""

    shape: tuple[int, ...] = ()
    """Geometry, address map and policies of the L2; empty: nothing saved."""
    held: dict[str, np.ndarray] = field(default_factory=dict)
    """Saved arrays of the L2 state by field."""
    partial: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64 [parts]: parts of slots with only some of their bytes."""
    masks: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """int64 [parts, 2]: valid bytes of the parts in `partial`; other masks, several megabytes, are not saved."""

    @property
    def sets_and_ways(self) -> tuple[int, int]:
        """Sets and ways of a channel that hold the lines."""
        return self.shape[1], self.shape[2]

    def matches_machine(self, m: Machine) -> bool:
        """Tell whether the machine's L2 is the one that the lines are from.

        Other sets or ways of it may cache lines.
        """
        return bool(self.shape) and _but_sets_and_ways(self.shape) == _but_sets_and_ways(_shape(m))

    def restore(self, m: Machine) -> None:
        """Fill the L2 of a new machine; an L2 of another shape stays empty."""
        if self.shape == _shape(m):
            for name, values in self.held.items():
                getattr(m.l2, name)[: len(values)] = values
            m.l2.mask[self.partial] = self.masks

    def restore_as_it_was(self, m: Machine) -> None:
        """Fill the L2 of a new machine, which gets the sets and ways that the lines lie in, for a flush."""
        m.l2.sets, m.l2.ways = self.sets_and_ways
        m.l2.stride = stride_of(int(m.l2.ways))
        self.restore(m)

    def restore_ways(self, m: Machine) -> None:
        """Fill the L2 of a new machine with as many sets and other ways; lines of ways that it lacks are lost."""
        l2, sets = m.l2, self.shape[1]
        rows, ways, bits = int(l2.channels) * sets, min(int(l2.ways), self.shape[2]), int(l2.part_bits)
        before, now = stride_of(self.shape[2]), int(l2.stride)
        lines = self.held["rows"].reshape(rows, 2, before)
        l2.rows[: 2 * rows * now].reshape(rows, 2, now)[:, :, :ways] = lines[:, :, :ways]
        before, now, ways = before << bits, now << bits, ways << bits  # parts of a set
        notes = self.held["note"].reshape(rows, before)
        l2.note[: rows * now].reshape(rows, now)[:, :ways] = notes[:, :ways]
        l2.order[:] = self.held["order"]
        row, part = self.partial // before, self.partial % before
        stay = part < ways
        l2.mask[row[stay] * now + part[stay]] = self.masks[stay]

    def keep(self, m: Machine) -> None:
        """Remember the L2 of a machine whose launch has ended."""
        l2 = m.l2
        rows, stride, parts = int(l2.channels * l2.sets), int(l2.stride), 1 << int(l2.part_bits)
        kept: dict[str, np.ndarray] = {
            "rows": l2.rows[: 2 * rows * stride].copy(),
            "note": l2.note[: rows * stride * parts].copy(),
            "order": l2.order.copy(),
        }
        lines = kept["rows"].reshape(rows, 2, stride)
        tags, orders = lines[:, 0], lines[:, 1]
        ways = slice(0, int(l2.ways))
        filling = np.zeros(orders.shape, bool)  # only after a launch that was stopped
        filling[:, ways] = orders[:, ways] >= FILLING
        tags[filling] = NO_TAG
        orders[filling] = 0
        kept["note"].reshape(rows, stride, parts)[filling] = 0
        self.partial = np.flatnonzero(kept["note"] & (SOME_BYTES | SOME_BYTES << CODE_BITS))
        self.masks = l2.mask[self.partial]
        self.shape, self.held = _shape(m), kept


def _shape(m: Machine) -> tuple[int, ...]:
    """Return what decides where a line lies in L2, and what its order words mean, as integers."""
    l2, matrix = m.l2, m.map.matrix[L2_CHANNEL]
    lies = (l2.channels, l2.sets, l2.ways, l2.part_bits, m.map.interleave_lines_bits, *matrix["shift"], *matrix["mask"])
    return tuple(int(p) for p in (*lies, l2.replacement, l2.write))


def _but_sets_and_ways(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[:1] + shape[3:]


def _parts(m: Machine) -> int:
    return int(m.l2.channels * m.l2.sets * m.l2.stride) << int(m.l2.part_bits)


def lose_lines(m: Machine) -> None:
    """Forget all lines of a machine's L2, of which none is dirty, before it gets other sets or ways."""
    m.l2.note[: _parts(m)] = 0


def dirty_lines(m: Machine) -> int:
    """Count the lines of 64 bytes of a machine's L2 that hold bytes that DRAM does not."""
    notes = m.l2.note[: _parts(m)]
    return int(np.count_nonzero(notes & _DIRTY_CODE))
