"""Simulation of one launch: functional execution feeds the cycle-level machine until the grid is done."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from gpusim.base.errors import SimulationError
from gpusim.base.formats import GENERAL
from gpusim.base.jit import Machine, address_of
from gpusim.base.processors import thread_limit, threads_given
from gpusim.base.progress import Progress, current_reporter
from gpusim.model.core.cu.accounts import active_now
from gpusim.model.core.cu.code_table import FetchTable, code_table, fetch_table
from gpusim.model.core.cu.configure import delay_dispatch, set_code_table, set_fetch_table
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.cu.slices import ask_ahead
from gpusim.model.core.cu.spec import SIMDS, ComputeUnitSpec
from gpusim.model.core.cu.state import NEVER
from gpusim.model.core.facts import Hotspot, RunFacts, machine_facts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.launch_threads import LaunchThreads, serial_reason
from gpusim.model.core.laws import LawViolation, assert_engine, assert_laws, who_waits
from gpusim.model.core.loop import DEADLOCK, FAULT, FINISHED, LIVELOCK, RUNNING, run_cycles
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import Occupancy, occupancy, residency
from gpusim.model.core.patterns import PatternCounts
from gpusim.model.core.perturbation import perturb
from gpusim.model.core.prepare import prepare_core
from gpusim.model.core.recording import LaunchRecording, Watcher
from gpusim.model.core.resident import resident_groups
from gpusim.model.core.roofline import roofline
from gpusim.model.core.series import Snapshots
from gpusim.model.core.shared_units import LEAST_THREADS, most_threads
from gpusim.model.core.warm import WarmCaches
from isa.encoding.disassembler import disassemble
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, program_of
from isa.execution.resident import WavefrontGroup, group_lines, note_resident
from isa.execution.slice_order import slice_order_reason
from isa.launch import Launch
from isa.object.code_object import CodeObjectError, Kernel
from isa.trace import LINE_BYTES
from memory.cache.l2_contents import dirty_lines
from memory.dram.controller import bus_busy_cycles
from spartan.engine import engine_finish

if TYPE_CHECKING:
    from gpusim.model.core.steering import SteeredLaunch, Steerer, Steering
    from spartan.engine_spec import EngineSpec

OBSERVER_PERIOD_S = 0.1
FIRST_CHUNK_CYCLES = 2_000
TWO_SIDES = "CUs with their caches, L2 with DRAM"
STUCK_CYCLES = 2_000_000  # without an instruction issued, a packet moved or a line of a write phase
HUGE_PAGE_WAVEFRONTS = 1024  # from here on a launch counts as a long run, whose memory is worth pages of 2 MiB


class DeadlockError(SimulationError):
    """No unit of the machine can go on, or units are at work but nothing comes of it; says who waits for whom.

    resident: where the wavefronts stand, all of them; the message lists the largest groups.
    """

    def __init__(self, kind: str, m: Machine, resident: Sequence[WavefrontGroup]) -> None:
        self.resident = resident
        head = f"{kind}: cycle {int(m.wheel.now)}: {int(m.run.waves_left)} wavefronts resident, none can go on"
        super().__init__("\n".join([head, *(f"  {line}" for line in group_lines(resident)), who_waits(m)]))


def simulate(
    launch: Launch,
    gpu: GpuSpec,
    engine_spec: "EngineSpec | None" = None,
    observer: Callable[[Progress], bool] | None = None,
    checked: bool = False,
    skip_idle: bool = True,
    max_instructions: int = MAX_INSTRUCTIONS,
    warm: WarmCaches | None = None,
    hotspots: bool = False,
    timeline: Watcher | None = None,
    max_cycles: int = 0,
    steerer: "Steerer | None" = None,
    serve: Callable[[], None] | None = None,
    perturbation: int = 0,
    every: int = 0,
    threads: int | None = None,
) -> RunFacts:
    """Run `launch` on the machine `gpu`, with the compaction engine of `engine_spec` if it has regions for it.

    A delay of the first dispatch is none of the kernel's cycles. Where the wavefronts stand is part of partial facts
    and of the errors of an endless loop and of a deadlock.

    Args:
        launch: The launch.
        gpu: The GPU.
        engine_spec: The compaction engine; None: none.
        observer: Called several times a second, ends the run by returning False (the facts are then partial, as with
            max_cycles).
        checked: Assert the conservation laws and the rooflines at the end.
        skip_idle: False runs every unit in every cycle, which must not change any result.
        max_instructions: Instructions of one wavefront, before it counts as an endless loop (see isa.execution.faults).
        warm: What earlier launches left in L2 and the TLBs, and where this one leaves its own (None: they are empty at
            first).
        hotspots: Account for the wavefronts' cycles by static instruction too.
        timeline: Draw what happens into it.
        max_cycles: End the run in this cycle, 0: at its end.
        steerer: Has the launch simulated in part and estimates the rest (gpusim.model.sampling).
        serve: Called every FIRST_CHUNK_CYCLES cycles, does what wavefronts wait for the host to do.
        perturbation: Which draw of the machine (gpusim.model.core.perturbation), 0: as it is.
        every: Cycles of the intervals in which counts are kept apart too (gpusim.model.core.series), 0: none.
        threads: Threads that may run the launch, which changes no result; None: as many as
            `gpusim.base.processors.thread_limit` says, where the launch is long enough.

    Raises:
        CodeObjectError: The code is of another GPU's instruction set.
        ExecutionFault: The functional part found something wrong.
        OccupancyError: A workgroup does not fit a compute unit.
        DeadlockError: No unit can progress.
        LawViolation: A checked run breaks a law.
    """
    kernel = launch.kernel
    if why := gpu.why_foreign(kernel.gpu):
        raise CodeObjectError(f"kernel '{kernel.short_name}' {why}")
    fit, slots = occupancy(launch, gpu.cu), residency(launch, gpu)
    compile_s = prepare_core()
    uses_engine = engine_spec is not None and bool(launch.regions)
    if engine_spec is not None and uses_engine:
        from spartan.sizing import sized_for

        engine_spec = sized_for(engine_spec, launch.regions, gpu.l2.size_kib, gpu.l2.ways)
    x, y, z = launch.workgroups
    huge_pages = x * y * z * launch.wavefronts_per_workgroup >= HUGE_PAGE_WAVEFRONTS
    context = FunctionalContext(
        launch, slots.wavefront_slots, slots.workgroup_slots, max_instructions, huge_pages, workgroups=slots.workgroups
    )
    with context:
        taken = engine_spec.l2_taken if engine_spec is not None and uses_engine else None
        m = new_machine(gpu, launch, fit, taken, not huge_pages, huge_pages)
        delay = perturb(m, perturbation)
        if warm is not None:
            warm.restore(m, gpu, taken)
        code = _code_table(launch.kernel, gpu.cu)
        fetched = _fetch_table(launch.kernel, gpu.cu.instruction_buffer_bytes, context.first_address)
        set_fetch_table(m, fetched, gpu.cu.instruction_buffer_bytes)
        run = m.run
        set_code_table(m, code)
        run.trace_base = context.trace_address
        run.producer, run.start, run.produce = context.address, context.start_address, context.produce_address
        if steerer is None and serve is None and not _slice_order_reason(kernel):
            ask_ahead(m)
            run.begins = context.program.start_index + 1 if launch.is_whole else 0
        run.every_cycle = int(not skip_idle)
        spent = np.zeros((len(code), len(STALL_REASONS)), np.int64)
        run.hotspots = address_of(spent) if hotspots or timeline is not None else 0
        counted = PatternCounts(m, context, hotspots)
        attached, shadows = None, None
        if engine_spec is not None and uses_engine:
            from gpusim.model.core.engine_link import attach_engine

            attached, shadows = attach_engine(m, engine_spec, launch, context)
        several = _several(m, threads, timeline is not None, hotspots, counted.table)
        run_on = None if several is None else several.advance
        wall, cpu = time.perf_counter(), time.thread_time()  # a second thread has a time of its own
        snapshots = Snapshots(m, every) if every else None
        recording: LaunchRecording | None = None
        steering: Steering | None = None

        def resident() -> list[WavefrontGroup]:
            return resident_groups(m, launch.kernel, context.instructions)

        def observe(progress: Progress) -> bool:
            x, y, z = launch.workgroups
            simulated = int(run.workgroups) / (x * y * z)  # all but what is passed over
            expected = int(context.expected_instructions * simulated)
            least = int(context.least_instructions(int(run.next_workgroup)) * simulated)
            return observer is None or observer(
                replace(progress, instructions_expected=expected, instructions_at_least=least)
            )

        def steered() -> "SteeredLaunch":
            from gpusim.model.core.steering import SteeredLaunch
            from isa.execution.counting import executed_blocks
            from isa.execution.emulator import run_functional
            from isa.execution.survey import WorkgroupAccesses, surveyed_accesses

            def counts() -> RunFacts:
                return _facts(m, gpu, launch, fit, int(m.wheel.now), delay)

            def execute(workgroups: range) -> int:
                return run_functional(
                    launch, shadows=shadows, workgroups=workgroups, residency=slots
                ).wavefront_instructions

            def work() -> np.ndarray:
                return executed_blocks(launch, shadows, max_instructions)

            def accesses(workgroups: Sequence[int]) -> list[WorkgroupAccesses]:
                return surveyed_accesses(launch, workgroups, shadows)

            l2_lines = (gpu.l2.size_kib << 10) // LINE_BYTES
            return SteeredLaunch(
                m=m,
                context=context,
                counts=counts,
                resident=slots.workgroups,
                execute=execute,
                work=work,
                accesses=accesses,
                l2_lines=l2_lines,
            )

        try:
            status = FINISHED
            if engine_spec is not None and uses_engine and engine_spec.compacts_on_write:
                from gpusim.model.core.repartition import write_compacted

                status = write_compacted(
                    m, gpu, partial(_loop, m, observe, run_on, max_cycles=max_cycles, snapshots=snapshots)
                )
            if status == FINISHED:
                if timeline is not None:
                    recording = timeline.attach(m, launch.kernel.name, gpu, context.instructions)
                    run_on = recording.advance
                if steerer is not None:
                    steering = steerer.attach(steered())
                delay_dispatch(m, delay)
                if snapshots is not None:
                    snapshots.delayed(delay)
                status = _loop(m, observe, run_on, max_cycles and max_cycles + delay, steering, serve, snapshots)
        except KeyboardInterrupt as interrupt:  # in a script; the command line's observer ends the run
            note_resident(interrupt, resident())
            raise
        if recording is not None:
            recording.finish()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        if several is not None:
            cpu += several.cpu_s
            if several.used > 1:
                current_reporter().say_once(f"gpusim: several threads run long launches: {TWO_SIDES}")
        if status == FAULT:
            raise context.fault(resident)
        if status in (DEADLOCK, LIVELOCK):
            raise DeadlockError("deadlock" if status == DEADLOCK else "livelock", m, resident())
        context.note_strays()
        if uses_engine:
            engine_finish(m, int(m.wheel.now))
            assert_engine(m)
        if warm is not None:
            warm.keep(m, later=not huge_pages)
        facts = _facts(m, gpu, launch, fit, int(run.ended or m.wheel.now), delay)
        facts.add("simulator", {"wall_s": wall, "cpu_s": cpu, "compile_s": compile_s})
        facts.partial = status == RUNNING
        if facts.partial:
            facts.resident = resident()
        facts.patterns = counted.patterns()
        if snapshots is not None:
            facts.series = snapshots.series(facts)
        if hotspots:
            facts.hotspots = _hotspots(context, spent)
        if checked and status == FINISHED:
            assert_laws(m, context.executed_instructions)
            for bound, cycles in facts.roofline.items():
                if cycles > facts.cycles:
                    raise LawViolation(f"{facts.cycles} cycles beat the {bound} bound of {GENERAL(cycles)} cycles")
        if steering is not None and status == FINISHED:
            steering.finish(facts)
        del attached, code, fetched
        return facts


@lru_cache(maxsize=64)
def _code_table(kernel: Kernel, cu: ComputeUnitSpec) -> np.ndarray:
    """Return the code table of a kernel, which is kept for its next launch."""
    return code_table(program_of(kernel).instructions, cu)


@lru_cache(maxsize=64)
def _fetch_table(kernel: Kernel, buffer_bytes: int, first_address: int) -> FetchTable:
    """Return the fetch table of a kernel where it lies, which is kept for its next launch there."""
    return fetch_table(program_of(kernel).instructions, buffer_bytes, first_address)


@lru_cache(maxsize=64)
def _slice_order_reason(kernel: Kernel) -> str:
    """Return why slices of a kernel are executed no sooner than timing needs them; empty: they may be."""
    return slice_order_reason(program_of(kernel))


def _hotspots(context: FunctionalContext, spent: np.ndarray) -> list[Hotspot]:
    """Return the instructions that cost wavefront-cycles, costliest first. spent: [instruction, stall reason]."""
    hotspots = [
        Hotspot(
            context.launch.kernel.name,
            instruction.address,
            disassemble(instruction),
            {reason: int(n) for reason, n in zip(STALL_REASONS, cycles, strict=True) if n},
            context.launch.kernel.source_line(instruction.address),
        )
        for instruction, cycles in zip(context.instructions, spent, strict=True)
        if cycles.any()
    ]
    return sorted(hotspots, key=lambda h: (-h.cycles, h.address))


def _several(
    m: Machine, threads: int | None, recorded: bool, located: bool, accesses: np.ndarray
) -> LaunchThreads | None:
    """Return the threads of a launch; None: one, and if more were asked for, the screen says why.

    Args:
        m: The machine.
        threads: That may run it; None: as the process's limit says, where that is faster.
        recorded: Events are recorded for a timeline.
        located: It is counted where the lines of each instruction are found.
        accesses: The table into which it counts accesses.
    """
    given = threads is not None or threads_given()
    wanted = thread_limit() if threads is None else threads
    if wanted < LEAST_THREADS:
        return None
    if reason := serial_reason(m, recorded, located):
        if given:
            current_reporter().say_once(f"gpusim: one thread runs the launch: {reason}")
        return None
    most = most_threads(m)
    if given and wanted > most:
        current_reporter().say_once(f"gpusim: of {wanted} threads a launch has {most}: {TWO_SIDES}")
    return LaunchThreads(m, given, accesses, min(wanted, most))


def _loop(
    m: Machine,
    observer: Callable[[Progress], bool] | None,
    run_on: Callable[[int], int] | None = None,
    max_cycles: int = 0,
    steering: "Steering | None" = None,
    serve: Callable[[], None] | None = None,
    snapshots: Snapshots | None = None,
) -> int:
    """Run in chunks of about a tenth of a second, telling the observer in between, to the end or to `max_cycles`.

    run_on: runs the machine to a cycle and returns what `run_cycles` returns; None: that alone.
    A launch's steering, if there is any, looks at the machine in the cycles that it names. With `serve`, all chunks
    have the same number of cycles, so that a repeated run takes the same number of cycles.
    """
    advance = partial(run_cycles, m) if run_on is None else run_on
    if snapshots is not None:
        advance = partial(snapshots.advance, advance)
    run, chunk = m.run, FIRST_CHUNK_CYCLES
    end = max_cycles or NEVER
    progress_mark, progress_cycle = (-1, -1), 0
    while True:
        start, before = time.perf_counter(), int(m.wheel.now)
        limit = end if steering is None else min(end, steering.limit)
        status = int(advance(min(before + chunk, limit)))
        spent, ran = time.perf_counter() - start, int(m.wheel.now) - before
        if steering is not None and status == RUNNING and m.wheel.now == steering.limit:
            steering.look()
        if serve is not None:
            serve()
        if status != RUNNING or m.wheel.now >= end:
            return status
        moved = m.xbar.requests + m.xbar.responses + m.engine.lines_handed_over + m.engine.compacted_written
        mark = (int(run.instructions), int(moved))
        if mark != progress_mark:
            progress_mark, progress_cycle = mark, int(m.wheel.now)
        elif int(m.wheel.now) - progress_cycle > STUCK_CYCLES:
            return LIVELOCK
        if observer is not None and not observer(
            Progress(int(m.wheel.now), int(run.done), int(run.workgroups), int(run.instructions), machine=m)
        ):
            return RUNNING
        if serve is None:
            chunk = max(FIRST_CHUNK_CYCLES, int(ran * min(4.0, OBSERVER_PERIOD_S / max(spent, 1e-6))))


def _facts(m: Machine, gpu: GpuSpec, launch: Launch, fit: Occupancy, now: int, delay: int) -> RunFacts:
    """Return the facts of the run up to cycle `now`: the units' counts, and the launch as a whole, without `delay`."""
    facts = machine_facts(m)
    facts.sections["cu"]["active_cycles"] += active_now(m, now)
    cycles = max(now - delay, 0)
    x, y, z = launch.workgroups
    facts.add(
        "kernel",
        {
            "name": launch.kernel.name,
            "cycles": cycles,
            "clock_ghz": gpu.clock_ghz,
            "workgroups_total": x * y * z,
            "workgroup_places": -(-x * y * z // (fit.workgroups_per_cu * gpu.cus)) * fit.workgroups_per_cu * gpu.cus,
            "wavefronts": int(m.run.waves_done + m.run.waves_left),
            "workgroups_per_compute_unit": fit.workgroups_per_cu,
            "occupancy_limiter": fit.limiter,
        },
    )
    wavefront_slots = gpu.cus * SIMDS * gpu.cu.waves_per_simd
    facts.add("cu", {"cycles": cycles * gpu.cus, "wavefront_slot_cycles": cycles * wavefront_slots})
    facts.add("l2", {"dirty_lines_at_end": dirty_lines(m)})
    facts.add("dram", {"bus_busy_cycles": bus_busy_cycles(m), "bus_available_cycles": cycles * gpu.dram.channels})
    facts.add("roofline", roofline(m, gpu, cycles))
    return facts
