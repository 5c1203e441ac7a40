"""Counters on the timeline: what the whole machine did in each sampling interval."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpusim.base.jit import Machine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.laws import accesses, lines_missing
from gpusim.model.core.levels import BETWEEN, L1, L2, CacheLevel
from gpusim.results.timeline.trace_file import TraceFile

PER_CENT = 100.0
_LEVELS = (L1, *BETWEEN, L2)


def _ratio(part: float, whole: float) -> float:
    return PER_CENT * part / whole if whole else 0.0


def _lines_missing(level: CacheLevel, m: Machine) -> float:
    return float(lines_missing(m, level).sum())


class CounterTracks:
    """A counter track below `parent` for each figure.

    A rate is drawn over the interval in which it was measured; a level, from the cycle of its sample on.
    """

    def __init__(self, out: TraceFile, parent: int, gpu: GpuSpec, engine_on: bool) -> None:
        self._out, self._gpu = out, gpu
        levels: list[tuple[str, str, Callable[[Any], float]]] = [
            ("resident wavefronts", "wavefronts", lambda m: m.run.waves_left),
            ("workgroups finished", "workgroups", lambda m: m.run.done),
            *((f"{level.name} lines missing", "lines", partial(_lines_missing, level)) for level in _LEVELS),
            ("DRAM requests held", "lines", lambda m: m.dram.channel["held"].sum()),
        ]
        if engine_on:
            levels.append(("engine requests held", "requests", lambda m: m.engine.requests_held))
            levels.append(("engine reads held", "lines", lambda m: m.engine.reads_held))
        rates = [
            ("IPC", "instructions/cycle"),
            *((f"{level.name} hit rate", "%") for level in _LEVELS),
            ("DRAM data bus utilization", "%"),
            ("DRAM bandwidth", "GB/s"),
        ]
        self._levels = [(out.track(name, parent, k, unit=unit), read) for k, (name, unit, read) in enumerate(levels)]
        self._rates = [out.track(name, parent, len(levels) + k, unit=unit) for k, (name, unit) in enumerate(rates)]
        self._cycle = 0
        self._before: dict[str, int] = {}

    def open(self, m: Machine, cycle: int) -> None:
        """Begin to sample in cycle `cycle`."""
        self._cycle, self._before = cycle, self._totals(m)
        self._draw_levels(m, cycle)

    def sample(self, m: Machine, cycle: int) -> None:
        """Draw the counters for the interval from the last sample to cycle `cycle`."""
        cycles = cycle - self._cycle
        if cycles <= 0:
            return
        totals = self._totals(m)
        d = {name: value - self._before[name] for name, value in totals.items()}
        buses = self._gpu.dram.channels * int(m.dram.data_buses)
        seconds = cycles / self._gpu.clock_hz
        values = (
            d["instructions"] / cycles,
            *(_ratio(d[f"{level.section}_hits"], d[f"{level.section}_accesses"]) for level in _LEVELS),
            _ratio(d["bus_clocks"] * int(m.dram.cycles), cycles * buses * int(m.dram.clocks)),
            d["dram_bytes"] / seconds / 1e9,
        )
        for track, value in zip(self._rates, values, strict=True):
            self._out.value(track, self._cycle, value)
        self._draw_levels(m, cycle)
        self._cycle, self._before = cycle, totals

    def close(self, m: Machine, cycle: int) -> None:
        """End the last interval in cycle `cycle`; the rates are 0 after it."""
        self.sample(m, cycle)
        for track in self._rates:
            self._out.value(track, cycle, 0.0)

    def _draw_levels(self, m: Machine, cycle: int) -> None:
        for track, read in self._levels:
            self._out.value(track, cycle, float(read(m)))

    @staticmethod
    def _totals(m: Machine) -> dict[str, int]:
        dram = np.asarray(m.dram.channel)
        totals = {
            "instructions": m.run.instructions,
            **{f"{level.section}_hits": m[level.state]["hits"] for level in _LEVELS},
            **{f"{level.section}_accesses": accesses(m, level) for level in _LEVELS},
            "l1_accesses": m.l1.reads,  # stores hit only where they are kept
            "bus_clocks": dram["data_bus_busy"].sum(),
            "dram_bytes": dram["bytes_read"].sum() + dram["bytes_written"].sum(),
        }
        return {name: int(value) for name, value in totals.items()}
