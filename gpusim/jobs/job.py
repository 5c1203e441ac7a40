"""What a run does: a job, in one or several variants, each a list of commands whose outcome can be checked.

A job is made from a configuration (gpusim.jobs.kinds for `gpusim run`, gpusim.jobs.exec for `gpusim exec`) and run by
gpusim.jobs.runner, which knows nothing of what is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gpusim.host.command_processor import HostCommand, RunOptions

if TYPE_CHECKING:
    from gpusim.base.progress import Reporter
    from gpusim.config.exec import ExecRunSpec
    from gpusim.config.workload import RunSpec
    from gpusim.core.gpu_spec import GpuSpec
    from gpusim.energy.spec import EnergySpec
    from gpusim.results.record import KernelChoice
    from spartan.engine_spec import EngineSpec
    from workloads.operators.verify import Verification


class Task(Protocol):
    """A variant that is ready to run: its operands lie in device memory."""

    @property
    def commands(self) -> Sequence[HostCommand]:
        """Launches and copies in order, each after the one before."""

    def counts(self) -> Mapping[str, float]:
        """What is known of the data that have been in device memory, by the names of RunRecord's fields."""

    def verify(self) -> "Verification | None":
        """Compare the results with the reference; None where there is none."""

    def finish(self) -> None:
        """Keep what the user asked for of the results; also after an interrupted run."""


def launch_options(run: "RunSpec | ExecRunSpec") -> RunOptions:
    """How launches are run, as a configuration says."""
    return RunOptions(run.checked, run.hotspots, max_cycles=run.max_cycles, sampling=run.sampling)


@dataclass(frozen=True)
class Variant:
    """One way to do a job.

    label: for people, the kernel's configured name; uses_engine: whether the compaction engine takes part; prepare:
    put the operands into device memory; name: key in the JSON object where a job has several variants, which are
    compared with the first; decide: where the kernel is to be found out first: the variant that is run in place of this
    one, whose kernel is the likeliest, and how it was chosen. It is given the reporter, and what says whether the user
    has interrupted, upon which it raises KeyboardInterrupt.
    """

    label: str
    uses_engine: bool
    prepare: Callable[[], Task]
    name: str = ""
    decide: "Callable[[Reporter, Callable[[], bool]], tuple[Variant, KernelChoice]] | None" = None


@dataclass(frozen=True)
class JobOptions:
    """How a job is run. timing: False executes for the results alone; verify: compare with the reference."""

    timing: bool = True
    verify: bool = True
    launches: RunOptions = field(default_factory=RunOptions)


class Job(Protocol):
    """What one configuration asks for."""

    @property
    def title(self) -> str:
        """What is computed, in messages."""

    @property
    def gpu(self) -> "GpuSpec":
        """On which GPU."""

    @property
    def engine_spec(self) -> "EngineSpec | None":
        """With which compaction engine, in the variants that use one."""

    @property
    def energy_spec(self) -> "EnergySpec":
        """What is said of energy."""

    @property
    def options(self) -> JobOptions:
        """How."""

    @property
    def variants(self) -> Sequence[Variant]:
        """In the order in which they are run."""

    def resolved(self) -> dict[str, Any]:
        """The configuration, every value, as plain data."""
