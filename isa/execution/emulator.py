"""Functional execution without timing: a launch run workgroup by workgroup, as many at a time as a machine holds.

A workgroup runs to its end, unless it waits: a wavefront that repeats itself, or has run TURN_INSTRUCTIONS, lets the
others of its workgroup go on, and when none of these can, another workgroup has a turn. Those that have begun take
turns with the oldest one, which so ends soon, and others begin while there is room. The order depends on nothing but
the launch and its residency.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.jit import (
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
from gpusim.base.progress import Progress
from isa.execution.control_slice import BLOCKS
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter
from isa.execution.faults import FAULT_GRID_BARRIER
from isa.execution.resident import AT_BARRIER, AT_GRID_BARRIER, WavefrontGroup, grouped
from isa.opcodes.opcode import UNIT_NAMES
from isa.trace import (
    BARRIER,
    BUSY_MASK,
    BUSY_SHIFT,
    END,
    GRID_BARRIER,
    INSTRUCTIONS,
    LINE_SPARSE,
    LINES_MASK,
    MEMORY_0,
    MEMORY_WORDS,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_SCALAR,
    RECORD_STORE,
    SEGMENT_0,
    SEGMENTS,
)

if TYPE_CHECKING:
    from isa.execution.context_pool import ContextPool
    from isa.launch import Launch, Residency

UNITS = len(UNIT_NAMES)
LINE_KINDS = ("load", "store", "atomic", "scalar", "sparse")
_LOAD, _STORE, _ATOMIC, _SCALAR, _SPARSE = range(len(LINE_KINDS))

COUNTERS = State(
    "counters",
    {
        "instructions": Field((UNITS,), "wavefront instructions by functional unit"),
        "lines": Field((len(LINE_KINDS),), "distinct 64-byte lines summed over instructions, by LINE_KINDS"),
        "workgroups": Field((), "workgroups ended"),
        "wavefronts": Field((), "wavefronts begun"),
        "store_bytes": Field((), "bytes written by stores"),
        "lds_cycles": Field((), "LDS bank cycles"),
        "memory_records": Field((), "instructions with a memory record"),
    },
)

WAVE = State(
    "functional_wave",
    {
        "state": Field(
            (),
            "READY, WAITING at the barrier, PAUSED until its workgroup's next turn (or at the grid's barrier), or DONE",
        ),
        "left": Field((), "instructions it may still run in this turn"),
    },
)
READY, WAITING, PAUSED, DONE = range(4)

RUN = State(
    "functional_run",
    {
        "context": Field((), "address of the functional context"),
        "start": Field((), "address of the producer's start function"),
        "produce": Field((), "address of its produce function"),
        "trace": Field((), "address of the trace buffer that all slots share"),
        "unit_prefix": Field((), "address of int64 [instructions + 1, units]: of each unit before an index"),
        "waves": Field((), "address of a WAVE for each wavefront slot"),
        "order": Field((), "address of int64: the workgroup slots, first those in use, oldest workgroup first"),
        "wavefronts": Field((), "wavefronts of a workgroup"),
        "workgroups": Field((), "the number after that of the last one to run"),
        "next_workgroup": Field((), "the next one to begin"),
        "most": Field((), "workgroups that may be resident"),
        "resident": Field((), "workgroups begun and not ended"),
        "turn": Field((), "which of them runs: its place in `order`; -1: none"),
        "other": Field((), "place in `order` of the last one to run that was not the oldest"),
        "block_prefix": Field(
            (), "address of int64 [instructions + 1, BLOCKS] (`control_slice.prefix`), or 0: all counts"
        ),
        "blocks": Field((), "address of int64 [BLOCKS]: the workgroup's that began last; the next one's follow"),
        "counters": Field((), "what was counted", COUNTERS.dtype()),
    },
)
run_at, wave_at = record_at(RUN), record_at(WAVE)
if TYPE_CHECKING:
    Run = Any
else:
    Run = record_type(RUN)

TURN_INSTRUCTIONS = 1 << 16  # of a wavefront: enough that a change of workgroups costs next to nothing
MOST_REPEATED_WORDS = 64  # memory words of a loop that waits

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
def repeats(trace):
    """Return 1 if the slice did nothing but access the same lines again and again, as a loop that waits does."""
    words = ld_i64(trace, MEMORY_WORDS)
    first = trace + 8 * MEMORY_0
    period = 0
    lines = 0
    while True:
        record = first + 8 * period
        header = ld_i64(record, 0)
        in_record = header & LINES_MASK
        lines += in_record
        period += 1 + in_record * (2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1)
        if 2 * period > words or period > MOST_REPEATED_WORDS:
            return 0
        same = 1 if lines else 0
        k = period
        while same and k < words:
            same = 1 if ld_i64(first, k) == ld_i64(first, k - period) else 0
            k += 1
        if same:
            return 1


@jit
def _begin_turn(run: Run, turn):
    """Let the workgroup at a place of `order` run; all its wavefronts that are not at the barrier may go on."""
    run.turn = turn
    if turn:
        run.other = turn
    slot = ld_i64(run.order, turn) * run.wavefronts
    for w in range(slot, slot + run.wavefronts):
        wave = wave_at(run.waves, w)
        wave.left = TURN_INSTRUCTIONS
        if wave.state == PAUSED:
            wave.state = READY


@jit
def _begin_workgroup(run: Run):
    """Begin the next workgroup in the free slot that was used last."""
    group_slot = ld_i64(run.order, run.resident)
    for number in range(run.wavefronts):
        slot = group_slot * run.wavefronts + number
        call_i64_4(run.start, run.context, slot, run.next_workgroup, number | group_slot << 32)
        wave_at(run.waves, slot).state = READY
    if run.block_prefix and run.counters.workgroups:
        run.blocks += 8 * BLOCKS
    run.next_workgroup += 1
    run.resident += 1
    run.counters.wavefronts += run.wavefronts
    _begin_turn(run, run.resident - 1)


@jit
def _end_workgroup(run: Run):
    """End the workgroup whose turn it is: those after it move up, and its slot is the next to be used."""
    group_slot = ld_i64(run.order, run.turn)
    run.resident -= 1
    for k in range(run.turn, run.resident):
        st_i64(run.order, k, ld_i64(run.order, k + 1))
    st_i64(run.order, run.resident, group_slot)
    if run.other >= run.turn:
        run.other -= 1
    run.turn = -1
    run.counters.workgroups += 1


@jit
def _next_turn(run: Run):
    """Give another workgroup a turn after one whose wavefronts all wait; after the oldest, others or a new one."""
    place = run.other + 1
    if run.turn:
        _begin_turn(run, 0)
    elif place < run.resident:
        _begin_turn(run, place)
    elif run.resident < run.most and run.next_workgroup < run.workgroups:
        _begin_workgroup(run)
    else:
        _begin_turn(run, 1 if run.resident > 1 else 0)


@jit
def _ready_wave(run: Run):
    """Return the slot of the workgroup's first wavefront that can run; -1 if it has ended, -2 if all of it wait.

    Where all that are left have reached the barrier, they go on, those with nothing left to run in the next turn.
    """
    first = ld_i64(run.order, run.turn) * run.wavefronts
    waiting = 0
    paused = 0
    for w in range(first, first + run.wavefronts):
        state = wave_at(run.waves, w).state
        if state == READY:
            return w
        waiting += 1 if state == WAITING else 0
        paused += 1 if state == PAUSED else 0
    if paused:
        return -2
    ready = -2 if waiting else -1
    for w in range(first, first + run.wavefronts):
        wave = wave_at(run.waves, w)
        if wave.state == WAITING:
            wave.state = READY if wave.left > 0 else PAUSED
            if ready == -2 and wave.left > 0:
                ready = w
    return ready


@jit
def count_blocks(run: Run, trace):
    """Add one slice's instructions by basic block to those of the workgroup, the only one that is resident."""
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
    done = 0
    while done < slices:
        if run.turn < 0:
            if run.resident:
                _begin_turn(run, 0)
            elif run.next_workgroup < run.workgroups:
                _begin_workgroup(run)
            else:
                return 1
        w = _ready_wave(run)
        if w == -1:
            _end_workgroup(run)
            continue
        if w < 0:
            _next_turn(run)
            continue
        status = call_i64_4(run.produce, run.context, w, 0, 0)
        if status < 0:
            return status
        if run.block_prefix:
            count_blocks(run, run.trace)
        else:
            count_slice(run, run.trace)
        done += 1
        wave = wave_at(run.waves, w)
        wave.left -= ld_i64(run.trace, INSTRUCTIONS)
        if status == END:
            wave.state = DONE
        elif status == BARRIER:
            wave.state = WAITING
        elif status == GRID_BARRIER or wave.left <= 0 or repeats(run.trace):
            wave.state = PAUSED
    return 0


