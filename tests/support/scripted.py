"""A trace producer that plays prepared slices: kernels for the timing model without an executor."""

from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpusim.base.jit import address_of, jit, ld_i64, st_i64
from gpusim.model.core.cu.code_table import (
    ACTION_SHIFT,
    COHERENT,
    COUNTS_LGKM,
    CYCLES_SHIFT,
    INVALIDATE,
    LGKM_SHIFT,
    SET_PRIORITY,
    VM_SHIFT,
    WAIT,
    fetch_table,
)
from gpusim.model.core.cu.configure import set_code_table, set_fetch_table
from gpusim.model.core.cu.state import MAX_SLOTS
from gpusim.model.core.loop import run_cycles
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import Occupancy
from gpusim.model.core.prepare import prepare_core
from isa.opcodes.opcode import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM
from isa.trace import (
    BARRIER,
    BUSY_SHIFT,
    END,
    MEMORY_0,
    MEMORY_WORDS,
    MORE,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_STORE,
    SEGMENT_0,
    SEGMENTS,
    STATUS,
    TRACE_WORDS,
)
from tests.support.compiled import native_callback

# context words: 0 address of slices, 1 slices a wavefront, 2 trace address, 3.. per slot: wavefront number, next slice
_MADE, _SLOT_0 = 4, 6


@jit
def scripted_start(context, slot, workgroup, wave):
    base = _SLOT_0 + 2 * slot
    st_i64(context, base, workgroup * ld_i64(context, 3) + (wave & 0xFFFFFFFF))
    st_i64(context, base + 1, 0)
    return 0


@jit
def scripted_produce(context, slot, offset, unused):
    base = _SLOT_0 + 2 * slot
    wave = ld_i64(context, base)
    n = ld_i64(context, base + 1)
    st_i64(context, base + 1, n + 1)
    made = ld_i64(context, _MADE)
    st_i64(context, _MADE, made + 1)
    st_i64(ld_i64(context, _MADE + 1), made, wave << 32 | n)
    source = ld_i64(context, 0) + (wave * ld_i64(context, 1) + n) * TRACE_WORDS * 8
    target = ld_i64(context, 2) + slot * 2 * TRACE_WORDS * 8 + offset
    for i in range(SEGMENT_0 + 1):
        st_i64(target, i, ld_i64(source, i))
    for i in range(MEMORY_0, MEMORY_0 + ld_i64(source, MEMORY_WORDS)):
        st_i64(target, i, ld_i64(source, i))
    return ld_i64(source, STATUS)


CODE_ADDRESS = 0x2_0000_0000  # of the first script's first instruction; each has four bytes

_UNITS = {"valu": VALU, "salu": SALU, "vmem": VMEM, "lds": LDS, "smem": SMEM, "branch": BRANCH}


@dataclass
class Script:
    """One wavefront's instructions in order, each a code word and perhaps a memory record."""

    words: list[int] = field(default_factory=list)
    records: list[list[int]] = field(default_factory=list)
    slice_ends: list[tuple[int, int, int]] = field(default_factory=list)  # instructions, records, status of the slice

    def _add(self, word: int, record: list[int] | None = None) -> "Script":
        self.words.append(word)
        if record is not None:
            self.records.append(record)
        return self

    def valu(self, count: int = 1, rate: int = 1) -> "Script":
        for _ in range(count):
            self._add(VALU | 4 * rate << 32)
        return self

    def salu(self, count: int = 1) -> "Script":
        for _ in range(count):
            self._add(SALU)
        return self

    def branches(self, count: int = 1) -> "Script":
        """Branches that are not taken."""
        for _ in range(count):
            self._add(BRANCH)
        return self

    def load(self, lines: list[int], beats: int = 4, flat: bool = False) -> "Script":
        return self._add(VMEM | 1 << 28 | (COUNTS_LGKM if flat else 0), [len(lines) | beats << BUSY_SHIFT, *lines])

    def store(self, lines: list[int], mask: int = -1, beats: int = 4) -> "Script":
        words = [x for line in lines for x in (line, mask)]
        return self._add(VMEM | 1 << 28, [len(lines) | beats << BUSY_SHIFT | RECORD_STORE, *words])

    def atomic(self, lines: list[int], mask: int = -1) -> "Script":
        words = [x for line in lines for x in (line, mask)]
        return self._add(VMEM | 1 << 28, [len(lines) | 4 << BUSY_SHIFT | RECORD_ATOMIC, *words])

    def coherent(self) -> "Script":
        """The last instruction is marked `glc`."""
        self.words[-1] |= COHERENT
        return self

    def invalidate(self) -> "Script":
        return self._add(VMEM | 1 << 28 | INVALIDATE, [0])

    def lds(self, cycles: int = 2) -> "Script":
        return self._add(LDS | 1 << 28, [cycles << BUSY_SHIFT | RECORD_LDS])

    def flat_lds(self, cycles: int = 2) -> "Script":
        """A FLAT access whose addresses lie in LDS."""
        return self._add(VMEM | 1 << 28 | COUNTS_LGKM, [cycles << BUSY_SHIFT | RECORD_LDS])

    def lds_reads(self, count: int, cycles: int) -> "Script":
        for _ in range(count):
            self.lds(cycles)
        return self

    def scalar_load(self, lines: list[int] | None = None) -> "Script":
        lines = lines or []
        return self._add(SMEM | 1 << 28, [len(lines), *lines])

    def wait(self, vm: int = 15, lgkm: int = 15) -> "Script":
        return self._add(INTERNAL | WAIT << ACTION_SHIFT | vm << VM_SHIFT | lgkm << LGKM_SHIFT)

    def nop(self, more: int) -> "Script":
        return self._add(INTERNAL | 4 << 12 | more << 32)

    def priority(self, value: int) -> "Script":
        return self._add(INTERNAL | SET_PRIORITY << ACTION_SHIFT | value << CYCLES_SHIFT)

    def _end_slice(self, status: int) -> "Script":
        self.slice_ends.append((len(self.words), len(self.records), status))
        return self

    def barrier(self) -> "Script":
        return self._add(INTERNAL | 2 << 12)._end_slice(BARRIER)

    def cut(self) -> "Script":
        """A slice ends, as if its trace buffer were full."""
        return self._end_slice(MORE)

    def end(self) -> "Script":
        return self._add(INTERNAL | 3 << 12)._end_slice(END)


