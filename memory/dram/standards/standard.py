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
    source: str


@dataclass(frozen=True)
class DramStandard:
    """One channel of a DRAM standard: organization and the defaults of every timing.

    A rank is a set of chips that share the channel's data bus. A pseudo-channel has a data bus of its own and shares
    the command buses with the other one; `bus_bits` and the banks are those of one rank or pseudo-channel.
    """

    description: str
    pin_rate_gbps: SourcedValue
    transfers_per_clock: int  # data transfers a pin makes in one command clock
    bus_bits: int
    burst_length: int
    bank_groups: int
    banks_per_group: int
    rows: int
    row_bytes: int
    separate_row_bus: bool  # row and column commands have a bus each
    organization_source: str
    timing: dict[str, SourcedValue] = field(
        default_factory=dict
    )  # by field of TimingOverrides; absent: not in this standard
    max_ranks: int = 1
    pseudo_channels: int = 1
    per_bank_refresh: str = "none"

    @property
    def channel_bytes(self) -> int:
        """Capacity of a channel of one rank."""
        return self.pseudo_channels * self.bank_groups * self.banks_per_group * self.rows * self.row_bytes
