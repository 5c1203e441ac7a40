"""Simulation of one launch: functional execution feeds the cycle-level machine until the grid is done."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gpusim.base.progress import Progress
from gpusim.core.cu.code_table import FetchTable, code_table, fetch_table
from gpusim.core.cu.configure import set_fetch_table
from gpusim.core.cu.spec import SIMDS, ComputeUnitSpec
from gpusim.core.cu.state import MAX_WORKGROUPS, SLOTS
from gpusim.core.engine_link import attach_engine
from gpusim.core.facts import (
    STALL_REASONS,
    ActivityFacts,
    CacheFacts,
    DramFacts,
    Hotspot,
    OccupancyFacts,
    RunFacts,
    TranslationFacts,
)
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.laws import LawViolation, assert_engine, assert_laws, who_waits
from gpusim.core.loop import DEADLOCK, FAULT, FINISHED, LIVELOCK, RUNNING, run_cycles
from gpusim.core.machine import new_machine
from gpusim.core.occupancy import Occupancy, occupancy
from gpusim.core.prepare import prepare_core
from gpusim.core.recording import Recording, Watcher
from gpusim.core.roofline import roofline
from gpusim.core.warm import WarmCaches
from gpusim.jit import address_of
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import BRANCH, LDS, SALU, SMEM, VALU, VMEM
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, program_of
from isa.launch import Launch
from isa.object.code_object import Kernel
from memory.dram.controller import dram_totals
from spartan.configure import latency_histogram
from spartan.counters import ENGINE_COUNTERS
from spartan.engine import engine_finish
from spartan.engine_spec import EngineSpec

OBSERVER_PERIOD_S = 0.1
FIRST_CHUNK_CYCLES = 2_000
STUCK_CYCLES = 2_000_000  # without an instruction issued or a packet moved
HUGE_PAGE_WAVEFRONTS = 1024  # from here on a launch counts as a long run, whose memory is worth pages of 2 MiB

_KINDS = {"valu": VALU, "salu": SALU, "vmem": VMEM, "lds": LDS, "smem": SMEM, "branch": BRANCH}


class DeadlockError(Exception):
    """No unit of the machine can go on, or units are at work but nothing comes of it; says who waits for whom."""


def simulate(
    launch: Launch,
    gpu: GpuSpec,
    engine: EngineSpec | None = None,
    observer: Callable[[Progress], bool] | None = None,
    checked: bool = False,
    skip_idle: bool = True,
    max_instructions: int = MAX_INSTRUCTIONS,
    warm: WarmCaches | None = None,
    hotspots: bool = False,
    timeline: Watcher | None = None,
) -> RunFacts:
    """Run `launch` on the machine `gpu`, with the compaction engine if `engine` is given and it has sparse regions.

    observer: called several times a second, ends the run by returning False (the facts are then partial);
    checked: assert the conservation laws and the rooflines at the end; skip_idle=False runs every unit in every cycle,
    which must not change any result; max_instructions: of one wavefront, before it counts as an endless loop; warm:
    what earlier launches left in L2, and where this one leaves its own (None: L2 is empty at first); hotspots: account
    for the wavefronts' cycles by static instruction too; timeline: draw what happens into it. Raises what the
    functional part found wrong (isa.execution.faults), OccupancyError, DeadlockError, LawViolation.
    """
    fit = occupancy(launch, gpu.cu)
    compile_s = prepare_core()
    engine_on = engine is not None and bool(launch.regions)
    x, y, z = launch.workgroups
    huge_pages = x * y * z * launch.wavefronts_per_workgroup >= HUGE_PAGE_WAVEFRONTS
    context = FunctionalContext(launch, gpu.cus * SLOTS, gpu.cus * MAX_WORKGROUPS, max_instructions, huge_pages)
    m = new_machine(gpu, launch, fit, engine_on, huge_pages)
    if warm is not None:
        warm.restore(m)
    code, fetched = _code_tables(launch.kernel, gpu.cu, context.first_address)
    set_fetch_table(m, fetched, gpu.cu.instruction_buffer_bytes)
    run = m.run
    run.code, run.trace_base = address_of(code), context.trace_address
    run.producer, run.start, run.produce = context.address, context.start_address, context.produce_address
    run.every_cycle = int(not skip_idle)
    spent = np.zeros((len(code), len(STALL_REASONS)), np.int64)
    run.hotspots = address_of(spent) if hotspots or timeline is not None else 0
    attached = attach_engine(m, engine, launch, context) if engine is not None and engine_on else None

    wall, cpu = time.perf_counter(), time.thread_time()  # other threads do not take part
    recording = None if timeline is None else timeline.attach(m, launch.kernel.name, gpu, context.instructions)
    status = _loop(m, observer, recording)
    if recording is not None:
        recording.finish()
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    if status == FAULT:
        raise context.fault()
    if status in (DEADLOCK, LIVELOCK):
        raise DeadlockError(("deadlock: " if status == DEADLOCK else "livelock: ") + who_waits(m))
    if engine_on:
        engine_finish(m, int(m.wheel.now))
        assert_engine(m)
    if warm is not None:
        warm.keep(m)
    facts = _facts(m, gpu, launch, fit, wall, cpu, compile_s)
    facts.partial = status == RUNNING
    if hotspots:
        facts.hotspots = _hotspots(context, spent)
    if checked and status == FINISHED:
        assert_laws(m, context.executed_instructions)
        for bound, cycles in facts.roofline.items():
            if cycles > facts.cycles:
                raise LawViolation(f"{facts.cycles} cycles beat the {bound} bound of {cycles:g} cycles")
    del attached, code, fetched
    return facts


@lru_cache(maxsize=64)
def _code_tables(kernel: Kernel, cu: ComputeUnitSpec, first_address: int) -> tuple[np.ndarray, FetchTable]:
    """What the timing model knows of a kernel's instructions, kept for its next launch."""
    instructions = program_of(kernel).instructions
    return code_table(instructions, cu), fetch_table(instructions, cu.instruction_buffer_bytes, first_address)


