"""The estimate of a network's iteration: launches, layers and passes, the whole, and what simulating it would cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.fitted import EstimateFit, load_fitted
from gpusim.jobs.estimates.launches import LaunchDemand, NetworkLaunch, placed_launches
from gpusim.jobs.estimates.model import Correction, LaunchEstimate
from gpusim.jobs.networks.choice import PASSES, ChoiceKey, chosen_kinds, has_few_products
from gpusim.jobs.networks.execution import sampling_of_classes
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launch_works import LaunchWorkCache
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.run import NetworkRunRequest, build_schedule, is_real, selected_layers
from gpusim.jobs.networks.settings import iteration_settings
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.networks.memory import MemoryPlan


class SimulationCost(NamedTuple):
    """Processor time of simulating an iteration, with each class of launches once."""

    cpu_s: float
    """Processor seconds as configured, whole or sampled."""
    whole_s: float
    """Processor seconds of a whole simulation."""
    sampled_s: float
    """Processor seconds if every launch with enough waves of workgroups is sampled."""
    executed_s: float
    """Processor seconds of executing all launches without timing, as a run on real values also does."""
    launches: int
    """Number of launches to simulate."""
    known: int
    """Number of launches that a store knows."""
    instructions: float
    """Wavefront instructions of the launches to simulate."""


@dataclass(frozen=True)
class LayerPassEstimate:
    """Estimate of a layer's pass."""

    layer: str
    """Name of the layer."""
    what: Pass
    """Pass."""
    operators: Sequence[str]
    """Names of the operators."""
    launches: int
    """Number of launches."""
    cycles: float
    """Estimated cycles."""
    bound: str
    """Resource that bounds most of its time."""
    unknown: int
    """Number of launches whose kernel the fit does not include."""


@dataclass(frozen=True)
class NetworkEstimate:
    """Estimate of a network's iteration."""

    network: Network
    """Network."""
    settings: NetworkSettings
    """Settings of the run."""
    planned: MemoryPlan
    """Memory plan."""
    train: bool
    """Training; otherwise inference."""
    placed: Sequence[NetworkLaunch]
    """Launches in order."""
    estimates: Sequence[LaunchEstimate]
    """Estimate of each launch."""
    fitted: EstimateFit
    """Fit that was used."""
    algorithms: Mapping[tuple[str, Pass], str]
    """Convolution algorithms by layer and pass, where estimates select them."""

    @property
    def batch(self) -> int:
        """Images in the batch."""
        return self.planned.schedule.batch

    @property
    def gpu(self) -> GpuSpec:
        """The GPU of the settings."""
        return self.settings.gpu

    @property
    def rows(self) -> list[LayerPassEstimate]:
        """By layer and pass, in order."""
        grouped: dict[tuple[str, Pass], list[tuple[NetworkLaunch, LaunchEstimate]]] = {}
        for placed, one in zip(self.placed, self.estimates, strict=True):
            grouped.setdefault((placed.layer, placed.what), []).append((placed, one))
        return [_row(*place, held) for place, held in grouped.items()]

    @property
    def cycles(self) -> float:
        """Cycles of all kernels."""
        return float(plain_sum(one.cycles for one in self.estimates))

    @property
    def time_us(self) -> float:
        """Time of the iteration, with what each launch takes before its kernel starts."""
        return self.kernel_us + len(self.estimates) * self.gpu.kernel_launch_us

    @property
    def band_us(self) -> tuple[float, float]:
        """The time if the kernels are as far off as iterations of networks that were left out, nine in ten of them."""
        launching = self.time_us - self.kernel_us
        errors = self.fitted.errors.iterations
        return self.kernel_us * errors.low + launching, self.kernel_us * errors.high + launching

    @property
    def kernel_us(self) -> float:
        """Time of all kernels."""
        return self.cycles / (self.gpu.clock_ghz * 1e3)

    def seconds(self, rates: Rates) -> dict[LaunchClass, float]:
        """Return the processor time of each class of launches, in whole or sampled as the settings say."""
        once, whole = {placed.one: placed.asked for placed in self.placed}, self.settings.sampling is None
        return {
            one: rates.seconds(asked, 1.0 if whole else sampled_share(asked, self.gpu, rates))
            for one, asked in once.items()
        }

    def cost(
        self, is_known: Callable[[LaunchClass], bool] = lambda _: False, rates: Rates | None = None
    ) -> SimulationCost:
        """Return what simulating it would cost on this host.

        Args:
            is_known: Launches that need not be simulated.
            rates: Rates of another host.
        """
        rates = rates or self.fitted.rates.here()
        once = {placed.one: placed for placed in self.placed}
        new = [placed for launch_class, placed in once.items() if not is_known(launch_class)]
        whole = plain_sum(rates.seconds(placed.asked) for placed in new)
        sampled = plain_sum(rates.seconds(placed.asked, sampled_share(placed.asked, self.gpu, rates)) for placed in new)
        return SimulationCost(
            cpu_s=float(whole if self.settings.sampling is None else sampled),
            whole_s=float(whole),
            sampled_s=float(sampled),
            executed_s=float(plain_sum(placed.asked.work.instructions for placed in self.placed))
            / rates.executed_per_s,
            launches=len(new),
            known=len(once) - len(new),
            instructions=float(plain_sum(placed.asked.work.instructions for placed in new)),
        )


