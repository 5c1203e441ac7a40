"""What a publication's points would cost: those that a store lacks, by like runs, or by the plan's own estimates."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.progress import Reporter
from gpusim.jobs.estimates.run_costs import CostEstimator, RunCost, bounds_notes
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.plan import ReproductionPlan, estimated, together
from gpusim.lab.papers.running import stored
from gpusim.results.store.keeper import StoreWriter

RATES_NOTES = (
    "products without a like run: processor time by the publication's rates, cycles by the closed forms that",
    "  kernels: auto chooses by (docs/results/kernels.md has their errors)",
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


def plan_costs(plan: ReproductionPlan, store: Path, reporter: Reporter) -> PlanCosts:
    """Estimate the points of a plan that a store lacks.

    Args:
        plan: The plan.
        store: File of the store.
        reporter: Says how many have been estimated.

    Raises:
        StoreError: The store cannot be read.
    """
    missing, parts = dict[str, RunCost](), dict[str, Mapping[Hashable, float]]()
    estimator, notes = CostEstimator(store, "run", "net"), dict[str, list[str]]()
    with StoreWriter(store) if store.exists() else nullcontext() as keeper:
        lacking = [each for each in plan.points.values() if keeper is None or stored(keeper, each) is None]
        alone = []
        for planned in lacking:
            if similar := estimator.from_similar(planned.work):
                missing[planned.key], parts[planned.key] = similar, {planned.key: similar.cpu_s}
            else:
                alone.append(planned)
        for planned in estimated(alone, reporter):
            missing[planned.key], parts[planned.key] = planned.cost, planned.parts
            notes[planned.work.kind] = bounds_notes() if isinstance(planned.point, NetworkPoint) else [*RATES_NOTES]
    return PlanCosts(missing, parts, [*estimator.notes(), *notes.get("run", ()), *notes.get("net", ())])