def _hotspots(context: FunctionalContext, spent: np.ndarray) -> list[Hotspot]:
    """Instructions that cost wavefront-cycles, costliest first. spent: [static instruction, stall reason]."""
    found = [
        Hotspot(
            context.launch.kernel.name,
            instruction.address,
            disassemble(instruction),
            {reason: int(n) for reason, n in zip(STALL_REASONS, cycles, strict=True) if n},
        )
        for instruction, cycles in zip(context.instructions, spent, strict=True)
        if cycles.any()
    ]
    return sorted(found, key=lambda h: (-h.cycles, h.address))


def _loop(m: Any, observer: Callable[[Progress], bool] | None, recording: Recording | None = None) -> int:
    """Run in chunks of about a tenth of a second, telling the observer in between."""
    advance = partial(run_cycles, m) if recording is None else recording.advance
    run, chunk = m.run, FIRST_CHUNK_CYCLES
    progress_mark, progress_cycle = (-1, -1), 0
    while True:
        start = time.perf_counter()
        status = int(advance(int(m.wheel.now) + chunk))
        spent = time.perf_counter() - start
        if status != RUNNING:
            return status
        mark = (int(run.instructions), int(m.xbar.requests + m.xbar.responses))
        if mark != progress_mark:
            progress_mark, progress_cycle = mark, int(m.wheel.now)
        elif int(m.wheel.now) - progress_cycle > STUCK_CYCLES:
            return LIVELOCK
        if observer is not None and not observer(
            Progress(int(m.wheel.now), int(run.done), int(run.workgroups), int(run.instructions))
        ):
            return RUNNING
        chunk = max(FIRST_CHUNK_CYCLES, int(chunk * min(4.0, OBSERVER_PERIOD_S / max(spent, 1e-6))))


def _dram_facts(m: Any, gpu: GpuSpec, cycles: int) -> DramFacts:
    totals = dram_totals(m)
    return DramFacts(
        reads=totals["reads"],
        writes=totals["writes"],
        engine_reads=int(m.engine.lines_fetched) if m.run.engine_on else 0,
        bytes=totals["bytes_read"] + totals["bytes_written"],
        row_hits=totals["row_hits"],
        row_misses=totals["row_misses"],
        row_conflicts=totals["row_conflicts"],
        refreshes=totals["refreshes"],
        read_latency_total_cycles=totals["read_latency"],
        bus_busy_cycles=totals["bus_busy_cycles"],
        bus_available_cycles=cycles * gpu.dram.channels,
    )


