"""Counters on the timeline: what the whole machine did in each sampling interval."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.base.jit import Machine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.timeline.trace_file import TraceFile

PER_CENT = 100.0


def _ratio(part: float, whole: float) -> float:
    return PER_CENT * part / whole if whole else 0.0


class CounterTracks:
    """A counter track below `parent` for each figure.

    A rate is drawn over the interval in which it was measured; a level, from the cycle of its sample on.
    """

    def __init__(self, out: TraceFile, parent: int, gpu: GpuSpec, engine_on: bool) -> None:
        self._out, self._gpu = out, gpu
        levels: list[tuple[str, str, Callable[[Any], float]]] = [
            ("resident wavefronts", "wavefronts", lambda m: m.run.waves_left),
            ("workgroups finished", "workgroups", lambda m: m.run.done),
            ("L1 lines missing", "lines", lambda m: m.l1.unit["missing"]["lines"].sum()),
            ("L2 lines missing", "lines", lambda m: m.l2.missing["lines"].sum()),
            ("DRAM requests held", "lines", lambda m: m.dram.channel["held"].sum()),
        ]
        if engine_on:
            levels.append(("engine requests held", "requests", lambda m: m.engine.requests_held))
            levels.append(("engine reads held", "lines", lambda m: m.engine.reads_held))
        rates = [
            ("IPC", "instructions/cycle"),
            ("L1 hit rate", "%"),
            ("L2 hit rate", "%"),
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
            _ratio(d["l1_hits"], d["l1_reads"]),
            _ratio(d["l2_hits"], d["l2_hits"] + d["l2_misses"] + d["l2_merges"]),
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
        l1, l2, dram = m.l1, m.l2, np.asarray(m.dram.channel)
        totals = {
            "instructions": m.run.instructions,
            "l1_hits": l1.hits,
            "l1_reads": l1.reads,
            "l2_hits": l2.hits,
            "l2_misses": l2.misses,
            "l2_merges": l2.merges,
            "bus_clocks": dram["data_bus_busy"].sum(),
            "dram_bytes": dram["bytes_read"].sum() + dram["bytes_written"].sum(),
        }
        return {name: int(value) for name, value in totals.items()}
