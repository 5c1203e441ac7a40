"""Warm caches: what a launch leaves in L2 for the next one on the same GPU.

Only L2 keeps anything. A launch begins with an acquire, which invalidates the L1 caches (LLVM AMDGPU guide, memory
model for GFX6 to GFX9), and the microseconds between two launches exceed the DRAM's refresh interval, so that its rows
are closed and its write queues empty.
"""

from typing import Any

import numpy as np

from memory.l2 import FILLING, W_DIRTY, W_LRU, W_PENDING, W_TAG


class WarmCaches:
    """L2 tags, ages and dirty bytes between launches; empty at first."""

    def __init__(self) -> None:
        self._shape: tuple[int, ...] = ()
        self._held: dict[str, np.ndarray] = {}

    def restore(self, m: Any) -> None:
        """Fill the L2 of a new machine; an L2 of another shape stays empty."""
        if self._shape == _shape(m):
            for name, values in self._held.items():
                getattr(m.l2, name)[: len(values)] = values

    def keep(self, m: Any) -> None:
        """Remember the L2 of a machine whose launch has ended. Ages count back from the next launch's cycle 0."""
        lines = int(m.l2.channels * m.l2.sets * m.l2.ways)
        kept = {name: getattr(m.l2, name)[:lines].copy() for name in ("way", "content")}
        way, content = kept["way"], kept["content"]
        filling = content[:, W_PENDING] != 0  # only after a launch that was stopped
        way[filling, W_TAG] = -1
        way[filling, W_LRU] -= FILLING
        way[:, W_LRU] -= int(m.wheel.now) + 1
        content[filling, W_PENDING] = 0
        content[filling, W_DIRTY] = 0
        self._shape, self._held = _shape(m), kept


def _shape(m: Any) -> tuple[int, ...]:
    """What decides where a line lies in L2."""
    l2, address_map = m.l2, m.map
    parts = (l2.channels, l2.sets, l2.ways, address_map.interleave_lines_bits, address_map.hash_channels)
    return tuple(int(p) for p in parts)
