"""Functional execution without timing: a launch run workgroup by workgroup."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.progress import Progress
from gpusim.jit import (
    Field,
    State,
    address_of,
    call_i64_4,
    jit,
    ld_i64,
    popcount,
    record_at,
    record_type,
    records,
    st_i64,
    views,
)
from isa.execution.control_slice import BLOCKS, control_slice
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter, program_of
from isa.execution.resident import AT_BARRIER, WavefrontGroup, grouped
from isa.opcodes.opcode import UNIT_NAMES
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
    from isa.execution.context_pool import ContextPool
    from isa.launch import Launch

UNITS = len(UNIT_NAMES)
LINE_KINDS = ("load", "store", "atomic", "scalar", "sparse")
_LOAD, _STORE, _ATOMIC, _SCALAR, _SPARSE = range(len(LINE_KINDS))

COUNTERS = State(
    "counters",
    {
        "instructions": Field((UNITS,), "wavefront instructions by functional unit"),
        "lines": Field((len(LINE_KINDS),), "distinct 64-byte lines summed over instructions, by LINE_KINDS"),
        "workgroups": Field((), "workgroups begun"),
        "wavefronts": Field((), "wavefronts begun"),
        "store_bytes": Field((), "bytes written by stores"),
        "lds_cycles": Field((), "LDS bank cycles"),
        "memory_records": Field((), "instructions with a memory record"),
    },
)

RUN = State(
    "functional_run",
    {
        "context": Field((), "address of the functional context"),
        "start": Field((), "address of the producer's start function"),
        "produce": Field((), "address of its produce function"),
        "traces": Field((), "address of slot 0's trace buffer"),
        "unit_prefix": Field((), "address of int64 [instructions + 1, units]: of each unit before an index"),
        "wave_state": Field((), "address of int64: READY, WAITING or DONE for each wavefront of the running workgroup"),
        "wavefronts": Field((), "wavefronts of a workgroup"),
        "workgroups": Field((), "the number after that of the last one to run"),
        "next_workgroup": Field((), "the next one to begin"),
        "running": Field((), "wavefronts of the running workgroup that have not ended"),
        "block_prefix": Field(
            (), "address of int64 [instructions + 1, BLOCKS] (`ControlSlice.prefix`), or 0: all counts"
        ),
        "blocks": Field((), "address of int64 [BLOCKS]: the running workgroup's; those of the next one follow"),
        "counters": Field((), "what was counted", COUNTERS.dtype()),
    },
)
READY, WAITING, DONE = range(3)
run_at = record_at(RUN)
if TYPE_CHECKING:
    Run = Any
else:
    Run = record_type(RUN)

_FIRST_SLICES = 64
_BATCH_S = 0.1


@jit
def count_slice(run: Run, trace):
    """Add one slice's instructions by unit and its memory lines to the counters."""
    counters = run.counters
    for s in range(ld_i64(trace, SEGMENTS)):
        segment = ld_i64(trace, SEGMENT_0 + s)
        first = run.unit_prefix + 8 * UNITS * (segment & 0xFFFF_FFFF)
        last = run.unit_prefix + 8 * UNITS * (segment >> 32)
        for unit in range(UNITS):
            counters.instructions[unit] += ld_i64(last, unit) - ld_i64(first, unit)
    at = 0
    words = ld_i64(trace, MEMORY_WORDS)
    while at < words:
        record = trace + 8 * (MEMORY_0 + at)
        header = ld_i64(record, 0)
        lines = header & LINES_MASK
        counters.memory_records += 1
        with_masks = 1 if header & (RECORD_STORE | RECORD_ATOMIC) else 0
        kind = _LOAD
        if header & RECORD_SCALAR:
            kind = _SCALAR
        elif header & RECORD_STORE:
            kind = _STORE
        elif header & RECORD_ATOMIC:
            kind = _ATOMIC
        elif lines and ld_i64(record, 1) & LINE_SPARSE:
            kind = _SPARSE
        counters.lines[kind] += lines
        if header & RECORD_LDS:
            counters.lds_cycles += (header >> BUSY_SHIFT) & BUSY_MASK
        if with_masks and header & RECORD_STORE:
            for k in range(lines):
                counters.store_bytes += popcount(ld_i64(record, 2 + 2 * k))
        at += 1 + lines * (1 + with_masks)


