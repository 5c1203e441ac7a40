"""A launch executed under watch: shadows laid out beside a functional context, and what was found in them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.base.jit import address_of, function_address, load, records, views
from gpusim.base.jit.compile_lock import compile_lock
from gpusim.base.jit.compile_progress import compiling
from gpusim.base.processors import thread_limit, threads_given
from gpusim.base.progress import Progress
from isa.checking.findings import CheckFinding, collect_findings
from isa.checking.producer import produce_checked, start_checked
from isa.checking.state import CHECK, FINDING_WORDS, MOST_FINDINGS, SCALAR_CODES, SHADOW_BYTES
from isa.checking.table import check_table_of
from isa.device_memory import VIRTUAL_BASE
from isa.execution.emulator import RunLoop, new_run, run_slices
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter
from isa.execution.faults import ExecutionFault
from isa.execution.state import SCRATCH_ROWS
from isa.launch import Launch, Residency
from isa.region import PackedMatrix

_HUGE_FROM_BYTES = 1 << 24
_HUGE_MEMORY_FROM_BYTES = 1 << 22  # of memory's shadow, all of which is used: without, half of the time is TLB misses
_ENTRY_POINTS = (start_checked, produce_checked)


@dataclass(frozen=True)
class CheckResult:
    """Result of a launch under the checks."""

    findings: list[CheckFinding]
    """Findings, including a fault that ended the launch."""
    fault: ExecutionFault | None
    """Fault that ended the launch; None: none."""
    finished: bool
    """The launch ran to its end."""
    workgroups: int
    """Workgroups that ended."""
    wavefronts: int
    """Wavefronts that began."""
    instructions: int
    """Wavefront instructions executed."""
    seconds: float
    """CPU seconds of the execution."""
    compile_s: float
    """CPU seconds of the compilation."""
    threads: int
    """Host threads that have run workgroups side by side; 1: none has."""


def compile_checks() -> float:
    """Make the compiled checks ready, beside the interpreter; returns the seconds that it took."""
    begin = time.perf_counter()
    compile_interpreter(run_slices)
    if not load(_ENTRY_POINTS):
        with compile_lock():
            if not load(_ENTRY_POINTS):
                from gpusim.base.jit.compile import compile_entry_points, work_of

                with compiling("the checks", work_of("isa", _ENTRY_POINTS)):
                    compile_entry_points("isa", _ENTRY_POINTS, np.zeros(1, np.int64))
    return time.perf_counter() - begin


def checked(
    launch: Launch,
    residency: Residency,
    max_instructions: int = MAX_INSTRUCTIONS,
    observer: Callable[[Progress], bool] | None = None,
    serve: Callable[[], None] | None = None,
    shadows: Sequence[PackedMatrix] | None = None,
    threads: int | None = None,
) -> CheckResult:
    """Execute a launch under watch.

    Args:
        launch: the launch.
        residency: how many workgroups are resident at a time.
        max_instructions: of one wavefront, before it counts as an endless loop.
        observer: called about ten times a second; ends the run by returning False.
        serve: called after every slice.
        shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`); without them sparse
            loads are ordinary ones.
        threads: of this process that may run workgroups side by side; None: one, or as many as were asked for
            (`gpusim.base.processors.limit_threads`): they gain on products alone, and streams lose. Where something is
            found, one thread runs all again.

    Returns:
        Findings and counts.
    """
    compile_s = compile_checks()
    context = FunctionalContext(
        launch,
        residency.wavefront_slots,
        residency.workgroup_slots,
        max_instructions,
        shared_trace=True,
        workgroups=residency.workgroups,
    )
    if shadows is not None:
        context.register_regions(shadows)
    watch = _Watch(context)
    x, y, z = launch.workgroups
    run, kept = new_run(context, range(x * y * z), residency)
    fault: ExecutionFault | None = None
    loop = RunLoop(
        context,
        run,
        address_of(kept[0]),
        observer,
        serve=serve,
        threads=threads or (thread_limit() if threads_given() else 1),
        prepare=lambda other: _Watch(other).has_found,
    )
    finished = False
    try:
        finished = loop.run_to_end()
    except ExecutionFault as error:
        fault = error
    context.note_strays()
    workgroups, wavefronts = int(run.counters.workgroups), int(run.counters.wavefronts)
    found = collect_findings(watch.noted(), context, fault)
    executed = context.executed_instructions
    context.close()
    return CheckResult(
        findings=found,
        fault=fault,
        finished=finished,
        workgroups=workgroups,
        wavefronts=wavefronts,
        instructions=executed,
        seconds=loop.cpu_s,
        compile_s=compile_s,
        threads=loop.threads_used,
    )


class _Watch:
    """The shadows of a context, whose producer is replaced by the one that watches."""

    def __init__(self, context: FunctionalContext) -> None:
        self._held: list[np.ndarray] = []
        record = records(CHECK)
        self._held.append(record)
        self._state = state = views(record)[0]
        context.state.check = address_of(record)
        context.start_address, context.produce_address = map(function_address, _ENTRY_POINTS)
        slots, groups = context.slots, int(np.prod(context.launch.workgroups))
        state.rows = self._address(check_table_of(context.launch.kernel))
        state.vectors = vectors = int(context.state.vector_registers) + SCRATCH_ROWS  # what goes to LDS lands there
        state.known = self._zeros(slots * vectors)
        state.origins = self._zeros(slots * vectors)
        state.scalar_known = self._zeros(slots * SCALAR_CODES, np.uint8)
        state.scalar_lanes = self._zeros(slots * SCALAR_CODES)
        state.scalar_origins = self._zeros(slots * SCALAR_CODES)
        ends = context.launch.memory.ends
        state.memory_bytes = (int(ends[-1]) - VIRTUAL_BASE + 3) // 4 * 4 if len(ends) else 0
        shadow_bytes = state.memory_bytes // 4 * SHADOW_BYTES + 64
        state.memory = self._address(zeroed(shadow_bytes, huge_pages=shadow_bytes >= _HUGE_MEMORY_FROM_BYTES))
        state.arguments, state.argument_bytes = context.block.kernarg_address, len(context.launch.kernarg)
        state.lds_bytes = (context.lds_bytes + 7) // 8 * 8
        group_slots = int(context.state.lds_stride) and context.workgroup_slots
        state.lds = self._zeros(group_slots * state.lds_bytes // 4 * SHADOW_BYTES + 64, np.uint8)
        state.lds_known = self._zeros(group_slots * state.lds_bytes + 8, np.uint8)
        state.private_known = self._zeros(int(context.state.scratch_bytes) + 8, np.uint8)
        for name in ("epochs", "barrier", "live"):
            setattr(state, name, self._zeros(slots))
        for name in ("group_barriers", "group_ended", "acquired", "released"):
            setattr(state, name, self._zeros(groups))
        self._findings = np.zeros((MOST_FINDINGS, FINDING_WORDS), np.int64)
        state.findings = self._address(self._findings)

    def _address(self, array: np.ndarray) -> int:
        self._held.append(array)
        return address_of(array)

    def _zeros(self, count: int, kind: Any = np.int64) -> int:
        size_bytes = max(count, 1) * np.dtype(kind).itemsize
        return self._address(zeroed(size_bytes, huge_pages=size_bytes >= _HUGE_FROM_BYTES))

    def has_found(self) -> bool:
        """Tell whether something was found."""
        return int(self._state.count) > 0

    def noted(self) -> np.ndarray:
        """Return what was noted: int64 [findings, FINDING_WORDS]."""
        return self._findings[: int(self._state.count)]
