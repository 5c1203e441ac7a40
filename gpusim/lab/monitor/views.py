"""What the monitor did, as tables and as plain data for JSON: over curves, beside a training, in a network's job."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpusim.base.formats import (
    COUNT,
    FIXED_3,
    GROUPED_0,
    GROUPED_2,
    PERCENT,
    PERCENT_DIGITS_2,
    SHARE_0,
    SHARE_2,
    NumberFormat,
)
from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.overhead import TABLE_6_6

if TYPE_CHECKING:  # a result of `gpusim net` needs neither
    from gpusim.lab.monitor.replay import MapReplay, Replay
    from gpusim.lab.monitor.training_overhead import TrainingOverhead
    from gpusim.results.report.result import Result

SCHEMA_VERSION = 1
MILLISECONDS = NumberFormat(".3f", " ms", 1000)
"""Of seconds."""


def percent(share: float) -> str:
    """Write '12.3 %', '0.0123 %'."""
    return (PERCENT if abs(100 * share) >= 1.0 or share == 0.0 else PERCENT_DIGITS_2)(share)


MAPS = View([
    column("name", "map"), column(lambda replay: len(replay.processes), "processes"),
    column(lambda replay: len(replay.measured), "measurements"),
    column("share_measured", "measured", percent, right=True), column("mean_error", write=percent, right=True),
    column("max_error", write=percent, right=True), column("share_sparse", "sparse", percent, right=True),
    column("share_misjudged", "misjudged", percent, right=True),
])  # fmt: skip
OVERHEADS = View([
    column("training"), column("iterations", write=COUNT), column("iteration_s", "an iteration", MILLISECONDS),
    column("measured", write=percent), column("overhead", write=percent),
])  # fmt: skip
POLICIES = View([
    column("policy", "decided by"), column("training_s", write=GROUPED_2), column("speed_up", "speed-up", FIXED_3),
    column("measuring", write=SHARE_2), column("sparse", write=PERCENT),
    column("misjudged", "not as the oracle", PERCENT), column("changes"), column("means", "which means"),
], "training")  # fmt: skip
PASSES = View([
    column("layer"), column("what", "pass"), column("dense_us", write=GROUPED_0),
    column(lambda one: ", ".join(map(SHARE_0, one["zeros"])), "zeros"),
    column(lambda one: ", ".join(map(GROUPED_0, one["sparse_us"])), "sparse us"),
    column("interpolation_error", "line off", PERCENT), column("break_even", "break-even", PERCENT),
    column("measurement_us", write=GROUPED_0),
], "passes", "passes that can skip zeros")  # fmt: skip


def replay_table(replay: "Replay") -> Table:
    """Make a row for each map; below, what holds for the whole training."""
    whole = (
        f"{replay.name}: {COUNT(replay.length)} iterations, {percent(replay.share_measured)} of map-iterations"
        f" measured; at the end {replay.state}"
    )
    changes = [f"iteration {COUNT(change.iteration)}: {change.state}, by {change.by}" for change in replay.transitions]
    misjudged = "misjudged: iterations in which the true sparsity would have chosen the other kernel"
    return MAPS.table(replay.maps, notes=[whole, *changes, misjudged])


def replay_document(replay: "Replay") -> dict[str, Any]:
    """Return the replay with every process, for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": replay.name,
        "iterations": replay.length,
        "settings": replay.settings.model_dump(mode="json"),
        "share_measured": replay.share_measured,
        "state": replay.state.value,
        "transitions": [asdict(change) for change in replay.transitions],
        "maps": {held.name: _map_document(held) for held in replay.maps},
    }


def _map_document(replayed: "MapReplay") -> dict[str, Any]:
    return {
        "measurements": len(replayed.measured),
        "share_measured": replayed.share_measured,
        "mean_error": replayed.mean_error,
        "max_error": replayed.max_error,
        "share_sparse": replayed.share_sparse,
        "share_misjudged": replayed.share_misjudged,
        "processes": [asdict(process) for process in replayed.processes],
    }


