"""What the suite's comparison says: the figures that sampling is judged by, a table, JSON, a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gpusim.base.formats import DIGITS_3, FIXED_1, PERCENT, PERCENT_0, PERCENT_2, PERCENT_CHANGE_2
from gpusim.base.picture import Picture
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, TableCell
from gpusim.base.version import __version__
from gpusim.base.view import View, column
from gpusim.lab.checks.sampling.addresses import ADDRESSES
from gpusim.lab.checks.sampling.cases import FEW
from gpusim.lab.checks.sampling.measure import SamplingCaseResult
from gpusim.lab.checks.sampling.uneven import UNEVEN
from gpusim.lab.versions.recorded import encode_models
from gpusim.model.sampling.sampler import GENERATIONS
from gpusim.model.sampling.spec import SamplingSpec

MANY_WAVES = 30
LEAST_WAVES = 3 + GENERATIONS + SamplingSpec().tail_rounds  # the first, an interval on either side of a skip, the tail
_PARTS = (  # title, kind; '': all others
    ("Workgroups that are alike", ""),
    ("Few waves of long workgroups", FEW),
    ("Work that differs along the grid", UNEVEN),
    ("Addresses that change along the grid", ADDRESSES),
)


def _part(times_fewer: float) -> str:
    return f"1/{FIXED_1(times_fewer)}"


LAUNCHES = View([
    column("name", "launch"), column(lambda one: f"{one.kind}: {one.what}", "kind"), column("rounds", "waves", FIXED_1),
    column("error", write=PERCENT_CHANGE_2), column("half_width", "half-width", PERCENT_2),
    column(lambda one: TableCell(one.covered, "yes" if one.covered else "**no**"), "within"),
    column("fraction", "simulated", PERCENT), column("reason", "how"),
])  # fmt: skip
SAVINGS = View([
    column("waves"), column("launches"), column("instructions", write=_part), column("with_one_interval", write=_part),
    column("processor_time", write=_part),
])  # fmt: skip
_BANDS = (0, 5, 15, 30, 60, 150, 400)  # waves, from which rows of the table of savings begin


@dataclass(frozen=True)
class SuiteSummary:
    """Summary of the whole suite."""

    cases: int
    """Number of cases."""
    sampled: int
    """Number of sampled cases."""
    mean_error: float
    """Mean relative error of the sampled cases' cycles."""
    bias: float
    """Mean signed relative error of the sampled cases' cycles."""
    largest_error: float
    """Largest relative error of the sampled cases' cycles."""
    coverage: float
    """Share of the sampled cases whose true cycles lie within the half-width."""
    metrics_coverage: float
    """Share of all their metrics whose true value lies within the half-width."""
    speed_up: float
    """Whole over simulated instructions: median of the cases with at least `MANY_WAVES` waves."""
    largest_speed_up: float
    """Largest ratio of whole to simulated instructions among these cases."""


def summary(outcomes: Sequence[SamplingCaseResult]) -> SuiteSummary:
    """Compute the figures over all cases; errors and coverage over those that were sampled, as the others are exact."""
    some = [outcome for outcome in outcomes if outcome.fraction < 1]
    count = max(len(some), 1)
    speeds = [1 / outcome.fraction for outcome in outcomes if outcome.rounds >= MANY_WAVES]
    return SuiteSummary(
        cases=len(outcomes),
        sampled=len(some),
        mean_error=plain_sum(abs(outcome.error) for outcome in some) / count,
        bias=plain_sum(outcome.error for outcome in some) / count,
        largest_error=max((abs(outcome.error) for outcome in some), default=0.0),
        coverage=plain_sum(outcome.covered for outcome in some) / count,
        metrics_coverage=plain_sum(outcome.metrics_covered for outcome in some)
        / max(plain_sum(outcome.metrics for outcome in some), 1),
        speed_up=median(speeds) if speeds else 1.0,
        largest_speed_up=max((1 / outcome.fraction for outcome in outcomes), default=1.0),
    )


def lines(figures: SuiteSummary) -> list[str]:
    """Return the figures in words."""
    if not figures.sampled:
        return [f"none of {figures.cases} launches was sampled: all ran whole"]
    return [
        f"{figures.cases} launches, {figures.sampled} of them sampled, the others whole",
        f"cycles: mean absolute error {PERCENT_2(figures.mean_error)}, bias {PERCENT_CHANGE_2(figures.bias)},"
        f" largest {PERCENT_2(figures.largest_error)}",
        f"truth within the bar: cycles in {PERCENT_0(figures.coverage)} of the sampled launches,"
        f" all metrics in {PERCENT_0(figures.metrics_coverage)}",
        f"instructions: {DIGITS_3(figures.speed_up)} times fewer (median of launches of {MANY_WAVES} waves or more),"
        f" at most {DIGITS_3(figures.largest_speed_up)} times",
    ]


