"""The plan: all points of the chosen figures, each once, with what they are estimated to cost."""

import json
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.progress import PLAIN_INTERVAL_S, Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import OWN_PRODUCTS
from gpusim.config.run import RunConfig
from gpusim.config.workload import AUTO, FASTEST, EngineMode
from gpusim.jobs.demand.launch_work import may_be_sampled
from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.run_costs import RunCost, RunEstimate, estimate_network_run
from gpusim.jobs.networks.job import NetworkJob, describe_network_run
from gpusim.jobs.networks.run import NetworkRunRequest, planned_iteration
from gpusim.jobs.running.operators import gpu_facts
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint, PointSelection, load_network_once, settings_of
from gpusim.lab.papers.points import ReproductionPoint, RunsFigure, shape_of
from gpusim.lab.papers.publication import Figure, Reproduction
from gpusim.lab.papers.specs.reproduction import ReproductionSpec
from gpusim.lab.versions.model import CONFIGURATION, KERNELS, FigureVersion, kernels_hash, present_version
from gpusim.results.metrics import leaves
from gpusim.results.store.work import RunDescription, describe_run, identity_of
from gpusim.study.sweep.tasks import JobTask, run_task
from workloads.operators.gemm import GemmBuffers
from workloads.operators.gemm_kernels import GEMM_KERNELS, SPARSE_CHOICES, sparse_estimates
from workloads.operators.sparse_tiling import dense_cycles
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

PREPARED_MB_PER_S = 150.0  # of the dense operand: drawn, im2col, packed; measured
CHOICES = {AUTO: SPARSE_CHOICES, **FASTEST}  # of kernels.sparse, each one of these kernels
USUAL_ZEROS = 0.7  # of maps whose zeros only the data tell
STARTED_S = 2.0  # of a process that runs a network
_NO_WORK = {"sparsity", "layer_sparsity", "engine", "energy", "monitor"}  # settings that no dense iteration depends on
_NO_MEMORY = {*_NO_WORK, "sampling"}  # settings without a buffer
_NO_ESTIMATE = {*_NO_WORK, "sparse_convolution", "sparse_gradients"}  # an estimate is of the dense iteration


@dataclass(frozen=True)
class PlannedPoint:
    """A point that is to be run."""

    point: ReproductionPoint | NetworkPoint
    """The point."""
    config: Any
    """Configuration of its run: a RunConfig, or a network's NetworkSettings."""
    products: Sequence[VendorProduct]
    """Products of libraries that the run needs."""
    engine: bool
    """It runs with the compaction engine."""
    sampled: bool
    """It is simulated in part."""
    describe: Callable[[Any], RunDescription]
    """Returns the identity in a store of a run with a configuration. One simulated in whole has another than a sampled
    one: which of the two a store has is to change no digit."""
    estimate: Callable[[], tuple[RunCost, Mapping[Hashable, float]]]
    """Estimates processor time, cycles and memory, and the same time by parts; none: the run is one part."""
    build_task: Callable[[RunDescription, Path], JobTask]
    """Returns the task that runs it; the file is a store for what is found out about single launches."""

    @property
    def key(self) -> str:
        """The point's unique name."""
        return self.point.key

    @cached_property
    def work(self) -> RunDescription:
        """The run's identity in a store."""
        return self.describe(self.config)

    @property
    def cost(self) -> RunCost:
        """Estimated processor time, cycles and memory."""
        return self._estimated[0]

    @property
    def seconds(self) -> float:
        """Estimated processor time."""
        return self.cost.cpu_s

    @property
    def parts(self) -> Mapping[Hashable, float]:
        """The same processor time by what it is spent on; what points have in common has the same key in each.

        Two figures may ask for the same run by other names.
        """
        return self._estimated[1] or {self.work.configuration_hash: self.seconds}

    @cached_property
    def _estimated(self) -> tuple[RunCost, Mapping[Hashable, float]]:
        return self.estimate()

    @cached_property
    def configuration(self) -> str:
        """A hash of its configuration without defaults, which are the model's, and of the network and input files."""
        given = self.config.model_dump(mode="json", exclude_defaults=True)
        kinds = {path: value for path, value in leaves(self.work.configuration) if path.endswith(".kind")}
        network = self.work.network.identity if self.work.network is not None else ""
        decisive = json.dumps([given, kinds], sort_keys=True)
        return identity_of(decisive, self.engine, self.work.inputs_hash, network, self.work.title)

    def version(self, kernels: Iterable[str]) -> FigureVersion:
        """Return the version of a run of the point now. kernels: names of those that it launches."""
        own = {KERNELS: kernels_hash(kernels), CONFIGURATION: self.configuration}
        launches = "networks" if isinstance(self.point, NetworkPoint) else "products"
        architecture = self.config.gpu.architecture
        return present_version(architecture, launches, engine=self.engine, sampled=self.sampled, own=own)

    def task(self, store: Path) -> JobTask:
        """Return the task that runs it. store: where what is found out about single launches may be kept."""
        return self.build_task(self.work, store)


