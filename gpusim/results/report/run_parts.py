"""The launches of a run that rules judge one by one: by kernel and grid, with a network's layer and pass."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpusim.results.report.result import RunMetrics
from gpusim.results.report.words import PASSES
from isa.object.names import short

_BY_LAUNCH = ("workgroups_total", "workgroups", "wavefronts", "workgroup_places")


class LaunchShare(NamedTuple):
    """Launches of one kernel with about as many workgroups; cycles are of all of them, the grid is of one."""

    measured: RunMetrics
    """Metrics."""
    launches: int
    """Number of launches."""
    place: str = ""
    """Layer and pass; empty where there are none."""

    @property
    def kernel(self) -> str:
        """The name of the kernel as the code object has it."""
        return _joined(self.measured.get("kernel.name"))

    @property
    def title(self) -> str:
        """What a finding names: layer, pass and kernel."""
        return ", ".join(filter(None, (self.place, short(self.kernel))))


def split_run(column: RunMetrics) -> list[LaunchShare]:
    """Return the launches of a run by kernel and grid; the run itself where it has one launch or several alike."""
    rows = [row for row in column.tree.get("rows") or () if row.get("metrics")]
    parts = [part for row in rows for part in _parts(column, row, row["metrics"], _place(row))]
    return parts or list(_parts(column, column.tree, column.tree, ""))


def _parts(
    column: RunMetrics, holder: Mapping[str, Any], metrics: Mapping[str, Any], place: str
) -> Iterator[LaunchShare]:
    groups = holder.get("launch_groups")
    for group in groups or ():
        yield LaunchShare(_of_launch(column, group["metrics"], group["launches"]), group["launches"], place)
    if not groups:
        held = holder.get("timed", holder.get("launches"))
        launches = len(held) if isinstance(held, list) else int(held or 1)
        yield LaunchShare(_of_launch(column, metrics, launches), launches, place)


def _of_launch(column: RunMetrics, metrics: Mapping[str, Any], launches: int) -> RunMetrics:
    """Return metrics with the grid of one launch, and with the counts of its kernel's instructions."""
    kernel = dict(metrics.get("kernel") or {})
    name = _joined(kernel.get("name"))
    for count in _BY_LAUNCH:
        if launches > 1 and isinstance(kernel.get(count), int):
            kernel[count] = max(round(kernel[count] / launches), 1)
    tree = {**metrics, "kernel": kernel}
    if metrics is not column.tree:
        for group in ("access_patterns", "hotspots"):
            tree[group] = [spot for spot in column.tree.get(group) or () if spot["kernel"] == name]
    return RunMetrics(column.name, tree, column.gpu)


def _joined(name: Any) -> str:
    """Return the names of kernels that a sum joins, each once."""
    return " + ".join(dict.fromkeys(str(name or "").split(" + ")))


def _place(row: Mapping[str, Any]) -> str:
    what = row.get("pass", "")
    return f"{row['name']} {PASSES[what][0] if what in PASSES else what}".rstrip() if what else ""
