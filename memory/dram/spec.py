"""The DRAM's specification: a standard, what replaces values of its table, and how the controllers schedule."""

from typing import Literal

from pydantic import field_validator, model_validator

from gpusim.base.spec import Spec, param
from memory.address_map import MAX_DRAM_CHANNELS
from memory.dram.constants import MAX_QUEUE, MAX_RANKS
from memory.dram.page_policy import PAGE_POLICIES
from memory.dram.scheduler import SCHEDULERS
from memory.dram.standards import STANDARDS
from memory.dram.timing import DramTiming, resolve

_TABLE = "the standard's table"


def _delay(meaning: str) -> float | None:
    value: float | None = param(None, f"{meaning}, in ns; null: the standard's", _TABLE, gt=0, le=100_000)
    return value


def _clocks(meaning: str, least: int = 1) -> int | None:
    value: int | None = param(None, f"{meaning}, in command clocks; null: the standard's", _TABLE, ge=least, le=1000)
    return value


def _count(meaning: str, most: int) -> int | None:
    value: int | None = param(None, f"{meaning}; null: the standard's", _TABLE, ge=1, le=most)
    return value


class TimingOverrides(Spec):
    """Values that replace those of the standard's table; null keeps the standard's.

    Those of the last rows are not in every standard: null there also means that the rule does not hold.
    """

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
    trp_all_ns: float | None = _delay("precharge of all banks to activate; nowhere given: as trp_ns")
    t32aw_ns: float | None = _delay("window that holds at most 32 activates")
    trfc_bank_ns: float | None = _delay("refresh of a bank to its activate")
    trrefd_ns: float | None = _delay("refresh of a bank to an activate of another")
    trefb_to_refb_ns: float | None = _delay("refresh of a bank to that of another")
    tccd_long_write_clocks: int | None = _clocks("write to write, same bank group")
    trtrs_clocks: int | None = _clocks("idle data-bus clocks between bursts of two ranks", least=0)
    act_clocks: int | None = _clocks("clocks of the command bus that an activate takes")
    column_clocks: int | None = _clocks("clocks of the command bus that a read or write takes")
    wdm_clocks: int | None = _clocks("clocks of the command bus that a write takes whose mask has a bit for two bytes")
    wsm_clocks: int | None = _clocks("clocks of the command bus that a write takes whose mask has a bit for each byte")


class OrganizationOverrides(Spec):
    """Values that replace those of the standard's table; null keeps the standard's."""

    transfers_per_clock: int | None = _count("data transfers a pin makes in one command clock", 64)
    bus_bits: int | None = _count("data bits of a rank or pseudo-channel", 1024)
    burst_length: int | None = _count("transfers of a burst", 256)
    bank_groups: int | None = _count("bank groups of a rank or pseudo-channel", 64)
    banks_per_group: int | None = _count("banks of a group", 64)
    rows: int | None = _count("rows of a bank: the capacity", 1 << 24)
    row_bytes: int | None = _count("bytes of a row of all chips of a rank", 1 << 20)
    separate_row_bus: bool | None = param(None, "row and column commands have a bus each; null: the standard's", _TABLE)
    max_ranks: int | None = _count("most ranks of a channel", MAX_RANKS)
    pseudo_channels: int | None = _count("pseudo-channels of a channel", MAX_RANKS)
    per_bank_refresh: Literal["none", "bank", "pair", "group"] | None = param(
        None, "what a refresh that is not of all banks covers; null: the standard's", _TABLE
    )


