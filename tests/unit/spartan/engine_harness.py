"""The engine between a scripted L2 and a DRAM that answers in any order: what the engine's tests run.

What of `spartan` calls DRAM is loaded a second time on top of the DRAM below. Images come from a plain-Python packing,
so the engine's own comparison of every answer is a comparison with an oracle that shares no code with it.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gpusim.base.jit import (
    JIT_DISABLED,
    Field,
    State,
    address_of,
    jit,
    new_record,
    record_dtype,
    registered,
)
from isa.device_memory import VIRTUAL_BASE
from isa.region import PackedMatrix, SparseRegion
from isa.trace import LINE_SPARSE
from memory.address_map import ADDRESS_MAP, configure_address_map, l2_channel, own_channel_bits, plain_masks
from memory.ports import L2_FROM_ENGINE, PORTS, deliver, dram_space_freed, port_ready, port_take, sparse_request
from memory.timeline import TIMELINE
from memory.unit_classes import DRAM as DRAM_CLASS
from memory.unit_classes import ENGINE as ENGINE_CLASS
from memory.unit_classes import L2_FILL
from memory.waiting import WAITING
from memory.wheel import SIZE, WHEEL, due, wake_at_start
from spartan import engine as real_engine  # first: what it calls is everybody's, not the double's alone
from spartan.configure import EngineBuffers, configure_engine
from spartan.counters import ENGINE_COUNTERS
from spartan.engine_spec import EngineSpec
from spartan.formats import FORMATS, state_matrix
from spartan.state import ENGINE
from tests.support.compiled import compile_part, take_back
from tests.support.machines import allow_further_layouts

MAX_READS_LOGGED = 1 << 16
MAX_SCRIPT = 1 << 14
DRAM_SLOTS = 1024
LIMIT_CYCLES = 10_000_000
ON_DRAM = ("spartan.write_phase", "spartan.written", real_engine.__name__)  # what calls DRAM, callees first
WRITE = 1 << 10  # beside the channel, as a port: nobody is answered
OPEN_REQUESTS = 64  # of an L2 channel, as its MSHRs

# compiled code is cached by record type, not by what it calls: another double must be another type
_VERSION = "version_" + hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]

FAKE = State(
    "fake",
    {
        _VERSION: Field((), "always 0: makes the type"),
        "random": Field((), "state of the generator that picks DRAM latencies"),
        "least_latency": Field((), "cycles"),
        "spread": Field((), "cycles on top, at random: answers overtake one another"),
        "depth": Field((), "requests that a DRAM channel holds"),
        "held": Field((32,), "requests in a channel"),
        "due": Field((DRAM_SLOTS,), "cycle of an answer, 0: free slot"),
        "port": Field((DRAM_SLOTS,), "its port"),
        "tag": Field((DRAM_SLOTS,), "its tag"),
        "used": Field((), "slots used so far"),
        "reads": Field((), "reads accepted"),
        "log": Field((MAX_READS_LOGGED,), "their lines"),
        "log_request": Field((MAX_READS_LOGGED,), "requests sent when a read was accepted"),
        "writes": Field((), "writes accepted"),
        "write_log": Field((MAX_READS_LOGGED,), "their lines"),
        "script": Field((MAX_SCRIPT, 2), "cycle from which a request may be sent, its line"),
        "serial": Field((), "1: a request is sent when the one before is answered and no read is open"),
        "sent": Field((MAX_SCRIPT,), "cycle in which a request was sent"),
        "answered": Field((MAX_SCRIPT,), "cycle in which it was answered"),
        "answers": Field((MAX_SCRIPT,), "how often it was answered"),
        "open": Field((32,), "requests sent and not answered, by L2 channel"),
        "every_cycle": Field((), "1: the engine runs in every cycle"),
    },
)


@jit
def fake_accept(m, now, channel, port, tag):
    f = m.fake
    if f.held[channel] >= f.depth:
        return 0
    f.held[channel] += 1
    f.random = (f.random * 1103515245 + 12345) & 0x7FFF_FFFF
    slot = 0
    while f.due[slot]:
        slot += 1
    f.used = max(f.used, slot + 1)
    f.due[slot] = now + f.least_latency + (f.random >> 8) % (f.spread + 1)
    f.port[slot] = port
    f.tag[slot] = tag
    return 1


@jit
def fake_read(m, now, channel, line, port, tag):
    f = m.fake
    if not fake_accept(m, now, channel, port, tag):
        return 0
    f.log[f.reads] = line
    f.reads += 1
    return 1


@jit
def fake_write(m, now, channel, line, mask):
    f = m.fake
    if not fake_accept(m, now, channel, WRITE | channel, 0):
        return 0
    f.write_log[f.writes] = line
    f.writes += 1
    return 1


def _load_engine() -> ModuleType:
    double = ModuleType("memory.dram.controller")
    double.dram_read = fake_read  # type: ignore[attr-defined]
    double.dram_write = fake_write  # type: ignore[attr-defined]
    before = {name: sys.modules[name] for name in ("memory.dram.controller", *ON_DRAM)}
    sys.modules["memory.dram.controller"] = double
    try:
        for name in ON_DRAM:
            own_name = f"{name}_on_fake_dram"
            spec = importlib.util.spec_from_file_location(own_name, before[name].__file__)
            assert spec is not None and spec.loader is not None
            module = sys.modules[name] = sys.modules[own_name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    finally:
        sys.modules.update(before)
    return module


_before = registered("timing")
engine = _load_engine()
engine_tick, engine_finish = engine.engine_tick, engine.engine_finish


@jit
def drive(m, requests, limit):
    """Play the script until all is answered and nothing is under way; returns the cycle, -1 at the limit."""
    f = m.fake
    wheel = m.wheel
    next_request = 0
    answered = 0
    t = 0
    while t < limit:
        t += 1
        wheel.now = wheel.far_now = t
        wheel.far_running = L2_FILL
        for channel in range(m.map.l2_channels):
            while port_ready(m, t, L2_FROM_ENGINE + channel):
                tag = port_take(m, L2_FROM_ENGINE + channel)
                f.answered[tag] = t
                f.answers[tag] += 1
                f.open[channel] -= 1
                answered += 1
        while m.engine.writing == 0 and next_request < requests and f.script[next_request, 0] <= t:
            if f.serial and (answered < next_request or m.engine.reads_held):
                break
            line = f.script[next_request, 1]
            channel = l2_channel(m, line)
            if f.open[channel] >= OPEN_REQUESTS or not sparse_request(m, t + 1, channel, line, next_request):
                break
            f.open[channel] += 1
            f.sent[next_request] = t
            next_request += 1
        slot = t & (SIZE - 1)
        if due(m, slot, ENGINE_CLASS, 0) or f.every_cycle:
            before = f.reads
            engine_tick(m, t)
            for n in range(before, f.reads):
                f.log_request[n] = next_request
        wheel.far_running = DRAM_CLASS
        for n in range(f.used):
            if f.due[n] and f.due[n] <= t:
                channel = f.port[n] & 31
                if f.port[n] < WRITE:
                    deliver(m, t + 1, f.port[n], f.tag[n])
                f.due[n] = 0
                f.held[channel] -= 1
                dram_space_freed(m, t, channel)
        wheel.far_running = -1
        done = answered == requests and next_request == requests
        if done and m.engine.reads_held + m.engine.writing == 0:
            return t
    return -1


@jit
def finish(m, now) -> None:
    """Call of the engine's own function with the compiled record type."""
    engine_finish(m, now)


