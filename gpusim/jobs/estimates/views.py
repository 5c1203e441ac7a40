"""Estimates as tables and as plain data; the first line says that they are estimates."""

from collections.abc import Sequence
from typing import Any

from gpusim.base.formats import (
    COUNT,
    FIXED_0,
    FIXED_1,
    FIXED_2,
    GENERAL,
    GROUPED_0,
    GROUPED_1,
    GROUPED_2,
    PERCENT,
    NumberFormat,
    scaled,
)
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.jobs.estimates.checked import MEASURES, NAMES, EstimateValidation
from gpusim.jobs.estimates.errors import BAND, ErrorSummary
from gpusim.jobs.estimates.fitted import EstimateFit
from gpusim.jobs.estimates.network import NetworkEstimate, SimulationCost
from gpusim.jobs.estimates.run_costs import RunCost

SCHEMA_VERSION = 1
MEANINGS = {
    "cycles": "estimated, of all kernels",
    "time_us": "estimated, in microseconds of simulated time; of the iteration with what each launch takes before",
    "low_us": "low_us to high_us: the time if kernels are as far off as nine in ten iterations of networks left out",
    "bound": "the resource whose bound is the largest in most of the time",
    "bounds": "cycles that each resource needs; those of `least` cannot be beaten by a run, if all workgroups are as"
    " those looked at; the others rest on assumptions (docs/explanation/estimates.md)",
    "known_kernel": "whether the kernel was in the fit; otherwise its correction is what is common to all",
    "errors": "of |estimated / simulated - 1|, leaving one network out; low, high: percentiles 5 and 95 of simulated /"
    " estimated",
    "cost": "processor seconds of simulating on this host, each class of launches once: whole, or each sampled",
}


LAYERS = View([
    column("layer"), column(lambda row: str(row["what"]), "pass"), column("launches"),
    column("us", "estimated", GROUPED_1, "µs", right=True), column("share", write=PERCENT, right=True),
    column("bound", "bound by"),
])  # fmt: skip
ERRORS = [
    column("number"), column("mean", write=PERCENT, right=True), column("median", write=PERCENT, right=True),
    column("worst", write=PERCENT, right=True),
    column(
        lambda row: f"{FIXED_2(row['low'])} to {FIXED_2(row['high'])}",
        f"simulated / estimated, percentiles {GENERAL(BAND[0])} to {GENERAL(BAND[1])}", right=True,
    ),
]  # fmt: skip
COSTS = View([
    column("what"), column("cpu_s", "processor s", GROUPED_1), column("cycles", write=GROUPED_0),
    column("memory_mb", "memory MB", GROUPED_0),
], "costs", "estimated costs")  # fmt: skip
_WRITTEN = dict(zip(MEASURES, (GROUPED_0, NumberFormat(",.2f", " s"), NumberFormat(",.0f", " MB")), strict=True))
CHECKED = View([
    column("what", "run"), column("engine", write=lambda on: "yes" if on else ""),
    *(
        column(f"{of}.{measure}", title, _WRITTEN[measure], right=True)
        for measure, name in zip(MEASURES, NAMES, strict=True)
        for of, title in (("estimated", f"{name}: estimated"), ("taken", "taken"))
    ),
], "checked", "estimates by bounds beside what runs took")  # fmt: skip


def table(estimate: NetworkEstimate, cost: SimulationCost) -> Table:
    """Return the table by layer and pass, with the total, what it is worth and what simulating would cost below."""
    to_us = estimate.gpu.clock_ghz * 1e3
    rows = [{**vars(row), "us": row.cycles / to_us, "share": row.cycles / estimate.cycles} for row in estimate.rows]
    phase = "training" if estimate.train else "inference"
    run = f"{estimate.network.name}, {phase}, batch {estimate.batch}, {estimate.gpu.name}"
    title = f"estimate, nothing was simulated: {run}"
    return LAYERS.table(rows, title, notes(estimate, cost))


def notes(estimate: NetworkEstimate, cost: SimulationCost) -> list[str]:
    """Return the lines below the table."""
    errors, origin = estimate.fitted.errors, estimate.fitted.origin
    time, low, high, kernels = (GROUPED_2(us / 1e3) for us in (estimate.time_us, *estimate.band_us, estimate.kernel_us))
    lines = [
        f"about {time} ms an iteration, {low} to {high} ms by the errors below:"
        f" {kernels} ms of kernels, and {len(estimate.estimates)} launches of"
        f" {GENERAL(estimate.gpu.kernel_launch_us)} µs",
        f"how far off, leaving one network out: iterations {_short(errors.iterations)}; launches"
        f" {_short(errors.launches)}",
        f"fitted to {COUNT(plain_sum(point['launches'] for point in origin.points))} launches of"
        f" {', '.join(origin.networks)} on {', '.join(origin.gpus)}",
    ]
    if origin.products and any(placed.asked.work.matrix_cycles for placed in estimate.placed):
        lines.append(
            f"the matrix unit's part: fitted to {COUNT(plain_sum(table['launches'] for table in origin.products))}"
            f" products of {', '.join(str(table['table']) for table in origin.products)}; leaving one table out"
            f" {_short(errors.products['all'])}"
        )
    if estimate.gpu.name not in origin.gpus:
        lines.append(f"{estimate.gpu.name} was not in the fit: how far off is not known")
    unknown = sorted(
        {placed.kernel for placed, one in zip(estimate.placed, estimate.estimates, strict=True) if not one.known}
    )
    if unknown:
        lines.append(f"kernels that were not in the fit: {', '.join(unknown)}")
    if estimate.algorithms:
        used = sorted(set(estimate.algorithms.values()))
        lines.append(f"convolution=auto: by estimate, where a run measures: {', '.join(used)}")
    uncounted = sorted({placed.kernel for placed in estimate.placed if not placed.asked.work.counted})
    if uncounted:
        lines.append(f"kernels whose instructions could not be counted: {', '.join(uncounted)}")
    lines.append(
        f"to simulate it on this host: about {_seconds(cost.whole_s)} of a processor whole, {_seconds(cost.sampled_s)}"
        f" sampled ({cost.launches} launches that differ, {scaled(cost.instructions)} wavefront instructions)"
    )
    return lines


