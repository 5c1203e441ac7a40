"""A machine of nothing but DRAM and a requester that issues a script, for the DRAM's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from gpusim.base.jit import (
    JIT_DISABLED,
    address_of,
    ctz,
    jit,
    ld_i64,
    new_record,
    record_dtype,
    registered,
    st_i64,
)
from memory.address_map import ADDRESS_MAP, configure_address_map, dram_channel
from memory.dram.constants import COMMAND_NAMES as NAMES
from memory.dram.constraints import RULES, TimingRule
from memory.dram.controller import DRAM, configure_dram, dram_pending, dram_read, dram_tick, dram_write
from memory.dram.mapping import channel_masks, plain_bank_masks
from memory.dram.spec import DramSpec, TimingOverrides, resolve
from memory.ports import ENGINE_FROM_DRAM, PORTS, port_ready, port_take
from memory.unit_classes import DRAM as DRAM_CLASS
from memory.waiting import WAITING
from memory.wheel import SIZE, WHEEL, due
from tests.support.compiled import compile_part, take_back
from tests.support.dram_checker import DramCommand, record_commands, recorded_commands
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((WHEEL, WAITING, PORTS, ADDRESS_MAP, DRAM))
READ, WRITE = 0, 1
WHOLE = (1 << 64) - 1
LIMIT_CYCLES = 1_000_000
MAX_COMMANDS = 100_000
GDDR5_CLOCK_HZ = 1.75e9


@jit
def drive(m, script, streams, sent, done, answers, poll, limit):  # type: ignore[no-untyped-def]
    """Send the requests of each stream in its order, none before its cycle, refused ones again in the next cycle.

    sent: by stream, the position in `script` of its next request, and of its end. A stream whose request is refused
    holds up no other. `poll` runs all channels in every cycle, nothing remembered.
    """
    open_reads = 0
    t = 0
    while t < limit:
        t += 1
        m.wheel.now = m.wheel.far_now = t
        m.wheel.far_running = DRAM_CLASS
        for channel in range(m.map.dram_channels):
            port = ENGINE_FROM_DRAM + channel
            while port_ready(m, t, port):
                tag = port_take(m, port)
                st_i64(done, tag, t)
                st_i64(answers, tag, ld_i64(answers, tag) + 1)
                open_reads -= 1
        waiting = 0
        for stream in range(streams):
            n = ld_i64(sent, 2 * stream)
            while n < ld_i64(sent, 2 * stream + 1) and ld_i64(script, 4 * n) <= t:
                line = ld_i64(script, 4 * n + 2)
                channel = dram_channel(m, line)
                if ld_i64(script, 4 * n + 1) == READ:
                    if not dram_read(m, t, channel, line, ENGINE_FROM_DRAM + channel, n):
                        break
                    open_reads += 1
                else:
                    if not dram_write(m, t, channel, line, ld_i64(script, 4 * n + 3)):
                        break
                    st_i64(done, n, t)
                n += 1
            st_i64(sent, 2 * stream, n)
            waiting += ld_i64(sent, 2 * stream + 1) - n
        slot = t & (SIZE - 1)
        channels = due(m, slot, DRAM_CLASS, 0)
        if poll:
            channels = (1 << m.map.dram_channels) - 1
            for channel in range(m.map.dram_channels):
                m.dram.channel[channel].column_not_before = 0
                m.dram.channel[channel].activate_not_before = 0
                m.dram.channel[channel].precharge_not_before = 0
        while channels:
            dram_tick(m, t, ctz(channels))
            channels &= channels - 1
        if waiting == 0 and open_reads == 0 and dram_pending(m) == 0:
            return t
    return -1


if not JIT_DISABLED:
    take_back([drive])  # no other machine is driven by it


@cache
def _compile() -> None:
    """Compile `drive` and what it calls."""
    if not JIT_DISABLED:
        packages = (
            "gpusim.base.jit",
            "memory.address_map",
            "memory.dram",
            "memory.ports",
            "memory.waiting",
            "memory.wheel",
        )
        callees = [d for d in registered("timing") if d.py_func.__module__.startswith(packages)]
        compile_part([drive], callees, new_record(RECORD))
        allow_further_layouts()


@dataclass
class Outcome:
    """What scripts led to: `done` and `answers` by position in them, one after another (writes: acceptance, 0)."""

    m: Any
    cycles: int
    done: list[int]
    answers: list[int]
    commands: list[DramCommand]

    def issued(self, channel: int = 0) -> list[tuple[int, str]]:
        """(clock, name) of a channel's commands."""
        return [(c.clock, NAMES[c.command]) for c in self.commands if c.channel == channel]

    def clocks(self, name: str) -> list[int]:
        """Clocks of the commands of a name, all channels."""
        return [c.clock for c in self.commands if NAMES[c.command] == name]


