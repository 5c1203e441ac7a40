"""What the suite's comparison says: the figures that sampling is judged by, a table, JSON, a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gpusim.base.pictures import require_matplotlib, saved
from gpusim.base.version import __version__
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling_check.measure import Outcome

MANY_ROUNDS = 30
LEAST_ROUNDS = 3 + SamplingSpec().tail_rounds  # the first, a lap, what is resident at its end, and the tail
_BANDS = (0, 5, 15, 30, 60, 150, 400)  # rounds, from which rows of the table of savings begin


@dataclass(frozen=True)
class Summary:
    """The figures of the whole suite.

    mean_error, bias, largest_error: of cycles over the sampled cases, relative; coverage: share of these whose true
    cycles lie within the half-width; metrics_coverage: the same over all their metrics; speed_up: whole instructions
    over simulated ones, median over the cases of `MANY_ROUNDS` rounds or more; largest_speed_up: the largest of these.
    """

    cases: int
    sampled: int
    mean_error: float
    bias: float
    largest_error: float
    coverage: float
    metrics_coverage: float
    speed_up: float
    largest_speed_up: float


def summary(outcomes: Sequence[Outcome]) -> Summary:
    """Compute the figures over all cases; errors and coverage over those that were sampled, as the others are exact."""
    some = [one for one in outcomes if one.fraction < 1]
    count = max(len(some), 1)
    speeds = sorted(1 / one.fraction for one in outcomes if one.rounds >= MANY_ROUNDS)
    return Summary(
        len(outcomes),
        len(some),
        sum(abs(one.error) for one in some) / count,
        sum(one.error for one in some) / count,
        max((abs(one.error) for one in some), default=0.0),
        sum(one.covered for one in some) / count,
        sum(one.metrics_covered for one in some) / max(sum(one.metrics for one in some), 1),
        speeds[len(speeds) // 2] if speeds else 1.0,
        max((1 / one.fraction for one in outcomes), default=1.0),
    )


def lines(found: Summary) -> list[str]:
    """Return the figures in words."""
    return [
        f"{found.cases} launches, {found.sampled} of them sampled, the others whole",
        f"cycles: mean absolute error {100 * found.mean_error:.2f} %, bias {100 * found.bias:+.2f} %,"
        f" largest {100 * found.largest_error:.2f} %",
        f"truth within the bar: cycles in {100 * found.coverage:.0f} % of the sampled launches,"
        f" all metrics in {100 * found.metrics_coverage:.0f} %",
        f"instructions: {found.speed_up:.3g} times fewer (median of launches of {MANY_ROUNDS} rounds or more),"
        f" at most {found.largest_speed_up:.3g} times",
    ]


def document(outcomes: Sequence[Outcome], spec: SamplingSpec) -> dict[str, Any]:
    """Return the settings, the figures and the cases as plain data."""
    figures: Mapping[str, Any] = summary(outcomes).__dict__
    cases = [one.described() for one in outcomes]
    return {"version": __version__, "sampling": spec.model_dump(mode="json"), "summary": dict(figures), "cases": cases}


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Write the figures and the table of cases; if several versions of sampling measured them, the rows name the
    version.
    """
    versions = list(dict.fromkeys(one.policy for one in outcomes))
    counts = [sum(outcome.policy == one for outcome in outcomes) for one in versions]
    said = [f"version {_version(one)} of sampling: {n} launches" for one, n in zip(versions, counts, strict=True)]
    several = len(versions) > 1
    head = "\n".join(f"- {line}" for line in (*lines(summary(outcomes)), *(said if several else ())))
    rows = [
        f"| launch | kind | rounds | error | half-width | within | simulated | how |{' version |' if several else ''}",
        f"|---|---|--:|--:|--:|---|--:|---|{'---|' if several else ''}",
    ]
    for one in outcomes:
        within = "yes" if one.covered else "**no**"
        rows.append(
            f"| {one.name} | {one.kind}: {one.what} | {one.rounds:.1f} | {100 * one.error:+.2f} % |"
            f" {100 * one.half_width:.2f} % | {within} | {100 * one.fraction:.1f} % | {one.reason} |"
            + (f" {_version(one.policy)} |" if several else "")
        )
    return "\n\n".join((head, savings(outcomes), "\n".join(rows))) + "\n"


def _version(policy: str) -> str:
    return policy[:8] or "unknown"


def savings(outcomes: Sequence[Outcome]) -> str:
    """Make a table of what was saved, by the rounds of launches, next to the most that a single lap could save:
    medians.
    """
    rows = ["| rounds | launches | instructions | with one lap | processor time |", "|---|--:|--:|--:|--:|"]
    for low, high in zip(_BANDS, (*_BANDS[1:], float("inf")), strict=True):
        these = [one for one in outcomes if low <= one.rounds < high]
        if these:
            fewer, faster = (
                median(values)
                for values in ([1 / one.fraction for one in these], [one.whole_s / one.sampled_s for one in these])
            )
            most = median(max(1.0, one.rounds / LEAST_ROUNDS) for one in these)
            band = f"{low} to {high}" if high < float("inf") else f"{low} and more"
            rows.append(f"| {band} | {len(these)} | 1/{fewer:.1f} | 1/{most:.1f} | 1/{faster:.1f} |")
    return "\n".join(rows)


def draw(outcomes: Sequence[Outcome], kind: str) -> bytes:
    """Draw error against the part simulated, with bars: a file of `kind`, '.svg' or '.png'."""
    plt = require_matplotlib("check-sampling")
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    some = [one for one in outcomes if one.fraction < 1]
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
    return saved(plt, figure, kind)
