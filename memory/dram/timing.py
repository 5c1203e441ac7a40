"""A specification resolved: organization, and every timing in command clocks; what the model cannot represent is
refused here."""

from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.formats import GENERAL
from isa.trace import LINE_BYTES
from memory.dram.constants import MAX_BANKS, MAX_RANKS
from memory.dram.standards import PER_BANK_REFRESH, STANDARDS

if TYPE_CHECKING:
    from memory.dram.spec import DramSpec

ROUNDING_CLOCKS = 1e-6  # what a product of decimal numbers may lie above a whole clock
ORGANIZATION = (  # fields of a standard that a configuration's `organization` may replace
    "transfers_per_clock",
    "bus_bits",
    "burst_length",
    "bank_groups",
    "banks_per_group",
    "rows",
    "row_bytes",
    "separate_row_bus",
    "max_ranks",
    "pseudo_channels",
    "per_bank_refresh",
)


class DramTiming(NamedTuple):
    """All timings of the protocol, in command clocks, with the organization that they apply to.

    A timing that is None is not in the standard: rules that name it do not hold.
    """

    clock_hz: float
    """Command clock."""
    burst_clocks: int
    """Clocks of a burst on the data bus."""
    bursts_per_line: int
    """Bursts of a cache line."""
    bank_groups: int
    """Bank groups of a rank or pseudo-channel."""
    banks_per_group: int
    """Banks of a group."""
    lines_per_row: int
    """Cache lines of a row."""
    separate_row_bus: bool
    """Row and column commands have a bus each."""
    trcd_read: int
    """Activate to read."""
    trcd_write: int
    """Activate to write."""
    trp: int
    """Precharge to activate."""
    tras: int
    """Activate to precharge."""
    trc: int
    """Activate to activate of a bank."""
    tcl: int
    """Read to its data."""
    tcwl: int
    """Write to its data."""
    trrd_short: int
    """Activate to activate of another group."""
    trrd_long: int
    """Activate to activate of the same group."""
    tfaw: int
    """Window of four activates."""
    twr: int
    """End of write data to precharge."""
    twtr_short: int
    """End of write data to read in another group."""
    twtr_long: int
    """End of write data to read in the same group."""
    trtp: int
    """Read to precharge."""
    tppd: int
    """Precharge to precharge."""
    tccd_short: int
    """Column command to one of another group."""
    tccd_long: int
    """Column command to one of the same group."""
    turnaround: int
    """Idle clocks between reads and writes on the bus."""
    trfc: int
    """Refresh of all banks."""
    trefi: int
    """Interval between refreshes."""
    trp_all: int
    """Precharge of all banks to activate."""
    t32aw: int | None = None
    """Window of 32 activates."""
    tccd_long_write: int | None = None
    """`tccd_long` of writes."""
    trtrs: int | None = None
    """Idle clocks between ranks on the bus."""
    trfc_bank: int | None = None
    """Refresh of one bank."""
    trrefd: int | None = None
    """Refresh of a bank to activate or refresh of another one."""
    trefb_to_refb: int | None = None
    """Refresh of a bank to that of the next one."""
    act: int | None = None
    """Clocks of an activate on its bus."""
    column: int | None = None
    """Clocks of a column command on its bus."""
    act_shared: int | None = None
    """`act` where row and column commands share a bus."""
    column_shared: int | None = None
    """`column` where they share a bus."""
    wdm: int | None = None
    """Clocks of a write with a mask of byte pairs."""
    wsm: int | None = None
    """Clocks of a write with a mask of bytes."""
    ranks: int = 1
    """Ranks of a channel."""
    pseudo_channels: int = 1
    """Pseudo-channels of a channel."""
    refresh_covers: str = "all"
    """Covers "all" banks of a rank, or a name of PER_BANK_REFRESH."""
    rows: int = 0
    """Rows of a bank."""
    row_bytes: int = 0
    """Bytes of a row."""

    @property
    def rank_banks(self) -> int:
        """Banks of a rank or pseudo-channel."""
        return self.bank_groups * self.banks_per_group

    @property
    def units(self) -> int:
        """Ranks or pseudo-channels of a channel: what rules of level `RANK` hold in."""
        return self.ranks * self.pseudo_channels

    @property
    def banks(self) -> int:
        """Banks of a channel, numbered with the bank group in the low bits and the rank in the high ones."""
        return self.units * self.rank_banks

    @property
    def refresh_sets(self) -> tuple[int, ...]:
        """Masks of the banks of a rank that successive refreshes cover."""
        banks, groups = self.rank_banks, self.bank_groups
        if self.refresh_covers == "bank":
            return tuple(1 << bank for bank in range(banks))
        if self.refresh_covers == "pair":
            return tuple(1 << bank | 1 << (bank + banks // 2) for bank in range(banks // 2))
        if self.refresh_covers == "group":
            return tuple(((1 << groups) - 1) << (bank * groups) for bank in range(self.banks_per_group))
        return ((1 << banks) - 1,)

    def refreshed_with(self, bank: int) -> list[int]:
        """Return the banks, as the channel numbers them, that a refresh covers whose first bank is `bank`."""
        rank, in_rank = divmod(bank, self.rank_banks)
        covered = next(banks for banks in self.refresh_sets if banks & -banks == 1 << in_rank)
        return [rank * self.rank_banks + k for k in range(self.rank_banks) if covered >> k & 1]

    @property
    def channel_bytes_per_s(self) -> float:
        """Bandwidth of a channel's data pins."""
        return self.pseudo_channels * LINE_BYTES / (self.bursts_per_line * self.burst_clocks) * self.clock_hz

    @property
    def channel_bytes(self) -> int:
        """Capacity of a channel."""
        return self.banks * self.rows * self.row_bytes


def resolve(spec: "DramSpec") -> DramTiming:
    """Return the standard's table with the specification's overrides, in command clocks.

    Raises ValueError for what makes no sense and for what the model cannot represent.
    """
    standard = STANDARDS[spec.standard]
    held = {name: getattr(standard, name) for name in ORGANIZATION}
    given = {name: getattr(spec.organization, name) for name in ORGANIZATION}
    organization = held | {name: value for name, value in given.items() if value is not None}
    clock_hz = (spec.pin_rate_gbps or standard.pin_rate_gbps.value) * 1e9 / organization["transfers_per_clock"]
    clocks = _clocks(spec, clock_hz)
    act, column = clocks["act"], clocks["column"]
    shared = not organization["separate_row_bus"]
    _check_organization(spec, organization)
    burst_bytes = organization["bus_bits"] * organization["burst_length"] // 8
    if clocks["trp_all"] is None:
        clocks["trp_all"] = clocks["trp"]
    per_bank = spec.refresh == "per_bank"
    if per_bank and clocks["trfc_bank"] is None:
        raise ValueError(f"refresh: per_bank: the standard '{spec.standard}' has none; give timing.trfc_bank_ns")
    if spec.ranks > 1 and clocks["trtrs"] is None:
        raise ValueError(f"ranks: {spec.ranks}: timing.trtrs_clocks of '{spec.standard}' is not given")
    timing = DramTiming(
        clock_hz=clock_hz,
        burst_clocks=organization["burst_length"] // organization["transfers_per_clock"],
        bursts_per_line=LINE_BYTES // burst_bytes,
        lines_per_row=organization["row_bytes"] // LINE_BYTES,
        act_shared=act if shared else None,
        column_shared=column if shared else None,
        ranks=spec.ranks,
        refresh_covers=organization["per_bank_refresh"] if per_bank else "all",
        **{
            name: organization[name]
            for name in ("bank_groups", "banks_per_group", "separate_row_bus", "pseudo_channels", "rows", "row_bytes")
        },
        **clocks,  # type: ignore[arg-type]
    )
    _check_timing(timing)
    return timing


def _clocks(spec: "DramSpec", clock_hz: float) -> dict[str, int | None]:
    """Return every timing in command clocks, by its name without unit; None: neither given nor in the standard."""
    table = STANDARDS[spec.standard].timing
    clocks: dict[str, int | None] = {}
    for name in type(spec.timing).model_fields:
        given = getattr(spec.timing, name)
        value = table[name].value if given is None and name in table else given
        plain = name.removesuffix("_ns").removesuffix("_clocks")
        if value is None:
            clocks[plain] = None
        elif name.endswith("_ns"):
            clocks[plain] = ceil(value * clock_hz / 1e9 - ROUNDING_CLOCKS)
        else:
            clocks[plain] = int(value)
    return clocks


def _check_organization(spec: "DramSpec", organization: dict[str, Any]) -> None:
    """Raise ValueError for a geometry that the address mapping or the fixed sizes cannot represent."""
    for name in ("bank_groups", "banks_per_group", "pseudo_channels"):
        value = organization[name]
        if value & (value - 1):
            raise ValueError(f"organization.{name}: {value} is not a power of two: address bits would name no bank")
    row, bits, length = organization["row_bytes"], organization["bus_bits"], organization["burst_length"]
    if row % LINE_BYTES or row & (row - 1):
        raise ValueError(
            f"organization.row_bytes: {row} is not a power of two of at least {LINE_BYTES}: lines would not fill a row"
        )
    if bits * length % 8 or LINE_BYTES % (bits * length // 8):
        raise ValueError(
            f"organization: a burst of {length} on {bits} bits is {GENERAL(bits * length / 8)} bytes; a line of "
            f"{LINE_BYTES} bytes must be a whole number of bursts"
        )
    if length % organization["transfers_per_clock"]:
        raise ValueError(
            f"organization.burst_length: {length} is not a whole number of clocks of "
            f"{organization['transfers_per_clock']} transfers"
        )
    lines = row // LINE_BYTES
    if spec.group_interleave_lines > lines:
        raise ValueError(f"group_interleave_lines: {spec.group_interleave_lines} is more than the {lines} of a row")
    if spec.ranks > organization["max_ranks"] or spec.ranks & (spec.ranks - 1):
        raise ValueError(
            f"ranks: {spec.ranks}: '{spec.standard}' has at most {organization['max_ranks']}, and a power of two"
        )
    if spec.ranks > 1 and organization["pseudo_channels"] > 1:
        raise ValueError("ranks and pseudo-channels in one channel are not supported together")
    units = spec.ranks * organization["pseudo_channels"]
    banks = units * organization["bank_groups"] * organization["banks_per_group"]
    if units > MAX_RANKS or banks > MAX_BANKS:
        raise ValueError(
            f"a channel of {units} ranks or pseudo-channels and {banks} banks: at most {MAX_RANKS} and {MAX_BANKS} "
            "are supported"
        )
    covers = organization["per_bank_refresh"]
    if spec.refresh == "per_bank" and covers == "none":
        allowed = ", ".join(name for name in PER_BANK_REFRESH if name != "none")
        raise ValueError(
            f"refresh: per_bank: '{spec.standard}' refreshes all banks at once; organization.per_bank_refresh may say "
            f"what else one refresh covers: {allowed}"
        )
    if covers == "pair" and organization["bank_groups"] * organization["banks_per_group"] < 2:
        raise ValueError("organization.per_bank_refresh: pair: there is one bank only")


def _check_timing(timing: DramTiming) -> None:
    """Raise ValueError for timings that contradict one another."""
    if timing.trc < timing.tras:
        raise ValueError(f"trc ({timing.trc} clocks) must not be below tras ({timing.tras} clocks)")
    if timing.trefi <= timing.trfc + timing.tras + timing.trp + timing.twr:
        raise ValueError(f"trefi ({timing.trefi} clocks) leaves no time between refreshes of {timing.trfc} clocks")
    if timing.refresh_covers != "all":
        # refreshes of different banks overlap, closing a row and the distance between two refreshes do not
        interval = timing.trefi // len(timing.refresh_sets)
        longest = max(timing.trefb_to_refb or 0, timing.tras + timing.trp + timing.twr)
        if interval <= longest or (timing.trfc_bank or 0) >= timing.trefi:
            raise ValueError(f"trefi leaves {interval} clocks between refreshes of banks, which take up to {longest}")
    if min(timing.tccd_short, timing.tccd_long) < timing.burst_clocks:
        raise ValueError(f"tccd must be at least the burst's {timing.burst_clocks} clocks")
    if timing.tccd_long < timing.tccd_short or timing.twtr_long < timing.twtr_short:
        raise ValueError("delays within a bank group must not be below those between bank groups")
    if timing.trrd_long < timing.trrd_short:
        raise ValueError("trrd_long must not be below trrd_short")
    if timing.tcl + timing.tccd_short + timing.turnaround < timing.tcwl:
        raise ValueError("tcwl must not exceed tcl + tccd_short + turnaround")
