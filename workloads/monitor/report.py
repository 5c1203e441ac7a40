"""What the monitor did, as tables and as plain data for JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from workloads.monitor.overhead import TABLE_6_6
from workloads.monitor.replay import MapReplay, Replay
from workloads.monitor.settings import MonitorSpec
from workloads.monitor.training_overhead import TrainingOverhead

SCHEMA_VERSION = 1
Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # head, and rows of as many cells


def replay_table(replay: Replay) -> Table:
    """Make a table with a row for each map."""
    head = ["map", "processes", "measurements", "measured", "mean error", "max error", "sparse", "misjudged"]
    return head, [
        [
            held.name,
            str(len(held.processes)),
            str(len(held.measured)),
            percent(held.share_measured),
            percent(held.mean_error),
            percent(held.max_error),
            percent(held.share_sparse),
            percent(held.share_misjudged),
        ]
        for held in replay.maps
    ]


def replay_lines(replay: Replay) -> Iterator[str]:
    """Yield lines about the whole training: its length, the share measured, the final state, each change of
    the state.
    """
    yield (
        f"{replay.name}: {replay.length:,} iterations, {percent(replay.share_measured)} of map-iterations measured; "
        f"at the end {replay.state}"
    )
    for change in replay.transitions:
        yield f"iteration {change.iteration:,}: {change.state}, by {change.by}"


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
    """Make a table of measured overheads, of those they imply for trainings as long as table 6.6's, and of that
    table's.
    """
    plan = found.plan
    rows = [
        ["without", f"{plan.iterations:,}", milliseconds(found.plain_s), "", ""],
        ["exhaustive", f"{plan.exhaustive_iterations:,}", milliseconds(found.exhaustive_s), percent(1.0)],
        ["monitored", f"{plan.iterations:,}", milliseconds(found.monitored_s), percent(found.share_measured)],
    ]
    rows[1].append(percent(found.exhaustive))
    rows[2].append(percent(found.monitored))
    rows.append(["monitored, modelled", f"{plan.iterations:,}", "", percent(found.share_measured)])
    rows[-1].append(percent(found.modelled))
    for iterations in sorted({held.iterations for held in TABLE_6_6.values()}):
        share = found.modelled_for(iterations, settings)
        measured = share / found.exhaustive if found.exhaustive else 0.0
        rows.append(["monitored, modelled", f"{iterations:,}", "", percent(measured), percent(share)])
    return ["training", "iterations", "an iteration", "measured", "overhead"], rows


def overhead_lines(found: TrainingOverhead) -> Iterator[str]:
    """Yield a line about the measurement, then one about each layer's decisions."""
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
                str(n): found.modelled_for(n, settings) for n in sorted({t.iterations for t in TABLE_6_6.values()})
            },
        },
    }


def percent(share: float | None) -> str:
    """Return a share as text, such as '12.3 %' or '0.0123 %'; '–' for None."""
    if share is None:
        return "–"
    value = 100.0 * share
    return f"{value:.1f} %" if abs(value) >= 1.0 or value == 0.0 else f"{value:.2g} %"


def milliseconds(seconds: float) -> str:
    """Return a time as text, such as '1.234 ms'."""
    return f"{1e3 * seconds:.3f} ms"
