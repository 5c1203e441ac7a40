"""What L2 is configured by and what its channels hold: sets, byte masks of their lines, MSHRs, waiting requests."""

from typing import Literal

from pydantic import model_validator

from gpusim.base.jit import LANES, Field, Machine, State, address_in, counter_fields, jit, st_i32, u16
from gpusim.base.spec import Spec, param
from isa.trace import LINE_BYTES
from memory.address_map import (
    MAX_L2_CHANNELS,
    check_masks,
    check_places,
    l2_local_line,
    own_channel_bits,
    plain_masks,
)
from memory.cache.counters import L2_COUNTERS
from memory.cache.missing import MAX_MSHRS, MAX_TARGETS, MISSING, configure_misses, configure_sets
from memory.cache.write_policy import ALL_BYTES, THROUGH, Write, write_allocate_param, write_number, write_param
from memory.l2_share import L2Share, sets_and_ways_left
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    on_hit,
    on_insert,
    replacement_param,
)
from memory.sets.rows import next_order, set_fields
from memory.waiting import wait_for

MAX_LINES = 262144  # 16 MiB in all
MAX_SLOTS = LANES * MAX_LINES
MAX_INPUT = 64

# byte masks of a slot; no byte and all of them, the usual ones, are codes in its note, which costs less to reach
HELD = 0  # bytes held
DIRTY = 1  # bytes to write back
NO_BYTE, EVERY_BYTE, SOME_BYTES = range(3)
CODE_BITS = 2
ALL_NOTE = (1 << 16) - 1
MSHR_SHIFT = 2 * CODE_BITS  # in a note: the MSHR that fills the slot, while it does

P_BASE = 4  # of a waiting request, beside the words that it has in the crossbar: the first slot of its line's set

# words of a request that waits for a missing line, side by side because they are used together
T_SOURCE = 0  # its source
T_SINCE = 1  # cycle it came to the channel
T_MASK = 2  # bytes a waiting atomic changes
T_PART = 3  # which part of the line they lie in

HIT, MERGED, MISSED, STALLED = range(4)


class L2Spec(Spec):
    """The L2 cache and its channels."""

    size_kib: int = param(2048, "capacity in KiB, all channels", "Radeon MI6 (Dong 2020, table 6.3)", ge=1, le=16384)
    ways: int = param(16, "associativity", "AMD GCN3 L2: 16-way", ge=1, le=64)
    replacement: Replacement = replacement_param("assumed, as the vector L1's")
    channels: int = param(
        8,
        "channels, a power of two",
        "Linux amdgpu, gfx_v8_0.c: golden TCP_ADDR_CONFIG of Polaris 10 is 0xf7, NUM_TCC_BANKS (low four bits) 7: "
        "eight of 256 KiB, one for each memory channel",
        ge=1,
        le=MAX_L2_CHANNELS,
    )
    line_bytes: Literal[64, 128] = param(
        64,
        "bytes of a line; a line of 128 has two parts of 64, L1's lines: requests, fills and write-backs are of parts",
        "AMD GCN3: 64 bytes",
    )
    port_bytes: Literal[64, 128] = param(
        64,
        "bytes that a channel takes, serves and sends in a cycle; 128, of lines of 128: both halves of a line, where "
        "one cache asks for them in succession",
        "AMD APP SDK OpenCL Optimization Guide (2015), section 2.4: 64 bytes a cycle and channel",
    )
    interleave_bytes: int = param(256, "consecutive bytes in one channel", "AMD GCN: 256 bytes", ge=64, le=65536)
    channel_masks: tuple[int, ...] | None = param(
        None,
        "of each bit of a channel's number, from the lowest, a mask of the address bits whose XOR it is; null: the "
        "bits above interleave_bytes, no hash",
        "AMD OpenCL optimisation guide (2015), section 2.1.1: bits 10 to 8 of the address on the GCN card with eight "
        "channels, no XOR named",
    )
    latency_cycles: int = param(
        70,
        "cycles from look-up to a hit's answer leaving the channel",
        "assumed: a load that hits L2 takes 204 cycles; MI210, with a larger L2: 233 (gpu-benches); none found of GCN3",
        ge=1,
        le=300,
    )
    fill_latency_cycles: int = param(
        70,
        "cycles from fill data to the answer leaving the channel",
        "assumed: a hit's pipeline",
        ge=1,
        le=300,
    )
    mshrs_per_channel: int = param(64, "lines a channel may be missing at a time", "assumed", ge=1, le=MAX_MSHRS)
    mshr_targets_per_channel: int = param(
        512, "requests a channel holds for missing lines", "assumed", ge=1, le=MAX_TARGETS
    )
    input_queue_packets: int = param(16, "requests waiting at a channel", "assumed", ge=1, le=MAX_INPUT)
    write: Write = write_param("back", "AMD GCN whitepaper (2012): write-back, with byte masks")
    write_allocate: bool = write_allocate_param(True, "AMD GCN whitepaper (2012): write-allocate, with byte masks")

    flush_at_end: bool = param(
        False,
        "whether a kernel ends with a flush, in its cycles: dirty lines go to DRAM, and stay",
        "assumed: L2 is coherent for the GPU's next kernel; true counts what a kernel leaves to others",
    )

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "L2Spec":
        check_replacement(self.replacement, self.ways)
        return self

    @model_validator(mode="after")
    def _ports_are_no_wider_than_lines(self) -> "L2Spec":
        if self.port_bytes > self.line_bytes:
            raise ValueError(f"port_bytes: {self.port_bytes} is more than line_bytes = {self.line_bytes}")
        return self

    def sets_and_ways(self, taken: L2Share | None = None) -> tuple[int, int]:
        """Return the sets and ways of a channel that cache lines while a share of L2 is `taken`.

        ValueError for a share that cannot be taken.
        """
        sets = self.size_kib * 1024 // self.line_bytes // self.channels // self.ways
        left = sets_and_ways_left(sets, self.ways, taken)
        check_replacement(self.replacement, left[1])
        return left

    @property
    def channel_matrix(self) -> tuple[int, ...]:
        """The address bits of a channel's number, a mask for each of its bits."""
        own = own_channel_bits(self.channels, self.interleave_bytes)
        return plain_masks(own) if self.channel_masks is None else self.channel_masks

    def check_channels(self) -> None:
        """Raise ValueError unless every line has a channel and a place in it of its own."""
        own = own_channel_bits(self.channels, self.interleave_bytes)
        check_masks("l2.channel_masks", self.channel_matrix, len(own))
        check_places("l2.channel_masks", self.channel_matrix, own)
        if self.interleave_bytes < self.line_bytes:
            raise ValueError(
                f"l2.interleave_bytes: {self.interleave_bytes} is less than l2.line_bytes = {self.line_bytes}: a line "
                "lies in one channel"
            )
        if any(mask % self.line_bytes for mask in self.channel_matrix):
            raise ValueError(
                f"l2.channel_masks: a mask of address bits below {self.line_bytes}, l2.line_bytes: a line lies in one "
                "channel"
            )

    def cache_kib(self, taken: L2Share | None = None) -> float:
        """Return the KiB of L2 that cache lines: all of it, or what is left while a share is taken."""
        sets, ways = self.sets_and_ways(taken)
        return sets * ways * self.channels * self.line_bytes / 1024