def sampled_share(asked: LaunchDemand, gpu: GpuSpec, rates: Rates) -> float:
    """Return about what part of a launch is simulated where it is sampled."""
    rounds = asked.work.workgroups / (asked.resident * gpu.cus)
    return min(1.0, rates.sampled_rounds / rounds)


def estimate(
    network: Network,
    settings: NetworkSettings,
    batch: int,
    train: bool,
    layers: str | frozenset[str] | None = None,
    fitted: EstimateFit | None = None,
) -> NetworkEstimate:
    """Estimate an iteration without engine, over made-up values or real ones alike.

    Where `convolution` or `attention` is `auto`, each layer's pass is by the algorithm with the lowest estimate; a run
    measures.

    Args:
        network: The network.
        settings: Settings of a network's run.
        batch: Images in a batch.
        train: Train; False: forward alone.
        layers: As in `gpusim.jobs.networks.run.NetworkRunRequest`.
        fitted: None: the shipped one.

    Raises:
        UserError: The memory does not hold the iteration.
    """
    fitted, looked = fitted or load_fitted(), LaunchWorkCache(settings.gpu)
    chosen: Mapping[tuple[str, Pass], str] = {}
    if chosen_kinds(settings):
        chosen = _fastest_algorithms(network, settings, batch, train, layers, fitted.correction, looked)
    planned, placed = placed_launches(network, settings, batch, train, layers, chosen, looked)
    estimates = [fitted.correction.cycles(one.asked, one.kernel, settings.gpu) for one in placed]
    return NetworkEstimate(
        network=network,
        settings=settings,
        planned=planned,
        train=train,
        placed=placed,
        estimates=estimates,
        fitted=fitted,
        algorithms=chosen,
    )


def _fastest_algorithms(
    network: Network,
    settings: NetworkSettings,
    batch: int,
    train: bool,
    layers: str | frozenset[str] | None,
    correction: Correction,
    looked: LaunchWorkCache,
) -> Mapping[ChoiceKey, str]:
    """Return the algorithm of each pass of a layer whose algorithm no setting names, without those whose workspace the
    GPU's memory does not hold.

    Raises UserError where none can be estimated.
    """
    selected, schedule = selected_layers(network, layers), build_schedule(network, settings, batch, train)
    best: dict[ChoiceKey, tuple[float, str]] = {}
    refused: UserError | None = None
    for kind, names in chosen_kinds(settings).items():
        asked = frozenset(
            layer.name
            for layer in network.layers
            if layer.kind_name == kind and (selected is None or layer.name in selected)
        )
        for name in names if asked else ():
            places = {(layer, what): name for layer in asked for what in PASSES}
            iteration = iteration_settings(settings, chosen=places)
            try:
                steps = [step for step in schedule.steps if (step.layer, step.what) in places]
                many = {step.layer for step in steps if not has_few_products(schedule, step, iteration)}
                _, placed = placed_launches(network, settings, batch, train, asked - many, places, looked)
            except UserError as error:
                refused = error
                continue
            cycles: dict[ChoiceKey, float] = {}
            for one in placed:
                if one.what in PASSES:
                    found = correction.cycles(one.asked, one.kernel, settings.gpu).cycles
                    cycles[one.layer, one.what] = cycles.get((one.layer, one.what), 0.0) + found
            for place, found in cycles.items():
                if place not in best or found < best[place][0]:
                    best[place] = found, name
    if refused is not None and not best:
        raise refused
    return {place: name for place, (_, name) in best.items()}


def estimate_cost(
    network: Network, settings: NetworkSettings, wanted: NetworkRunRequest
) -> tuple[NetworkEstimate, SimulationCost]:
    """Return the estimate of an iteration without engine, and what simulating it costs beside the store of `wanted`.

    The cost's cpu_s has the execution of real values, where the run would have them; comparing them with NumPy comes on
    top, and measuring algorithms with `convolution: auto`.

    Args:
        network: The network.
        settings: Settings of its run.
        wanted: What is run; launches that its store knows cost nothing.

    Raises:
        UserError: The memory does not hold it.
    """
    estimated, store = estimate(network, settings, wanted.batch, wanted.train, wanted.layers), wanted.store
    if store is None or wanted.fresh or not store.is_file():
        cost = estimated.cost()
    else:
        kept = LaunchCache(store, settings.gpu)
        specs = sampling_of_classes(((placed.one, placed.share) for placed in estimated.placed), settings.sampling)
        try:
            cost = estimated.cost(lambda one: kept.get(one.sampled(specs.get(one))) is not None)
        finally:
            kept.close()
    if is_real(wanted, estimated.planned):
        cost = cost._replace(cpu_s=cost.cpu_s + cost.executed_s)
    return estimated, cost


def _row(layer: str, what: Pass, estimates: Sequence[tuple[NetworkLaunch, LaunchEstimate]]) -> LayerPassEstimate:
    by: dict[str, float] = {}
    for _, each in estimates:
        by[each.bounds.by] = by.get(each.bounds.by, 0.0) + each.cycles
    return LayerPassEstimate(
        layer=layer,
        what=what,
        operators=list(dict.fromkeys(placed.operator for placed, _ in estimates)),
        launches=len(estimates),
        cycles=float(plain_sum(each.cycles for _, each in estimates)),
        bound=max(by, key=lambda name: by[name]),
        unknown=sum(not each.known for _, each in estimates),
    )
