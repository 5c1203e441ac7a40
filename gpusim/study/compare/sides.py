"""What is compared: a run of a store, or the JSON file that a command wrote; its parts and their metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.intervals import Estimate
from gpusim.base.plain_data import parse_as, read_json
from gpusim.results import metrics
from gpusim.results.metrics.half_widths import SUFFIX
from gpusim.results.report.result import read
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.records import stored_run

WHOLE = "all"  # the part that is the whole of a run with rows


@dataclass(frozen=True)
class RunPart:
    """Metrics of a variant of a run, a layer's pass, or a network as a whole."""

    metrics: Mapping[str, Any]
    """Values by metric path."""
    half_widths: Mapping[str, float] = field(default_factory=dict)
    """Half-widths of the confidence intervals of sampled metrics, by path."""

    def estimate(self, path: str) -> Estimate | None:
        """Return a metric's value and half-width; None where it is not a number."""
        value = number(self.metrics.get(path))
        return None if value is None else (value, self.half_widths.get(path, 0.0))


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs."""

    label: str
    """Label: the name under which the run was given."""
    title: str
    """Title."""
    parts: Mapping[str, RunPart]
    """Parts by name; a run without parts has one with an empty name."""
    configuration: Mapping[str, Any]
    """Configuration values by path."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of the metrics by path."""


@dataclass(frozen=True)
class _StoredFigure:
    """A measured figure of microbenchmarks."""

    name: str
    value: int | float | None
    unit: str


@dataclass(frozen=True)
class _StoredFigures:
    """The part of a file of microbenchmarks that is compared."""

    figures: list[_StoredFigure]
    config: dict[str, Any] = field(default_factory=dict)


def side(text: str, store: Path) -> ComparedRun:
    """Read a run by its number or name, or a JSON file; after a colon, the name of one of its parts.

    Args:
        text: Number, name or path.
        store: File of the store.

    Raises:
        UserError: There is no such run, file or part.
    """
    whole, _, part = text.rpartition(":")
    named = [(text, ""), *([(whole, part)] if whole else [])]
    for name, chosen in named:
        if _is_file(name):
            return _chosen(_of_file(Path(name)), chosen)
    if any(name.endswith(".json") or "/" in name for name, _ in named):
        raise UserError(f"{text}: there is no such file")
    with StoreReader(store) as results:
        name, chosen = next((one for one in named if _is_run(results, one[0])), named[-1])
        return _chosen(_of_store(results, name), chosen)


def _chosen(run: ComparedRun, part: str) -> ComparedRun:
    """Return the side with only the part of that name; unchanged if the name is empty."""
    if not part:
        return run
    if part not in run.parts:
        named = [name for name in run.parts if name]
        said = unknown_name("part", part, named) if named else f"it has no parts, so none is called '{part}'"
        raise UserError(f"{run.label}: {said}")
    return ComparedRun(f"{run.label}:{part}", run.title, {"": run.parts[part]}, run.configuration, run.units)


def _is_file(name: str) -> bool:
    try:
        return not name.isdigit() and Path(name).is_file()
    except (OSError, ValueError):
        return False


def _is_run(results: StoreReader, name: str) -> bool:
    try:
        results.run(name)
    except UserError:
        return False
    return True


def _of_store(results: StoreReader, name: str) -> ComparedRun:
    stored = stored_run(results, name)
    units = dict(results.rows("SELECT name, unit FROM metric_names").rows)
    found = _of_document(stored.document(), f"run {stored.label}", str(stored.row["title"]))
    return ComparedRun(
        found.label, found.title, found.parts, dict(metrics.leaves(stored.configuration)), {**units, **found.units}
    )


def _of_file(path: Path) -> ComparedRun:
    document = read_json(path)
    if not isinstance(document, dict):
        raise UserError(f"{path}: holds no result: written by --json of run, exec, net, hip or microbench")
    return _of_document(document, str(path), "")


def _of_document(document: Mapping[str, Any], label: str, title: str) -> ComparedRun:
    """Make a side of a result's object: a part for each variant and row; or the figures of microbenchmarks."""
    configuration = document.get("config", {"gpu": document.get("gpu", {})})
    if "figures" in document:
        stored = parse_as(_StoredFigures, document, label, "gpusim microbench --json writes such a file")
        parts = {"": RunPart({figure.name: figure.value for figure in stored.figures})}
        units = {figure.name: figure.unit for figure in stored.figures}
        return ComparedRun(label, title or "microbenchmarks", parts, dict(metrics.leaves(configuration)), units)
    if "schema_version" not in document:
        raise UserError(f"{label}: holds no result: it is no file of --json")
    result = read(document, label)
    parts = {}
    for column in result.columns:
        rows = [row for row in result.rows if row.variant == column.name]
        whole = f"{column.name} {WHOLE}".strip() if rows else column.name
        parts[whole] = _metrics(column.tree)
        parts |= {row.measured.name.replace(":", ""): _metrics(row.measured.tree) for row in rows if row.measured.tree}
    if not any(part.metrics.get("kernel.cycles") for part in parts.values()):
        known = any(part.metrics.get("kernel.wavefront_instructions") for part in parts.values())
        if not known:
            raise UserError(f"{label}: holds no result: nothing was finished")
    return ComparedRun(label, title or result.what, parts, dict(metrics.leaves(configuration)), {})


def _metrics(tree: Mapping[str, Any]) -> RunPart:
    groups = {name: held for name, held in tree.items() if name in metrics.GROUPS and isinstance(held, dict)}
    values = dict(metrics.leaves(groups))
    widths = {path.removesuffix(SUFFIX): width for path, width in values.items() if path.endswith(SUFFIX)}
    exact = {path: value for path, value in values.items() if not path.endswith(SUFFIX)}
    return RunPart(exact, {path: width for path, width in widths.items() if isinstance(width, float)})


def number(value: Any) -> float | None:
    """Return a metric's value if it is a number; else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
