"""What the generated suite's rows say: how often truths lie within bars, how far out the others are, what is saved."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from gpusim.base.formats import FIXED_1, FIXED_2, PERCENT, PERCENT_0, PERCENT_2, PERCENT_CHANGE_2, PERCENT_GENERAL
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.base.version import __version__
from gpusim.base.view import View, column
from gpusim.lab.checks.sampling.generated import LEAST_INSTRUCTIONS, scale_of
from gpusim.lab.checks.sampling.measure import SamplingCaseResult
from gpusim.lab.checks.sampling.views import savings
from gpusim.lab.versions.recorded import encode_models

MOST_HALF_WIDTHS = 3.0
"""Half-widths from which on an error is no chance."""
_EDGES = (0.0, 0.5, 1.0, 2.0, MOST_HALF_WIDTHS, float("inf"))
_SHOWN_FROM = 2.0  # half-widths: launches that are listed one by one
Rows = Sequence[SamplingCaseResult]
_DISTRIBUTION = View([
    column("group", ""), column("launches"), column("whole", write=PERCENT_0), column("within", write=PERCENT_0),
    *(
        column(f"bin_{number}", f"{low:g} to {high:g}" if high < float("inf") else f"beyond {low:g}")
        for number, (low, high) in enumerate(pairwise(_EDGES))
    ),
    column("half_width", "half-width", PERCENT_2), column("simulated", write=PERCENT),
])  # fmt: skip
_FURTHEST = View([
    column("name", "launch"), column("what", "kind"), column("rounds", "waves", FIXED_1),
    column("error", write=PERCENT_CHANGE_2), column("half_width", "half-width", PERCENT_2),
    column("distance", "half-widths", FIXED_2), column("fraction", "simulated", PERCENT), column("reason", "how"),
])  # fmt: skip
_SIMULATED = View([column("kind"), column("launches")])
_GROUPS: Sequence[tuple[str, Callable[[SamplingCaseResult], str]]] = (
    ("error", lambda row: f"{PERCENT_GENERAL(row.asked)} requested"),
    ("GPU", lambda row: row.name.split()[0]),
    ("size", lambda row: f"{LEAST_INSTRUCTIONS * scale_of(row.name):,} instructions and more"),
    ("kind", lambda row: row.kind),
    ("change", lambda row: row.what.partition(",")[0]),
)


def generated_document(rows: Rows, confidence: float) -> dict[str, Any]:
    """Return rows as plain data.

    Args:
        rows: Rows of any seeds.
        confidence: Probability that a half-width covers the truth, as requested.
    """
    return {
        "version": __version__,
        "models": encode_models(row.version for row in rows),
        "confidence": confidence,
        "cases": [row.described() for row in rows],
    }


def generated_lines(rows: Rows) -> list[str]:
    """Return the figures of one seed in words."""
    sampled = [row for row in rows if row.is_sampled]
    lines = [f"{len(rows)} estimates, {len(rows) - len(sampled)} of them whole simulations"]
    if sampled:
        beyond = plain_sum(row.distance > MOST_HALF_WIDTHS for row in sampled)
        lines += [
            f"truth within the bar: {PERCENT_0(_share(sampled, 1.0))} of the sampled launches,"
            f" {beyond} beyond {MOST_HALF_WIDTHS:g} half-widths",
            f"instructions simulated: {PERCENT_0(median(row.fraction for row in sampled))} in the median of these",
        ]
    return lines


def distribution(rows: Rows) -> Table:
    """Count errors in half-widths: of all rows, then by requested error, GPU, size, kind, and what changes."""
    table = [_counts("all", rows)]
    for kind, group_of in _GROUPS:
        groups: dict[str, list[SamplingCaseResult]] = {}
        for row in rows:
            groups.setdefault(group_of(row), []).append(row)
        table += [_counts(name, group) for name, group in sorted(groups.items()) if kind != "size" or len(groups) > 1]
    return _DISTRIBUTION.table(table)


def simulated_by_error(rows: Rows) -> Table:
    """Compare requested errors by the mean share of instructions that was simulated, by kind; all of whole ones."""
    errors = sorted({row.asked for row in rows})
    view = _SIMULATED.with_columns(
        *(column(f"at_{n}", f"{PERCENT_GENERAL(error)} requested", PERCENT_0) for n, error in enumerate(errors))
    )
    table = []
    for kind in ("all", *sorted({row.kind for row in rows})):
        own = [row for row in rows if kind in ("all", row.kind)]
        shares = [[row.fraction for row in own if row.asked == error] for error in errors]
        means = {f"at_{n}": fmean(some) if some else None for n, some in enumerate(shares)}
        table.append({"kind": kind, "launches": len({row.name.rpartition(",")[0] for row in own}), **means})
    return view.table(table)


def generated_markdown(rows: Rows) -> str:
    """Write a part for each seed, the last one first, by the version of sampling that measured it."""
    return "\n".join(_paragraphs(rows))


def _paragraphs(rows: Rows) -> Iterator[str]:
    yield (
        "A seed decides every launch of this suite: kernel, addresses, work along the grid, sizes and GPU."
        " Each launch is simulated whole once, and sampled for each requested error. Launches that the sampler"
        " simulates whole are exact; they count as *whole*, and nowhere else."
        " *Within* is the share of the sampled launches whose error is at most the half-width."
        " The columns after it count launches by error in half-widths. *half-width* and *simulated* are medians over"
        " the sampled launches.\n"
    )
    latest = (rows[-1].seed, rows[-1].policy) if rows else None
    for seed, policy in reversed(dict.fromkeys((row.seed, row.policy) for row in rows)):
        own = [row for row in rows if (row.seed, row.policy) == (seed, policy)]
        models = ", ".join(dict.fromkeys(row.version.name for row in own))
        yield f"## Seed {seed}\n"
        yield f"Measured with version {policy[:8]} of sampling and model {models}." + (
            "\n"
            if (seed, policy) == latest
            else " This seed's launches were known before the sampling code reached its present version.\n"
        )
        yield "\n".join(f"- {line}" for line in generated_lines(own)) + "\n"
        yield distribution(own).markdown()
        yield "The mean share of the instructions that was simulated, launches that were simulated whole included:\n"
        yield simulated_by_error(own).markdown()
        yield "What was saved, by the launches' waves:\n"
        yield savings(own).markdown()
        far = sorted((row for row in own if row.distance > _SHOWN_FROM), key=lambda row: -row.distance)
        if far:
            yield f"Estimates that are more than {_SHOWN_FROM:g} half-widths off:\n"
            yield _FURTHEST.table(far).markdown()


def _counts(name: str, rows: Rows) -> dict[str, Any]:
    sampled = [row for row in rows if row.is_sampled]
    bins = {
        f"bin_{number}": plain_sum(low < row.distance <= high or row.distance == low == 0 for row in sampled)
        for number, (low, high) in enumerate(pairwise(_EDGES))
    }
    return {
        "group": name,
        "launches": len(rows),
        "whole": 1 - len(sampled) / max(len(rows), 1),
        "within": _share(sampled, 1.0) if sampled else None,
        **bins,
        "half_width": median(row.half_width for row in sampled) if sampled else None,
        "simulated": median(row.fraction for row in sampled) if sampled else None,
    }


def _share(rows: Rows, most: float) -> float:
    return plain_sum(row.distance <= most for row in rows) / max(len(rows), 1)
