"""Recording one launch: the machine runs in steps, and what its units wrote down meanwhile is decoded and drawn."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from gpusim.base.formats import GENERAL
from gpusim.base.jit import Machine, address_of
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.levels import L1
from gpusim.model.core.loop import RUNNING, run_cycles
from gpusim.results.timeline.counters import CounterTracks
from gpusim.results.timeline.dram_banks import DramBankTracks
from gpusim.results.timeline.engine import EngineTracks
from gpusim.results.timeline.requests import RequestTracks
from gpusim.results.timeline.trace_file import TraceFile
from gpusim.results.timeline.wavefronts import WavefrontTracks
from gpusim.results.timeline.window import TimelineWindow
from isa.encoding.instruction import Instruction
from memory import timeline as kinds
from memory.dram.constants import RECORD_WORDS
from memory.dram.spec import resolve
from memory.dram.state import decide_no_clock_ahead
from memory.network.state import at_port
from memory.timeline import EVENT_WORDS, KIND_BITS, RECORDED
from memory.wheel import SIZE

SAMPLE_CYCLES = 200
LEAD_IN_CYCLES = 8192  # before a window; 99 % of layerB's requests to the engine take less
PAUSE_EVENTS = 1 << 17
EVENTS = PAUSE_EVENTS + (1 << 16)  # and what a cycle may bring
DRAM_COMMANDS = EVENTS + (1 << 17)  # and refreshes that idle channels make up for

# what the machine's state tells when the window begins
READ_FROM_STATE = frozenset(
    {
        kinds.CHARGED,
        kinds.ENGINE_ANSWERED,
        kinds.ENGINE_READ,
        kinds.ENGINE_FETCH,
        kinds.ENGINE_DATA,
        kinds.ENGINE_COMPACTED,
    }
)

GROUPS = ("compute units", "scalar and instruction caches", "compaction engine", "DRAM")


class TimelineRecording:
    """The timeline of one launch on the machine `m`: window, buffers, and the tracks below the launch's own.

    It does not change any state of the machine on which a result depends. may_go_on: asked between steps; once it is
    false, the window ends there.
    """

    def __init__(
        self,
        out: TraceFile,
        m: Machine,
        title: str,
        kernel: str,
        gpu: GpuSpec,
        instructions: Sequence[Instruction],
        window: TimelineWindow,
        may_go_on: Callable[[], bool],
    ) -> None:
        self._m: Any = m  # a machine record, None once the launch has ended
        self._out, self._kernel = out, kernel
        self._window, self._may_go_on = window, may_go_on
        self._events = np.zeros((EVENTS, EVENT_WORDS), np.int64)
        self._commands = np.zeros((DRAM_COMMANDS, RECORD_WORDS), np.int64)
        t = m.timeline
        t.address, t.capacity, t.pause = address_of(self._events), EVENTS, PAUSE_EVENTS
        t.placements = 1
        decide_no_clock_ahead(m)  # a command is drawn in the window of its own cycle; results stay the same
        self._next_sample = 0
        self._is_open = False
        self._begun = 0
        self._lead_in = max(0, window.begin - LEAD_IN_CYCLES)  # what is sent from here on is known in the window
        self.cycles = 0  # of the launch, once it is finished
        self.ended: int | None = None  # cycle in which the window ended

        root = out.track(
            title, description=f"{gpu.name} at {GENERAL(gpu.clock_ghz)} GHz; one cycle is drawn as one microsecond"
        )
        self._root = root
        engine_on = bool(m.run.engine_on)
        self._counters = CounterTracks(out, root, gpu, engine_on)
        self._groups = {name: out.track(name, root, 100 + k) for k, name in enumerate(GROUPS) if engine_on or k != 2}
        cus = [out.track(f"CU {cu}", self._groups["compute units"], cu) for cu in range(gpu.cus)]
        self._wavefronts = WavefrontTracks(out, cus, instructions, window.end)
        shared = self._groups["scalar and instruction caches"]

        @cache
        def track_of_array(array: int) -> int:
            return out.track(f"shader array {array}", shared, array)

        def parent(port: int) -> int:
            section, number = at_port(port)
            return cus[number] if section == L1.section else track_of_array(number)

        latencies = gpu.scalar_cache.hit_latency_cycles, gpu.instruction_cache.hit_latency_cycles
        self._requests = RequestTracks(out, parent, *latencies, window)
        self._engine = EngineTracks(out, self._groups["compaction engine"], window.end) if engine_on else None
        ratio = Fraction(int(m.dram.cycles), int(m.dram.clocks))
        self._banks = DramBankTracks(out, self._groups["DRAM"], resolve(gpu.dram), ratio, window.end)

    def advance(self, limit: int) -> int:
        """Run the machine to cycle `limit`, and return what run_cycles returns."""
        m = self._m
        while True:
            now = int(m.wheel.now)
            status = RUNNING
            if now >= limit:
                return status
            if not self._is_open and self.ended is None and self._lead_in <= now < self._window.end:
                m.timeline.on |= RECORDED
                if now >= self._window.begin:
                    self._open(now)
            status = int(run_cycles(m, min(limit, self._stop(now))))
            self._drain()
            now = int(m.wheel.now)
            if self._is_open:
                if now >= self._next_sample:
                    self._counters.sample(m, now)
                    self._next_sample = now + SAMPLE_CYCLES
                if now >= self._window.end or not self._may_go_on():
                    self._close()
            if status != RUNNING:
                return status

    def finish(self) -> None:
        """Close the recording and release the machine, as the launch has ended."""
        if self._m is None:
            return
        self._close()
        self.cycles = int(self._m.wheel.now)
        self._m = None

    def _close(self) -> None:
        """Cut off what is under way, as the launch or its window has ended, and stop recording events."""
        m, now = self._m, int(self._m.wheel.now)
        if not self._is_open:
            return
        self._is_open = False
        self.ended = now
        m.timeline.on &= ~RECORDED
        m.timeline.placements = m.dram.record_address = 0
        m.dram.record_count = m.timeline.count = 0
        self._counters.close(m, now)
        self._wavefronts.close(m, now)
        self._requests.close(now)
        if self._engine is not None:
            self._engine.close(m, now)
        self._banks.close(m, now)
        if now > self._begun:
            self._out.slice(self._root, self._begun, now, self._kernel, "launch")

    def _stop(self, now: int) -> int:
        """Return the cycle in which the machine must stop for the recording."""
        if not self._is_open:
            begins = self._lead_in if now < self._lead_in else self._window.begin
            return begins if now < begins and self.ended is None else now + (1 << 40)
        if not self._m.wheel.row.any():
            return now + 2 * SIZE  # nothing will happen any more: run_cycles says so after a turn of the wheel
        return min(self._next_sample, self._window.end)

    def _open(self, now: int) -> None:
        m = self._m
        self._is_open = True
        self._begun = now
        if now:  # so that the viewer's time axis begins with cycle 0
            self._out.slice(self._root, 0, now, "before the window", "outside the window")
        m.dram.record_address, m.dram.record_capacity = address_of(self._commands), DRAM_COMMANDS
        self._next_sample = now + SAMPLE_CYCLES
        self._counters.open(m, now)
        self._wavefronts.open(m, now)
        if self._engine is not None:
            self._engine.open(m, now)
        self._banks.open(m, now)

    def _drain(self) -> None:
        """Decode and draw the events recorded since the last time."""
        m = self._m
        count, commands = int(m.timeline.count), int(m.dram.record_count)
        if count > EVENTS or commands > DRAM_COMMANDS:
            raise OverflowError(f"the timeline's buffers hold {EVENTS} events and {DRAM_COMMANDS} DRAM commands")
        m.timeline.count = 0
        m.dram.record_count = 0
        self._decode(self._events[:count].tolist())
        if commands:
            self._banks.issued(self._commands[:commands].tolist())

    def _decode(self, events: list[list[int]]) -> None:
        wavefronts, requests, engine = self._wavefronts, self._requests, self._engine
        skipped = frozenset[int]() if self._is_open else READ_FROM_STATE
        for word, a, b, c in events:
            kind, now = word & ((1 << KIND_BITS) - 1), word >> KIND_BITS
            if kind in skipped:
                continue
            if kind == kinds.CHARGED:
                wavefronts.charged(a & 0xFFFF, a >> 16, b, c)
            elif kind == kinds.LOOKED_UP:
                requests.looked_up(now, a & 0xFF, a >> 8, b, c)
            elif kind == kinds.SENT:
                requests.sent(now, a, b, c)
            elif kind == kinds.SERVED:
                requests.served(now, a & 0xFF, a >> 8 & 0xFF, a >> 16, b, c)
            elif kind == kinds.ANSWERED:
                requests.answered(now, a & 0xFF, a >> 8, b, c)
            elif kind == kinds.TAKEN:
                requests.taken(now, a & 0xFF, a >> 8, b)
            elif kind == kinds.RETURNED:
                requests.returned(now, a, b)
            elif kind == kinds.PLACED:
                wavefronts.placed(now, a, b, c)
            elif kind == kinds.ENDED:
                wavefronts.ended(a, b)
            elif engine is None:
                raise ValueError(f"event of unknown kind {kind}")
            elif kind == kinds.ENGINE_ANSWERED:
                engine.answered(a & 0xFF, a >> 8 & 0xFFFFFF, a >> 32, b, c)
            elif kind == kinds.ENGINE_READ:
                engine.read(now, a, b, c & 0xFFFF, c >> 16)
            elif kind == kinds.ENGINE_FETCH:
                engine.fetch(now, a, b, c)
            elif kind == kinds.ENGINE_DATA:
                engine.data(now, a)
            else:
                engine.compacted(now, a)