L2 = State(
    "l2",
    set_fields(MAX_LINES)
    | {
        "channels": Field((), "channels in use"),
        "latency": Field((), "cycles from look-up to answer"),
        "fill_latency": Field((), "cycles from fill to answer"),
        "input_limit": Field((), "requests waiting at a channel at most"),
        "write": Field((), "write policy, a number of memory/cache/write_policy.py"),
        "allocate": Field((), "1: a write that misses gets a line"),
        "passes_on": Field((), "1: not every write stays here: it is not write-back, or does not allocate"),
        "atomic_result": Field((MAX_L2_CHANNELS,), "what the look-up of a waiting atomic gave at first, HIT before it"),
        "order": Field((MAX_L2_CHANNELS,), "running number of the accesses to the channel's sets"),
        "part_bits": Field((), "log2 of the parts of 64 bytes of a line"),
        "note": Field((MAX_SLOTS,), "of a slot's part: codes of its masks HELD and DIRTY; of the first: its MSHR", u16),
        "mask": Field((MAX_SLOTS, 2), "a part's masks HELD and DIRTY where they are SOME_BYTES"),
        "coming": Field((MAX_L2_CHANNELS, MAX_MSHRS), "mask of the parts that are fetched for an MSHR"),
        "left": Field((MAX_L2_CHANNELS, MAX_MSHRS), "how many of them have not come"),
        "due": Field((MAX_L2_CHANNELS,), "the part's line + 1 that DRAM has to be asked for next, 0: none"),
        "due_mshr": Field((MAX_L2_CHANNELS,), "its MSHR"),
        "missing": Field((MAX_L2_CHANNELS,), "missing lines of a channel", MISSING.dtype()),
        "target": Field((MAX_L2_CHANNELS, MAX_TARGETS, 4), "requests waiting for a line, by T_SOURCE ... T_PART"),
        "input": Field(
            (MAX_L2_CHANNELS, MAX_INPUT, 8),
            "waiting requests: P_LINE ... P_MASK; P_READY: cycle it came; P_BASE: first slot of its line's set",
        ),
        "i_head": Field((MAX_L2_CHANNELS,), "oldest waiting request"),
        "i_count": Field((MAX_L2_CHANNELS,), "waiting requests"),
        "waits_for": Field((MAX_L2_CHANNELS,), "resource + 1 that the oldest request found used up, 0: look it up"),
        "flushes": Field((), "1: when nothing is to be done any more, dirty lines are written back"),
        "flush_at": Field((MAX_L2_CHANNELS,), "parts of a channel's slots that a flush has gone over"),
        "attributed_to": Field((MAX_L2_CHANNELS,), "cycle up to which the present stall is attributed"),
        "engine_part": Field((MAX_L2_CHANNELS,), "its cycles that are the engine's"),
        "freed_by_engine": Field((MAX_L2_CHANNELS,), "1: a compacted line ended the wait of the oldest request"),
        "missed_in": Field((MAX_L2_CHANNELS,), "slot of way 0 of the set in which a request has missed last"),
        "since": Field((), "cycle of the first access, 0: there was none"),
        **counter_fields(L2_COUNTERS, MAX_L2_CHANNELS),
        "stalled_since": Field((MAX_L2_CHANNELS,), "cycle from which it waits, -1 if it does not"),
    },
)


