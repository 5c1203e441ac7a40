"""What of a network's run stays: metrics of each layer, by pass, by direction and as a whole, and its launches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gpusim.base.sums import plain_sum
from gpusim.results import metrics
from gpusim.results.records.record import PartRecord, RunRecord
from gpusim.results.store.records import restored
from gpusim.study.compare.rules import ROOFLINES

DIGITS = 6  # significant ones of a number that stays
BY = ("pass", "direction", "layer", "kind", "network")
FORWARD, BACKWARD, UPDATE, ALL = "forward", "backward", "update", "all"
_FORWARD = ("forward", "loss")
WORK = ("macs", "operations", "minimum_bytes", "launches", "images")
# what verdicts and explanations read of every row, beside what figures measure
ALWAYS = (
    "kernel.cycles",
    "kernel.time_us",
    "kernel.clock_ghz",
    "kernel.wavefront_instructions",
    "dram.bytes",
    "l1.hit_rate",
    "l2.hit_rate",
    "l1.transactions",
    "l2.transactions",
    *(metric.path for metric in metrics.METRICS if metric.path.startswith("stalls.")),
    *(f"roofline.{name}" for name in ROOFLINES),
)


class NetworkLaunchRecord(NamedTuple):
    """A launch of a layer's pass."""

    layer: str
    what: str
    kernel: str
    time_us: float


@dataclass(frozen=True)
class NetworkRowRecord:
    """A row of a network's results: passes of one or several layers."""

    by: str
    """Grouping of the rows: one of BY."""
    layer: str
    """Name of the layer, or of a kind whose layers form one row; empty: all layers."""
    kind: str
    """Kind of the layer."""
    part: str
    """Pass, direction, or 'all'."""
    work: Mapping[str, int]
    """Counts by name (WORK)."""
    metrics: Mapping[str, float]
    """Metrics by path."""
    half_widths: Mapping[str, float]
    """Non-zero half-widths of the metrics by path."""

    def number(self, path: str) -> float | None:
        """Return a metric, or of `work.` a count; None where it does not apply or is not known."""
        group, _, name = path.partition(".")
        return self.work.get(name) if group == "work" else self.metrics.get(path)


@dataclass(frozen=True)
class NetworkPointRecord:
    """The stored run of a network."""

    rows: Sequence[NetworkRowRecord]
    """Rows of all groupings."""
    launches: Sequence[NetworkLaunchRecord]
    """Launches in order."""
    fraction: float
    """Share of the instructions that was simulated."""
    error: float
    """Relative half-width of the iteration's time."""
    seconds: float
    """Processor time in seconds."""


def get_direction(what: str) -> str:
    """Return the direction that a pass belongs to."""
    return FORWARD if what in _FORWARD else UPDATE if what == UPDATE else BACKWARD


def build_network_record(content: Mapping[str, Any], paths: Iterable[str], batch: int) -> NetworkPointRecord:
    """Return the results of a network's run in a store, from its stored content. paths: the metrics that stay.

    What it took is counted by its launches, each of several equal ones once, whenever these were simulated.
    """
    record = restored(content["records"])[-1]
    wanted = sorted({*ALWAYS, *paths})
    rows = [_row(record, by, layer, part, parts, wanted, batch) for by, layer, part, parts in _groups(record.parts)]
    whole = next(row for row in rows if row.by == "network" and row.part == ALL)
    sampling = record.total.sampling
    launches = [
        NetworkLaunchRecord(*_place(one.place), one.name, _short(one.ended_us - one.started_us))
        for one in record.commands
    ]
    return NetworkPointRecord(
        rows,
        launches,
        1.0 if sampling is None else _short(sampling.fraction),
        _short(whole.half_widths.get("kernel.time_us", 0.0) / whole.metrics["kernel.time_us"]),
        _short(float(record.values["spent_s"])),
    )


def _place(place: str) -> tuple[str, str]:
    """Return layer and pass of a command's place: 'conv2 forward'."""
    layer, _, what = place.rpartition(" ")
    return layer, what


def _groups(parts: Sequence[PartRecord]) -> Iterator[tuple[str, str, str, list[PartRecord]]]:
    """Yield (by, layer, part, the parts together) of all rows."""
    for one in parts:
        yield "pass", one.name, one.what, [one]
    for layer in dict.fromkeys(one.name for one in parts):
        yield from _together("direction", "layer", layer, [one for one in parts if one.name == layer])
    kinds = {id(one): str(one.values.get("kind", "")) for one in parts}
    for kind in dict.fromkeys(kinds.values()):
        yield "kind", kind, ALL, [one for one in parts if kinds[id(one)] == kind]
    yield from _together("network", "network", "", list(parts))


def _together(
    by: str, whole: str, layer: str, parts: list[PartRecord]
) -> Iterator[tuple[str, str, str, list[PartRecord]]]:
    for direction in (FORWARD, BACKWARD, UPDATE):
        held = [one for one in parts if get_direction(one.what) == direction]
        if held:
            yield by, layer, direction, held
    yield whole, layer, ALL, parts


def _row(
    record: RunRecord, by: str, layer: str, part: str, parts: list[PartRecord], paths: Sequence[str], batch: int
) -> NetworkRowRecord:
    found = metrics.chosen(paths, replace(record, parts=parts).total, record.energy)
    numbers = {path: held for path, held in found.items() if isinstance(held[0], int | float)}
    work = {name: plain_sum(int(one.values.get(name, 0)) for one in parts) for name in WORK[:3]}
    work |= {"launches": plain_sum(len(one.launches) for one in parts), "images": batch}
    kinds = {str(one.values.get("kind", "")) for one in parts}
    return NetworkRowRecord(
        by=by,
        layer=layer,
        kind=kinds.pop() if len(kinds) == 1 else "",
        part=part,
        work=work,
        metrics={path: _short(value) for path, (value, _) in numbers.items()},
        half_widths={path: _short(width) for path, (_, width) in numbers.items() if width},
    )


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def plain(kept: NetworkPointRecord) -> dict[str, Any]:
    """Return plain data for a file: names of metrics once, rows as lists."""
    paths = sorted({path for row in kept.rows for path in row.metrics})
    rows = [
        [
            row.by,
            row.layer,
            row.kind,
            row.part,
            [row.work[name] for name in WORK],
            [row.metrics.get(path) for path in paths],
            dict(row.half_widths),
        ]
        for row in kept.rows
    ]
    return {
        **{name: getattr(kept, name) for name in ("fraction", "error", "seconds")},
        "metrics": paths,
        "rows": rows,
        "launches": [list(launch) for launch in kept.launches],
    }


def parse_network_record(data: Mapping[str, Any]) -> NetworkPointRecord:
    """Return what `plain` made plain; raise ValueError, KeyError or TypeError for other data."""
    rows = []
    for by, layer, kind, part, work, values, widths in data["rows"]:
        held = {path: value for path, value in zip(data["metrics"], values, strict=True) if value is not None}
        rows.append(
            NetworkRowRecord(
                by=by,
                layer=layer,
                kind=kind,
                part=part,
                work=dict(zip(WORK, work, strict=True)),
                metrics=held,
                half_widths=widths,
            )
        )
    launches = [NetworkLaunchRecord(*one) for one in data["launches"]]
    return NetworkPointRecord(rows, launches, data["fraction"], data["error"], data["seconds"])
