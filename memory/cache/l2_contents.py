"""What L2 holds, taken out of one machine and put into another."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory.cache.l2_state import CODE_BITS, SOME_BYTES
from memory.sets.rows import FILLING, NO_TAG


@dataclass
class L2Contents:
    """Tags, order of use and dirty bytes; empty at first.

    partial: slots that hold some bytes of their lines, masks: which; the other masks of some megabytes mean nothing.
    """

    shape: tuple[int, ...] = ()
    held: dict[str, np.ndarray] = field(default_factory=dict)
    partial: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    masks: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def restore(self, m: Any) -> None:
        """Fill the L2 of a new machine; an L2 of another shape stays empty."""
        if self.shape == _shape(m):
            for name, values in self.held.items():
                getattr(m.l2, name)[: len(values)] = values
            m.l2.mask[self.partial] = self.masks

    def keep(self, m: Any) -> None:
        """Remember the L2 of a machine whose launch has ended."""
        l2 = m.l2
        rows, stride = int(l2.channels * l2.sets), int(l2.stride)
        kept = {
            "rows": l2.rows[: 2 * rows * stride].copy(),
            "note": l2.note[: rows * stride].copy(),
            "order": l2.order.copy(),
        }
        lines = kept["rows"].reshape(rows, 2, stride)
        tags, orders = lines[:, 0], lines[:, 1]
        ways = slice(0, int(l2.ways))
        filling = np.zeros(orders.shape, bool)  # only after a launch that was stopped
        filling[:, ways] = orders[:, ways] >= FILLING
        tags[filling] = NO_TAG
        orders[filling] = 0
        kept["note"].reshape(rows, stride)[filling] = 0
        self.partial = np.flatnonzero(kept["note"] & (SOME_BYTES | SOME_BYTES << CODE_BITS))
        self.masks = l2.mask[self.partial]
        self.shape, self.held = _shape(m), kept


def _shape(m: Any) -> tuple[int, ...]:
    """What decides where a line lies in L2, and what its order words mean."""
    l2, address_map = m.l2, m.map
    lies = (l2.channels, l2.sets, l2.ways, address_map.interleave_lines_bits, address_map.l2_hash_mask)
    return tuple(int(p) for p in (*lies, l2.replacement, l2.write))
