"""What the monitor did, as tables and as plain data for JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gpusim.base.table import Column, Table, columns
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.overhead import TABLE_6_6
from gpusim.lab.monitor.replay import MapReplay, Replay
from gpusim.lab.monitor.training_overhead import TrainingOverhead

SCHEMA_VERSION = 1


def replay_table(replay: Replay) -> Table:
    """Make a row for each map; below, what holds for the whole training."""
    heads = columns("map", "processes", "measurements")
    heads += [
        Column(head, percent, right=True) for head in ("measured", "mean error", "max error", "sparse", "misjudged")
    ]
    rows = [
        (
            held.name,
            len(held.processes),
            len(held.measured),
            held.share_measured,
            held.mean_error,
            held.max_error,
            held.share_sparse,
            held.share_misjudged,
        )
        for held in replay.maps
    ]
    whole = (
        f"{replay.name}: {replay.length:,} iterations, {percent(replay.share_measured)} of map-iterations measured; "
        f"at the end {replay.state}"
    )
    changes = [f"iteration {change.iteration:,}: {change.state}, by {change.by}" for change in replay.transitions]
    said = "misjudged: iterations in which the true sparsity would have chosen the other kernel"
    return Table(heads, rows, notes=[whole, *changes, said])


def replay_document(replay: Replay) -> dict[str, Any]:
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


def _map_document(held: MapReplay) -> dict[str, Any]:
    return {
        "measurements": len(held.measured),
        "share_measured": held.share_measured,
        "mean_error": held.mean_error,
        "max_error": held.max_error,
        "share_sparse": held.share_sparse,
        "share_misjudged": held.share_misjudged,
        "processes": [asdict(process) for process in held.processes],
    }


def overhead_table(found: TrainingOverhead, settings: MonitorSpec) -> Table:
    """Give measured overheads, and what they come to for trainings as long as those of table 6.6, beside the table.

    Below: what was measured, and each layer's decisions.
    """
    plan = found.plan
    heads = [Column("training"), Column("iterations", "{:,}".format), Column("an iteration", milliseconds)]
    heads += [Column("measured", percent), Column("overhead", percent)]
    share, modelled = found.share_measured, "monitored, modelled"
    rows: list[tuple[Any, ...]] = [
        ("without", plan.iterations, found.plain_s, None, None),
        ("exhaustive", plan.exhaustive_iterations, found.exhaustive_s, 1.0, found.exhaustive),
        ("monitored", plan.iterations, found.monitored_s, share, found.monitored),
        (modelled, plan.iterations, None, share, found.modelled),
    ]
    for iterations in sorted({held.iterations for held in TABLE_6_6.values()}):
        share = found.estimate_overhead(iterations, settings)
        rows.append((modelled, iterations, None, share / found.exhaustive if found.exhaustive else 0.0, share))
    return Table(heads, rows, notes=list(_decisions(found)))


def _decisions(found: TrainingOverhead) -> Iterator[str]:
    plan = found.plan
    yield f"{plan.model}, batch {plan.batch}, on {found.device}; zeros are counted on the {plan.place}"
    for name, log in found.layers.items():
        changes = ", ".join(f"{'sparse' if d.sparse else 'dense'} from {d.iteration:,}" for d in log.decisions)
        yield f"{name}: {log.measured:,} measurements, {log.sparse:,} iterations sparse ({changes or 'dense'})"


def overhead_document(found: TrainingOverhead, settings: MonitorSpec) -> dict[str, Any]:
    """Return times, overheads and decisions, for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        **asdict(found),
        "settings": settings.model_dump(mode="json"),
        "overhead": {
            "exhaustive": found.exhaustive,
            "monitored": found.monitored,
            "modelled": found.modelled,
            "modelled_for": {
                str(n): found.estimate_overhead(n, settings) for n in sorted({t.iterations for t in TABLE_6_6.values()})
            },
        },
    }


def percent(share: float) -> str:
    """Write '12.3 %', '0.0123 %'."""
    value = 100.0 * share
    return f"{value:.1f} %" if abs(value) >= 1.0 or value == 0.0 else f"{value:.2g} %"


def milliseconds(seconds: float) -> str:
    """Return a time as text, such as '1.234 ms'."""
    return f"{1e3 * seconds:.3f} ms"