@jit
def count_blocks(run: Run, trace):
    """Add one slice's instructions by basic block to those of the running workgroup."""
    for s in range(ld_i64(trace, SEGMENTS)):
        segment = ld_i64(trace, SEGMENT_0 + s)
        first = run.block_prefix + 8 * BLOCKS * (segment & 0xFFFF_FFFF)
        last = run.block_prefix + 8 * BLOCKS * (segment >> 32)
        for k in range(BLOCKS):
            st_i64(run.blocks, k, ld_i64(run.blocks, k) + ld_i64(last, k) - ld_i64(first, k))


@jit
def run_slices(address, slices):
    """Run up to `slices` slices of the run at `address`; returns 1 when it is finished, 0 if not, or a fault."""
    run = run_at(address, 0)
    waves = run.wavefronts
    for _ in range(slices):
        if run.running == 0:
            group = run.next_workgroup
            if group == run.workgroups:
                return 1
            if run.counters.workgroups:
                run.blocks += 8 * BLOCKS
            run.next_workgroup += 1
            run.running = waves
            for w in range(waves):
                call_i64_4(run.start, run.context, w, group, w)
                st_i64(run.wave_state, w, READY)
            run.counters.workgroups += 1
            run.counters.wavefronts += waves
        w = 0
        while w < waves and ld_i64(run.wave_state, w) != READY:
            w += 1
        if w == waves:  # all that are left have reached the barrier
            for k in range(waves):
                if ld_i64(run.wave_state, k) == WAITING:
                    st_i64(run.wave_state, k, READY)
                    w = k if k < w else w
        status = call_i64_4(run.produce, run.context, w, 0, 0)
        if status < 0:
            return status
        if run.block_prefix:
            count_blocks(run, run.traces + w * 8 * TRACE_WORDS)
        else:
            count_slice(run, run.traces + w * 8 * TRACE_WORDS)
        if status == END:
            st_i64(run.wave_state, w, DONE)
            run.running -= 1
        elif status != MORE:
            st_i64(run.wave_state, w, WAITING)
    return 0


