"""What of a reproduction's runs stays: one JSON file, from which tables, pictures and claims are made anew."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.lab.papers.kept_network import DIGITS, NetworkPointRecord, parse_network_record, plain
from gpusim.results import metrics
from gpusim.results.metrics.half_widths import SUFFIX
from gpusim.results.store.records import restored
from gpusim.study.compare.rules import ROOFLINES, RULES

FILE = "results.json"
SCHEMA = 1
# what tables, measures and explanations read
_GROUPS = ("data.", "stalls.", "engine.")
_PATHS = {
    *(path for rule in RULES for path in rule.paths), *(f"roofline.{name}" for name in ROOFLINES),
    "kernel.cycles", "kernel.time_us", "l2.hits", "l2.mshr_merges", "energy.total_uj",
}  # fmt: skip


@dataclass(frozen=True)
class PointRecord:
    """The stored run of a point."""

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
    sources: str = ""
    """Hash of the source files of the run."""

    @property
    def time_us(self) -> float:
        """The time of all its launches."""
        return float(self.metrics["kernel.time_us"])


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
    def runs(self) -> "Mapping[str, PointRecord | NetworkPointRecord]":
        """All points that are known."""
        return {**self.points, **self.networks}


def build_point_record(content: Mapping[str, Any], seconds: float, sources: str = "") -> PointRecord:
    """Return the results of a run in a store, from its stored content. sources: hash of those that ran it."""
    record = restored(content["records"])[-1]
    values = {path: value for path, value in metrics.leaves(metrics.to_tree(record)) if value is not None}
    cycles = values["kernel.cycles"]
    wanted = [path for path in values if path in _PATHS or (path.startswith(_GROUPS) and not path.endswith(SUFFIX))]
    sampling = record.total.sampling
    return PointRecord(
        {path: _short(values[path]) for path in wanted},
        _short(values.get(f"kernel.cycles{SUFFIX}", 0.0) / cycles),
        1.0 if sampling is None else _short(sampling.fraction),
        [(facts.kernel.name, facts.cycles) for facts in record.launches],
        _short(seconds),
        sources,
    )


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def as_json(results: ReproductionResults) -> str:
    """Return the file's text, with a line for each point, so that differences are readable."""
    head = {"schema": SCHEMA, "reproduction": results.name, "run": results.said}
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    networks = {key: plain(one) for key, one in results.networks.items()}
    tables: dict[str, Mapping[str, Any]] = {"errors": results.errors, "points": results.points}
    tables |= {"networks": networks} if networks else {}
    for name, held in tables.items():
        rows = [f"  {json.dumps(key)}: {json.dumps(value, default=asdict)}" for key, value in sorted(held.items())]
        lines += [f' "{name}": {{', ",\n".join(rows), " }" + ("," if name != list(tables)[-1] else "")]
    return "{\n" + "\n".join(line for line in lines if line) + "\n}\n"


def load(folder: Path, name: str) -> ReproductionResults:
    """Load the file in a folder; raise UserError for a file of another form, or of another reproduction."""
    path = folder / FILE
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["schema"] != SCHEMA or held["reproduction"] != name:
            raise UserError(f"{path}: has results of '{held['reproduction']}', schema {held['schema']}, not of {name}")
        of_all = held["run"].get("sources", "")  # files of before have none of each point
        points = {
            key: PointRecord(**{"sources": of_all, **one, "launches": list(map(tuple, one["launches"]))})
            for key, one in held["points"].items()
        }
        networks = {key: parse_network_record(one) for key, one in held.get("networks", {}).items()}
        return ReproductionResults(name, points, held["errors"], held["run"], networks)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; gpusim reproduce {name} makes it") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: is no file of results: {error}") from None
