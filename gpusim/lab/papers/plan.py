"""The plan: all points of the chosen figures, each once, with what they are estimated to cost."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import OWN_PRODUCTS, NetworkSettings
from gpusim.config.run import RunConfig
from gpusim.config.workload import AUTO, FASTEST, EngineMode
from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.launch_work import may_be_sampled
from gpusim.jobs.estimates.run_costs import RunCost, RunEstimate, estimate_network_run
from gpusim.jobs.networks.job import NetworkJob, describe_network_run
from gpusim.jobs.networks.run import NetworkRunRequest, planned_iteration
from gpusim.jobs.running.operators import gpu_facts
from gpusim.lab.papers.network_points import (
    NetworkPoint,
    PointSelection,
    load_network_once,
    network_points,
    settings_of,
)
from gpusim.lab.papers.points import ReproductionPoint, list_points, shape_of
from gpusim.lab.papers.specs.figure import Figure, RunsFigure
from gpusim.lab.papers.specs.layer_figure import NetworkFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.results.store.work import RunDescription, describe_run
from gpusim.study.sweep.tasks import JobTask, run_task
from workloads.networks.graph import Network
from workloads.operators.gemm import GemmBuffers
from workloads.operators.gemm_kernels import GEMM_KERNELS, SPARSE_CHOICES, sparse_estimates
from workloads.operators.sparse_tiling import dense_cycles
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

PREPARED_MB_PER_S = 150.0  # of the dense operand: drawn, im2col, packed; measured
CHOICES = {AUTO: SPARSE_CHOICES, **FASTEST}  # of kernels.sparse, each one of these kernels
USUAL_ZEROS = 0.7  # of maps whose zeros only the data tell
STARTED_S = 2.0  # of a process that runs a network


class PlannedPoint(Protocol):
    """A point that is to be run."""

    @property
    def key(self) -> str:
        """The point's unique name."""

    @property
    def seconds(self) -> float:
        """Estimated processor time."""

    @property
    def cost(self) -> RunCost:
        """Estimated processor time, cycles and memory."""

    @property
    def parts(self) -> Mapping[Hashable, float]:
        """The same processor time by what it is spent on; what points have in common has the same key in each."""

    @property
    def work(self) -> RunDescription:
        """The run's identity in a store."""

    @property
    def whole(self) -> RunDescription | None:
        """The same run simulated in whole, which serves as well; None where it is that itself."""

    @property
    def products(self) -> Sequence[VendorProduct]:
        """Products of libraries that the run needs."""

    def task(self, store: Path) -> JobTask:
        """Return the task that runs it. store: where what is found out about single launches may be kept."""


@dataclass(frozen=True)
class PlannedProduct:
    """A planned point."""

    point: ReproductionPoint
    """Point."""
    config: RunConfig
    """Configuration of its run."""
    seconds: float
    """Estimated processor time in seconds."""

    @property
    def key(self) -> str:
        """The point's unique name."""
        return self.point.key

    @property
    def parts(self) -> Mapping[Hashable, float]:
        """The processor time under what is run: two figures may ask for the same by other names."""
        return {self.work.configuration_hash: self.seconds}

    @cached_property
    def work(self) -> RunDescription:
        """The run's identity in a store."""
        return describe_run(self.config)

    @property
    def cost(self) -> RunCost:
        """Estimated processor time, cycles and memory; cycles by the closed forms that `kernels: auto` chooses by."""
        shape, facts, workload = shape_of(self.config), gpu_facts(self.config.gpu), self.config.workload
        cycles = dense_cycles(shape, facts)
        if self.config.run.engine != "off":
            held = sparse_estimates(shape, getattr(workload, "sparsity", 0.0), facts)
            cycles = held.get(self.config.kernels.sparse, min(held.values()))
        return RunCost(self.seconds, cycles, load_checked().memory_mb(GemmBuffers.bytes_of(shape) / 1e6))

    @cached_property
    def whole(self) -> RunDescription | None:
        """The same run simulated in whole; None where it is that itself."""
        if self.config.run.sampling is None:
            return None
        run = self.config.run.model_copy(update={"sampling": None, "verify": True})
        return describe_run(self.config.model_copy(update={"run": run}))

    @property
    def products(self) -> Sequence[VendorProduct]:
        """Products of libraries that the run needs."""
        return self.config.vendor_products

    def task(self, store: Path) -> JobTask:
        """Return the task that runs it."""
        return run_task(self.config, self.work)


@dataclass(frozen=True)
class PlannedNetwork:
    """A network's run with its settings."""

    point: NetworkPoint
    network: Network
    settings: NetworkSettings
    wanted: NetworkRunRequest

    @property
    def key(self) -> str:
        """The point's unique name."""
        return self.point.key

    @property
    def seconds(self) -> float:
        """Estimated processor time (`gpusim.jobs.estimates`): with the engine, whose zeros decide, the dense run's;
        with a library's products, which only the library knows, that of ours.
        """
        return self.cost.cpu_s

    @cached_property
    def _estimated(self) -> RunEstimate:
        ours = self.settings.model_copy(update={"products": OWN_PRODUCTS})
        return estimate_network_run(self.network, ours, self.wanted)

    @property
    def cost(self) -> RunCost:
        """Estimated processor time, cycles and memory (`gpusim.jobs.estimates`)."""
        found = self._estimated.cost
        return replace(found, cpu_s=STARTED_S + found.cpu_s)

    @property
    def parts(self) -> Mapping[Hashable, float]:
        """The processor time by class of launches, of which a store keeps the facts from one point to the next.

        Those with the engine, or with a library's products, are estimated by others, and held apart from them.
        """
        under = (self.settings.gpu.model_dump_json(), self.wanted.engine, self.settings.products)
        return {self.key: STARTED_S, **{(*under, one): spent for one, spent in self._estimated.seconds.items()}}

    @property
    def products(self) -> Sequence[VendorProduct]:
        """Products of libraries that the run needs."""
        return [VENDOR_PRODUCTS[name] for name in (self.settings.products,) if name in VENDOR_PRODUCTS]

    @cached_property
    def work(self) -> RunDescription:
        """The run's identity in a store."""
        return describe_network_run(self.network, self.settings, self.wanted)

    @cached_property
    def whole(self) -> RunDescription | None:
        """The same run simulated in whole; None where it is that itself."""
        if self.settings.sampling is None:
            return None
        return describe_network_run(self.network, self.settings.model_copy(update={"sampling": None}), self.wanted)

    def task(self, store: Path) -> JobTask:
        """Return the task that runs it; what it finds out about a launch is kept at once, so that it can go on."""
        wanted = replace(self.wanted, store=store)
        return JobTask(NetworkJob, (self.network, self.settings, wanted), self.work.inputs)