@dataclass(frozen=True)
class _Iterations:
    """What is known of dense iterations of networks, which many points have in common."""

    fitting: set[tuple[str, int, str]] = field(default_factory=set)
    """Those that their GPU's memory holds, by network, batch and settings."""
    estimates: dict[tuple[str, int, str], RunEstimate] = field(default_factory=dict)
    """Estimates, by the same."""


@dataclass(frozen=True)
class ReproductionPlan:
    """The points to run."""

    points: Mapping[str, PlannedPoint]
    """Points by key."""
    by_figure: Mapping[str, tuple[str, ...]]
    """Keys of each figure's points; empty for a figure without runs."""


def together(points: Iterable[Mapping[Hashable, float]]) -> float:
    """Return the processor time of points by their parts, each part once."""
    once: dict[Hashable, float] = {}
    for parts in points:
        once |= parts
    return plain_sum(once.values())


def estimated(points: Sequence[PlannedPoint], reporter: Reporter) -> Iterator[PlannedPoint]:
    """Yield points that have been estimated, each a second or more, and say every few seconds how many have."""
    said = time.monotonic()
    for number, planned in enumerate(points, 1):
        _ = planned.cost  # it keeps it
        if time.monotonic() - said >= PLAIN_INTERVAL_S:
            said = time.monotonic()
            reporter.say(f"estimating: {number} of {len(points)} points")
        yield planned


def plan_points(
    reproduction: Reproduction,
    figures: Mapping[str, Figure],
    exact: bool = False,
    selection: PointSelection = PointSelection(),
) -> ReproductionPlan:
    """Plan the points of these figures; raise UserError where two points with the same key differ.

    Args:
        reproduction: The publication.
        figures: Its figures, or some.
        exact: Simulate in whole.
        selection: Which of networks' runs are planned.
    """
    points: dict[str, PlannedPoint] = {}
    known = _Iterations()
    by_figure: dict[str, tuple[str, ...]] = {}
    for name, figure in figures.items():
        keys = []
        for point in figure.points(reproduction) if isinstance(figure, NetworkFigure) else ():
            if selection.has(point):
                keys.append(point.key)
                if point.key not in points:
                    points[point.key] = _plan_network(reproduction, point, exact, known)
        for one in figure.points(reproduction.spec, exact) if isinstance(figure, RunsFigure) else ():
            keys.append(one.key)
            if one.key not in points:
                points[one.key] = _plan_product(reproduction.spec, one, exact)
            elif _is_another(points[one.key].point, one):
                raise UserError(f"{name}: '{one.key}' is another point than that of this name in a figure before it")
        by_figure[name] = tuple(keys)
    return ReproductionPlan(points, by_figure)


def _is_another(first: ReproductionPoint | NetworkPoint, point: ReproductionPoint) -> bool:
    """Tell whether two products of one name are different runs."""
    assert isinstance(first, ReproductionPoint)
    return (first.sets, first.given.data) != (point.sets, point.given.data)