def document(outcomes: Sequence[SamplingCaseResult], spec: SamplingSpec) -> dict[str, Any]:
    """Return the settings, the figures and the cases as plain data."""
    figures: Mapping[str, Any] = summary(outcomes).__dict__
    cases = [outcome.described() for outcome in outcomes]
    head = {"version": __version__, "models": encode_models(outcome.version for outcome in outcomes)}
    return {**head, "sampling": spec.model_dump(mode="json"), "summary": dict(figures), "cases": cases}


def markdown(outcomes: Sequence[SamplingCaseResult]) -> str:
    """Write figures and tables: of launches whose workgroups are alike, of few waves, and of those whose work differs.

    If several versions of sampling measured them, each version has figures of its own and the rows name theirs.
    """
    several = len({outcome.policy for outcome in outcomes}) > 1
    parts = []
    for title, kind in _PARTS:
        these = [
            outcome
            for outcome in outcomes
            if (outcome.kind if outcome.kind in (FEW, UNEVEN, ADDRESSES) else "") == kind
        ]
        if not these:
            continue
        parts.append(f"## {title}\n")
        for version in dict.fromkeys(outcome.policy for outcome in these):
            rows = [outcome for outcome in these if outcome.policy == version]
            parts.append(f"Version {_version(version)} of sampling:\n" if several else "")
            parts.append("\n".join(f"- {line}" for line in lines(summary(rows))) + "\n")
        parts += [savings(these).markdown(), cases_table(these, several).markdown()]
    return "\n".join(part for part in parts if part)


def cases_table(outcomes: Sequence[SamplingCaseResult], several: bool) -> Table:
    """Make a row for each launch. several: with the version of sampling that measured it."""
    view = LAUNCHES.with_columns(column(lambda one: _version(one.policy), "version")) if several else LAUNCHES
    return view.table(outcomes)


def _version(policy: str) -> str:
    return policy[:8] or "unknown"


def savings(outcomes: Sequence[SamplingCaseResult]) -> Table:
    """Tell what was saved, by the waves that launches have, beside the most that could be by one interval: medians."""
    rows = []
    for low, high in zip(_BANDS, (*_BANDS[1:], float("inf")), strict=True):
        these = [outcome for outcome in outcomes if low <= outcome.rounds < high]
        if these:
            rows.append({
                "waves": f"{low} to {high}" if high < float("inf") else f"{low} and more",
                "launches": len(these),
                "instructions": median(1 / outcome.fraction for outcome in these),
                "with_one_interval": median(max(1.0, outcome.rounds / LEAST_WAVES) for outcome in these),
                "processor_time": median(outcome.whole_s / outcome.sampled_s for outcome in these),
            })  # fmt: skip
    return SAVINGS.table(rows)


def picture(outcomes: Sequence[SamplingCaseResult]) -> Picture:
    """Make a picture of the error against the part simulated, with bars."""
    some = [outcome for outcome in outcomes if outcome.fraction < 1]
    heads = ("launch", "instructions simulated, %", "error of the cycles, %", "half-width, %", "within")
    rows = [
        (outcome.name, 100 * outcome.fraction, 100 * outcome.error, 100 * outcome.half_width, outcome.covered)
        for outcome in some
    ]
    sentences = " ".join(f"{line}." for line in lines(summary(outcomes)))
    title = "Error of sampled launches"
    return Picture(
        name="sampling",
        title=title,
        alt=sentences,
        heads=heads,
        rows=rows,
        draw=lambda figure: _draw(figure, some),
        size=(8, 5),
        framed=True,
    )


def _draw(figure: Any, some: Sequence[SamplingCaseResult]) -> None:
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    for covered, colour, label in ((True, "tab:blue", "truth within the bar"), (False, "tab:red", "not within")):
        these = [one for one in some if one.covered is covered]
        axes.errorbar(
            [100 * one.fraction for one in these],
            [100 * one.error for one in these],
            yerr=[100 * one.half_width for one in these],
            fmt="o",
            color=colour,
            capsize=2,
            markersize=4,
            label=f"{label} ({len(these)})",
        )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("instructions simulated, %")
    axes.set_ylabel("error of the cycles, %")
    axes.legend()
