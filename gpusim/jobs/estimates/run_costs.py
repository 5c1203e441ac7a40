"""What a run would cost before it runs: processor time, cycles and memory; and how far off such estimates have been.

A run is estimated from similar runs of a store. These are of the same kind and do the same work in the same way: their
configurations agree on the workload, and their designs differ in the fewest values, the nearest first. Other work costs
something else, by no rule that a store knows. How far off such estimates are is found by leaving each stored run out
and estimating it from the others.

Without similar runs, the launches of a run are counted and estimated by bounds. The record of shipped runs
(`gpusim.jobs.estimates.checked`) has the errors of these estimates.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpusim.base.axis_roles import role_of
from gpusim.base.formats import FIXED_0, FIXED_2
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.demand.launch_work import launch_work
from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.fitted import EstimateFit, load_fitted
from gpusim.jobs.estimates.launches import LaunchDemand
from gpusim.jobs.estimates.network import estimate_cost, sampled_share
from gpusim.jobs.host.command_processor import CopyCommand, execute
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.run import NetworkRunRequest, is_real
from gpusim.jobs.running.job import CommandTask, Job, JobOptions
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import occupancy, residency
from gpusim.results.metrics import leaves
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import RunDescription
from isa.launch import Launch
from workloads.networks.graph import Network

NOTE = "by bounds: the launches were looked at and counted, and nothing was simulated"
ENGINE_NOTE = "of a network with the engine, whose zeros decide, it is the estimate of its dense run"
NEAREST = 3  # like runs that an estimate is the mean of
FEWEST = 4  # stored runs from which on an error is said
MOST = 400  # of them that are read, the latest
_CPU, _CYCLES, _MEMORY = "simulator.cpu_s", "kernel.cycles", "simulator.peak_memory_mb"
# how often and how far the work is run; of `gpu` its name stands for the values, which may differ
_WAYS = frozenset(f"run.{name}" for name in ("engine", "sampling", "draws", "timing"))
_OF_RUNS = """
    SELECT runs.id, runs.wall_s, configurations.json FROM runs JOIN configurations ON configuration = hash
    WHERE kind = ? AND state = 'done' ORDER BY runs.id DESC LIMIT ?
"""
_VALUES = """
    SELECT subjects.run, metric_names.name, metric_values.value FROM metric_values
    JOIN subjects ON subjects.id = metric_values.subject JOIN metric_names ON metric_names.id = metric_values.metric
    WHERE subjects.launch IS NULL AND subjects.layer IS NULL AND metric_names.name IN (?, ?, ?)
"""


@dataclass(frozen=True)
class RunCost:
    """Cost of a run."""

    cpu_s: float
    """Processor seconds, including the work around the simulation."""
    cycles: float
    """Cycles of its kernels in all variants."""
    memory_mb: float
    """Largest resident memory in megabytes."""

    @classmethod
    def total(cls, costs: Sequence["RunCost"]) -> "RunCost":
        """Add the costs of runs that run one after another."""
        return cls(
            math.fsum(cost.cpu_s for cost in costs),
            math.fsum(cost.cycles for cost in costs),
            max((cost.memory_mb for cost in costs), default=0.0),
        )


@dataclass(frozen=True)
class RunEstimate:
    """Estimated cost of a run over all its variants, from its launches."""

    cycles: float
    """Simulated cycles."""
    cpu_s: float
    """Processor seconds."""
    device_mb: float
    """Peak device memory in megabytes."""
    seconds: Mapping[LaunchClass, float] = field(default_factory=dict)
    """Processor seconds of a network by class of launches, for one variant and one repetition."""

    @property
    def cost(self) -> RunCost:
        """The same as a cost, with a process's memory by the record of shipped runs."""
        return RunCost(self.cpu_s, self.cycles, load_checked().memory_mb(self.device_mb))


class CostEstimator:
    """Estimates what runs would cost: from similar runs of a store that may not exist, or from their launches."""

    def __init__(self, store: Path, *kinds: str) -> None:
        self._similar: dict[str, SimilarRuns] = {}
        self._counted = False
        if store.exists():
            with StoreReader(store) as results:
                self._similar = {kind: SimilarRuns(results, kind) for kind in kinds}

    def from_similar(self, work: RunDescription) -> RunCost | None:
        """Estimate a run from similar ones of the store; None without any."""
        similar = self._similar.get(work.kind)
        return None if similar is None else similar.of(work.configuration)

    def from_launches(self, job: Job) -> RunCost:
        """Estimate a job by bounds from its launches (`estimate_job`). Raises UserError."""
        self._counted = True
        return estimate_job(job).cost

    def notes(self, *remarks: str) -> list[str]:
        """Return the basis of the estimates so far, with the errors of earlier ones. remarks: on those by bounds."""
        lines = [line for similar in self._similar.values() for line in similar.notes()]
        return lines + (bounds_notes(*remarks) if self._counted else [])