def _plan_network(reproduction: Reproduction, point: NetworkPoint, exact: bool, known: _Iterations) -> PlannedPoint:
    """Plan a network's run. known: of the publication's iterations up to now, to which this one's is added."""
    runs = reproduction.runs
    network, settings = load_network_once(runs.networks[point.network].network), settings_of(reproduction, point, exact)
    engine: EngineMode = "on" if runs.ways[point.way].engine else "off"
    wanted = NetworkRunRequest(point.batch, runs.phase == "train", data="synthetic", verify=False, engine=engine)
    need = (runs.networks[point.network].network, point.batch, settings.model_dump_json(exclude=_NO_MEMORY))
    try:
        if need not in known.fitting:
            planned_iteration(network, settings, wanted.batch, wanted.train)
            known.fitting.add(need)
    except UserError as error:
        raise UserError(*(f"{point.key}: {problem}" for problem in error.problems)) from None

    def estimate() -> tuple[RunCost, Mapping[Hashable, float]]:
        """Estimate by classes of launches, of which a store keeps the facts from one point to the next.

        With the engine, whose zeros decide, the time is the dense run's; with a library's products, which only the
        library knows, that of ours. Both have classes of their own.
        """
        own = settings.model_copy(update={"products": OWN_PRODUCTS})
        iteration = (*need[:2], own.model_dump_json(exclude=_NO_ESTIMATE))
        if iteration not in known.estimates:
            known.estimates[iteration] = estimate_network_run(network, own, wanted)
        of_network = known.estimates[iteration]
        under = (settings.gpu.model_dump_json(), engine, settings.products)
        parts: dict[Hashable, float] = {
            point.key: STARTED_S,
            **{(*under, one): spent for one, spent in of_network.seconds.items()},
        }
        return replace(of_network.cost, cpu_s=STARTED_S + of_network.cost.cpu_s), {point.key: STARTED_S, **parts}

    def build_task(work: RunDescription, store: Path) -> JobTask:
        """Build a task that stores what it finds out about a launch at once, so that it can be continued."""
        return JobTask(NetworkJob, (network, settings, replace(wanted, store=store)), work.inputs)

    return PlannedPoint(
        point=point,
        config=settings,
        products=[VENDOR_PRODUCTS[name] for name in (settings.products,) if name in VENDOR_PRODUCTS],
        engine=engine != "off",
        sampled=settings.sampling is not None,
        describe=lambda config: describe_network_run(network, config, wanted),
        estimate=estimate,
        build_task=build_task,
    )


def _plan_product(spec: ReproductionSpec, point: ReproductionPoint, exact: bool) -> PlannedPoint:
    config = point.config()

    def estimate() -> tuple[RunCost, Mapping[Hashable, float]]:
        """Estimate by the publication's rates, and cycles by the closed forms that `kernels: auto` chooses by."""
        shape, facts, seconds = shape_of(config), gpu_facts(config.gpu), _seconds(spec, point, config, exact)
        cycles = dense_cycles(shape, facts)
        if config.run.engine != "off":
            by_kernel = sparse_estimates(shape, getattr(config.workload, "sparsity", 0.0), facts)
            cycles = by_kernel.get(config.kernels.sparse, min(by_kernel.values()))
        return RunCost(seconds, cycles, load_checked().memory_mb(GemmBuffers.bytes_of(shape) / 1e6)), {}

    return PlannedPoint(
        point=point,
        config=config,
        products=config.vendor_products,
        engine=config.run.engine != "off",
        sampled=config.run.sampling is not None,
        describe=describe_run,
        estimate=estimate,
        build_task=lambda work, store: run_task(config, work),
    )


def _seconds(spec: ReproductionSpec, point: ReproductionPoint, config: RunConfig, exact: bool) -> float:
    shape, way = shape_of(config), spec.paths[point.labels["path"]]
    gmac = simulated = 1e-9 * shape.m * shape.n * shape.k
    if way.sampled and not exact and gmac > spec.sampled_gmac and _may_be_sampled(config, shape):
        simulated = spec.sampled_gmac
    prepared = 4e-6 * shape.n * shape.ldb / PREPARED_MB_PER_S
    return 1.0 + prepared + way.seconds_per_gmac * simulated


def _may_be_sampled(config: RunConfig, shape: GemmShape) -> bool:
    """Tell whether the sparse kernel of a run, or the one that is likely to be chosen, can be sampled; others can."""
    name, facts = config.kernels.sparse, gpu_facts(config.gpu)
    if config.run.engine == "off":
        return True
    if name in CHOICES:
        zeros = getattr(config.workload, "sparsity", USUAL_ZEROS)
        by_kernel = sparse_estimates(shape, zeros, facts, CHOICES[name])
        name = min(by_kernel, key=lambda kernel: by_kernel[kernel])
    return name not in GEMM_KERNELS or may_be_sampled(name, shape, facts)