@dataclass(frozen=True)
class FunctionalResult:
    """Counts of a functional execution."""

    instructions: dict[str, int]
    """Wavefront instructions by unit."""
    workgroups: int
    """Workgroups that ended."""
    wavefronts: int
    """Wavefronts that began."""
    lines: dict[str, int]
    """Distinct 64-byte lines, summed over instructions, by 'load', 'store', 'atomic', 'scalar' and 'sparse'."""
    store_bytes: int
    """Bytes written."""
    lds_cycles: int
    """LDS bank cycles."""
    memory_records: int
    """Number of instructions with a memory record."""
    seconds: float
    """CPU seconds of the execution."""
    compile_s: float
    """CPU seconds of the compilation."""
    finished: bool
    """The launch ran to its end; False: the observer ended it."""
    resident: list[WavefrontGroup]
    """Positions of the unfinished wavefronts."""

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
    residency: "Residency | None" = None,
) -> FunctionalResult:
    """Execute a launch on its device memory.

    Args:
        launch: the launch.
        max_instructions: of one wavefront, before it counts as an endless loop.
        shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`); without them sparse
            loads are ordinary ones.
        observer: called about ten times a second; ends the run by returning False.
        workgroups: which of the grid, by their numbers; None: all.
        pool: contexts of earlier launches with the same max_instructions, for one without regions.
        serve: called after every slice; does what wavefronts wait for the host to do.
        residency: how many workgroups are resident at a time, so that one can wait for another; None: one.

    Returns:
        What was executed.

    Raises:
        ExecutionFault: the kernel is in error.
    """
    resident = launch.workgroup_at_a_time if residency is None else residency
    if pool is not None:
        context = pool.context(launch, resident, max_instructions)
    else:
        context = FunctionalContext(
            launch,
            resident.wavefront_slots,
            resident.workgroup_slots,
            max_instructions,
            shared_trace=True,
            workgroups=resident.workgroups,
        )
    if shadows is not None:
        context.register_regions(shadows)
    compile_s = context.compile_s + compile_interpreter(run_slices)
    x, y, z = launch.workgroups
    run, kept = new_run(context, range(x * y * z) if workgroups is None else workgroups, resident)
    seconds, finished = run_loop(context, address_of(kept[0]), run, observer, serve)
    context.note_strays()
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


