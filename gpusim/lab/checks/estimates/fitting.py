"""The fit: launches of networks that a store knows, their errors by leaving one network out, the file's contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.processors import processor_name
from gpusim.base.sums import plain_sum
from gpusim.base.version import __version__
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.estimates.cost import LaunchCost, executed_per_s, fit_rates
from gpusim.jobs.estimates.errors import ErrorBreakdown, ErrorSummary, grouped_errors
from gpusim.jobs.estimates.fitted import EstimateFit, FitOrigin
from gpusim.jobs.estimates.launches import NetworkLaunch, placed_launches
from gpusim.jobs.estimates.model import FitExample, fit, left_out
from gpusim.jobs.networks.execution import rung_below
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launch_works import LaunchWorkCache
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import WINDOWS
from gpusim.model.sampling.spec import SamplingSpec
from workloads.networks.graph import Network

MOST_ERROR = 0.2  # half-width of a sampled launch that takes part: all that sampling leaves
USUAL_ROUNDS = 6.0  # simulated of a sampled launch, where the store has none that was sampled


@dataclass(frozen=True)
class FitPoint:
    """An iteration of a network on a GPU."""

    network: Network
    """The network."""
    settings: NetworkSettings
    """Settings of the run."""
    batch: int
    """Images in a batch."""
    train: bool
    """It is trained; False: forward alone."""

    @property
    def phase(self) -> str:
        """The phase's name."""
        return "train" if self.train else "inference"


@dataclass(frozen=True)
class PointFacts:
    """A point, its launches, and what a store knows of each; None: nothing."""

    point: FitPoint
    """The point."""
    launches: Sequence[NetworkLaunch]
    """Its launches."""
    facts: Sequence[RunFacts | None]
    """What a store has of each; None: nothing."""

    @property
    def found(self) -> int:
        """How many launches the store knows."""
        return sum(facts is not None for facts in self.facts)

    @property
    def whole(self) -> bool:
        """Whether it knows all of them."""
        return self.found == len(self.launches)


def known_launches(points: Sequence[FitPoint], store: Path) -> list[PointFacts]:
    """Look up each point's launches in a store.

    Args:
        points: Points of a fit.
        store: File of the store.

    Raises:
        UserError: The store lacks one.
    """
    if not store.is_file():
        raise UserError(f"--store {store}: there is no such store; `gpusim net NETWORK --store {store}` makes one")
    iterations, looked = [], dict[str, LaunchWorkCache]()
    for point in points:
        gpu = point.settings.gpu
        seen = looked.setdefault(gpu.model_dump_json(), LaunchWorkCache(gpu))
        _, launches = placed_launches(point.network, point.settings, point.batch, point.train, looked=seen)
        kept = LaunchCache(store, gpu)
        try:
            iterations.append(PointFacts(point, launches, [_known_facts(kept, placed.one) for placed in launches]))
        finally:
            kept.close()
    return iterations


def _known_facts(kept: LaunchCache, one: LaunchClass) -> RunFacts | None:
    """Return a class's facts from a store, whole ones before estimates and these by their precision; None without."""
    errors = dict.fromkeys(rung_below(max(MOST_ERROR / 2**halvings, 1e-4)) for halvings in range(12))
    specs = [SamplingSpec(error=error, within=within) for error in reversed(errors) for within in (False, True)]
    return next((facts for spec in (None, *specs) if (facts := kept.get(one.sampled(spec))) is not None), None)


def fitted_to(known: Sequence[PointFacts]) -> EstimateFit:
    """Fit the correction and the rates to all launches that are known; raises UserError."""
    known = _with_something_new(known)
    pairs = [
        (iteration.point, placed, facts)
        for iteration in known
        for placed, facts in zip(iteration.launches, iteration.facts, strict=True)
    ]
    rows = {
        (point.network.name, point.settings.gpu.name, placed.one): (point, placed, facts)
        for point, placed, facts in pairs
        if facts is not None
    }
    networks = sorted({network for network, _, _ in rows})
    if len(networks) < 2:
        held = f"those of {networks[0]} alone" if networks else "none"
        raise UserError(
            f"leaving one network out takes whole iterations of two networks; the store knows {held}: `gpusim net"
            " NETWORK --batch N --phase PHASE --data synthetic --store FILE` adds one"
        )
    examples = [
        FitExample.of(network, placed.kernel, placed.asked, point.settings.gpu, facts.cycles, placed.one)
        for (network, _, _), (point, placed, facts) in rows.items()
    ]
    estimated = dict(zip(rows, left_out(examples), strict=True))
    spent = {launch: _spent(placed, facts) for (_, _, launch), (_, placed, facts) in rows.items()}
    return EstimateFit(
        fit(examples),
        _errors(known, rows, estimated),
        fit_rates(list(spent.values()), executed_per_s(), USUAL_ROUNDS),
        FitOrigin(__version__, processor_name(), tuple(map(_described, known))),
    )


LaunchKey = tuple[str, str, LaunchClass]  # network, GPU, class


def _with_something_new(known: Sequence[PointFacts]) -> list[PointFacts]:
    """Return the iterations that are known whole and have launches that those before have not.

    Networks without a layer that an algorithm can compute are the same with another one.
    """
    informative, seen = list[PointFacts](), set[LaunchKey]()
    for iteration in known:
        point = iteration.point
        own = {(point.network.name, point.settings.gpu.name, placed.one) for placed in iteration.launches}
        if iteration.whole and own - seen:
            informative.append(iteration)
            seen |= own
    return informative


def _errors(
    known: Sequence[PointFacts],
    rows: Mapping[LaunchKey, tuple[FitPoint, NetworkLaunch, RunFacts]],
    estimated: Mapping[LaunchKey, float],
) -> ErrorBreakdown:
    launches = [(key, placed, estimated[key], float(facts.cycles)) for key, (_, placed, facts) in rows.items()]
    iterations: list[tuple[str, float, float]] = []
    for iteration in known:
        network, gpu = iteration.point.network.name, iteration.point.settings.gpu.name
        estimate = float(plain_sum(estimated[network, gpu, placed.one] for placed in iteration.launches))
        iterations.append(
            (network, estimate, float(plain_sum(facts.cycles for facts in iteration.facts if facts is not None)))
        )
    return ErrorBreakdown(
        ErrorSummary.over([(estimate, cycles) for _, _, estimate, cycles in launches]),
        grouped_errors((gpu, estimate, cycles) for (_, gpu, _), _, estimate, cycles in launches),
        grouped_errors((placed.operator, estimate, cycles) for _, placed, estimate, cycles in launches),
        grouped_errors((network, estimate, cycles) for (network, _, _), _, estimate, cycles in launches),
        ErrorSummary.over([(estimate, cycles) for _, estimate, cycles in iterations]),
        grouped_errors(iterations),
    )


def _spent(placed: NetworkLaunch, facts: RunFacts) -> LaunchCost:
    sampling = facts.sampling
    if sampling is None or sampling.method != WINDOWS:
        return LaunchCost(placed.asked, facts.simulator.cpu_s)
    return LaunchCost(placed.asked, facts.simulator.cpu_s, sampling.fraction, sampling.fraction * sampling.rounds)


def _described(facts: PointFacts) -> dict[str, str | int]:
    point = facts.point
    return {
        "network": point.network.name,
        "phase": point.phase,
        "batch": point.batch,
        "convolution": point.settings.convolution,
        "gpu": point.settings.gpu.name,
        "launches": len(facts.launches),
    }
