"""Where the wavefronts of a machine stand, and what each waits for: for a run that was stopped or that cannot go on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusim.base.jit import Machine, ld_i64
from gpusim.model.core.cu.accounts import taken_by
from gpusim.model.core.cu.code_table import LGKM_MASK, LGKM_SHIFT, VM_MASK, VM_SHIFT
from gpusim.model.core.cu.lds import FLAT_MASK
from gpusim.model.core.cu.state import (
    AT_BARRIER,
    EVENTS,
    EXECUTION,
    FETCH,
    FETCHING,
    FLAT_ENTRY,
    FREE,
    IDLE,
    LGKM_FULL,
    MATRIX_UNIT,
    MAX_IN_FLIGHT,
    PAUSED,
    READY,
    SLOTS,
    VM_ENTRIES,
    VM_FULL,
    WAITING,
)
from isa.encoding.instruction import Instruction
from isa.execution.resident import AT_BARRIER as AT_BARRIER_TEXT
from isa.execution.resident import AT_GRID_BARRIER, WavefrontGroup, grouped
from isa.object.code_object import Kernel
from memory.waiting import short_of

_STATES = {
    AT_BARRIER: AT_BARRIER_TEXT,
    FETCHING: "waiting for instruction fetch",
    LGKM_FULL: f"waiting for one of {MAX_IN_FLIGHT} LDS, scalar or flat accesses in flight",
}
_PAUSES = {
    MATRIX_UNIT: "waiting for the matrix unit",
    EXECUTION: "waiting for wait states to pass (execution dependency)",
    FETCH: "waiting for instruction fetch after a branch",
    IDLE: "being launched",
}


def resident_groups(m: Machine, kernel: Kernel, instructions: Sequence[Instruction]) -> list[WavefrontGroup]:
    """Return the machine's resident wavefronts, grouped by where they stand and what they wait for."""
    return grouped(kernel, instructions, standing(m))


def standing(m: Machine) -> list[tuple[int, str]]:
    """Return, for each resident wavefront, the static index of its next instruction and what it waits for."""
    waves = m.cu.wave[: int(m.cu.cus) * SLOTS]
    in_lds = _in_lds(m)
    found = []
    for w in np.flatnonzero(waves["state"] != FREE):
        wave = waves[w]
        found.append((int(wave["pc"]), _state(m, int(w), wave, int(in_lds[w]))))
    return found


def _state(m: Machine, w: int, wave: Any, in_lds: int) -> str:
    """Describe what the wavefront in slot `w` waits for. in_lds: how many of its DS instructions are in flight."""
    state = int(wave["state"])
    if state == PAUSED:
        return _PAUSES.get(int(wave["pause_reason"]), "paused")
    if state == AT_BARRIER and m.cu.grid_at[w]:
        return AT_GRID_BARRIER
    if state == READY:
        return _ready(m, w, int(wave["pc"]))
    if state == WAITING:
        return "waiting for " + (" and ".join(_awaited(m, wave, in_lds)) or "its counters")
    if state == VM_FULL:
        return f"waiting for the oldest of {int(m.cu.vm_limit)} vector memory instructions in flight"
    return _STATES[state]


def _awaited(m: Machine, wave: Any, in_lds: int) -> list[str]:
    """Return the kinds of memory whose counts exceed the limits of the s_waitcnt that the wavefront stands at."""
    word = ld_i64(m.run.code, int(wave["pc"]))
    head, tail, lgkm = int(wave["vm_head"]), int(wave["vm_tail"]), int(wave["lgkm"])
    kinds = ["vector memory"] * (tail - head > word >> VM_SHIFT & VM_MASK)
    if lgkm > word >> LGKM_SHIFT & LGKM_MASK:
        flat = sum(1 for n in range(head, tail) if wave["vm_left"][n & (VM_ENTRIES - 1)] & FLAT_ENTRY)
        kinds += ["LDS"] * (in_lds > 0) + ["scalar memory"] * (lgkm > in_lds + flat)
        if flat and not kinds:
            kinds.append("flat memory")
    return kinds


def _ready(m: Machine, w: int, pc: int) -> str:
    """Describe which resource a wavefront that wants to issue waits for, or 'ready to issue' if none is short."""
    missing = short_of(m, int(taken_by(ld_i64(m.run.code, pc) & 15, w)))
    return f"waiting for {missing}" if missing else "ready to issue"


def _in_lds(m: Machine) -> np.ndarray:
    """Return, by wavefront slot, how many DS instructions of its present wavefront have results under way (int64)."""
    results = np.zeros(int(m.cu.cus) * SLOTS, np.int64)
    for cu in np.flatnonzero(m.cu.lds_count[: int(m.cu.cus)]):
        places = (int(m.cu.lds_head[cu]) + np.arange(int(m.cu.lds_count[cu]))) & (EVENTS - 1)
        for who in m.cu.lds_who[cu, places]:
            w = int(cu) * SLOTS + (int(who) & 0xFF)
            if not int(who) >> 16 & FLAT_MASK and int(who) >> 8 & 0xFF == int(m.cu.wave["generation"][w]):
                results[w] += 1
    return results
