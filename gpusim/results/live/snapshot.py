"""What is seen of a machine at a moment: its counts, rates since the moment before, compute units, queues.

Everything here reads the machine's record and writes nothing: a run that is watched is the same to the bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusim.base.counters import EACH
from gpusim.base.jit import Machine
from gpusim.model.core.counters import MACHINE_TABLES
from gpusim.model.core.cu import state as cu
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.laws import read_queue_depths
from gpusim.model.core.levels import BETWEEN, L1, L2
from memory.dram.controller import bus_busy_cycles

# what a resident wavefront does, as the page names it, by its state
STATES: Mapping[str, tuple[int, ...]] = {
    "ready": (cu.READY,),
    "waiting for memory or LDS": (cu.WAITING,),
    "at a barrier": (cu.AT_BARRIER,),
    "with too many accesses in flight": (cu.VM_FULL, cu.LGKM_FULL),
    "waiting for instructions": (cu.FETCHING,),
    "paused": (cu.PAUSED,),
}
assert cu.FREE not in {number for numbers in STATES.values() for number in numbers}

_TABLES = [  # without what instances keep apart
    replace(table, counters=tuple(c for c in table.counters if c.aggregation is not EACH)) for table in MACHINE_TABLES
]

HIT_RATES = (L1, *BETWEEN, L2)
OUTCOMES = ("hits", "misses", "mshr_merges")

# rates of an interval: name → unit; None where nothing happened of what they are a share
RATES: Mapping[str, str] = {
    "instructions": "a cycle",
    "resident wavefronts": "wavefronts",
    **{f"{level.name} hit rate": "%" for level in HIT_RATES},
    "DRAM data bus": "%",
    "DRAM traffic": "bytes a cycle",
    "simulated cycles": "a second",
    "simulated instructions": "a second",
}


@dataclass(frozen=True)
class MachineSnapshot:
    """State of a machine at one moment."""

    cycle: int
    """Cycle of the launch."""
    seconds: float
    """Wall time in seconds."""
    counts: Mapping[str, int]
    """Counts since the start of the launch by 'section.name', summed over instances."""
    wavefronts: int
    """Resident wavefronts."""
    bus_busy: float
    """Busy cycles of the DRAM data buses."""
    bus_cycles: float
    """Cycles of all DRAM data buses."""

    @classmethod
    def of(cls, m: Machine, seconds: float) -> "MachineSnapshot":
        """Read the moment from the machine record `m`, at this wall time."""
        counts: dict[str, int] = {}
        for table in _TABLES:
            for name, value in (table.read(m) or {}).items():
                counts[f"{table.section}.{name}"] = value
        cycle = int(m.wheel.now)
        buses = int(m.map.dram_channels)
        return cls(cycle, seconds, counts, int(m.run.waves_left), float(bus_busy_cycles(m)), float(cycle * buses))


def rates(before: MachineSnapshot, now: MachineSnapshot) -> dict[str, float | None]:
    """Return RATES over the interval between two moments of one launch."""
    cycles, seconds = now.cycle - before.cycle, now.seconds - before.seconds

    def more(*names: str) -> int:
        return sum(now.counts.get(name, 0) - before.counts.get(name, 0) for name in names)

    return dict(
        zip(
            RATES,
            (
                _ratio(more("kernel.wavefront_instructions"), cycles),
                float(now.wavefronts),
                *(
                    _percent(more(f"{level.section}.hits"), more(*(f"{level.section}.{name}" for name in OUTCOMES)))
                    for level in HIT_RATES
                ),
                _percent(now.bus_busy - before.bus_busy, now.bus_cycles - before.bus_cycles),
                _ratio(more("dram.bytes_read", "dram.bytes_written"), cycles),
                _ratio(cycles, seconds),
                _ratio(more("kernel.wavefront_instructions"), seconds),
            ),
            strict=True,
        )
    )


def compute_units(m: Machine) -> list[dict[str, Any]]:
    """List each compute unit's resident workgroups, wavefronts by STATES, and wavefront-cycles by stall reason."""
    count = int(m.cu.cus)
    states = np.asarray(m.cu.wave["state"][: count * cu.SLOTS]).reshape(count, cu.SLOTS)
    doing = np.stack([np.isin(states, numbers).sum(axis=1) for numbers in STATES.values()], axis=1).tolist()
    workgroups, stalls = m.cu.wg_resident[:count].tolist(), m.cu.stalls[:count, : len(STALL_REASONS)].tolist()
    return [
        {"workgroups": resident, "states": numbers, "stalls": cycles}
        for resident, numbers, cycles in zip(workgroups, doing, stalls, strict=True)
    ]


def queues(m: Machine) -> list[dict[str, Any]]:
    """List the depths of the queues: entries of all units of a kind, of the fullest one, and units that hold any."""
    return [
        {"name": name, "entries": int(v.sum()), "fullest": int(v.max(initial=0)), "units": int(np.count_nonzero(v))}
        for name, v in read_queue_depths(m)
    ]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _percent(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0 else None
