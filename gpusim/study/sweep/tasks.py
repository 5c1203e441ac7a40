"""From a point to its work: a configuration that is checked here, and a task that runs it, wherever that is."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gpusim.base.axis_roles import PERTURBATION
from gpusim.base.errors import GpusimError, UserError, nearest
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, reporting
from gpusim.config import files
from gpusim.config.exec import EXAMPLE_FOLDER, ExecConfig, load_exec
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.models import all_paths
from gpusim.config.run import RunConfig, load_run
from gpusim.config.sweep import SweepSpec
from gpusim.config.tree import Assignment
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running import runner
from gpusim.jobs.running.dense_choice import Choices, known_choices
from gpusim.jobs.running.job import Job
from gpusim.results.records.exit_code import exit_code
from gpusim.results.store.keeper import RunClock
from gpusim.results.store.outcome import RunOutcome, build_outcome, failed
from gpusim.results.store.work import RunDescription, describe_exec, describe_run

# what a point may say beside the paths of its configuration, and of what kind of sweep
CONFIG, NETWORK = "config", "network"


@dataclass(frozen=True)
class TaskResult:
    """A finished task."""

    outcome: RunOutcome
    """Outcome."""
    date: str
    """Date and time of the start."""
    seconds: float
    """Wall time in seconds."""
    host: str = field(default_factory=platform.node)
    """Name of the host."""
    choices: Choices = field(default_factory=dict)
    """Kernel selections that the task had to measure."""


class PointTask(Protocol):
    """A point's run, which can be sent to another process."""

    @property
    def files(self) -> Sequence[Path]:
        """The files that the task reads."""

    def run(self) -> RunOutcome:
        """Run the point; raise the errors of a run."""


def done(task: PointTask) -> TaskResult:
    """Run a task where it is called, and return its outcome, even that of a failed one."""
    started, before = RunClock(), known_choices()
    try:
        with reporting(Reporter(quiet=True)):
            outcome = task.run()
    except UserError as error:
        outcome = failed("; ".join(error.problems))
    except GpusimError as error:
        outcome = failed(f"{type(error).__name__}: {error}", 1)
    made = {key: choice for key, choice in known_choices().items() if key not in before}
    return TaskResult(outcome, started.date, started.seconds, choices=made)


@dataclass(frozen=True)
class JobTask:
    """The task of a point that is a job."""

    make: Callable[..., Job]
    """Creates the job from `arguments`, in the process that runs it."""
    arguments: tuple[Any, ...]
    """Arguments of `make`."""
    files: Sequence[Path]
    """Files that the job reads."""

    def job(self) -> Job:
        """Make the job."""
        return self.make(*self.arguments)

    def run(self) -> RunOutcome:
        """Run the job quietly, to its end or not at all; who sent the task decides about Ctrl-C."""
        job = self.job()
        records = runner.run(job, Reporter(quiet=True), Interrupt())
        return build_outcome(records, [variant.name for variant in job.variants], exit_code(records), job.about)


def run_task(config: RunConfig, work: RunDescription) -> JobTask:
    """Make the task of a point of `gpusim run`.

    Args:
        config: the point's configuration.
        work: what it runs.

    Returns:
        The task.
    """
    return JobTask(make_run_job, (config,), work.inputs)


def prepared(spec: SweepSpec, values: Mapping[str, Any], beside: Path) -> tuple[RunDescription, JobTask]:
    """Return work and task of a point; raise UserError where there can be no such point. beside: the sweep's file."""
    sets = sorted({**spec.sets, **values}.items(), key=lambda item: item[0].count("."))  # a section before its values
    return _KINDS[spec.kind](spec.varied, sets, beside)


def known_paths(spec: SweepSpec) -> list[str]:
    """List the paths of all values that a point may set."""
    model: Any = {"run": RunConfig, "exec": ExecConfig}.get(spec.kind)
    if model is None:
        from gpusim.config.network_run import NetworkSettings as model
    return [".".join(path) for path in all_paths(model)] + list(_BESIDE[spec.kind])


def check_paths(spec: SweepSpec) -> None:
    """Raise UserError for an axis or a fixed value that no configuration of this kind has; it names the nearest."""
    known = known_paths(spec)
    free = _FREE[spec.kind]
    problems = [
        f"{where}: {_unknown(path, known)}"
        for where, paths in (("axes", spec.axes), ("sets", spec.sets))
        for path in paths
        if path not in known and not path.startswith(free)
    ]
    if problems:
        raise UserError(*problems)


def _unknown(path: str, known: Sequence[str]) -> str:
    """Return a message on an unknown path, with the nearest known one: first among those of the same last name."""
    same_end = [k for k in known if k.rpartition(".")[2] == path.rpartition(".")[2]]
    guess = nearest(path, same_end, 0.0) if same_end else nearest(path, known)
    return f"{path}: unknown path" + (f"; did you mean '{guess}'?" if guess else "")


def _assigned(sets: Sequence[tuple[str, Any]], beside: Sequence[str]) -> tuple[dict[str, Any], list[Assignment]]:
    """Divide a point's values into those besides the configuration and assignments to the configuration."""
    said = {path: value for path, value in sets if path in beside}
    laid = [Assignment(f"{p}={v}", tuple(p.split(".")), v) for p, v in sets if p not in beside]
    return said, laid


def _run(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[RunDescription, JobTask]:
    said, laid = _assigned(sets, _BESIDE["run"])
    config = load_run(_opened(said.get(CONFIG, varied), "", beside), laid)
    work = describe_run(config)
    return work, run_task(config, work)


def _exec(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[RunDescription, JobTask]:
    said, laid = _assigned(sets, _BESIDE["exec"])
    config, path = load_exec(_opened(said.get(CONFIG, varied), EXAMPLE_FOLDER, beside), laid)
    if config.outputs:
        raise UserError(f"{next(iter(config.outputs))}: the points of a sweep would write one file")
    work = describe_exec(config, path)
    return work, JobTask(_exec_job, (config, path), work.inputs)


def _exec_job(config: ExecConfig, path: Path) -> ExecJob:
    return ExecJob(config, path, Reporter(quiet=True))


def _net(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[RunDescription, JobTask]:
    from gpusim.config.network_run import load_settings
    from gpusim.study.sweep.network_tasks import build_network_task

    said, laid = _assigned(sets, _BESIDE["net"])
    gpu = next((a.value for a in laid if a.path == ("gpu",)), "mi6")
    settings = load_settings(_opened(gpu, GPU_FOLDER, beside), [a for a in laid if a.path != ("gpu",)])
    return build_network_task(str(said.get(NETWORK, varied)), said, settings)


def _opened(name: Any, folder: str, beside: Path) -> files.Document:
    """Open a file from here, next to the sweep's file, or a shipped one."""
    if isinstance(name, Mapping):
        return files.opened(name, folder)
    path = files.find(str(name), folder, beside)
    return files.Document(path, files.read(path), [path])


_KINDS: dict[str, Callable[[str, Sequence[tuple[str, Any]], Path], tuple[RunDescription, JobTask]]] = {
    "run": _run,
    "exec": _exec,
    "net": _net,
}
_BESIDE = {
    "run": (CONFIG,),
    "exec": (CONFIG,),
    "net": (NETWORK, "batch", "phase", "layers", "data", "engine", PERTURBATION),
}
_FREE = {"run": ("gpu.base",), "exec": ("arguments.", "gpu.base"), "net": ("gpu.base",)}
