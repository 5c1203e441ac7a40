"""Warm caches: what a launch leaves in L2 for the next one on the same GPU.

Only L2 keeps anything. A launch begins with an acquire, which invalidates the L1 caches (LLVM AMDGPU guide, memory
model for GFX6 to GFX9), and the microseconds between two launches exceed the DRAM's refresh interval, so that its rows
are closed and its write queues empty.
"""

from typing import Any

from memory.cache.l2_contents import L2Contents


class WarmCaches:
    """What launches leave for one another; empty at first."""

    def __init__(self) -> None:
        self._l2 = L2Contents()

    def restore(self, m: Any) -> None:
        """Fill the caches of a new machine; those of another shape stay empty."""
        self._l2.restore(m)

    def keep(self, m: Any) -> None:
        """Remember the caches of a machine whose launch has ended."""
        self._l2.keep(m)
