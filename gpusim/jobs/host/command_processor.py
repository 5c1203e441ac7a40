"""Running commands on a GPU: launches are simulated or executed, copies move bytes, the queue says when."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.progress import Progress, Reporter, reporting
from gpusim.jobs.host.queue import DEFAULT, StreamQueue
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from gpusim.model.core.recording import Watcher
from gpusim.model.core.simulator import simulate
from gpusim.model.core.warm import WarmCaches
from gpusim.results.records.record import RunRecord
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch, Residency

if TYPE_CHECKING:
    from gpusim.model.core.steering import Steerer
    from gpusim.model.sampling.spec import SamplingSpec
    from isa.device_memory import Allocation
    from isa.execution.context_pool import ContextPool
    from isa.execution.emulator import FunctionalResult
    from spartan.engine_spec import EngineSpec

Observer = Callable[[Progress], bool]


_UNCOMPUTED = (
    "a sampled launch of '{}', which may write to it, has skipped workgroups: their results are not computed; sample"
    " with functional=True (--functional) to have them executed"
)


_DECIDED_BY_UNCOMPUTED = (
    "'{}': {}, and a sampled launch has skipped workgroups that may write it: sample that launch with functional=True"
    " (--functional), or write the array"
)
_COMPUTED_FROM = "'{}' has computed it from {}, where a sampled launch has skipped workgroups"


class LaunchError(UserError):
    """A launch that asks for something impossible."""


class LaunchCommand(NamedTuple):
    """Command: run a kernel to its end."""

    launch: Launch
    """Launch."""
    warm: bool | None = None
    """L2 and TLBs keep the contents of the previous launch; None: as `gpu.caches` says."""
    max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS
    """Limit of instructions for a wavefront."""
    serve: Callable[[], None] | None = None
    """Performs the host calls of waiting wavefronts; called repeatedly during the launch."""
    decisive: bool | None = None
    """The results decide the time of later launches: sampling executes skipped workgroups; None: unknown."""
    l1_bypass: bool | None = None
    """Loads bypass L1; None: as `gpu.l1.bypass` says."""

    def machine(self, gpu: GpuSpec) -> GpuSpec:
        """Return the GPU as the launch finds it; raise LaunchError where its L1 cannot be passed."""
        try:
            return gpu if self.l1_bypass is None else gpu.with_l1_bypass(self.l1_bypass)
        except ValueError as error:
            raise LaunchError(f"'{self.launch.kernel.short_name}': {error}") from None

    def finds_warm(self, gpu: GpuSpec) -> bool:
        """Tell whether the launch finds in L2 and the TLBs what the previous one left there."""
        return gpu.caches == "warm" if self.warm is None else self.warm

    def described(self, gpu: GpuSpec) -> dict[str, Any]:
        """Describe the launch as plain data, for a result's configuration."""
        launch = self.launch
        return {
            "kernel": launch.kernel.name,
            "global_size": list(launch.global_size),
            "local_size": list(launch.local_size),
            "dynamic_lds_bytes": launch.dynamic_lds_bytes,
            "caches": "warm" if self.finds_warm(gpu) else "flushed",
            **({} if self.l1_bypass is None else {"l1_bypass": self.l1_bypass}),
        }


class CopyCommand(NamedTuple):
    """Command: move bytes between host and device over the host link."""

    name: str
    """Name shown to people."""
    size_bytes: int
    """Number of bytes."""
    move: Callable[[], None]
    """Moves the bytes."""
    direction: str = "to the device"
    """Direction, for people."""


HostCommand = LaunchCommand | CopyCommand


@dataclass(frozen=True)
class RunOptions:
    """Options for running commands."""

    checked: bool = False
    """Check conservation laws and rooflines at the end of each kernel."""
    hotspots: int = 0
    """Number of costliest instructions to list for each kernel."""
    timeline: Watcher | None = None
    """Observer that records each cycle for the timeline; None: none."""
    max_cycles: int = 0
    """Cycle limit of a launch, at which the run ends; 0: no limit."""
    sampling: "SamplingSpec | None" = None
    """Sampling of launches; None: simulated whole."""
    perturbation: int = 0
    """Number of the machine's perturbation; 0: unperturbed."""
    every: int = 0
    """Length in cycles of the intervals with separate counts; 0: no intervals."""


