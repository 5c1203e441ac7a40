"""What a run does: a job, in one or several variants, each a task that launches kernels and knows its reference.

A job is made from what a command is asked for (gpusim.jobs.kinds) and run by gpusim.jobs.running.runner, which knows
nothing of what is computed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpusim.base.errors import UserError
from gpusim.jobs.host.command_processor import CommandProcessor, HostCommand, RunOptions

if TYPE_CHECKING:
    from gpusim.base.interrupt import Interrupt
    from gpusim.base.progress import Progress, Reporter
    from gpusim.config.exec import ExecRunSpec
    from gpusim.config.workload import RunSpec
    from gpusim.model.core.gpu_spec import GpuSpec
    from gpusim.model.core.recording import Watcher
    from gpusim.model.energy.spec import EnergySpec
    from gpusim.model.sampling.spec import SamplingSpec
    from gpusim.results.records.record import KernelChoice, RunRecord
    from spartan.engine_spec import EngineSpec
    from workloads.operators.verify import Verification


@dataclass(frozen=True)
class Context:
    """How a task is run: on which machine, how its launches are run, and who may end them.

    engine_spec: None where the engine takes no part; timing: False executes for the results alone; timeline: what
    happens in each cycle is drawn into it.
    """

    gpu: "GpuSpec"
    reporter: "Reporter"
    interrupt: "Interrupt"
    launches: RunOptions
    engine_spec: "EngineSpec | None" = None
    timing: bool = True
    timeline: "Watcher | None" = None

    def observe(self, _: "Progress") -> bool:
        """Tell whether a launch is to go on; after the first call an interrupt waits for the next one."""
        return not self.stopped()

    def stopped(self) -> bool:
        """Tell whether the user has interrupted; after the first call the core asks several times a second."""
        self.interrupt.deferred = True
        return self.interrupt.asked


class Task(ABC):
    """A variant that is ready to run: its operands lie in device memory."""

    @abstractmethod
    def run(self, context: Context, record: "RunRecord") -> None:
        """Run all launches and put their facts into `record`; the record is partial if the run was ended early."""

    def counts(self) -> Mapping[str, float]:
        """Return what is known of the data that have been in device memory, by the names of RunRecord's fields."""
        return {}

    def verify(self) -> "Verification | None":
        """Compare the results with the reference; None without a reference."""
        return None

    def finish(self) -> None:  # noqa: B027 (most tasks are asked for no files)
        """Write the results that the user asked for; also after an interrupted run."""


class CommandTask(Task):
    """A task that is a list of launches and copies, each after the previous one."""

    @property
    @abstractmethod
    def commands(self) -> Sequence[HostCommand]:
        """Launches and copies in order."""

    def run(self, context: Context, record: "RunRecord") -> None:
        processor = CommandProcessor(
            context.gpu, context.reporter, timing=context.timing, engine_spec=context.engine_spec
        )
        options = replace(context.launches, timeline=context.timeline)
        processor.run(self.commands, record, options, context.observe, lambda: context.interrupt.asked)


class FunctionTask(Task):
    """A task that is a function, which runs all launches and puts their facts into the record."""

    def __init__(self, run: "Callable[[Context, RunRecord], None]") -> None:
        self._run = run

    def run(self, context: Context, record: "RunRecord") -> None:
        self._run(context, record)


def launch_options(run: "RunSpec | ExecRunSpec") -> RunOptions:
    """Return how launches are run, as a configuration says."""
    check_draws(run.perturbation, run.draws, run.sampling is not None, getattr(run, "timing", True), run.every)
    check_watched("run.every:", run.every, run.sampling is not None)
    return launches(run.checked, run.hotspots, run.max_cycles, run.sampling, run.every, run.perturbation)


def check_watched(named: str, every: int, sampled: bool) -> None:
    """Raise UserError for counters over time of sampled launches. named: the key or option that asks for them."""
    if every and sampled:
        raise UserError(
            f"{named} {every} is not allowed of sampled launches, which are not simulated cycle by cycle: they have no"
            " counters over time; --full (run.sampling: null) simulates all"
        )


def check_draws(perturbation: int, draws: int, sampled: bool, timed: bool, every: int) -> None:
    """Raise UserError for draws of a machine that is sampled, not timed, or watched every so many cycles."""
    if every and draws > 1:
        raise UserError(
            f"run.every: {every} is not allowed of a mean over draws, whose launches differ in length;"
            " allowed is 0, or run.draws 1"
        )
    asked = {"perturbation": perturbation} if perturbation else {}
    asked |= {"draws": draws} if draws > 1 else {}
    for name, value in asked.items():
        said = f"run.{name}: {value} is not allowed of"
        if sampled:
            raise UserError(
                f"{said} a sampled run, which counts from the first cycle, and whose half-widths say how far off a part"
                " of the launch is: two doubts that one interval would mix; allowed is run.sampling null"
            )
        if not timed:
            raise UserError(f"{said} a run without timing: no draw changes its result")


def launches(
    checked: bool = False,
    hotspots: int = 0,
    max_cycles: int = 0,
    sampling: "SamplingSpec | None" = None,
    every: int = 0,
    perturbation: int = 0,
) -> RunOptions:
    """Return how launches are run: what is asserted, listed, and when they end (gpusim.jobs.host.command_processor)."""
    return RunOptions(
        checked, hotspots, max_cycles=max_cycles, sampling=sampling, every=every, perturbation=perturbation
    )


@dataclass(frozen=True)
class Variant:
    """One way to do a job.

    label: for people, the kernel's configured name; uses_engine: whether the compaction engine takes part; prepare:
    puts the operands into device memory; name: key in the JSON object of a job with several variants, which are
    compared with the first; decide: where the kernel is still to be chosen, and this variant's is only the likeliest:
    returns the variant to run instead and how it was chosen. It gets the reporter, and a function that tells whether
    the user has interrupted; if so, it raises KeyboardInterrupt.
    """

    label: str
    uses_engine: bool
    prepare: Callable[[], Task]
    name: str = ""
    decide: "Callable[[Reporter, Callable[[], bool]], tuple[Variant, KernelChoice]] | None" = None


@dataclass(frozen=True)
class JobOptions:
    """How a job is run.

    timing: False executes for the results alone; verify: compare with the reference; draws: of the machine, each of
    which is a run of its own, from that of `launches` on; several: the result is their mean, with intervals.
    """

    timing: bool = True
    verify: bool = True
    draws: int = 1
    launches: RunOptions = field(default_factory=RunOptions)


class Job(ABC):
    """What one command is asked for.

    kind: the command's name, its row in gpusim.jobs.kinds; title: what is computed, in messages; energy_spec: the
    energy of the machine's events, and whether energy is reported; engine_spec: the compaction engine, in the variants
    that use one; options: how launches are run and results compared.
    """

    kind: str
    title: str
    gpu: "GpuSpec"
    energy_spec: "EnergySpec"
    engine_spec: "EngineSpec | None" = None
    options = JobOptions()

    @property
    @abstractmethod
    def variants(self) -> Sequence[Variant]:
        """The variants in the order in which they are run."""

    @property
    def about(self) -> Mapping[str, Any]:
        """The keys that the JSON object has before its results."""
        return {"kind": self.kind}

    @abstractmethod
    def resolved(self) -> dict[str, Any]:
        """Return the configuration, every value, as plain data."""