def new_run(context: FunctionalContext, chosen: range, residency: "Residency") -> tuple[Any, tuple[np.ndarray, ...]]:
    """Return a run of some workgroups, not begun.

    Args:
        context: of the launch.
        chosen: numbers of the workgroups.
        residency: how many are resident at a time.

    Returns:
        The run and the arrays that hold it, its own first.
    """
    most = min(residency.workgroups, max(1, len(chosen)))
    wavefronts = context.launch.wavefronts_per_workgroup
    waves, order = records(WAVE, most * wavefronts), np.arange(most)
    buffer = records(RUN)
    run = views(buffer)[0]
    run.context, run.start, run.produce = context.address, context.start_address, context.produce_address
    run.trace, run.unit_prefix = context.trace_address, address_of(context.program.unit_prefix)
    run.waves, run.order = address_of(waves), address_of(order)
    run.wavefronts, run.most, run.turn = wavefronts, most, -1
    run.next_workgroup, run.workgroups = chosen.start, chosen.stop
    return run, (buffer, waves, order)


def run_loop(
    context: FunctionalContext,
    address: int,
    run: Any,
    observer: Callable[[Progress], bool] | None,
    serve: Callable[[], None] | None,
) -> tuple[float, bool]:
    """Run in batches of about a tenth of a second, so that an interrupt is handled soon.

    Args:
        context: of the launch.
        address: of the run's record.
        run: from `new_run`.
        observer: called after each batch; ends the run by returning False.
        serve: called after each batch, which then is one slice.

    Returns:
        Seconds, and whether the run was finished.

    Raises:
        ExecutionFault: the kernel is in error.
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
        executed, expected = context.executed_instructions, context.expected_instructions
        least = context.least_instructions(int(run.next_workgroup))
        progress = Progress(0, int(run.counters.workgroups), int(run.workgroups), executed, expected, least)
        if observer is not None and not observer(progress):
            return seconds, False
        if serve is None:
            slices = max(1, int(slices * min(4.0, _BATCH_S / max(wall, 1e-6))))


def _resident(context: FunctionalContext, run: Any) -> list[WavefrontGroup]:
    """Return where the wavefronts of the workgroups in progress stand that have not ended."""
    standing = []
    for place in range(run.resident):
        first = ld_i64(run.order, place) * run.wavefronts
        for w in range(first, first + run.wavefronts):
            state, pc = wave_at(run.waves, w).state, context.wavefronts[w].pc
            if state != DONE:
                fault = context.state.fault
                at_grid = context.wavefronts[w].status == GRID_BARRIER
                at_grid |= fault.code == FAULT_GRID_BARRIER and fault.slot == w
                waits = AT_BARRIER if state == WAITING else AT_GRID_BARRIER if at_grid else ""
                standing.append((pc - 1, waits) if waits else (pc, "executing"))
    return grouped(context.launch.kernel, context.instructions, standing)