if not JIT_DISABLED:
    _own = [fake_accept, fake_read, fake_write, *(d for d in registered("timing") if d not in _before)]
    # these need the record's `fake` part: no other machine can compile them
    take_back(_own)

RECORD = record_dtype((WHEEL, TIMELINE, WAITING, PORTS, ADDRESS_MAP, ENGINE, FAKE))


@cache
def _compile() -> None:
    """Compile what the bench runs, callees first."""
    if JIT_DISABLED:
        return
    packages = ("memory.address_map", "memory.ports", "memory.waiting", "memory.wheel", "spartan.", "gpusim.base.jit")
    callees = [d for d in registered("timing") if d.py_func.__module__.startswith(packages)]
    callees = [d for d in callees if d.py_func.__module__ not in ON_DRAM] + _own
    entry_points = [drive, finish]
    compile_part(entry_points, [d for d in callees if d not in entry_points], new_record(RECORD))
    allow_further_layouts()


def naive_image(matrix: np.ndarray, leading_dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Packed image and line counts of a rows x columns matrix, from the format's definition."""
    columns = matrix.shape[1]
    image = np.zeros(leading_dimension * columns, np.uint32)
    lines = np.zeros(columns, np.int64)
    for c in range(columns):
        rows_held = np.flatnonzero(matrix[:, c])
        with np.errstate(over="ignore"):
            half = matrix[rows_held, c].astype(np.float16).view(np.uint16).astype(np.uint32)
        start = c * leading_dimension
        image[start : start + len(rows_held)] = half | (rows_held.astype(np.uint32) << 16)
        lines[c] = max(1, -(-len(rows_held) // 16))
    return image, lines


def sources(column: np.ndarray) -> list[list[int]]:
    """Of each compacted line of a column, the sparse lines that it takes elements from."""
    rows = np.flatnonzero(column)
    return [sorted(set((rows[i : i + 16] // 16).tolist())) for i in range(0, len(rows), 16)]


@dataclass
class Bench:
    """An engine with one or more matrices (rows x columns, float32) in its memory."""

    matrices: Sequence[np.ndarray]
    spec: EngineSpec = field(default_factory=EngineSpec)
    seed: int = 1
    least_latency: int = 20
    spread: int = 60
    depth: int = 16
    serial: bool = False
    every_cycle: bool = False
    extra_lines: int = 0
    dram_channels: int = 4
    format: str = "ellpack_dib"
    listed: Sequence[np.ndarray] = ()
    m: Any = None
    regions: list[SparseRegion] = field(default_factory=list)
    shadows: list[PackedMatrix] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    buffers: EngineBuffers | None = None

    def __post_init__(self) -> None:
        self.m = m = new_record(RECORD)
        self.kept.append(m)
        l2, dram = (plain_masks(own_channel_bits(channels, 256)) for channels in (4, self.dram_channels))
        configure_address_map(m, 256, l2, dram)
        parts = []
        address = VIRTUAL_BASE + 4096
        base = address
        for number, matrix in enumerate(self.matrices):
            rows, columns = matrix.shape
            leading = (-(-rows // 16) + self.extra_lines) * 16
            dense = np.full((columns, leading), 3.0, np.float32)  # padding is not zero: it must be ignored
            dense[:, :rows] = matrix.T
            parts.append(dense.ravel())
            listed = self.listed[number] if self.listed else None
            at = address + dense.nbytes
            self.regions.append(SparseRegion(address, rows, columns, leading, self.format, at if self.listed else 0))
            self.shadows.append(
                state_matrix(self.format, dense.ravel(), rows, leading, listed)
                if self.format in FORMATS and self.format != "ellpack_dib"
                else PackedMatrix(*naive_image(matrix, leading))
            )
            address = at
            if listed is not None:
                bits = np.packbits(listed, bitorder="little")
                parts.append(np.pad(bits, (0, -len(bits) % 64)).view(np.float32))
                address += parts[-1].nbytes
        image = np.concatenate(parts)
        self.kept.append(image)
        self.buffers = configure_engine(
            m, self.spec, self.regions, self.shadows, address_of(image) - (base - VIRTUAL_BASE)
        )
        f = m.fake
        f.random, f.least_latency, f.spread, f.depth = self.seed, self.least_latency, self.spread, self.depth
        f.serial, f.every_cycle = int(self.serial), int(self.every_cycle)
        if m.engine.writing:
            m.wheel.now = m.wheel.far_now = 1
            wake_at_start(m, ENGINE_CLASS)

    def line(self, column: int, line: int, region: int = 0) -> int:
        """Line number of a compacted line, or of the sparse line in its stead."""
        r = self.regions[region]
        return (r.address + r.column_bytes * column) // 64 + line

    def call(self, function: Any, *arguments: int) -> int:
        """A compiled function over this machine."""
        _compile()
        return int(function(self.m, *arguments))

    def start(self, script: Sequence[tuple[int, ...]], cycles: int) -> int:
        """Send requests as `run` does and stop after `cycles`; returns the last cycle, -1 if all is not done."""
        for n, (column, line, *rest) in enumerate(script):
            region, cycle = (rest + [0, 0])[:2]
            self.m.fake.script[n, 0] = cycle
            self.m.fake.script[n, 1] = self.line(column, line, region) | LINE_SPARSE
        _compile()
        return int(drive(self.m, len(script), cycles))

    def run(self, script: Sequence[tuple[int, ...]], finish_engine: bool = True) -> dict[str, int]:
        """Send (column, line[, region[, cycle]]) requests in order; checks the laws, returns the counters."""
        m, f = self.m, self.m.fake
        end = self.start(script, LIMIT_CYCLES)
        assert end > 0, f"no answer: {int(m.engine.requests_held)} requests held, {int(m.engine.reads_held)} reads"
        if finish_engine:
            finish(m, end)
        c = ENGINE_COUNTERS.counts(m.engine)
        assert m.ports.overflows == 0
        assert np.all(f.answers[: len(script)] == 1)
        assert c["response_mismatches"] == 0 and c["faults"] == 0
        assert c["requests"] == c["responses"] == len(script) and m.engine.requests_held == 0
        by_way = ("accurate", "prudent", "hasty", "prefetch_buffer_hits", "past_end", "compacted_fetched")
        assert sum(c[name] for name in by_way) == c["requests"]
        assert c["lines_fetched"] + c["compacted_fetched"] == int(f.reads)
        assert c["compacted_written"] == int(f.writes)
        if finish_engine:
            assert c["lines_fetched"] == c["lines_needed"] + c["lines_wasted"]
            assert int(m.engine.slots_free) == self.spec.buffer_lines
            assert 0 <= c["shifter_busy_cycles"] <= self.spec.shifters * end
        assert int(m.engine.latency_histogram.sum()) == c["responses"]
        self.check_reads()
        return c

    def reads(self) -> list[tuple[int, int, int]]:
        """(region, column, sparse line) of every read in order; fails if one is outside all columns."""
        out = []
        for line in self.m.fake.log[: int(self.m.fake.reads)].tolist():
            hits = [n for n, r in enumerate(self.regions) if r.address <= 64 * line < r.end]
            assert len(hits) == 1, f"read of line {line:#x} outside every region"
            r = self.regions[hits[0]]
            column, offset = divmod(64 * line - r.address, r.column_bytes)
            assert offset // 64 < -(-r.rows // 16), "read in the padding after a column"
            out.append((hits[0], column, offset // 64))
        return out

    def check_reads(self) -> None:
        """No read leaves the columns."""
        self.reads()
