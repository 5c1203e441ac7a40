"""DRAM parts as tables of sourced values, and the specification that picks a part and overrides it.

A part describes one channel. Delays that the silicon fixes are in nanoseconds and are rounded up to command
clocks; delays that the protocol fixes are in command clocks.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from pydantic import ValidationInfo, field_validator, model_validator

from gpusim.base.spec import Spec, param
from isa.trace import LINE_BYTES
from memory.address_map import MAX_DRAM_CHANNELS

MAX_QUEUE = 128  # requests of one kind that a channel can hold
MAX_BANKS = 32
ROUNDING_CLOCKS = 1e-6  # what a product of decimal numbers may lie above a whole clock


@dataclass(frozen=True)
class Sourced:
    """A value and where it comes from."""

    value: float
    source: str


@dataclass(frozen=True)
class Part:
    """One channel of a DRAM part: organisation and the defaults of every field of `TimingOverrides`."""

    description: str
    pin_rate_gbps: Sourced
    transfers_per_clock: int  # data transfers a pin makes in one command clock
    bus_bits: int
    burst_length: int
    bank_groups: int
    banks_per_group: int
    row_bytes: int
    separate_row_bus: bool  # row and column commands have a bus each
    organisation_source: str
    timing: dict[str, Sourced]


_HYNIX = "SK hynix H5GQ1H24AFR data sheet, as quoted by gem5's GDDR5_4000_2x32"
_BIN7 = "Ramulator 1.0, GDDR5 speed bin 7000"
_GEM5_HBM = "gem5 HBM_1000_4H_1x128"
_RAM_HBM = "Ramulator 1.0, HBM speed bin 1Gbps (500 MHz clock)"

PARTS: dict[str, Part] = {
    "gddr5": Part(
        description="GDDR5, 4 Gbit x32, 7 Gb/s a pin: 28 GB/s a channel; 8 channels are 224 GB/s and 4 GB",
        pin_rate_gbps=Sourced(7.0, "AMD Radeon Instinct MI6 data sheet: 224 GB/s over 256 bits"),
        transfers_per_clock=4,
        bus_bits=32,
        burst_length=8,
        bank_groups=4,
        banks_per_group=4,
        row_bytes=2048,
        separate_row_bus=False,
        organisation_source="JESD212 as in Ramulator's GDDR5_4Gb_x32: 4 groups of 4 banks, 64 columns of 32 bytes",
        timing={
            "trcd_read_ns": Sourced(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
            "trcd_write_ns": Sourced(10.0, f"18 clocks in {_BIN7}"),
            "trp_ns": Sourced(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
            "tras_ns": Sourced(28.0, f"{_HYNIX}; 49 clocks in {_BIN7}"),
            "trc_ns": Sourced(40.0, f"tRAS + tRP; 70 clocks in {_BIN7}"),
            "tcl_ns": Sourced(12.0, f"{_HYNIX} (assumed equal to tRCD there); 21 clocks in {_BIN7}"),
            "trrd_short_ns": Sourced(5.5, f"{_HYNIX}; 10 clocks in {_BIN7}"),
            "trrd_long_ns": Sourced(5.5, f"{_HYNIX}: the same within a bank group"),
            "tfaw_ns": Sourced(23.0, f"{_HYNIX} (tXAW); 41 clocks in {_BIN7}"),
            "twr_ns": Sourced(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
            "twtr_short_ns": Sourced(5.0, f"{_HYNIX} (mean of short and long); 9 clocks in {_BIN7}"),
            "twtr_long_ns": Sourced(5.0, f"{_HYNIX} (mean of short and long)"),
            # Ramulator's 260 ns for 4 Gbit are DDR3's, and would leave less than what an RX 570 reaches (clpeak: 86 %)
            "trfc_ns": Sourced(65.0, f"{_HYNIX}, of 1 Gbit"),
            "trefi_ns": Sourced(1900.0, "Ramulator 1.0, GDDR5 above 1 Gbit: 3325 clocks"),
            "tcwl_clocks": Sourced(6, _BIN7),
            "trtp_clocks": Sourced(2, f"{_HYNIX}; {_BIN7}"),
            "tppd_clocks": Sourced(2, _BIN7),
            "tccd_short_clocks": Sourced(2, f"{_HYNIX}; {_BIN7}"),
            "tccd_long_clocks": Sourced(3, f"{_HYNIX}; {_BIN7}"),
            "turnaround_clocks": Sourced(2, "Ramulator 1.0 and gem5: two idle clocks between read and write data"),
        },
    ),
    "hbm1": Part(
        description="HBM, 1 Gbit a channel x128, 1 Gb/s a pin: 16 GB/s a channel; 32 channels are 512 GB/s and 4 GB",
        pin_rate_gbps=Sourced(1.0, "AMD Radeon R9 Nano data sheet: 512 GB/s over 4096 bits"),
        transfers_per_clock=2,
        bus_bits=128,
        burst_length=2,
        bank_groups=4,
        banks_per_group=2,
        row_bytes=2048,
        separate_row_bus=True,
        organisation_source="JESD235 as in Ramulator's HBM_1Gb (4 groups of 2 banks) and gem5 (legacy mode, 2 KiB row)",
        timing={
            "trcd_read_ns": Sourced(14.0, f"7 clocks in {_RAM_HBM}; 14 ns in GPGPU-Sim's HBM set"),
            "trcd_write_ns": Sourced(12.0, f"6 clocks in {_RAM_HBM}"),
            "trp_ns": Sourced(14.0, f"7 clocks in {_RAM_HBM}; 14 ns in GPGPU-Sim's HBM set"),
            "tras_ns": Sourced(33.0, f"{_GEM5_HBM}; 17 clocks in {_RAM_HBM}"),
            "trc_ns": Sourced(47.0, f"GPGPU-Sim's HBM set; 24 clocks in {_RAM_HBM}"),
            "tcl_ns": Sourced(14.0, f"7 clocks in {_RAM_HBM}; 14 ns in GPGPU-Sim's HBM set"),
            "trrd_short_ns": Sourced(8.0, f"4 clocks in {_RAM_HBM}"),
            "trrd_long_ns": Sourced(10.0, f"5 clocks in {_RAM_HBM}"),
            "tfaw_ns": Sourced(30.0, f"{_GEM5_HBM}, after MemCon 2014"),
            "twr_ns": Sourced(16.0, f"8 clocks in {_RAM_HBM}"),
            "twtr_short_ns": Sourced(4.0, f"2 clocks in {_RAM_HBM}"),
            "twtr_long_ns": Sourced(8.0, f"4 clocks in {_RAM_HBM}"),
            "trfc_ns": Sourced(110.0, "Ramulator 1.0, HBM 1 Gbit a channel: 55 clocks"),
            "trefi_ns": Sourced(3900.0, f"JESD235 as quoted by {_GEM5_HBM}"),
            "tcwl_clocks": Sourced(4, _RAM_HBM),
            "trtp_clocks": Sourced(4, f"7.5 ns in {_GEM5_HBM}; 4 clocks in GPGPU-Sim's HBM set"),
            "tppd_clocks": Sourced(1, "assumed: the row bus takes one command a clock"),
            "tccd_short_clocks": Sourced(1, "GPGPU-Sim's HBM set; one clock is a burst of two"),
            "tccd_long_clocks": Sourced(2, "GPGPU-Sim's HBM set"),
            "turnaround_clocks": Sourced(2, f"{_GEM5_HBM}: tRTW 4 ns; Ramulator 1.0"),
        },
    ),
}

_PART = "the part's table"


def _delay(meaning: str) -> float | None:
    value: float | None = param(None, f"{meaning}, in ns; null: the part's", _PART, gt=0, le=100_000)
    return value


def _clocks(meaning: str, least: int = 1) -> int | None:
    value: int | None = param(None, f"{meaning}, in command clocks; null: the part's", _PART, ge=least, le=1000)
    return value


class TimingOverrides(Spec):
    """Values that replace those of the part's table; null keeps the part's."""

    trcd_read_ns: float | None = _delay("activate to read")
    trcd_write_ns: float | None = _delay("activate to write")
    trp_ns: float | None = _delay("precharge to activate")
    tras_ns: float | None = _delay("activate to precharge")
    trc_ns: float | None = _delay("activate to activate of one bank")
    tcl_ns: float | None = _delay("read command to first data")
    trrd_short_ns: float | None = _delay("activate to activate, different bank groups")
    trrd_long_ns: float | None = _delay("activate to activate, same bank group")
    tfaw_ns: float | None = _delay("window that holds at most four activates")
    twr_ns: float | None = _delay("end of write data to precharge")
    twtr_short_ns: float | None = _delay("end of write data to read, different bank groups")
    twtr_long_ns: float | None = _delay("end of write data to read, same bank group")
    trfc_ns: float | None = _delay("refresh to activate")
    trefi_ns: float | None = _delay("mean interval of refreshes")
    tcwl_clocks: int | None = _clocks("write command to first data")
    trtp_clocks: int | None = _clocks("read to precharge")
    tppd_clocks: int | None = _clocks("precharge to precharge")
    tccd_short_clocks: int | None = _clocks("column command to column command, different bank groups")
    tccd_long_clocks: int | None = _clocks("column command to column command, same bank group")
    turnaround_clocks: int | None = _clocks("idle data-bus clocks between read and write data", least=0)


class DramSpec(Spec):
    """What the DRAM is and how its controllers schedule."""

    model: Literal["cycle", "ideal"] = param(
        "cycle", "cycle: banks, rows and commands; ideal: fixed latency and a given bandwidth", "cycle-level by default"
    )
    part: str = param("gddr5", f"part: {', '.join(PARTS)}", "AMD Radeon Instinct MI6: GDDR5")
    channels: int = param(
        8,
        "channels of the part's width, a power of two",
        "AMD Radeon Instinct MI6: 256 bits",
        ge=1,
        le=MAX_DRAM_CHANNELS,
    )
    pin_rate_gbps: float | None = param(None, "data rate of a pin in Gb/s; null: the part's", _PART, gt=0, le=64)
    timing: TimingOverrides = param(TimingOverrides(), "values that replace the part's", _PART)
    scheduler: Literal["fr_fcfs", "fcfs"] = param(
        "fr_fcfs", "fr_fcfs: row hits first, then oldest; fcfs: oldest only", "Rixner et al., ISCA 2000"
    )
    age_cap_clocks: int = param(
        2000, "age in command clocks from which a bank's oldest request goes before row hits", "assumed", ge=1, le=10**9
    )
    read_queue: int = param(32, "reads a channel holds", "gem5 DRAMInterface: read buffer", ge=1, le=MAX_QUEUE)
    write_queue: int = param(64, "writes a channel holds", "gem5 DRAMInterface: write buffer", ge=1, le=MAX_QUEUE)
    write_high: int = param(54, "held writes from which writes are drained", "gem5 MemCtrl: 85 %", ge=1, le=MAX_QUEUE)
    write_low: int = param(
        32, "held writes at which a drain ends if reads wait", "gem5 MemCtrl: 50 %", ge=0, le=MAX_QUEUE
    )
    write_idle_clocks: int = param(
        64,
        "command clocks without a held read after which fewer writes than write_low are written too",
        "assumed",
        ge=0,
        le=10**6,
    )
    bank_hash: bool = param(
        True, "XOR the low row bits into bank and bank group", "Zhang et al., MICRO 2000 (permutation interleaving)"
    )
    group_interleave_lines: Literal[1, 2, 4, 8, 16, 32] = param(
        4,
        "successive lines of a channel in one bank group; at most a row's",
        "assumed: what an L2 channel interleaves (256 bytes) opens one row, and the next 256 bytes another group's",
    )
    request_latency_ns: float = param(
        10.0, "controller front end", "gem5 MemCtrl: static frontend latency", ge=0, le=1e5
    )
    response_latency_ns: float = param(
        10.0, "controller back end and PHY", "gem5 MemCtrl: static backend", ge=0, le=1e5
    )
    ideal_latency_ns: float = param(100.0, "ideal model: latency of every access", "assumed", ge=0, le=1e5)
    ideal_bandwidth_gb_s: float = param(
        0.0, "ideal model: bandwidth of all channels in GB/s; 0: unlimited", "assumed", ge=0, le=1e6
    )

    @field_validator("ideal_bandwidth_gb_s")
    @classmethod
    def _not_next_to_nothing(cls, value: float) -> float:
        if 0 < value < 0.1:
            raise ValueError("allowed are 0 (unlimited) and at least 0.1 GB/s")
        return value

    @field_validator("part")
    @classmethod
    def _known_part(cls, name: str, info: ValidationInfo) -> str:
        if name not in PARTS:
            raise ValueError(f"unknown DRAM part '{name}', known: {', '.join(PARTS)}")
        return name

    @model_validator(mode="after")
    def _ordered(self) -> "DramSpec":
        if not self.write_low < self.write_high <= self.write_queue:
            raise ValueError(
                f"need write_low < write_high <= write_queue, have {self.write_low}, {self.write_high}, "
                f"{self.write_queue}"
            )
        if self.channels & (self.channels - 1):
            raise ValueError(f"channels: {self.channels} is not a power of two")
        resolve(self)
        return self

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth of all pins, or the ideal model's if it has one."""
        if self.model == "ideal" and self.ideal_bandwidth_gb_s:
            return self.ideal_bandwidth_gb_s * 1e9
        return self.channels * resolve(self).channel_bytes_per_s