def overhead_table(overhead: "TrainingOverhead", settings: MonitorSpec) -> Table:
    """Give measured overheads, and what they come to for trainings as long as those of table 6.6, beside the table.

    Below: what was measured, and each layer's decisions.
    """
    plan = overhead.plan
    share, modelled = overhead.share_measured, "monitored, modelled"
    rows: list[tuple[Any, ...]] = [
        ("without", plan.iterations, overhead.plain_s, None, None),
        ("exhaustive", plan.exhaustive_iterations, overhead.exhaustive_s, 1.0, overhead.exhaustive),
        ("monitored", plan.iterations, overhead.monitored_s, share, overhead.monitored),
        (modelled, plan.iterations, None, share, overhead.modelled),
    ]
    for iterations in sorted({published.iterations for published in TABLE_6_6.values()}):
        share = overhead.estimate_overhead(iterations, settings)
        rows.append((modelled, iterations, None, share / overhead.exhaustive if overhead.exhaustive else 0.0, share))
    paths = [one.path for one in OVERHEADS.columns]
    return OVERHEADS.table([dict(zip(paths, row, strict=True)) for row in rows], notes=list(_decisions(overhead)))


def _decisions(found: "TrainingOverhead") -> Iterator[str]:
    plan = found.plan
    yield f"{plan.model}, batch {plan.batch}, on {found.device}; zeros are counted on the {plan.place}"
    for name, log in found.layers.items():
        changes = ", ".join(f"{'sparse' if d.sparse else 'dense'} from {COUNT(d.iteration)}" for d in log.decisions)
        counts = f"{COUNT(log.measured)} measurements, {COUNT(log.sparse)} iterations sparse"
        yield f"{name}: {counts} ({changes or 'dense'})"


def overhead_document(overhead: "TrainingOverhead", settings: MonitorSpec) -> dict[str, Any]:
    """Return times, overheads and decisions, for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        **asdict(overhead),
        "settings": settings.model_dump(mode="json"),
        "overhead": {
            "exhaustive": overhead.exhaustive,
            "monitored": overhead.monitored,
            "modelled": overhead.modelled,
            "modelled_for": {
                str(n): overhead.estimate_overhead(n, settings)
                for n in sorted({t.iterations for t in TABLE_6_6.values()})
            },
        },
    }


def closed_loop_tables(result: "Result") -> list[Table]:
    """Return the tables of a training of `net --monitor` by policy, and of its passes; none of any other result."""
    training = result.last.tree.get("closed_loop")
    return [policies_table(training), passes_table(training)] if training else []


def policies_table(training: Mapping[str, Any]) -> Table:
    """Make a row for each policy: the whole training's time, of dense, what measuring takes, how it decided."""
    dense_us = training["policies"][0]["time_us"]
    rows = [
        {
            **policy, "training_s": policy["time_us"] / 1e6, "speed_up": dense_us / policy["time_us"],
            "measuring": policy["measuring_us"] / policy["time_us"],
        }
        for policy in training["policies"]
    ]  # fmt: skip
    return POLICIES.table(rows, f"{training['curves']}: {COUNT(training['iterations'])} iterations")


def passes_table(training: Mapping[str, Any]) -> Table:
    """Make a row for each pass that can skip zeros: its times, its break-even, how often it was sparse."""
    policies = training["policies"][2:]
    rows = [
        {
            **one,
            "measurement_us": training["measuring_us"][one["layer"]],
            "by": [p["by_pass"][number] for p in policies],
        }
        for number, one in enumerate(training["passes"])
    ]
    notes = [
        "line off: a point between two others from the line through these, relative, at most",
        "break-even: share of zeros from which the estimate is below the dense time; –: none",
        "last columns: sparse iterations",
    ]
    sparse = [
        column(lambda row, number=number: row["by"][number], policy["policy"], PERCENT)  # type: ignore[misc]
        for number, policy in enumerate(policies)
    ]
    return PASSES.with_columns(*sparse).table(rows, notes=notes)