def document(estimate: NetworkEstimate, cost: SimulationCost) -> dict[str, Any]:
    """Return the JSON object of `gpusim layers --estimate`."""
    to_us, fitted = estimate.gpu.clock_ghz * 1e3, estimate.fitted
    fit, (low, high) = fitted.document(), estimate.band_us
    return {
        "schema_version": SCHEMA_VERSION,
        "estimate": True,
        "network": estimate.network.name,
        "phase": "train" if estimate.train else "inference",
        "batch": estimate.batch,
        "gpu": estimate.gpu.name,
        "meanings": MEANINGS,
        "layers": [
            {
                "layer": row.layer,
                "pass": str(row.what),
                "operators": list(row.operators),
                "launches": row.launches,
                "cycles": row.cycles,
                "time_us": row.cycles / to_us,
                "share": row.cycles / estimate.cycles,
                "bound": row.bound,
            }
            for row in estimate.rows
        ],
        "launches": [
            {
                "layer": placed.layer,
                "pass": str(placed.what),
                "kernel": placed.kernel,
                "workgroups": placed.asked.work.workgroups,
                "instructions": placed.asked.work.instructions,
                "cycles": one.cycles,
                "least": dict(one.bounds.least),
                "bounds": one.bounds.all,
                "known_kernel": one.known,
            }
            for placed, one in zip(estimate.placed, estimate.estimates, strict=True)
        ],
        "total": {
            "cycles": estimate.cycles,
            "kernel_us": estimate.kernel_us,
            "time_us": estimate.time_us,
            "low_us": low,
            "high_us": high,
        },
        "errors": fit["errors"],
        "fitted_to": fit["points"],
        "algorithms": [
            {"layer": layer, "pass": str(what), "algorithm": name}
            for (layer, what), name in estimate.algorithms.items()
        ],
        "cost": cost._asdict(),
    }


def error_tables(fitted: EstimateFit) -> list[Table]:
    """Return how far off estimates are: of iterations and of launches, leaving one network out, and of products."""
    errors = fitted.errors
    iterations = {"all": errors.iterations, **errors.iterations_by_network}
    launches = {"all": errors.launches, **errors.by_gpu, **errors.by_network, **errors.by_operator}
    return [
        _errors("iterations", "Iterations, leaving their network out", iterations),
        _errors("launches", "Launches, leaving their network out", launches),
        *([product_errors(fitted)] if errors.products else []),
    ]


def product_errors(fitted: EstimateFit) -> Table:
    """Return how far off launches of matrix products are, leaving their table out."""
    return _errors("products", "Launches of matrix products, leaving their table out", dict(fitted.errors.products))


def _errors(name: str, title: str, groups: dict[str, ErrorSummary]) -> Table:
    view = View([column("group", name), *ERRORS], name, title)
    return view.table([{"group": group, **vars(error)} for group, error in groups.items()])


def checked_table(record: EstimateValidation) -> Table:
    """Return the table of all runs of a record."""
    return CHECKED.table(record.runs, notes=record.notes())


def cost_table(rows: Sequence[tuple[str, RunCost]], notes: Sequence[str]) -> Table:
    """Make the table of estimates by what they are of, with what they rest on and how far off they are below.

    Args:
        rows: Estimates with what they are of.
        notes: Lines below the table.
    """
    return COSTS.table([{"what": what, **vars(cost)} for what, cost in rows], notes=notes)


def _short(error: ErrorSummary) -> str:
    return f"{PERCENT(error.mean)} in the mean, {PERCENT(error.median)} median, {PERCENT(error.worst)} at worst"


def _seconds(seconds: float) -> str:
    """Write seconds, minutes or hours with two digits or all before the point."""
    for limit, unit in ((5400.0, "h"), (90.0, "min")):
        if seconds >= limit:
            value = seconds / (3600.0 if unit == "h" else 60.0)
            return f"{(FIXED_1 if value < 10 else GROUPED_0)(value)} {unit}"
    return f"{(FIXED_1 if seconds < 10 else FIXED_0)(seconds)} s"