@dataclass(frozen=True)
class FunctionalResult:
    """Counts of a functional run.

    instructions: wavefront instructions by unit name; lines: distinct 64-byte lines summed over instructions, by
    'load', 'store', 'atomic', 'scalar', 'sparse'; store_bytes: bytes written; lds_cycles: LDS bank cycles;
    memory_records: instructions with a memory record; seconds: CPU time of execution; compile_s: of compilation;
    finished: False if the observer ended the run; resident: where the wavefronts of the workgroup in progress stood at
    the end.
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
    resident: list[WavefrontGroup]

    @property
    def wavefront_instructions(self) -> int:
        """Instructions of all units and wavefronts."""
        return sum(self.instructions.values())

    @property
    def instructions_per_s(self) -> float:
        """Wavefront instructions per CPU second."""
        return self.wavefront_instructions / self.seconds if self.seconds > 0 else 0.0


def run_functional(
    launch: "Launch",
    max_instructions: int = MAX_INSTRUCTIONS,
    shadows: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    observer: Callable[[Progress], bool] | None = None,
    workgroups: range | None = None,
    pool: "ContextPool | None" = None,
    serve: Callable[[], None] | None = None,
) -> FunctionalResult:
    """Execute a launch on its device memory.

    workgroups: which of the grid, by their numbers (None: all); shadows: compacted images of `launch.regions` (see
    `FunctionalContext.register_regions`); without them sparse loads are ordinary ones. observer: called about ten
    times a second, ends the run by returning False; the workgroups done are those begun. pool: contexts of earlier
    launches with the same max_instructions, for one without regions. serve: called after every slice, does what
    wavefronts wait for the host to do. Raises ExecutionFault and what FunctionalContext raises.
    """
    waves = launch.wavefronts_per_workgroup
    if pool is not None:
        context = pool.context(launch, max_instructions)
    else:
        context = FunctionalContext(launch, waves, 1, max_instructions)
    if shadows is not None:
        context.register_regions(shadows)
    compile_s = context.compile_s + compile_interpreter(run_slices)
    x, y, z = launch.workgroups
    run, held = _new_run(context, range(x * y * z) if workgroups is None else workgroups)
    seconds, finished = _loop(context, address_of(held[0]), run, observer, serve)
    counters = run.counters
    return FunctionalResult(
        instructions=dict(zip(UNIT_NAMES, counters.instructions, strict=True)),
        workgroups=counters.workgroups,
        wavefronts=counters.wavefronts,
        lines=dict(zip(LINE_KINDS, counters.lines, strict=True)),
        store_bytes=counters.store_bytes,
        lds_cycles=counters.lds_cycles,
        memory_records=counters.memory_records,
        seconds=seconds,
        compile_s=compile_s,
        finished=finished,
        resident=[] if finished else _resident(context, run),
    )


def executed_blocks(
    launch: "Launch",
    shadows: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    max_instructions: int = MAX_INSTRUCTIONS,
) -> np.ndarray:
    """Return how many instructions each workgroup of a launch executes: int64 [workgroup, BLOCKS], by basic block.

    Only what decides control flow is executed (`isa.execution.control_slice`); memory stays as it is. The counts are
    wrong where what is executed depends on what the launch itself writes to memory. shadows, max_instructions: as of
    `run_functional`.

    Raises NotSliced, ExecutionFault.
    """
    sliced = control_slice(program_of(launch.kernel))
    context = FunctionalContext(launch, launch.wavefronts_per_workgroup, 1, max_instructions, program=sliced.program)
    if shadows is not None:
        context.register_regions(shadows)
    compile_interpreter(run_slices)
    x, y, z = launch.workgroups
    blocks = np.zeros((x * y * z, BLOCKS), np.int64)
    run, held = _new_run(context, range(x * y * z))
    run.block_prefix, run.blocks = address_of(sliced.prefix), address_of(blocks)
    _loop(context, address_of(held[0]), run, None, None)
    return blocks


def _new_run(context: FunctionalContext, workgroups: range) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Return a run of some workgroups, not begun, with the arrays that hold it, its own first."""
    waves = context.launch.wavefronts_per_workgroup
    wave_state = np.zeros(waves, np.int64)
    buffer = records(RUN)
    run = views(buffer)[0]
    run.context, run.start, run.produce = context.address, context.start_address, context.produce_address
    run.traces, run.unit_prefix = context.trace_address, address_of(context.program.unit_prefix)
    run.wave_state, run.wavefronts = address_of(wave_state), waves
    run.next_workgroup, run.workgroups = workgroups.start, workgroups.stop
    return run, (buffer, wave_state)


def _loop(
    context: FunctionalContext,
    address: int,
    run: Any,
    observer: Callable[[Progress], bool] | None,
    serve: Callable[[], None] | None,
) -> tuple[float, bool]:
    """Run in batches of about a tenth of a second, so that an interrupt is handled soon.

    With `serve` a batch is one slice.
    """
    seconds, slices = 0.0, _FIRST_SLICES if serve is None else 1
    while True:
        cpu, wall = time.thread_time(), time.perf_counter()
        status = run_slices(address, slices)
        seconds += time.thread_time() - cpu
        wall = time.perf_counter() - wall
        if status < 0:
            raise context.fault(lambda: _resident(context, run))
        if serve is not None:
            serve()
        if status == 1:
            return seconds, True
        begun = int(run.next_workgroup)
        executed, expected = context.executed_instructions, context.expected_instructions
        progress = Progress(0, begun, int(run.workgroups), executed, expected, context.least_instructions(begun))
        if observer is not None and not observer(progress):
            return seconds, False
        if serve is None:
            slices = max(1, int(slices * min(4.0, _BATCH_S / max(wall, 1e-6))))


def _resident(context: FunctionalContext, run: Any) -> list[WavefrontGroup]:
    """Return where the wavefronts of the running workgroup stand that have not ended."""
    standing = []
    for w in range(run.wavefronts if run.running else 0):
        state, pc = ld_i64(run.wave_state, w), context.wavefronts[w].pc
        if state == WAITING:
            standing.append((pc - 1, AT_BARRIER))
        elif state == READY:
            standing.append((pc, "executing"))
    return grouped(context.launch.kernel, context.instructions, standing)
