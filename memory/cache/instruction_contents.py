"""What the instruction caches hold, taken out of one machine and put into another."""

from dataclasses import dataclass, field

import numpy as np

from gpusim.base.jit import Machine
from memory.sets.rows import FILLING, NO_TAG


@dataclass
class InstructionContents:
    """Lines and order of use that were taken out of the instruction caches; empty at first."""

    shape: tuple[int, ...] = ()
    """Caches, sets and ways."""
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    """Lines by row and way."""
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Order of use."""

    def restore(self, m: Machine, arrays: int) -> None:
        """Fill the instruction caches of a new machine; those of another shape stay empty."""
        if self.shape == _shape(m, arrays):
            m.icache.rows[: len(self.rows)] = self.rows
            m.icache.order[:arrays] = self.order

    def keep(self, m: Machine, arrays: int) -> None:
        """Remember the instruction caches of a machine whose launch has ended, without lines that have not come."""
        cache = m.icache
        table = cache.rows[: arrays * int(cache.sets) * 2 * int(cache.stride)].copy().reshape(-1, 2, int(cache.stride))
        tags, orders = table[:, 0], table[:, 1]
        missing = (orders & FILLING != 0) & (np.arange(table.shape[2]) < int(cache.ways))
        tags[missing], orders[missing] = NO_TAG, 0
        self.rows, self.order, self.shape = table.reshape(-1), cache.order[:arrays].copy(), _shape(m, arrays)


def _shape(m: Machine, arrays: int) -> tuple[int, ...]:
    """Return what decides where a line lies in the caches, and what their order words mean, as integers."""
    cache = m.icache
    return arrays, int(cache.sets), int(cache.ways), int(cache.replacement)
