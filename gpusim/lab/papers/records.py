"""The stored runs of a publication: one JSON file, from which tables, pictures and claims are made anew.

Of a product's run some metrics are stored, of a network's run the metrics of each layer: by pass, by direction, as a
whole, by kind, and of all layers together.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.formats import DIGITS_6
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.sums import plain_sum
from gpusim.lab.versions.model import UNRECORDED, FigureVersion
from gpusim.lab.versions.recorded import (
    Models,
    StoredVersion,
    encode_models,
    encode_version,
    parse_models,
    parse_version,
)
from gpusim.results import metrics
from gpusim.results.metrics.half_widths import SUFFIX
from gpusim.results.records.record import PartRecord, RunRecord
from gpusim.results.store.records import restored
from gpusim.study.compare.rules import ROOFLINES, RULES

FILE = "results.json"
SCHEMA = 1
# what tables, measures and explanations read of a product's run
_GROUPS = ("data.", "stalls.", "engine.")
_PATHS = {
    *(path for rule in RULES for path in rule.paths), *(f"roofline.{name}" for name in ROOFLINES),
    "kernel.cycles", "kernel.time_us", "l2.hits", "l2.mshr_merges", "energy.total_uj",
}  # fmt: skip
# what explanations read of every row of a network's run, beside what figures measure
_ALWAYS = (
    "kernel.cycles", "kernel.time_us", "kernel.clock_ghz", "kernel.wavefront_instructions", "dram.bytes",
    "l1.hit_rate", "l2.hit_rate", "l1.transactions", "l2.transactions",
    *(metric.path for metric in metrics.METRICS if metric.path.startswith("stalls.")),
    *(f"roofline.{name}" for name in ROOFLINES),
)  # fmt: skip
FORWARD, BACKWARD, UPDATE, ALL = "forward", "backward", "update", "all"
WORK = ("macs", "operations", "minimum_bytes", "launches", "images")


@dataclass(frozen=True)
class PointRecord:
    """The stored run of a product."""

    metrics: Mapping[str, Any]
    """Applicable metrics that figures use, by path."""
    half_width: float
    """Relative half-width of the cycles; 0: simulated whole."""
    fraction: float
    """Share of the instructions that was simulated."""
    launches: list[tuple[str, int]]
    """Kernel and cycles of each launch."""
    seconds: float
    """Processor time in seconds."""
    version: FigureVersion = UNRECORDED
    """What made it."""

    @property
    def time_us(self) -> float:
        """The time of all its launches."""
        return float(self.metrics["kernel.time_us"])


class NetworkLaunchRecord(NamedTuple):
    """A launch of a layer's pass."""

    layer: str
    """Name of the layer."""
    what: str
    """The pass."""
    kernel: str
    """Name of the kernel."""
    time_us: float
    """Microseconds."""


@dataclass(frozen=True)
class NetworkRowRecord:
    """A row of a network's results: passes of one or several layers."""

    by: str
    """Grouping of the rows: pass, direction, layer, kind or network."""
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
    version: FigureVersion = UNRECORDED
    """What made it."""

    @property
    def iteration(self) -> NetworkRowRecord:
        """The row of all passes of all layers."""
        return next(row for row in self.rows if row.by == "network" and row.part == ALL)