def configure_l2(m: Machine, spec: L2Spec, taken: L2Share | None, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the L2 in the machine record and empty it.

    Args:
        m: Machine record.
        spec: Configuration of L2.
        taken: The share that caches nothing.
        seed: Of random replacement.
    """
    l2 = m.l2
    l2.channels = spec.channels
    l2.part_bits = (spec.line_bytes // LINE_BYTES).bit_length() - 1
    sets, ways = spec.sets_and_ways(taken)
    l2.latency, l2.fill_latency = spec.latency_cycles, spec.fill_latency_cycles
    l2.input_limit = spec.input_queue_packets
    l2.write, l2.allocate = write_number(spec.write), int(spec.write_allocate)
    l2.flushes = int(spec.flush_at_end)
    l2.passes_on = int(l2.write == THROUGH or not l2.allocate)
    channels = slice(0, spec.channels)
    l2.order[channels] = configure_sets(l2, sets, ways, spec.replacement, seed, spec.channels)
    l2.stalled_since[channels] = -1
    configure_misses(l2.missing[channels], spec.mshrs_per_channel, spec.mshr_targets_per_channel)


def begin_flush(m: Machine) -> None:  # type: ignore[no-untyped-def]
    """Have dirty lines written back (memory/cache/l2_flush.py) before anything else is done."""
    m.l2.flushes = 1
    m.l2.flush_at[:] = 0


def await_end(m: Machine, spec: L2Spec) -> None:  # type: ignore[no-untyped-def]
    """Have dirty lines written back when the kernel has ended, if the configuration says so.

    Args:
        m: Machine record.
        spec: Configuration of L2.
    """
    m.l2.flushes = int(spec.flush_at_end)
    m.l2.flush_at[:] = 0


@jit
def bytes_of(m: Machine, part, which):
    """Return a mask of the bytes of a slot's part: HELD or DIRTY."""
    code = (m.l2.note[part] >> (CODE_BITS * which)) & ((1 << CODE_BITS) - 1)
    if code == SOME_BYTES:
        return m.l2.mask[part, which]
    return ALL_BYTES if code == EVERY_BYTE else 0


@jit
def set_bytes(m: Machine, part, which, mask):
    """Replace a mask of a slot's part: HELD or DIRTY."""
    code = SOME_BYTES
    if mask == 0:
        code = NO_BYTE
    elif mask == ALL_BYTES:
        code = EVERY_BYTE
    else:
        m.l2.mask[part, which] = mask
    others = m.l2.note[part] & (ALL_NOTE ^ ((1 << CODE_BITS) - 1) << (CODE_BITS * which))
    m.l2.note[part] = others | code << (CODE_BITS * which)


@jit
def first_slot(m: Machine, channel, line):
    """Return the slot of way 0 of the line's set."""
    l2 = m.l2
    return (channel * l2.sets + ((l2_local_line(m, line) >> l2.part_bits) & (l2.sets - 1))) * l2.stride


@jit
def part_in(m: Machine, line):
    """Return which part of its line 64 bytes are, by their number."""
    return line & ((1 << m.l2.part_bits) - 1)


@jit
def tag_of(m: Machine, line):
    """Return the tag of 64 bytes: the number of their line's first part."""
    return line & ~((1 << m.l2.part_bits) - 1)


@jit
def mshr_of(m: Machine, slot):
    """Return the MSHR that fills a slot."""
    return m.l2.note[slot << m.l2.part_bits] >> MSHR_SHIFT


@jit
def next_use(m: Machine, channel):
    """Count an access to the channel; returns its running number."""
    l2 = m.l2
    rows = address_in(l2.rows, channel * l2.sets * 2 * l2.stride)
    l2.order[channel] = next_order(l2.order[channel], rows, l2.sets, l2.stride)
    return l2.order[channel]


@jit
def used(m: Machine, channel, row, way):
    """Note an access to a way's line, for replacement."""
    l2 = m.l2
    on_hit(l2.replacement, row, l2.stride, l2.ways, way, next_use(m, channel))


@jit
def inserted(m: Machine, channel, row, slot, way, line):
    """Put another line, of which no byte is there, into a way, and note that for replacement."""
    l2 = m.l2
    st_i32(row, way, tag_of(m, line))
    first = slot << l2.part_bits
    set_bytes(m, first, HELD, 0)
    if l2.part_bits:
        set_bytes(m, first | 1, HELD, 0)
    on_insert(l2.replacement, row, l2.stride, l2.ways, way, next_use(m, channel))


@jit
def wait(m: Machine, channel, resource):
    """Put the channel's oldest request on a used-up resource's wait list; it is retried when some comes free."""
    m.l2.waits_for[channel] = resource + 1
    wait_for(m, resource, channel)