@dataclass(frozen=True)
class Timing:
    """Everything the protocol asks for, in command clocks, with the organisation it applies to."""

    clock_hz: float
    burst_clocks: int
    bursts_per_line: int
    bank_groups: int
    banks_per_group: int
    lines_per_row: int
    separate_row_bus: bool
    trcd_read: int
    trcd_write: int
    trp: int
    tras: int
    trc: int
    tcl: int
    tcwl: int
    trrd_short: int
    trrd_long: int
    tfaw: int
    twr: int
    twtr_short: int
    twtr_long: int
    trtp: int
    tppd: int
    tccd_short: int
    tccd_long: int
    turnaround: int
    trfc: int
    trefi: int

    @property
    def banks(self) -> int:
        """Banks of a channel."""
        return self.bank_groups * self.banks_per_group

    @property
    def channel_bytes_per_s(self) -> float:
        """Pin bandwidth of a channel."""
        return LINE_BYTES / (self.bursts_per_line * self.burst_clocks) * self.clock_hz


def resolve(spec: DramSpec) -> Timing:
    """The part's table with the specification's overrides, in command clocks; ValueError if it makes no sense."""
    part = PARTS[spec.part]
    clock_hz = (spec.pin_rate_gbps or part.pin_rate_gbps.value) * 1e9 / part.transfers_per_clock
    clocks: dict[str, int] = {}
    for name, sourced in part.timing.items():
        given = getattr(spec.timing, name)
        value = sourced.value if given is None else given
        if name.endswith("_ns"):
            clocks[name.removesuffix("_ns")] = ceil(value * clock_hz / 1e9 - ROUNDING_CLOCKS)
        else:
            clocks[name.removesuffix("_clocks")] = int(value)
    burst_bytes = part.bus_bits * part.burst_length // 8
    timing = Timing(
        clock_hz=clock_hz,
        burst_clocks=part.burst_length // part.transfers_per_clock,
        bursts_per_line=LINE_BYTES // burst_bytes,
        bank_groups=part.bank_groups,
        banks_per_group=part.banks_per_group,
        lines_per_row=part.row_bytes // LINE_BYTES,
        separate_row_bus=part.separate_row_bus,
        **clocks,
    )
    if timing.trc < timing.tras:
        raise ValueError(f"trc ({timing.trc} clocks) must not be below tras ({timing.tras} clocks)")
    if timing.trefi <= timing.trfc + timing.tras + timing.trp + timing.twr:
        raise ValueError(f"trefi ({timing.trefi} clocks) leaves no time between refreshes of {timing.trfc} clocks")
    if min(timing.tccd_short, timing.tccd_long) < timing.burst_clocks:
        raise ValueError(f"tccd must be at least the burst's {timing.burst_clocks} clocks")
    if timing.tccd_long < timing.tccd_short or timing.twtr_long < timing.twtr_short:
        raise ValueError("delays within a bank group must not be below those between bank groups")
    if timing.trrd_long < timing.trrd_short:
        raise ValueError("trrd_long must not be below trrd_short")
    if timing.tcl + timing.tccd_short + timing.turnaround < timing.tcwl:
        raise ValueError("tcwl must not exceed tcl + tccd_short + turnaround")
    return timing