def _facts(
    m: Any, gpu: GpuSpec, launch: Launch, fit: Occupancy, wall_s: float, cpu_s: float, compile_s: float
) -> RunFacts:
    cycles = int(m.run.ended or m.wheel.now)
    cu, l1, l2, run, tlb = m.cu, m.l1, m.l2, m.run, m.translation
    kinds = {name: int(cu.issued[unit]) for name, unit in _KINDS.items()}
    kinds["other"] = int(run.instructions) - sum(kinds.values())
    engine = None
    if run.engine_on:
        engine = {name: int(getattr(m.engine, name)) for name in ENGINE_COUNTERS}
    return RunFacts(
        kernel=launch.kernel.name,
        clock_ghz=gpu.clock_ghz,
        cycles=cycles,
        workgroups=int(run.done),
        workgroups_total=int(run.workgroups),
        wavefronts=int(run.waves_done + run.waves_left),
        wavefront_instructions=int(run.instructions),
        instructions=kinds,
        l1=CacheFacts(
            transactions=int(l1.reads + l1.writes),
            hits=int(l1.hits),
            misses=int(l1.misses),
            mshr_merges=int(l1.merges),
            reads_answered=int(l1.reads),
            read_latency_total_cycles=int(l1.latency),
            write_transactions=int(l1.writes),
            full_stall_cycles=int(l1.stall_cycles),
        ),
        scalar_cache=CacheFacts(
            transactions=int(m.scalar.reads + m.scalar.writes),
            hits=int(m.scalar.hits),
            misses=int(m.scalar.misses),
            mshr_merges=int(m.scalar.merges),
            write_transactions=int(m.scalar.writes),
        ),
        instruction_cache=CacheFacts(
            transactions=int(m.icache.hits + m.icache.misses + m.icache.merges),
            hits=int(m.icache.hits),
            misses=int(m.icache.misses),
            mshr_merges=int(m.icache.merges),
            prefetches=int(m.icache.prefetches),
            reads_answered=int(m.icache.misses + m.icache.prefetches),
            read_latency_total_cycles=int(m.icache.latency_total),
        ),
        translation=TranslationFacts(
            lookups=int(tlb.lookups),
            hits=int(tlb.hits),
            misses=int(tlb.misses),
            merges=int(tlb.merges),
            early_requests=int(tlb.early),
            requests=int(tlb.requests),
            l2_hits=int(tlb.l2_hits),
            l2_merges=int(tlb.l2_merges),
            walks=int(tlb.walks),
            request_latency_total_cycles=int(tlb.request_latency),
            stall_cycles=int(tlb.stall_cycles),
        ),
        l2=CacheFacts(
            transactions=int(l2.reads + l2.writes + l2.atomics),
            hits=int(l2.hits),
            misses=int(l2.misses),
            mshr_merges=int(l2.merges),
            reads_answered=int(l2.reads_answered),
            read_latency_total_cycles=int(l2.read_latency),
            write_transactions=int(l2.writes + l2.atomics),
            write_backs=int(l2.write_backs),
            full_stall_cycles=int(l2.stall_cycles.sum()),
        ),
        dram=_dram_facts(m, gpu, cycles),
        activity=ActivityFacts(
            compute_unit_cycles=cycles * gpu.cus,
            active_cycles=int(cu.active_cycles),
            issue_cycles=int(cu.issue_cycles),
        ),
        occupancy=OccupancyFacts(
            resident_wavefront_cycles=int(cu.stalls.sum()),
            wavefront_slot_cycles=cycles * gpu.cus * SIMDS * gpu.cu.waves_per_simd,
            workgroups_per_compute_unit=fit.workgroups_per_cu,
            limiter=fit.limiter,
        ),
        stalls={reason: int(n) for reason, n in zip(STALL_REASONS, cu.stalls.sum(axis=0), strict=True)},
        stalls_by_cu={reason: cu.stalls[: gpu.cus, number].tolist() for number, reason in enumerate(STALL_REASONS)},
        roofline=roofline(m, gpu),
        engine=engine,
        engine_latency_histogram=latency_histogram(m) if run.engine_on else None,
        wall_s=wall_s,
        cpu_s=cpu_s,
        compile_s=compile_s,
    )