def bounds_notes(*remarks: str) -> list[str]:
    """Return the lines below estimates by bounds: their basis, the remarks, and the errors of earlier ones."""
    return [NOTE, *remarks, *load_checked().notes()]


def job_remarks(job: Job) -> list[str]:
    """Return what an estimate of a job by bounds leaves out."""
    return [ENGINE_NOTE] if isinstance(job, NetworkJob) and job.wanted.engine != "off" else []


def estimate_job(job: Job) -> RunEstimate:
    """Estimate a job whose variants are lists of launches and copies, or a network's; TypeError for any other.

    Operands are laid into memory as for a run, and launches that fill what later ones are decided by are executed
    without timing. Of a kernel that is chosen by measuring the likeliest counts. Raises UserError as preparing a run
    does.
    """
    if isinstance(job, NetworkJob):
        return estimate_network_run(job.network, job.settings, job.wanted)
    fitted = load_fitted()
    rates, parts = fitted.rates.here(), list[RunEstimate]()
    for variant in job.variants:
        task = variant.prepare()
        if not isinstance(task, CommandTask):
            raise TypeError(f"{job.kind}: is no list of launches")
        parts.append(_estimate_variant(task, job.gpu, job.options, fitted, rates))
    return RunEstimate(
        plain_sum(part.cycles for part in parts),
        plain_sum(part.cpu_s for part in parts) * job.options.draws,
        max(part.device_mb for part in parts),
    )


def estimate_network_run(network: Network, settings: NetworkSettings, wanted: NetworkRunRequest) -> RunEstimate:
    """Estimate a network's run; with the engine each variant as the dense one (ENGINE_NOTE).

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.

    Raises:
        UserError: The memory does not hold the iteration.
    """
    variants = 2 if wanted.engine == "both" or wanted.gains else 1
    iteration, cost = estimate_cost(network, settings, replace(wanted, engine="off"))
    # of made-up values no more memory is touched than launches do, one after another
    touched = max((one.asked.read_bytes + one.asked.written_bytes for one in iteration.placed), default=0.0)
    device_bytes = max(iteration.planned.live_bytes) if is_real(wanted, iteration.planned) else touched
    seconds = iteration.seconds(iteration.fitted.rates.here())
    return RunEstimate(variants * iteration.cycles, variants * wanted.draws * cost.cpu_s, device_bytes / 1e6, seconds)


def _estimate_variant(
    task: CommandTask, gpu: GpuSpec, options: JobOptions, fitted: EstimateFit, rates: Rates
) -> RunEstimate:
    cycles, cpu_s, device_bytes = [0.0], [0.0], 0
    demands: dict[int, LaunchDemand] = {}
    for command in task.commands:
        if isinstance(command, CopyCommand):
            command.move()
            continue
        launch = command.launch
        if id(launch) not in demands:
            demands[id(launch)] = launch_demand(launch, gpu)
        demand = demands[id(launch)]
        device_bytes = max(device_bytes, sum(allocation.size_bytes for allocation in launch.memory.allocations))
        if command.decisive:
            execute(launch, residency=residency(launch, gpu))
        if not options.timing:
            cpu_s.append(demand.work.instructions / rates.executed_per_s)
            continue
        whole = fitted.correction.cycles(demand, launch.kernel.name, command.machine(gpu)).cycles
        limit = options.launches.max_cycles
        share = min(1.0, limit / whole) if limit else 1.0
        if options.launches.sampling is not None:
            share = sampled_share(demand, gpu, rates)
        cycles.append(min(whole, limit) if limit else whole)
        cpu_s.append(rates.seconds(demand, share))
    return RunEstimate(plain_sum(cycles), plain_sum(cpu_s), device_bytes / 1e6)


def launch_demand(launch: Launch, gpu: GpuSpec) -> LaunchDemand:
    """Return a launch's demand; each array that it is given, from its pointer on, may be read and written.

    Args:
        launch: The launch; what it stores while it is looked at stays in its memory.
        gpu: The GPU that runs it.
    """
    given = {address: array.end - address for address in launch.pointers if (array := launch.memory.at(address))}
    size = float(sum(given.values()))
    return LaunchDemand(launch_work(launch, gpu), size, size, occupancy(launch, gpu.cu).workgroups_per_cu)


