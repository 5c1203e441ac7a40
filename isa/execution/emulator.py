"""Functional execution without timing: a launch run workgroup by workgroup, as many at a time as a machine holds.

A workgroup runs to its end, unless it waits: a wavefront that repeats itself, or has run TURN_INSTRUCTIONS, lets the
others of its workgroup go on, and when none of these can, another workgroup has a turn. Those that have begun take
turns with the oldest one, which so ends soon, and others begin while there is space. The order depends on nothing but
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
    fetch_add,
    jit,
    ld_i64,
    popcount,
    record_address,
    record_at,
    record_type,
    records,
    st_i64,
    views,
)
from gpusim.base.processors import thread_limit
from gpusim.base.progress import Progress
from isa.execution.control_slice import BLOCKS
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter
from isa.execution.faults import FAULT_GRID_BARRIER
from isa.execution.resident import AT_BARRIER, AT_GRID_BARRIER, WavefrontGroup, grouped
from isa.execution.state import context_at, watch_at
from isa.opcodes.opcode import UNIT_NAMES
from isa.region import PackedMatrix
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
    from isa.execution.threads import SideBySide
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
        "halts": Field((), "1: `run_slices` returns HALTED where a workgroup would begin"),
        "pool": Field((), "address of POOL, from which the run takes workgroups, or 0: it has them all"),
        "counters": Field((), "what was counted", COUNTERS.dtype()),
    },
)

POOL = State(  # what the runs of several threads share
    "functional_pool",
    {
        "next_workgroup": Field((), "the first workgroup that no run has taken"),
        "workgroups": Field((), "the number after that of the last one"),
        "share": Field((), "workgroups that a run takes at a time"),
        "stop": Field((), "1: no run goes on"),
    },
)
FINISHED, HALTED, DEPENDENT = 1, 2, 3  # what `run_slices` returns beside 0 and faults
run_at, wave_at, pool_at = record_at(RUN), record_at(WAVE), record_at(POOL)
if TYPE_CHECKING:
    Run = Any
else:
    Run = record_type(RUN)

TURN_INSTRUCTIONS = 1 << 16  # of a wavefront: enough that a change of workgroups costs next to nothing
MOST_REPEATED_WORDS = 64  # memory words of a loop that waits

_FIRST_SLICES = 64
BATCH_S = 0.1
MANY = 256  # wavefronts
_LEAST_LEFT_S = 0.02  # what is left, on one thread: for less, threads take longer to begin


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
def _is_next(run: Run):
    """Return 1 if there is a workgroup to begin; a run without one takes some from its pool, if it has one."""
    if run.next_workgroup == run.workgroups and run.pool:
        pool = pool_at(run.pool, 0)
        first = fetch_add(record_address(pool), pool.share)  # its first field is the number
        if first < pool.workgroups:
            run.next_workgroup = first
            run.workgroups = min(first + pool.share, pool.workgroups)
    return 1 if run.next_workgroup < run.workgroups else 0


@jit
def _begin_workgroup(run: Run):
    """Begin the next workgroup in the free slot that was used last."""
    context = context_at(run.context, 0)
    if context.watch:
        watch_at(context.watch, 0).workgroup = run.next_workgroup + 1
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
    """Give another workgroup a turn after one whose wavefronts all wait; after the oldest, others or a new one.

    Returns 0 in place of beginning a workgroup if the run halts there, else 1.
    """
    place = run.other + 1
    if run.turn:
        _begin_turn(run, 0)
    elif place < run.resident:
        _begin_turn(run, place)
    elif run.resident < run.most and _is_next(run):
        if run.halts:
            return 0
        _begin_workgroup(run)
    else:
        _begin_turn(run, 1 if run.resident > 1 else 0)
    return 1


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
def _must_stop(run: Run):
    """Return 1 if workgroups have met in memory; all runs of the pool stop."""
    pool = pool_at(run.pool, 0)
    if watch_at(context_at(run.context, 0).watch, 0).conflict:
        pool.stop = 1
    return pool.stop


@jit
def run_slices(address, slices):
    """Run up to `slices` slices of the run at `address`.

    Returns FINISHED, 0 if it is not, HALTED before a workgroup begins, DEPENDENT if its pool has stopped, or a fault.
    """
    run = run_at(address, 0)
    done = 0
    while done < slices:
        if run.turn < 0:
            if run.resident:
                _begin_turn(run, 0)
            elif _is_next(run):
                if run.halts:
                    return HALTED
                _begin_workgroup(run)
            else:
                return FINISHED
        w = _ready_wave(run)
        if w == -1:
            _end_workgroup(run)
            continue
        if w < 0:
            if not _next_turn(run):
                return HALTED
            continue
        status = call_i64_4(run.produce, run.context, w, 0, 0)
        if run.pool and _must_stop(run):
            return DEPENDENT
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
        elif status == GRID_BARRIER or wave.left <= 0:
            wave.state = PAUSED
        elif repeats(run.trace):
            wave.state = PAUSED
            if run.pool:  # others of its own workgroup, or another workgroup: it is not known which
                watch_at(context_at(run.context, 0).watch, 0).conflict = 1
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
    threads: int
    """Host threads that have run workgroups side by side; 1: none has."""
    serial_reason: str
    """Why not more, if more were allowed and there was work for them; else empty."""

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
    shadows: Sequence[PackedMatrix] | None = None,
    observer: Callable[[Progress], bool] | None = None,
    workgroups: range | None = None,
    pool: "ContextPool | None" = None,
    serve: Callable[[], None] | None = None,
    residency: "Residency | None" = None,
    threads: int | None = None,
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
        threads: of this process that may run workgroups side by side, where that changes nothing; None: as many as
            are allowed (`gpusim.base.processors.thread_limit`).

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
    loop = RunLoop(
        context, run, address_of(kept[0]), observer, serve=serve, threads=thread_limit() if threads is None else threads
    )
    try:
        finished = loop.run_to_end()
        context.note_strays()
    finally:
        if pool is None:
            context.close()
    counters = run.counters
    return FunctionalResult(
        instructions=dict(zip(UNIT_NAMES, counters.instructions, strict=True)),
        workgroups=counters.workgroups,
        wavefronts=counters.wavefronts,
        lines=dict(zip(LINE_KINDS, counters.lines, strict=True)),
        store_bytes=counters.store_bytes,
        lds_cycles=counters.lds_cycles,
        memory_records=counters.memory_records,
        seconds=loop.cpu_s,
        compile_s=compile_s,
        finished=finished,
        resident=[] if finished else loop.resident(),
        threads=loop.threads_used,
        serial_reason=loop.serial_reason,
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


class RunLoop:
    """Runs in batches of about a tenth of a second, so that an interrupt is handled soon.

    Args:
        context: of the launch.
        run: from `new_run`.
        address: of the run's record.
        observer: called after each batch; ends the run by returning False.
        serve: called after each batch, which then is one slice.
        threads: that may run workgroups side by side. They do once it is known that there is work enough left.
        prepare: prepares the context of each of several threads (`SideBySide`), which run a launch of MANY wavefronts
            from its first workgroup on.
    """

    def __init__(
        self,
        context: FunctionalContext,
        run: Any,
        address: int,
        observer: Callable[[Progress], bool] | None = None,
        *,
        serve: Callable[[], None] | None = None,
        threads: int = 1,
        prepare: Callable[[FunctionalContext], Callable[[], bool]] | None = None,
    ) -> None:
        self.context, self.run, self._address, self._prepare = context, run, address, prepare
        self._observer, self._serve = observer, serve
        self._threads = min(threads, run.workgroups - run.next_workgroup) if serve is None else 1
        self.cpu_s = 0.0
        self.threads_used = 1
        self.serial_reason = ""
        self._side_by_side: SideBySide | None = None

    def run_to_end(self) -> bool:
        """Run; returns whether the launch has ended, not the observer the run.

        Raises:
            ExecutionFault: the kernel is in error.
        """
        run, serve = self.run, self._serve
        slices = _FIRST_SLICES if serve is None else 1
        if self._prepare is not None:
            self._choose_at_start()
        while True:
            cpu, wall = time.thread_time(), time.perf_counter()
            status = run_slices(self._address, slices)
            self.cpu_s += time.thread_time() - cpu
            wall = time.perf_counter() - wall
            if status < 0:
                raise self.context.fault(self.resident)
            if serve is not None:
                serve()
            if status == FINISHED:
                return True
            if status == HALTED:
                run.halts = 0
                ended = None if run.resident else self._run_side_by_side()
                if ended is not None:
                    return ended
                self._threads = 1
                self.serial_reason = self.serial_reason or "a workgroup waits for another one"
                continue
            if not self.goes_on(self.context.executed_instructions, int(run.counters.workgroups)):
                return False
            if self._threads > 1:
                self._choose_threads()
            if serve is None:
                slices = max(1, int(slices * min(4.0, BATCH_S / max(wall, 1e-6))))

    def _choose_at_start(self) -> None:
        """Have the run halt before its first workgroup begins, if several threads may run all of them."""
        from isa.execution.threads import serial_reason

        run = self.run
        if self._threads > 1 and (run.workgroups - run.next_workgroup) * run.wavefronts >= MANY:
            self.serial_reason = serial_reason(self.context)
            run.halts = int(not self.serial_reason)
        self._threads = self._threads if run.halts else 1

    def _choose_threads(self) -> None:
        """Have the run halt before its next workgroup begins, if what is left is worth more threads."""
        executed, expected = self.context.executed_instructions, self.context.expected_instructions
        if self.cpu_s * (expected - executed) < _LEAST_LEFT_S * executed:
            return
        from isa.execution.threads import serial_reason

        self.serial_reason = serial_reason(self.context)
        self.run.halts = int(not self.serial_reason)
        if self.serial_reason:
            self._threads = 1

    def _run_side_by_side(self) -> bool | None:
        """Run what is left on several threads; returns what `run_to_end` does, None if one has to go on alone."""
        from isa.execution.threads import SideBySide

        run = self.run
        chosen = range(run.next_workgroup, run.workgroups)
        work = self._side_by_side = SideBySide(self.context, chosen, self._threads, self._prepare)
        before = int(run.counters.workgroups)

        def goes_on() -> bool:
            return self.goes_on(self.context.executed_instructions + work.sum("executed"), before + work.workgroups)

        finished = work.run(BATCH_S, goes_on)
        self.cpu_s += work.cpu_s
        self.serial_reason = work.reason
        if work.reason:
            self._side_by_side = None
            return None
        work.join(run)
        self.threads_used = len(work.threads)
        return finished

    def goes_on(self, executed: int, workgroups: int) -> bool:
        """Return whether the observer lets the run go on.

        Args:
            executed: instructions.
            workgroups: that have ended.
        """
        expected = max(self.context.expected_instructions, executed) if self.context.expected_instructions else 0
        least = self.context.least_instructions(int(self.run.next_workgroup))
        progress = Progress(0, workgroups, int(self.run.workgroups), executed, expected, max(least, executed))
        return self._observer is None or self._observer(progress)

    def resident(self) -> list[WavefrontGroup]:
        """Return where the wavefronts of the workgroups in progress stand that have not ended."""
        standing = _standing(self.context, self.run)
        if self._side_by_side is not None:
            for thread in self._side_by_side.threads:
                standing += _standing(thread.context, thread.run)
        return grouped(self.context.launch.kernel, self.context.instructions, standing)


def _standing(context: FunctionalContext, run: Any) -> list[tuple[int, str]]:
    """Return instruction and state of each wavefront that has begun and not ended."""
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
    return standing