@cache
def _producer() -> tuple[tuple[int, Any], tuple[int, Any]]:
    """Addresses of the two functions, compiled once a process: that takes a quarter of a second."""
    return native_callback(scripted_start), native_callback(scripted_produce)


class ScriptedRun:
    """Runs `scripts[workgroup][wave]` on a machine; all wavefronts of a workgroup are resident together.

    instructions: executed by all wavefronts; made: wavefront << 32 | number of each slice, in the order in which they
    were made; ahead: each is made as its wavefront enters the one before (`gpusim.model.core.cu.slices`).
    """

    def __init__(
        self,
        gpu: Any,
        scripts: list[list[Script]],
        waves_per_simd: int = 10,
        workgroups_per_cu: int = 16,
        ahead: bool = False,
    ) -> None:
        per_group = len(scripts[0])
        flat = [s for group in scripts for s in group]
        slices = max(len(s.slice_ends) for s in flat)
        self.traces = np.zeros((len(flat), slices, TRACE_WORDS), np.int64)
        code: list[int] = []
        placed: dict[int, int] = {}  # a script that several wavefronts run is one piece of code
        for w, script in enumerate(flat):
            if id(script) not in placed:
                placed[id(script)] = len(code)
                code += script.words
            first = placed[id(script)]
            done = (0, 0)
            for k, (instructions, records, status) in enumerate(script.slice_ends):
                t = self.traces[w, k]
                memory = [x for record in script.records[done[1] : records] for x in record]
                t[SEGMENTS], t[MEMORY_WORDS] = 1, len(memory)
                t[STATUS] = status
                t[SEGMENT_0] = first + done[0] | (first + instructions) << 32
                t[MEMORY_0 : MEMORY_0 + len(memory)] = memory
                done = (instructions, records)
        self.code = np.array(code, np.int64)
        self.instructions = sum(len(script.words) for script in flat)
        self.buffers = np.zeros((MAX_SLOTS, 2, TRACE_WORDS), np.int64)
        self.context = np.zeros(_SLOT_0 + 2 * MAX_SLOTS, np.int64)
        self.made = np.zeros(len(flat) * slices, np.int64)
        self.context[:4] = address_of(self.traces), slices, address_of(self.buffers), per_group
        self.context[_MADE + 1] = address_of(self.made)
        launch = SimpleNamespace(workgroups=(len(scripts), 1, 1), wavefronts_per_workgroup=per_group)
        self.m = new_machine(gpu, launch, Occupancy(waves_per_simd, workgroups_per_cu, ""))  # type: ignore[arg-type]
        code_lines = [SimpleNamespace(address=4 * i, size=4) for i in range(len(code))]
        self.fetched = fetch_table(code_lines, gpu.cu.instruction_buffer_bytes, CODE_ADDRESS)  # type: ignore[arg-type]
        set_fetch_table(self.m, self.fetched, gpu.cu.instruction_buffer_bytes)
        run = self.m.run
        (run.start, _), (run.produce, _) = _producer()
        run.producer, run.trace_base = address_of(self.context), address_of(self.buffers)
        self.m.slices.ahead = int(ahead)
        set_code_table(self.m, self.code)
        prepare_core()

    def go(self, limit: int = 10_000_000) -> int:
        """Run to the end; returns run_cycles' status."""
        return int(run_cycles(self.m, limit))

    @property
    def cycles(self) -> int:
        return int(self.m.run.ended or self.m.wheel.now)


__all__ = ["MORE", "Script", "ScriptedRun"]
