"""What the TLBs hold, taken out of one machine and put into another."""

from dataclasses import dataclass, field

import numpy as np

from gpusim.base.jit import Machine
from memory.translation.state import MAX_TLBS


@dataclass
class TlbContents:
    """Pages and order of use that were taken out of the L1 TLBs and the L2 TLB; empty at first."""

    shape: tuple[int, ...] = ()
    """What decides where a page lies: page bits, entries, ways and policies."""
    held: dict[str, np.ndarray] = field(default_factory=dict)
    """Rows and order words by array."""
    l2_order: int = 0
    """Running number of the L2 TLB's look-ups and walks."""

    def restore(self, m: Machine) -> None:
        """Fill the TLBs of a new machine; those of another shape stay empty."""
        if self.shape == _shape(m):
            for name, values in self.held.items():
                getattr(m.translation, name)[: len(values)] = values
            m.translation.l2_order = self.l2_order

    def keep(self, m: Machine) -> None:
        """Remember the TLBs of a machine whose launch has ended; pages still walked for are not in them."""
        t = m.translation
        self.held = {
            "l1_rows": t.l1_rows[: 2 * MAX_TLBS * int(t.l1_stride)].copy(),
            "l1_order": t.l1_order.copy(),
            "l2_rows": t.l2_rows[: 2 * int(t.l2_sets * t.l2_stride)].copy(),
        }
        self.l2_order, self.shape = int(t.l2_order), _shape(m)


def _shape(m: Machine) -> tuple[int, ...]:
    """Return what decides where a page lies in a TLB, and what its order words mean, as integers."""
    t = m.translation
    l2 = (t.l2_sets, t.l2_ways, t.l2_replacement)
    return tuple(int(p) for p in (t.page_bits, t.l1_entries, t.l1_replacement, *l2))
