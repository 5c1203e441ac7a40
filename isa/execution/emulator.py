"""Functional execution without timing: a launch run workgroup by workgroup."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusim.jit import address_of, call_i64_4, jit, ld_i64, popcount, st_i64
from isa.encoding.instruction import UNIT_NAMES
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter
from isa.trace import (
    BUSY_MASK,
    BUSY_SHIFT,
    END,
    LINE_SPARSE,
    LINES_MASK,
    MEMORY_0,
    MEMORY_WORDS,
    MORE,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_SCALAR,
    RECORD_STORE,
    SEGMENT_0,
    SEGMENTS,
    TRACE_WORDS,
)

if TYPE_CHECKING:
    from isa.launch import Launch

UNITS = len(UNIT_NAMES)
# words of the counters, behind the instructions by unit
(
    N_WORKGROUPS,
    N_WAVEFRONTS,
    N_LOAD_LINES,
    N_STORE_LINES,
    N_ATOMIC_LINES,
    N_SCALAR_LINES,
    N_SPARSE_LINES,
    N_STORE_BYTES,
    N_LDS_CYCLES,
    N_RECORDS,
    N_WORDS,
) = range(UNITS, UNITS + 11)
# words of a run
(
    E_CONTEXT,
    E_START,
    E_PRODUCE,
    E_TRACE,
    E_PREFIX,
    E_COUNTERS,
    E_STATE,
    E_WAVES,
    E_GROUPS,
    E_NEXT,
    E_RUNNING,
    E_WORDS,
) = range(12)
WAITING, DONE = 1, 2  # state of a wavefront of the running workgroup; 0: ready
_FIRST_SLICES = 1
_BATCH_S = 0.1


@jit
def count_slice(trace, prefix, counters):
    """Add one slice's instructions by unit and its memory lines to the counters."""
    for s in range(ld_i64(trace, SEGMENTS)):
        segment = ld_i64(trace, SEGMENT_0 + s)
        first = prefix + 8 * UNITS * (segment & 0xFFFF_FFFF)
        last = prefix + 8 * UNITS * (segment >> 32)
        for u in range(UNITS):
            st_i64(counters, u, ld_i64(counters, u) + ld_i64(last, u) - ld_i64(first, u))
    at = 0
    words = ld_i64(trace, MEMORY_WORDS)
    while at < words:
        record = trace + 8 * (MEMORY_0 + at)
        header = ld_i64(record, 0)
        lines = header & LINES_MASK
        st_i64(counters, N_RECORDS, ld_i64(counters, N_RECORDS) + 1)
        with_masks = 1 if header & (RECORD_STORE | RECORD_ATOMIC) else 0
        kind = N_LOAD_LINES
        if header & RECORD_SCALAR:
            kind = N_SCALAR_LINES
        elif header & RECORD_STORE:
            kind = N_STORE_LINES
        elif header & RECORD_ATOMIC:
            kind = N_ATOMIC_LINES
        elif lines and ld_i64(record, 1) & LINE_SPARSE:
            kind = N_SPARSE_LINES
        st_i64(counters, kind, ld_i64(counters, kind) + lines)
        if header & RECORD_LDS:
            cycles = (header >> BUSY_SHIFT) & BUSY_MASK
            st_i64(counters, N_LDS_CYCLES, ld_i64(counters, N_LDS_CYCLES) + cycles)
        if with_masks:
            touched = 0
            for k in range(lines):
                touched += popcount(ld_i64(record, 2 + 2 * k))
            if header & RECORD_STORE:
                st_i64(counters, N_STORE_BYTES, ld_i64(counters, N_STORE_BYTES) + touched)
        at += 1 + lines * (1 + with_masks)


@jit
def run_slices(run, slices):
    """Run up to `slices` slices of the launch; 1 when it is finished, 0 if not, or a fault."""
    context = ld_i64(run, E_CONTEXT)
    state = ld_i64(run, E_STATE)
    waves = ld_i64(run, E_WAVES)
    counters = ld_i64(run, E_COUNTERS)
    for _ in range(slices):
        if ld_i64(run, E_RUNNING) == 0:
            group = ld_i64(run, E_NEXT)
            if group == ld_i64(run, E_GROUPS):
                return 1
            st_i64(run, E_NEXT, group + 1)
            st_i64(run, E_RUNNING, waves)
            for w in range(waves):
                call_i64_4(ld_i64(run, E_START), context, w, group, w)
                st_i64(state, w, 0)
            st_i64(counters, N_WORKGROUPS, ld_i64(counters, N_WORKGROUPS) + 1)
            st_i64(counters, N_WAVEFRONTS, ld_i64(counters, N_WAVEFRONTS) + waves)
        w = 0
        while w < waves and ld_i64(state, w) != 0:
            w += 1
        if w == waves:  # all that are left have reached the barrier
            for k in range(waves):
                if ld_i64(state, k) == WAITING:
                    st_i64(state, k, 0)
                    w = k if k < w else w
        status = call_i64_4(ld_i64(run, E_PRODUCE), context, w, 0, 0)
        if status < 0:
            return status
        count_slice(ld_i64(run, E_TRACE) + w * 8 * TRACE_WORDS, ld_i64(run, E_PREFIX), counters)
        if status == END:
            st_i64(state, w, DONE)
            st_i64(run, E_RUNNING, ld_i64(run, E_RUNNING) - 1)
        elif status != MORE:
            st_i64(state, w, WAITING)
    return 0