def plain_spec(**values: Any) -> DramSpec:
    """One GDDR5 channel whose bank numbers are plain address bits and whose controller takes no time."""
    timing = values.pop("timing", {})
    defaults: dict[str, Any] = {
        "channels": 1,
        "request_latency_ns": 0,
        "response_latency_ns": 0,
        "write_idle_clocks": 0,
    }
    return with_plain_banks(DramSpec(**{**defaults, **values}, timing=TimingOverrides(**timing)))


def with_plain_banks(spec: DramSpec) -> DramSpec:
    """The same DRAM with bank numbers that are plain address bits."""
    return spec.model_copy(update={"bank_masks": plain_bank_masks(spec)})


def machine(
    spec: DramSpec,
    core_clock_hz: float = GDDR5_CLOCK_HZ,
    interleave_lines_bits: int = 2,
    rules: tuple[TimingRule, ...] = RULES,
) -> Any:
    """A record with address map and DRAM configured."""
    m = new_record(RECORD)
    interleave_bytes = 64 << interleave_lines_bits
    configure_address_map(m, interleave_bytes, (), channel_masks(spec, interleave_bytes))
    configure_dram(m, spec, core_clock_hz, rules)
    return m


def line_at(spec: DramSpec, row: int = 0, bank: int = 0, group: int = 0, column: int = 0) -> int:
    """Line in the first rank or pseudo-channel of the only channel of a `plain_spec` (bank: within its group)."""
    t = resolve(spec)
    together = spec.group_interleave_lines
    block = (row * t.ranks * t.banks_per_group + bank) * (t.lines_per_row // together) + column // together
    return (block * t.bank_groups + group) * t.pseudo_channels * together + column % together


Request = tuple[int, int, int] | tuple[int, int, int, int]


def run(
    spec: DramSpec,
    script: Sequence[Request],
    core_clock_hz: float = GDDR5_CLOCK_HZ,
    poll: bool = False,
    look_ahead: int | None = None,
    rules: tuple[TimingRule, ...] = RULES,
) -> Outcome:
    """Run (cycle, READ or WRITE, line[, mask]) requests, sent in order, until all are served."""
    return run_streams(spec, [script], core_clock_hz, poll, look_ahead, rules)


def run_streams(
    spec: DramSpec,
    scripts: Sequence[Sequence[Request]],
    core_clock_hz: float = GDDR5_CLOCK_HZ,
    poll: bool = False,
    look_ahead: int | None = None,
    rules: tuple[TimingRule, ...] = RULES,
) -> Outcome:
    """As `run`, with several senders: each keeps its own order and waits for nobody else."""
    m = machine(spec, core_clock_hz, rules=rules)
    if look_ahead is not None:
        m.dram.look_ahead = look_ahead
    flat = [request for script in scripts for request in script]
    ends = np.cumsum([0, *map(len, scripts)])
    sent = np.array([(begin, end) for begin, end in pairwise(ends)], np.int64)
    requests = np.array([(*r, WHOLE)[:4] for r in flat], object).astype(np.uint64, casting="unsafe").view(np.int64)
    done, answers = np.zeros(len(flat), np.int64), np.zeros(len(flat), np.int64)
    buffer = record_commands(m, MAX_COMMANDS)
    _compile()
    addresses = (address_of(requests), len(scripts), address_of(sent), address_of(done), address_of(answers))
    cycles = drive(m, *addresses, int(poll), LIMIT_CYCLES)
    assert cycles > 0, "requests were never served"
    assert m.ports.overflows == 0
    return Outcome(m, int(cycles), done.tolist(), answers.tolist(), recorded_commands(m, buffer))