@dataclass(frozen=True)
class ReproductionResults:
    """The known results of a publication."""

    name: str
    """Name of the publication."""
    points: Mapping[str, PointRecord]
    """Runs of single products and layers, by key."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Messages of failed points, by key."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """Options of the runs."""
    networks: Mapping[str, NetworkPointRecord] = field(default_factory=dict)
    """Runs of networks, by key."""

    @property
    def runs(self) -> Mapping[str, PointRecord | NetworkPointRecord]:
        """All points that are known."""
        return {**self.points, **self.networks}


def _short(value: Any) -> Any:
    return float(DIGITS_6(value)) if isinstance(value, float) else value


def build_point_record(content: Mapping[str, Any], seconds: float) -> PointRecord:
    """Return the results of a product's run from its content in a store.

    Args:
        content: What the store has of the run.
        seconds: Time of the run, where its content does not have the processor time.
    """
    record = restored(content["records"])[-1]
    values = {path: value for path, value in metrics.leaves(metrics.to_tree(record)) if value is not None}
    wanted = [path for path in values if path in _PATHS or (path.startswith(_GROUPS) and not path.endswith(SUFFIX))]
    sampling = record.total.sampling
    return PointRecord(
        {path: _short(values[path]) for path in wanted},
        half_width=_short(values.get(f"kernel.cycles{SUFFIX}", 0.0) / values["kernel.cycles"]),
        fraction=1.0 if sampling is None else _short(sampling.fraction),
        launches=[(facts.kernel.name, facts.cycles) for facts in record.launches],
        seconds=_short(values.get("simulator.cpu_s", seconds)),
    )


def get_direction(what: str) -> str:
    """Return the direction that a pass belongs to."""
    return FORWARD if what in ("forward", "loss") else UPDATE if what == UPDATE else BACKWARD


def build_network_record(content: Mapping[str, Any], paths: Iterable[str], batch: int) -> NetworkPointRecord:
    """Return the results of a network's run from its content in a store.

    The processor time is that of its launches, each of several equal ones once, whenever these were simulated.

    Args:
        content: What the store has of the run.
        paths: Metrics of each row that are stored beside those that explanations read.
        batch: Images of the run.
    """
    record = restored(content["records"])[-1]
    wanted = sorted({*_ALWAYS, *paths})
    rows = [_row(record, *group, wanted, batch) for group in _groups(record.parts)]
    of_all = next(row for row in rows if row.by == "network" and row.part == ALL)
    sampling = record.total.sampling
    places = [one.place.rpartition(" ") for one in record.commands]  # 'conv2 forward'
    return NetworkPointRecord(
        rows,
        launches=[
            NetworkLaunchRecord(layer, what, one.name, _short(one.ended_us - one.started_us))
            for one, (layer, _, what) in zip(record.commands, places, strict=True)
        ],
        fraction=1.0 if sampling is None else _short(sampling.fraction),
        error=_short(of_all.half_widths.get("kernel.time_us", 0.0) / of_all.metrics["kernel.time_us"]),
        seconds=_short(float(record.values["spent_s"])),
    )


def _groups(parts: Sequence[PartRecord]) -> Iterator[tuple[str, str, str, list[PartRecord]]]:
    """Yield (by, layer, part, the parts together) of all rows."""
    for part in parts:
        yield "pass", part.name, part.what, [part]
    for layer in dict.fromkeys(part.name for part in parts):
        yield from _directions("direction", "layer", layer, [part for part in parts if part.name == layer])
    kinds = {id(part): str(part.values.get("kind", "")) for part in parts}
    for kind in dict.fromkeys(kinds.values()):
        yield "kind", kind, ALL, [part for part in parts if kinds[id(part)] == kind]
    yield from _directions("network", "network", "", list(parts))


def _directions(
    by: str, of_all: str, layer: str, parts: list[PartRecord]
) -> Iterator[tuple[str, str, str, list[PartRecord]]]:
    for direction in (FORWARD, BACKWARD, UPDATE):
        some = [part for part in parts if get_direction(part.what) == direction]
        if some:
            yield by, layer, direction, some
    yield of_all, layer, ALL, parts


def _row(
    record: RunRecord, by: str, layer: str, part: str, parts: list[PartRecord], paths: Sequence[str], batch: int
) -> NetworkRowRecord:
    found = metrics.chosen(paths, replace(record, parts=parts).total, record.energy)
    numbers = {path: pair for path, pair in found.items() if isinstance(pair[0], int | float)}
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


def encode_network_record(record: NetworkPointRecord) -> dict[str, Any]:
    """Return plain data for a file: names of metrics once, rows as lists."""
    paths = sorted({path for row in record.rows for path in row.metrics})
    return {
        **{name: getattr(record, name) for name in ("fraction", "error", "seconds")},
        "metrics": paths,
        "rows": [
            [row.by, row.layer, row.kind, row.part, [row.work[name] for name in WORK]]
            + [[row.metrics.get(path) for path in paths], dict(row.half_widths)]
            for row in record.rows
        ],
        "launches": [list(launch) for launch in record.launches],
        "version": encode_version(record.version),
    }


@dataclass(frozen=True)
class _StoredNetwork:
    """A network's record as its file has it: names of metrics once, rows as lists."""

    fraction: float
    error: float
    seconds: float
    metrics: list[str]
    rows: list[
        tuple[str, str, str, str, tuple[int, int, int, int, int], list[int | float | None], dict[str, int | float]]
    ]
    launches: list[NetworkLaunchRecord]
    version: StoredVersion = None

    def record(self, source: str, models: Models) -> NetworkPointRecord:
        """Return the record.

        Args:
            source: Place in the file.
            models: The file's models.

        Returns:
            The record.

        Raises:
            UserError: A row has another length than the names, or the version's model is not in the file.
        """
        rows = []
        for number, (by, layer, kind, part, work, values, widths) in enumerate(self.rows):
            if len(values) != len(self.metrics):
                raise UserError(f"{source}: rows.{number}: {len(values)} values for {len(self.metrics)} metrics")
            rows.append(
                NetworkRowRecord(
                    by=by,
                    layer=layer,
                    kind=kind,
                    part=part,
                    work=dict(zip(WORK, work, strict=True)),
                    metrics={p: value for p, value in zip(self.metrics, values, strict=True) if value is not None},
                    half_widths=widths,
                )
            )
        version = parse_version(self.version, models, source=source)
        return NetworkPointRecord(rows, self.launches, self.fraction, self.error, self.seconds, version)