class DramSpec(Spec):
    """The DRAM's standard and organization, and how the controllers schedule."""

    model: Literal["cycle", "ideal"] = param(
        "cycle", "cycle: banks, rows and commands; ideal: fixed latency and a given bandwidth", "cycle-level by default"
    )
    standard: str = param(
        "gddr5", f"standard: {', '.join(STANDARDS)}", "AMD Radeon Instinct MI6: GDDR5", among=STANDARDS
    )
    channels: int = param(
        8,
        "channels of the standard's width, a power of two",
        "AMD Radeon Instinct MI6: 256 bits",
        ge=1,
        le=MAX_DRAM_CHANNELS,
    )
    ranks: int = param(
        1, "ranks of a channel, where the standard has them: 1, 2 or 4", "graphics memory has one", ge=1, le=MAX_RANKS
    )
    refresh: Literal["all_bank", "per_bank"] = param(
        "all_bank",
        "all_bank: a rank at a time; per_bank: a bank or set of banks at a time, where the standard has it",
        "gem5 and GPGPU-Sim: all banks",
    )
    pin_rate_gbps: float | None = param(None, "data rate of a pin in Gb/s; null: the standard's", _TABLE, gt=0, le=64)
    organization: OrganizationOverrides = param(OrganizationOverrides(), "values that replace the standard's", _TABLE)
    timing: TimingOverrides = param(TimingOverrides(), "values that replace the standard's", _TABLE)
    scheduler: str = param(
        "fr_fcfs",
        "; ".join(f"{name}: {policy.meaning}" for name, policy in SCHEDULERS.items()),
        SCHEDULERS["fr_fcfs"].source,
        among=SCHEDULERS,
    )
    age_cap_clocks: int = param(
        2000, "age in command clocks from which a bank's oldest request goes before row hits", "assumed", ge=1, le=10**9
    )
    hit_cap: int = param(
        4,
        "fr_fcfs_cap: row hits that may overtake a bank's oldest request",
        SCHEDULERS["fr_fcfs_cap"].source,
        ge=1,
        le=10**6,
    )
    page_policy: str = param(
        "open",
        "; ".join(f"{name}: {policy.meaning}" for name, policy in PAGE_POLICIES.items()),
        PAGE_POLICIES["open"].source,
        among=PAGE_POLICIES,
    )
    page_timeout_clocks: int = param(
        200, "timeout: command clocks without an access after which a row is closed", "assumed", ge=1, le=10**6
    )
    read_queue: int = param(32, "reads a channel holds", "gem5 DRAMInterface: read buffer", ge=1, le=MAX_QUEUE)
    write_queue: int = param(64, "writes a channel holds", "gem5 DRAMInterface: write buffer", ge=1, le=MAX_QUEUE)
    write_high: int = param(54, "held writes from which writes are drained", "gem5 MemCtrl: 85 %", ge=1, le=MAX_QUEUE)
    write_low: int = param(
        32, "held writes at which a drain ends if reads wait", "gem5 MemCtrl: 50 %", ge=0, le=MAX_QUEUE
    )
    write_batch: int = param(
        32,
        "requests after which reads or writes give up the data bus if the other side presses; as many may follow that "
        "find their rows open",
        "assumed: most bandwidth on random mixes, see docs/reference/dram.md",
        ge=1,
        le=MAX_QUEUE,
    )
    refresh_grace_clocks: int = param(
        200,
        "command clocks for which a due refresh waits for requests of open rows, at most half of its interval",
        "assumed: standards let refreshes come later by whole intervals; longer changes nothing on random mixes",
        ge=0,
        le=10**6,
    )
    write_idle_clocks: int = param(
        64,
        "command clocks without a held read after which fewer writes than write_low are written too",
        "assumed",
        ge=0,
        le=10**6,
    )
    channel_masks: tuple[int, ...] | None = param(
        None,
        "of each bit of a channel's number, from the lowest, a mask of the address bits whose XOR it is; null: the "
        "bits above l2.interleave_bytes, no hash",
        "AMD OpenCL optimisation guide (2015), section 2.1.1: bits 10 to 8 of the address on the GCN card with eight "
        "channels, no XOR named",
    )
    bank_masks: tuple[int, ...] | None = param(
        None,
        "of each bit of a bank's number, the bank group in the low bits, a mask of the address bits whose XOR it is; "
        "null: bits of its own (docs/reference/dram.md), each with one of the row's low bits",
        "Zhang et al., MICRO 2000 (permutation interleaving)",
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


__all__ = ["DramSpec", "OrganizationOverrides", "DramTiming", "TimingOverrides", "resolve"]
