"""From a point to its work: a configuration that is checked here, and a task that runs it, wherever that is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, get_args

from gpusim.base.errors import GpusimError, UserError, nearest, unknown_name
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, reporting
from gpusim.config import files
from gpusim.config.exec import EXAMPLE_FOLDER, ExecConfig, load_exec
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.models import all_paths
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings, load_settings
from gpusim.config.run import RunConfig, load_run
from gpusim.config.sweep import SweepSpec
from gpusim.config.tree import Assignment
from gpusim.config.workload import EngineMode
from gpusim.jobs import runner
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.job import Job
from gpusim.jobs.kinds import job_of
from gpusim.keeping.asked import work_of_exec, work_of_run
from gpusim.keeping.keeper import Started
from gpusim.keeping.outcome import Outcome, failed, of_records
from gpusim.keeping.work import Work
from gpusim.networks.modes import run_modes
from gpusim.networks.run import DataChoice, Wanted
from gpusim.networks.script import Phase
from gpusim.networks.stored import of_network, work_of_network
from gpusim.results.exit_code import EXIT_NOT_AS_EXPECTED, exit_code
from workloads.networks.graph import Network

# what a point may say beside the paths of its configuration, and of what kind of sweep
CONFIG, NETWORK = "config", "network"


@dataclass(frozen=True)
class Done:
    """What a task left behind, and when it was done."""

    outcome: Outcome
    date: str
    seconds: float


class Task(Protocol):
    """A point's run, which can be sent to another process."""

    def run(self) -> Outcome:
        """Do it; raises what a run raises."""


def done(task: Task) -> Done:
    """A task's outcome, that of a failed one too. Called where the task is run."""
    started = Started()
    try:
        with reporting(Reporter(quiet=True)):
            outcome = task.run()
    except UserError as error:
        outcome = failed("; ".join(error.problems))
    except GpusimError as error:
        outcome = failed(f"{type(error).__name__}: {error}", 1)
    return Done(outcome, started.date, started.seconds)


@dataclass(frozen=True)
class RunTask:
    """`gpusim run`."""

    config: RunConfig

    def run(self) -> Outcome:
        """Simulate."""
        return _ran(job_of(self.config))


@dataclass(frozen=True)
class ExecTask:
    """`gpusim exec`."""

    config: ExecConfig
    path: Path

    def run(self) -> Outcome:
        """Execute."""
        return _ran(ExecJob(self.config, self.path, Reporter(quiet=True)))


@dataclass(frozen=True)
class NetTask:
    """`gpusim net`."""

    network: Network
    settings: NetworkSettings
    wanted: Wanted

    def run(self) -> Outcome:
        """Run an iteration."""
        found = run_modes(self.network, self.settings, self.wanted, Reporter(quiet=True), Interrupt())
        return of_network(found, EXIT_NOT_AS_EXPECTED if found.passed is False else 0)


def _ran(job: Job) -> Outcome:
    records = runner.run(job, Reporter(quiet=True), Interrupt())  # not entered: who sent the task decides about Ctrl-C
    return of_records(records, [variant.name for variant in job.variants], exit_code(records))


def prepared(spec: SweepSpec, values: Mapping[str, Any], beside: Path) -> tuple[Work, Task]:
    """Work and task of a point; raises UserError where there can be no such point. beside: the sweep's file."""
    sets = sorted({**spec.sets, **values}.items(), key=lambda item: item[0].count("."))  # a section before its values
    return _KINDS[spec.kind](spec.varied, sets, beside)


def check_paths(spec: SweepSpec) -> None:
    """Raise UserError for an axis or a fixed value that no configuration of this kind has; it names the nearest."""
    model: Any = {"run": RunConfig, "exec": ExecConfig, "net": NetworkSettings}[spec.kind]
    known = [".".join(path) for path in all_paths(model)] + list(_BESIDE[spec.kind])
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
    """An axis or a value that no configuration has, with the nearest one: first among those of the same last name."""
    same_end = [k for k in known if k.rpartition(".")[2] == path.rpartition(".")[2]]
    guess = nearest(path, same_end, 0.0) if same_end else nearest(path, known)
    return f"{path}: unknown path" + (f"; did you mean '{guess}'?" if guess else "")


def _assigned(sets: Sequence[tuple[str, Any]], beside: Sequence[str]) -> tuple[dict[str, Any], list[Assignment]]:
    """What is said beside a configuration, and what is laid over it."""
    said = {path: value for path, value in sets if path in beside}
    laid = [Assignment(f"{p}={v}", tuple(p.split(".")), v) for p, v in sets if p not in beside]
    return said, laid


def _run(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[Work, Task]:
    said, laid = _assigned(sets, _BESIDE["run"])
    config = load_run(_opened(said.get(CONFIG, varied), "", beside), laid)
    return work_of_run(config), RunTask(config)


def _exec(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[Work, Task]:
    said, laid = _assigned(sets, _BESIDE["exec"])
    config, path = load_exec(_opened(said.get(CONFIG, varied), EXAMPLE_FOLDER, beside), laid)
    if config.outputs:
        raise UserError(f"{next(iter(config.outputs))}: the points of a sweep would write one file")
    return work_of_exec(config, path), ExecTask(config, path)


def _net(varied: str, sets: Sequence[tuple[str, Any]], beside: Path) -> tuple[Work, Task]:
    said, laid = _assigned(sets, _BESIDE["net"])
    network = _network(str(said.get(NETWORK, varied)))
    gpu = next((a.value for a in laid if a.path == ("gpu",)), "mi6")
    settings = load_settings(_opened(gpu, GPU_FOLDER, beside), [a for a in laid if a.path != ("gpu",)])
    choices = (("phase", get_args(Phase)), ("data", get_args(DataChoice)), ("engine", get_args(EngineMode)))
    for name, allowed in choices:
        if name in said and said[name] not in allowed:
            raise UserError(f"{name}: {unknown_name('choice', str(said[name]), allowed)}")
    batch = said.get("batch", network.batch or 1)
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise UserError(f"batch: {batch!r} is not allowed: must be a whole number of at least 1")
    layers = said.get("layers")
    wanted = Wanted(
        batch,
        said.get("phase") == "train",
        None if layers is None else str(layers),
        said.get("data", "auto"),
        engine=said.get("engine", "off"),
    )
    return work_of_network(network, settings, wanted, None), NetTask(network, settings, wanted)


def _opened(name: Any, folder: str, beside: Path) -> files.Document:
    """A file from here, beside the sweep's file, or a shipped one."""
    if isinstance(name, Mapping):
        return files.opened(name, folder)
    path = files.find(str(name), folder, beside)
    return files.Document(path, files.read(path), [path])


@lru_cache(maxsize=64)
def _network(name: str) -> Network:
    return load_network(name)


_KINDS: dict[str, Callable[[str, Sequence[tuple[str, Any]], Path], tuple[Work, Task]]] = {
    "run": _run,
    "exec": _exec,
    "net": _net,
}
_BESIDE = {"run": (CONFIG,), "exec": (CONFIG,), "net": (NETWORK, "batch", "phase", "layers", "data", "engine")}
_FREE = {"run": ("gpu.base",), "exec": ("arguments.", "gpu.base"), "net": ("gpu.base",)}
