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
    """The machine and options for running a task."""

    gpu: "GpuSpec"
    """GPU."""
    reporter: "Reporter"
    """Receives progress and messages."""
    interrupt: "Interrupt"
    """Tells whether the user has stopped the run."""
    launches: RunOptions
    """Options of the launches."""
    engine_spec: "EngineSpec | None" = None
    """Compaction engine; None: no engine."""
    timing: bool = True
    """Simulate with the timing model; otherwise execute for the results only."""
    timeline: "Watcher | None" = None
    """Observer that records each cycle for the timeline; None: none."""

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
    """Check that launches whose counters are recorded over time are not sampled.

    Args:
        named: key or option that asks for them.
        every: cycles between two records; 0: none.
        sampled: whether launches are sampled.

    Raises:
        UserError: both are asked for.
    """
    if every and sampled:
        raise UserError(
            f"{named} {every} is not allowed of sampled launches, which are not simulated cycle by cycle: they have no"
            " counters over time; --full (run.sampling: null) simulates all"
        )


def check_draws(perturbation: int, draws: int, sampled: bool, timed: bool, every: int) -> None:
    """Check that draws of a machine are neither sampled, untimed, nor watched every so many cycles.

    Args:
        perturbation: number of the first draw.
        draws: how many there are.
        sampled: whether launches are sampled.
        timed: whether they are timed.
        every: cycles between two records of counters; 0: none.

    Raises:
        UserError: the run would mean nothing.
    """
    if every and draws > 1:
        raise UserError(
            f"run.every: {every} is not allowed of a mean over draws, whose launches differ in length;"
            " allowed is 0, or run.draws 1"
        )
    asked = {"perturbation": perturbation} if perturbation else {}
    asked |= {"draws": draws} if draws > 1 else {}
    for name, value in asked.items():
        error = f"run.{name}: {value} is not allowed of"
        if sampled:
            raise UserError(
                f"{error} a sampled run, which counts from the first cycle, and whose half-widths say how far off a"
                " part of the launch is: two doubts that one interval would mix; allowed is run.sampling null"
            )
        if not timed:
            raise UserError(f"{error} a run without timing: no draw changes its result")


def launches(
    checked: bool = False,
    hotspots: int = 0,
    max_cycles: int = 0,
    sampling: "SamplingSpec | None" = None,
    every: int = 0,
    perturbation: int = 0,
) -> RunOptions:
    """Return how launches are run (gpusim.jobs.host.command_processor).

    Args:
        checked: assert the model's conservation laws.
        hotspots: how many of the costliest instructions are listed.
        max_cycles: cycles after which a launch ends; 0: none.
        sampling: how launches are sampled; None: whole.
        every: cycles between two records of counters; 0: none.
        perturbation: number of the machine's draw; 0: as built.

    Returns:
        The options.
    """
    return RunOptions(
        checked, hotspots, max_cycles=max_cycles, sampling=sampling, every=every, perturbation=perturbation
    )


@dataclass(frozen=True)
class Variant:
    """One variant of a job.

    `decide` gets the reporter and a test for the user's interrupt, on which it raises KeyboardInterrupt.
    """

    label: str
    """Name shown to people: the configured name of the kernel."""
    uses_engine: bool
    """The compaction engine takes part."""
    prepare: Callable[[], Task]
    """Puts the operands into device memory."""
    name: str = ""
    """Key in the JSON object of a job with several variants, of which the first is the baseline."""
    decide: "Callable[[Reporter, Callable[[], bool]], tuple[Variant, KernelChoice]] | None" = None
    """Returns the variant to run instead of this one, with the selection; None: this variant is final."""


@dataclass(frozen=True)
class JobOptions:
    """Options for running a job."""

    timing: bool = True
    """Simulate with the timing model; otherwise execute for the results only."""
    verify: bool = True
    """Compare results with the reference."""
    draws: int = 1
    """Number of runs with successive perturbations of the machine, from that of `launches`; their mean counts."""
    launches: RunOptions = field(default_factory=RunOptions)
    """Options of the launches."""


class Job(ABC):
    """The work of one command."""

    kind: str
    """Name of the command: its row in gpusim.jobs.kinds."""
    title: str
    """Description for messages."""
    gpu: "GpuSpec"
    """GPU."""
    energy_spec: "EnergySpec"
    """Energies of the machine's events, and whether energy is reported."""
    engine_spec: "EngineSpec | None" = None
    """Compaction engine of the variants that use one; None: no engine."""
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
