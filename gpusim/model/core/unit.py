"""A row of the table of timed units (`gpusim.model.core.units`)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A class of timed units.

    A unit with several reasons to run has a class for each, so that a visit handles one of them.
    """

    wheel_class: str
    """Name in memory.unit_classes."""
    meaning: str
    """Unit and event in words."""
    most: int
    """Largest number of units."""
    tick: str
    """Function that runs one unit: tick(m, now, unit), or tick(m, now) where there is at most one."""
    count: str | None = None
    """Field of the machine record with the number of units; None: one."""
    rotating: bool = False
    """Run the units of a cycle from a start that rotates (`count` is then a power of two); otherwise by number."""
    beyond_crossbar: bool = False
    """Whether the units are on the far side of the crossbar, where L2 is, and not on the CUs'."""
    prefetch: str | None = None
    """Function that returns the first address that tick(m, now, unit) reads, fetched one unit ahead; None: none."""
    state: str | None = None
    """Part of the machine record, declared at the first class of the unit; None: none of its own."""
    configure: str | None = None
    """Function that sets up the state from the machine record and any of `gpu` and `l2_taken`; None: none."""

    @property
    def alone(self) -> bool:
        """Whether there can be only one unit of the class."""
        return self.most == 1
