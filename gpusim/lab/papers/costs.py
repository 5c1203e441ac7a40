"""What a publication's points would cost: those that a store lacks, by like runs, or by the plan's own estimates."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.whole_runs import NOTE
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.plan import ReproductionPlan, together
from gpusim.lab.papers.running import stored
from gpusim.results.store.costs import RunCost, SimilarRuns
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.reading import StoreReader

RATES_NOTES = (
    "products without a like run: processor time by the publication's rates, cycles by the closed forms that",
    "  kernels: auto chooses by (docs/kernels.md has their errors)",
)


@dataclass(frozen=True)
class PlanCosts:
    """Estimated cost of the points that the store lacks."""

    missing: Mapping[str, RunCost]
    """Cost of each missing point by key, as if it ran alone."""
    parts: Mapping[str, Mapping[Hashable, float]]
    """Processor seconds of each missing point by part of the work; points can share parts."""
    notes: Sequence[str]
    """Basis of the estimates, with the errors of earlier ones."""

    def of(self, keys: Sequence[str]) -> list[RunCost]:
        """Return the costs of those of some points that are missing."""
        return [self.missing[key] for key in keys if key in self.missing]

    def seconds(self, keys: Sequence[str]) -> float:
        """Return the processor time of those of some points that are missing, what several have in common once."""
        return together(self.parts[key] for key in keys if key in self.missing)


def plan_costs(plan: ReproductionPlan, store: Path) -> PlanCosts:
    """Estimate the points of a plan that a store lacks. Raises StoreError."""
    missing, parts, notes = dict[str, RunCost](), dict[str, Mapping[Hashable, float]](), list[str]()
    by_rates = by_bounds = False
    with ExitStack() as stack:
        keeper, like = None, dict[str, SimilarRuns]()
        if store.exists():
            keeper, results = stack.enter_context(StoreWriter(store)), stack.enter_context(StoreReader(store))
            like = {kind: SimilarRuns(results, kind) for kind in ("run", "net")}
        for key, planned in plan.points.items():
            if keeper is not None and stored(keeper, planned) is not None:
                continue
            known = like[planned.work.kind].of(planned.work.configuration) if like else None
            if known is None:
                network = isinstance(planned.point, NetworkPoint)
                by_rates, by_bounds = by_rates or not network, by_bounds or network
            missing[key] = known or planned.cost
            parts[key] = planned.parts if known is None else {key: known.cpu_s}
        for held in like.values():
            notes += held.notes()
    if by_rates:
        notes += RATES_NOTES
    if by_bounds:
        notes += [NOTE, *load_checked().notes()]
    return PlanCosts(missing, parts, notes)