@dataclass(frozen=True)
class _StoredPoint:
    """A product's record as its file has it."""

    metrics: dict[str, Any]
    half_width: float
    fraction: float
    launches: list[tuple[str, int]]
    seconds: float
    version: StoredVersion = None

    def record(self, source: str, models: Models) -> PointRecord:
        """Return the record; raise UserError where the version's model is not in the file."""
        version = parse_version(self.version, models, source=source)
        return PointRecord(self.metrics, self.half_width, self.fraction, self.launches, self.seconds, version)


@dataclass(frozen=True)
class _StoredHead:
    """What a publication's results are of."""

    schema: int
    reproduction: str


@dataclass(frozen=True)
class _StoredResults:
    """A publication's results as their file has them."""

    run: dict[str, Any]
    errors: dict[str, str]
    points: dict[str, _StoredPoint]
    models: dict[str, dict[str, str]] = field(default_factory=dict)
    networks: dict[str, _StoredNetwork] = field(default_factory=dict)


def as_json(results: ReproductionResults) -> str:
    """Return the file's text, with a line for each point, so that differences are readable."""
    models = encode_models(record.version for record in results.runs.values())
    head = {"schema": SCHEMA, "reproduction": results.name, "run": results.said, "models": models}
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    networks = {key: encode_network_record(record) for key, record in results.networks.items()}
    points = {key: vars(record) | {"version": encode_version(record.version)} for key, record in results.points.items()}
    tables: dict[str, Mapping[str, Any]] = {"errors": results.errors, "points": points}
    tables |= {"networks": networks} if networks else {}
    for name, table in tables.items():
        rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table.items())]
        lines += [f' "{name}": {{', ",\n".join(rows), " }" + ("," if name != list(tables)[-1] else "")]
    return "{\n" + "\n".join(line for line in lines if line) + "\n}\n"


def load(folder: Path, name: str) -> ReproductionResults:
    """Load the file in a folder.

    Args:
        folder: Folder of the results.
        name: Name of the publication.

    Raises:
        UserError: The file has another form, or is of another publication.
    """
    path = folder / FILE
    content, hint = read_json(path), f"gpusim reproduce {name} makes it"
    head = parse_as(_StoredHead, content, str(path), hint)
    if head.schema != SCHEMA or head.reproduction != name:
        raise UserError(f"{path}: has results of '{head.reproduction}', schema {head.schema}, not of {name}")
    stored = parse_as(_StoredResults, content, str(path), hint)
    models = parse_models(stored.models, str(path))
    points = {key: point.record(f"{path}: points.{key}", models) for key, point in stored.points.items()}
    networks = {key: one.record(f"{path}: networks.{key}", models) for key, one in stored.networks.items()}
    return ReproductionResults(name, points, stored.errors, stored.run, networks)