@dataclass(frozen=True)
class ReproductionPlan:
    """The points to run."""

    points: Mapping[str, PlannedPoint]
    """Points by key."""
    by_figure: Mapping[str, tuple[str, ...]]
    """Keys of each figure's points; empty for a figure without runs."""

    def seconds(self, figure: str | None = None) -> float:
        """Return the estimated processor time of a figure's points, or of all, in seconds; what several have in common
        is simulated once.
        """
        keys = self.points if figure is None else self.by_figure[figure]
        return together(self.points[key].parts for key in keys)


def together(points: Iterable[Mapping[Hashable, float]]) -> float:
    """Return the processor time of points by their parts, each part once."""
    once: dict[Hashable, float] = {}
    for parts in points:
        once |= parts
    return plain_sum(once.values())


def plan_points(
    reproduction: Reproduction,
    figures: Mapping[str, Figure],
    exact: bool = False,
    asked: PointSelection = PointSelection(),
) -> ReproductionPlan:
    """Plan the points of these figures; raise UserError where two points with the same key differ.

    asked: which of networks' runs are planned.
    """
    points: dict[str, PlannedPoint] = {}
    by_figure: dict[str, tuple[str, ...]] = {}
    for name, figure in figures.items():
        if isinstance(figure, NetworkFigure):
            by_figure[name] = tuple(_network_points(reproduction, figure, exact, asked, points))
        else:
            by_figure[name] = tuple(_run_points(reproduction, name, figure, exact, points))
    return ReproductionPlan(points, by_figure)


def _run_points(
    reproduction: Reproduction, name: str, figure: Figure, exact: bool, points: dict[str, PlannedPoint]
) -> Iterator[str]:
    """Add the points of a figure of products to those that are planned, and yield their keys."""
    for point in list_points(reproduction, figure, exact) if isinstance(figure, RunsFigure) else ():
        held = points.get(point.key)
        if held is None:
            config = point.config()
            points[point.key] = PlannedProduct(point, config, _seconds(reproduction, point, config, exact))
        elif isinstance(held, PlannedProduct) and (held.point.sets, held.point.given.data) != (
            point.sets,
            point.given.data,
        ):
            raise UserError(f"{name}: '{point.key}' is another point than that of this name in a figure before it")
        yield point.key


def _network_points(
    reproduction: Reproduction,
    figure: NetworkFigure,
    exact: bool,
    asked: PointSelection,
    points: dict[str, PlannedPoint],
) -> Iterator[str]:
    """Add the points of a figure of networks to those that are planned, and yield their keys."""
    for point in network_points(reproduction, figure):
        if asked.has(point):
            if point.key not in points:
                points[point.key] = _planned_network(reproduction, point, exact)
            yield point.key


def _planned_network(reproduction: Reproduction, point: NetworkPoint, exact: bool) -> PlannedNetwork:
    runs = reproduction.runs
    network, settings = load_network_once(runs.networks[point.network].network), settings_of(reproduction, point, exact)
    engine: EngineMode = "on" if runs.ways[point.way].engine else "off"
    wanted = NetworkRunRequest(point.batch, runs.phase == "train", data="synthetic", verify=False, engine=engine)
    try:
        planned_iteration(network, settings, wanted.batch, wanted.train)
    except UserError as error:
        raise UserError(*(f"{point.key}: {problem}" for problem in error.problems)) from None
    return PlannedNetwork(point, network, settings, wanted)


def _seconds(reproduction: Reproduction, point: ReproductionPoint, config: RunConfig, exact: bool) -> float:
    shape, way = shape_of(config), reproduction.spec.paths[point.labels["path"]]
    gmac = simulated = 1e-9 * shape.m * shape.n * shape.k
    if way.sampled and not exact and gmac > reproduction.spec.sampled_gmac and _may_be_sampled(config, shape):
        simulated = reproduction.spec.sampled_gmac
    prepared = 4e-6 * shape.n * shape.ldb / PREPARED_MB_PER_S
    return 1.0 + prepared + way.seconds_per_gmac * simulated


def _may_be_sampled(config: RunConfig, shape: GemmShape) -> bool:
    """Tell whether the sparse kernel of a run, or the one that is likely to be chosen, can be sampled; others can."""
    name, facts = config.kernels.sparse, gpu_facts(config.gpu)
    if config.run.engine == "off":
        return True
    if name in CHOICES:
        held = sparse_estimates(shape, getattr(config.workload, "sparsity", USUAL_ZEROS), facts, CHOICES[name])
        name = min(held, key=lambda kernel: held[kernel])
    return name not in GEMM_KERNELS or may_be_sampled(name, shape, facts)