class CommandProcessor:
    """Runs commands on one GPU, queue after queue; L2 keeps its contents between them.

    Args:
        timing: False executes kernels without the timing model, for results alone.
        engine_spec: The compaction engine that serves launches with sparse regions, if there is one.
    """

    def __init__(
        self, gpu: GpuSpec, reporter: Reporter, *, timing: bool = True, engine_spec: "EngineSpec | None" = None
    ) -> None:
        self.gpu, self.timing, self.engine_spec = gpu, timing, engine_spec
        self._reporter = reporter
        self._warm = WarmCaches()

    def run(
        self,
        commands: Sequence[HostCommand],
        record: RunRecord,
        options: RunOptions = RunOptions(),
        observer: Observer | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run `commands` in order, each after the previous one, and put their facts into `record`.

        observer: called several times a second within a launch, ends it by returning False; nothing that follows is run
        then, nor once `stopped()` is true: the record is partial. Raises LaunchError and what `simulate` raises.
        """
        self._check(commands, options)

        queue = StreamQueue(self.gpu.kernel_launch_us)
        for command in commands:
            if record.partial or stopped():
                break
            if isinstance(command, CopyCommand):
                time_us = self._copy(command)
                queue.copy(DEFAULT, time_us, True, False, command.name, command.size_bytes, direction=command.direction)
            else:
                facts = self._launch(command, options, observer)
                record.launches.append(facts)
                record.partial = facts.partial
                queue.kernel(DEFAULT, facts.time_us if self.timing else 0.0, name=command.launch.kernel.name)
        record.partial = record.partial or stopped()
        if self.timing:
            queue.finish()
            record.add_commands(queue.times)
            record.host_time_us = queue.times[-1].ended_us if queue.times else 0.0

    def _check(self, commands: Sequence[HostCommand], options: RunOptions) -> None:
        launches = [command for command in commands if isinstance(command, LaunchCommand)]
        for one in launches:
            kernel = one.launch.kernel
            if why := self.gpu.why_foreign(kernel.gpu):
                raise LaunchError(f"kernel '{kernel.short_name}' {why}")
        of_caches = any(one.warm or one.l1_bypass is not None for one in launches)
        of_cycles = options.checked or options.hotspots or options.timeline is not None or options.max_cycles
        of_cycles = of_cycles or options.perturbation or options.every
        whole = options.timeline is not None or options.max_cycles or options.every
        if options.sampling is not None and (whole or not self.timing):
            raise LaunchError(
                "a sampled launch has no timeline, no last cycle and no counters over time, and a device without timing"
                " nothing to sample"
            )
        if not self.timing and (of_caches or of_cycles):
            raise LaunchError(
                "a device without timing has no warm caches, no L1 to pass, no conservation laws, no hot spots, no"
                " timeline, no cycles to be limited, no counters over time and no perturbation"
            )

    def flush_l2(self) -> None:
        """Write back and drop L2's lines, as before a copy, whose engine bypasses L2."""
        self._warm.flush_l2()

    def _copy(self, command: CopyCommand) -> float:
        command.move()
        self.flush_l2()
        return self.gpu.host_link.copy_us(command.size_bytes)

    def _launch(self, command: LaunchCommand, options: RunOptions, observer: Observer | None) -> RunFacts:
        launch = command.launch
        with reporting(self._reporter), self._reporter.following(launch.kernel.short_name) as update:

            def observe(progress: Progress) -> bool:
                update(progress)
                return observer is None or observer(progress)

            if not self.timing:
                return executed(launch, self.gpu, command.max_instructions, observe, serve=command.serve)
            inputs = _uncomputed_inputs(launch) if command.decisive is None else ()
            warm, self._warm = self._warm if command.finds_warm(self.gpu) else WarmCaches(), WarmCaches()
            run = partial(
                simulate,
                launch,
                command.machine(self.gpu),
                self.engine_spec,
                observe,
                options.checked,
                max_instructions=command.max_instructions,
                hotspots=options.hotspots > 0,
                timeline=options.timeline,
                max_cycles=options.max_cycles,
                serve=command.serve,
                perturbation=options.perturbation,
                every=options.every,
            )
            if options.sampling is None:
                facts = run(warm=warm)
            else:
                found = warm

                def again(steerer: "Steerer") -> RunFacts:
                    nonlocal warm
                    warm = found.copied()
                    return run(steerer=steerer, warm=warm)

                facts = self._sampled(again, options.sampling, bool(command.decisive))
            if facts.sampling is not None and not facts.sampling.complete:
                launch.memory.set_uncomputed(launch.kernarg, _UNCOMPUTED.format(launch.kernel.short_name))
            elif inputs:
                from gpusim.jobs.host.chains import join_names

                why = _COMPUTED_FROM.format(launch.kernel.short_name, join_names(inputs))
                launch.memory.set_uncomputed(launch.kernarg, why)
            self._warm = warm  # not after a fault: the machine is then in no state to go on from
            del facts.hotspots[options.hotspots :]
            return facts

    def _sampled(self, run: "Callable[[Steerer], RunFacts]", spec: "SamplingSpec", decisive: bool) -> RunFacts:
        from gpusim.model.sampling.sampler import sampled

        searches = 0 if self.engine_spec is None else self.engine_spec.shifters
        spec = spec.model_copy(update={"functional": spec.functional or decisive})
        return sampled(run, spec, searches)


def _uncomputed_inputs(launch: Launch) -> Sequence["Allocation"]:
    """Return the incomplete arrays that a launch reads; raise LaunchError where one may decide its time."""
    if not launch.memory.has_uncomputed:
        return ()
    from gpusim.jobs.host.chains import UncomputedInputError, find_uncomputed_inputs

    try:
        return find_uncomputed_inputs(launch)
    except UncomputedInputError as why:
        raise LaunchError(_DECIDED_BY_UNCOMPUTED.format(launch.kernel.short_name, why)) from None


def execute(
    launch: Launch,
    max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
    observer: Observer | None = None,
    pool: "ContextPool | None" = None,
    serve: Callable[[], None] | None = None,
    residency: Residency | None = None,
) -> "FunctionalResult":
    """Execute a launch for its results alone, its sparse loads answered as the compaction engine answers them.

    Args:
        launch: the launch.
        max_instructions: of one wavefront, before it counts as an endless loop.
        observer: called with the progress; ends the launch by returning False.
        pool: of contexts, for launches without sparse regions, which are compacted as they are now.
        serve: called after every slice (see `isa.execution.emulator.run_functional`).
        residency: how many workgroups are resident at a time; None: one.

    Returns:
        What was executed.

    Raises:
        ExecutionFault: the kernel is in error.
    """
    from isa.execution.emulator import run_functional
    from spartan.shadows import shadows_of

    shadows = shadows_of(launch) or None
    used = None if shadows else pool
    return run_functional(launch, max_instructions, shadows, observer, pool=used, serve=serve, residency=residency)


def executed(
    launch: Launch,
    gpu: GpuSpec,
    max_instructions: int,
    observe: Observer | None,
    pool: "ContextPool | None" = None,
    serve: Callable[[], None] | None = None,
) -> RunFacts:
    """Execute a launch without the timing model.

    Args:
        launch: the launch.
        gpu: the GPU.
        max_instructions: of one wavefront, before it counts as an endless loop.
        observe: called with the progress; ends the launch by returning False.
        pool: of contexts of earlier launches.
        serve: called after every slice (see `isa.execution.emulator.run_functional`).

    Returns:
        What was counted.

    Raises:
        OccupancyError: a workgroup does not fit a compute unit.
        ExecutionFault: the kernel is in error.
    """
    start = time.perf_counter()
    done = execute(launch, max_instructions, observe, pool, serve, residency(launch, gpu))
    return _untimed_facts(launch, gpu, done, time.perf_counter() - start - done.compile_s)


def _untimed_facts(launch: Launch, gpu: GpuSpec, done: "FunctionalResult", wall_s: float) -> RunFacts:
    x, y, z = launch.workgroups
    kinds = dict(done.instructions)
    kinds["other"] = kinds.pop("internal") + kinds.pop("export")
    facts = RunFacts.of(
        partial=not done.finished,
        kernel={
            "name": launch.kernel.name,
            "clock_ghz": gpu.clock_ghz,
            "workgroups": done.workgroups,
            "workgroups_total": x * y * z,
            "wavefronts": done.wavefronts,
            "wavefront_instructions": done.wavefront_instructions,
            **{f"{kind}_instructions": count for kind, count in kinds.items()},
        },
        simulator={"wall_s": wall_s, "cpu_s": done.seconds, "compile_s": done.compile_s},
    )
    facts.resident, facts.serial_reason = done.resident, done.serial_reason
    return facts