@dataclass(frozen=True)
class _KnownRun:
    values: Mapping[str, Any]
    cost: RunCost


class SimilarRuns:
    """The finished runs of a kind in a store, as what an estimate is made of."""

    def __init__(self, results: StoreReader, kind: str) -> None:
        self._groups: dict[str, list[_KnownRun]] = {}
        for one in _known_runs(results, kind):
            self._groups.setdefault(_work_of(one.values), []).append(one)
        self._asked = dict[str, None]()

    def of(self, configuration: Mapping[str, Any]) -> RunCost | None:
        """Estimate the cost of a run with this configuration; None without any like run."""
        values = dict(leaves(configuration))
        work = _work_of(values)
        if work not in self._groups:
            return None
        self._asked[work] = None
        return _estimate(values, self._groups[work])

    def error(self) -> float | None:
        """Return by which factor processor time was off in the median, of the runs that were like those asked for, each
        left out in turn; None for few runs.
        """
        off = []
        for group in (self._groups[work] for work in self._asked):
            for number, one in enumerate(group):
                found = _estimate(one.values, [*group[:number], *group[number + 1 :]])
                if found is not None:
                    off.append(abs(math.log(found.cpu_s / one.cost.cpu_s)))
        return math.exp(statistics.median(off)) if len(off) >= FEWEST else None

    def notes(self) -> list[str]:
        """Return what the estimates so far rest on, and how far off such ones were; nothing where there were none."""
        known = plain_sum(len(self._groups[work]) for work in self._asked)
        if not known:
            return []
        lines = [f"estimated from {FIXED_0(known)} like run{'s' * (known != 1)} of the store; nothing was run"]
        error = self.error()
        if error is not None:
            lines.append(
                f"of those, each by the others, processor time is off by a factor of {FIXED_2(error)} in the median"
            )
        return lines


def _work_of(values: Mapping[str, Any]) -> str:
    """Return what must be equal of like runs: the workload but for its seed, what is run of it, the GPU's name."""
    work = {
        path: value
        for path, value in values.items()
        if (role_of(path) == "workload" and not path.endswith("seed"))
        or path == "gpu.name"
        or any(path == way or path.startswith(f"{way}.") for way in _WAYS)
    }
    return json.dumps(work, sort_keys=True)


def _known_runs(results: StoreReader, kind: str) -> Iterator[_KnownRun]:
    measured: dict[int, dict[str, list[float]]] = {}
    for run, name, value in results.rows(_VALUES, [_CPU, _CYCLES, _MEMORY]).rows:
        if isinstance(value, int | float):
            measured.setdefault(run, {}).setdefault(name, []).append(float(value))
    for run, wall_s, text in results.rows(_OF_RUNS, [kind, MOST]).rows:
        held = measured.get(run, {})
        if wall_s and _CYCLES in held:
            spent = max(math.fsum(held.get(_CPU, [])), 1e-3)
            cost = RunCost(spent, math.fsum(held[_CYCLES]), max(held.get(_MEMORY, [0.0])))
            yield _KnownRun(dict(leaves(json.loads(text))), cost)


def _estimate(values: Mapping[str, Any], known: Sequence[_KnownRun]) -> RunCost | None:
    """Return the geometric means over the nearest runs, of those that are equally near over all of them."""
    if not known:
        return None
    apart = sorted(((_distance(values, run.values), number) for number, run in enumerate(known)))
    last = apart[min(NEAREST, len(apart)) - 1][0]
    if apart[0][0] == 0:
        last = 0.0  # the same work by other code, or another seed
    near = [known[number].cost for distance, number in apart if distance <= last]
    return RunCost(
        statistics.geometric_mean([run.cpu_s for run in near]),
        statistics.geometric_mean([max(run.cycles, 1.0) for run in near]),
        max(run.memory_mb for run in near),
    )


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Return how unlike two configurations are: numbers by their ratio, anything else as one."""
    total = 0.0
    for path in one.keys() | other.keys():
        a, b = one.get(path), other.get(path)
        if a == b:
            continue
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and x > 0 for x in (a, b))
        total += 0.1 + abs(math.log(a / b)) if numbers else 1.0  # type: ignore[operator]
    return total
