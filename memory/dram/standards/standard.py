"""What a DRAM standard's table says of one channel."""

from dataclasses import dataclass, field
from typing import NamedTuple

PER_BANK_REFRESH = {
    "none": "all banks of a rank at once only",
    "bank": "one bank",
    "pair": "a bank and the one half of the banks further",
    "group": "the banks of one number in all bank groups",
}


class SourcedValue(NamedTuple):
    """A value and where it comes from."""

    value: float
    """The value."""
    source: str
    """Where it comes from."""


@dataclass(frozen=True)
class DramStandard:
    """One channel of a DRAM standard: organization and the defaults of every timing.

    A rank is a set of chips that share the channel's data bus. A pseudo-channel has a data bus of its own and shares
    the command buses with the other one; `bus_bits` and the banks are those of one rank or pseudo-channel.
    """

    description: str
    """Text for people."""
    pin_rate_gbps: SourcedValue
    """Rate of a pin."""
    transfers_per_clock: int
    """Data transfers that a pin makes in one command clock."""
    bus_bits: int
    """Width of the data bus."""
    burst_length: int
    """Transfers of a burst."""
    bank_groups: int
    """Bank groups of a rank."""
    banks_per_group: int
    """Banks of a group."""
    rows: int
    """Rows of a bank."""
    row_bytes: int
    """Bytes of a row."""
    separate_row_bus: bool
    """Row and column commands have a bus each."""
    organization_source: str
    """Where the organization comes from."""
    timing: dict[str, SourcedValue] = field(default_factory=dict)
    """Defaults of the timings by name."""
    max_ranks: int = 1
    """Most ranks of a channel."""
    pseudo_channels: int = 1
    """Pseudo-channels of a channel."""
    per_bank_refresh: str = "none"
    """Name of the refresh by bank; empty: none."""

    @property
    def channel_bytes(self) -> int:
        """Capacity of a channel of one rank."""
        return self.pseudo_channels * self.bank_groups * self.banks_per_group * self.rows * self.row_bytes