@dataclass(frozen=True)
class FunctionalResult:
    """What a functional run did.

    instructions: wavefront instructions by unit name; lines: distinct 64-byte lines summed over instructions, by
    'load', 'store', 'atomic', 'scalar', 'sparse'; store_bytes: bytes written; lds_cycles: LDS bank cycles;
    memory_records: instructions with a memory record; seconds: CPU time of execution; compile_s: of compilation;
    finished: False if the observer ended the run.
    """

    instructions: dict[str, int]
    workgroups: int
    wavefronts: int
    lines: dict[str, int]
    store_bytes: int
    lds_cycles: int
    memory_records: int
    seconds: float
    compile_s: float
    finished: bool

    @property
    def wavefront_instructions(self) -> int:
        """All instructions."""
        return sum(self.instructions.values())

    @property
    def instructions_per_s(self) -> float:
        """Wavefront instructions per CPU second."""
        return self.wavefront_instructions / self.seconds if self.seconds > 0 else 0.0


def run_functional(
    launch: "Launch",
    max_instructions: int = MAX_INSTRUCTIONS,
    shadows: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    observer: Callable[[int, int], bool] | None = None,
) -> FunctionalResult:
    """Execute a launch on its device memory.

    shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`); without them sparse
    loads are ordinary ones. observer: called about ten times a second with workgroups begun and wavefront
    instructions executed, ends the run by returning False. Raises ExecutionFault and what FunctionalContext raises.
    """
    waves = launch.wavefronts_per_workgroup
    context = FunctionalContext(launch, waves, 1, max_instructions)
    if shadows is not None:
        context.register_regions(shadows)
    compile_s = context.compile_s + compile_interpreter(run_slices)
    state = np.zeros(waves, np.int64)
    counters = np.zeros(N_WORDS, np.int64)
    run = np.zeros(E_WORDS, np.int64)
    run[E_CONTEXT], run[E_START], run[E_PRODUCE] = context.address, context.start_address, context.produce_address
    run[E_TRACE], run[E_PREFIX] = context.trace_address, address_of(context.program.unit_prefix)
    run[E_COUNTERS], run[E_STATE] = address_of(counters), address_of(state)
    run[E_WAVES], run[E_GROUPS] = waves, int(np.prod(launch.workgroups))
    seconds, finished = _loop(context, run, observer)
    names = ("load", "store", "atomic", "scalar", "sparse")
    places = (N_LOAD_LINES, N_STORE_LINES, N_ATOMIC_LINES, N_SCALAR_LINES, N_SPARSE_LINES)
    return FunctionalResult(
        instructions={name: int(n) for name, n in zip(UNIT_NAMES, counters, strict=False)},
        workgroups=int(counters[N_WORKGROUPS]),
        wavefronts=int(counters[N_WAVEFRONTS]),
        lines={name: int(counters[place]) for name, place in zip(names, places, strict=True)},
        store_bytes=int(counters[N_STORE_BYTES]),
        lds_cycles=int(counters[N_LDS_CYCLES]),
        memory_records=int(counters[N_RECORDS]),
        seconds=seconds,
        compile_s=compile_s,
        finished=finished,
    )


def _loop(
    context: FunctionalContext, run: np.ndarray, observer: Callable[[int, int], bool] | None
) -> tuple[float, bool]:
    """Run in batches of about a tenth of a second, so that an interrupt is seen soon."""
    seconds, slices = 0.0, _FIRST_SLICES
    while True:
        cpu, wall = time.thread_time(), time.perf_counter()
        status = run_slices(address_of(run), slices)
        seconds += time.thread_time() - cpu
        wall = time.perf_counter() - wall
        if status < 0:
            raise context.fault()
        if status == 1:
            return seconds, True
        if observer is not None and not observer(int(run[E_NEXT]), context.executed_instructions):
            return seconds, False
        slices = max(1, int(slices * min(4.0, _BATCH_S / max(wall, 1e-6))))
