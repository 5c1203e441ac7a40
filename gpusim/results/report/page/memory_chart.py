"""The memory chart: units with their hit rates, and the bytes that flow between them, as one picture."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from gpusim.base.formats import GROUPED_0, GROUPED_DIGITS_3, PERCENT
from gpusim.base.picture import Picture
from gpusim.base.table import MISSING
from gpusim.results.metrics.memory import VECTOR_PATH, CacheLevel
from gpusim.results.report.access import LINE_BYTES
from gpusim.results.report.page.charts import COLOURS
from gpusim.results.report.result import RunMetrics

_BOX = (1.35, 0.62)  # inches
_STEP = 2.0  # from column to column
_ROWS = 0.95  # from row to row
_WIDEST, _THINNEST = 5.0, 0.6  # points of an arrow


class ChartUnit(NamedTuple):
    """A unit of the chart."""

    name: str
    """Name of the unit."""
    said: str
    """Text below the name."""
    column: int
    """Column of the chart."""
    row: int
    """Row of the chart."""


class ChartFlow(NamedTuple):
    """Bytes from one unit to another."""

    source: str
    """Unit that sends."""
    target: str
    """Unit that receives."""
    size_bytes: float
    """Number of bytes."""
    read: bool
    """Direction towards the compute units."""


def _rate(run: RunMetrics, path: str, what: str) -> str:
    rate = run.get(path)
    return f"{what} {MISSING if rate is None else PERCENT(rate)}"


def _between(run: RunMetrics, upper: CacheLevel, lower: CacheLevel, scalar: float) -> tuple[ChartFlow, ChartFlow]:
    """Return what two neighbouring levels send one another. scalar: bytes that the lower sends the scalar caches."""
    read = run.number(f"{lower.section}.read_transactions") * LINE_BYTES - (scalar if upper is VECTOR_PATH[0] else 0.0)
    written = run.number("l2.bytes_written")
    return ChartFlow(lower.name, upper.name, max(read, 0.0), True), ChartFlow(upper.name, lower.name, written, False)


def units_and_flows(run: RunMetrics) -> tuple[list[ChartUnit], list[ChartFlow]]:
    """Return the chart's units, and the flows between them that carry anything."""
    levels = [level for level in VECTOR_PATH if run.get(f"{level.section}.transactions") is not None]
    last = len(levels) + 1
    units = [
        ChartUnit("Compute units", f"{GROUPED_0(run.number('kernel.vmem_instructions'))} VMEM", 0, 0),
        *(
            ChartUnit(level.name, _rate(run, f"{level.section}.hit_rate", "hits"), column, 0)
            for column, level in enumerate(levels, 1)
        ),
        ChartUnit("DRAM", _rate(run, "dram.row_hit_rate", "row hits"), last, 0),
        ChartUnit("LDS", f"{GROUPED_0(run.number('kernel.lds_instructions'))} instructions", 0, 1),
        ChartUnit("Scalar cache", _rate(run, "scalar_cache.hit_rate", "hits"), 2, 1),
    ]
    of_l1 = {way: run.number(f"l1.{way}_transactions") * LINE_BYTES for way in ("read", "write")}
    scalar = run.number("scalar_cache.misses") * LINE_BYTES
    below_l1 = levels[1].name
    flows = [
        ChartFlow("L1", "Compute units", of_l1["read"], True),
        ChartFlow("Compute units", "L1", of_l1["write"], False),
        *(flow for upper, lower in pairwise(levels) for flow in _between(run, upper, lower, scalar)),
        ChartFlow("DRAM", "L2", run.number("dram.bytes_read"), True),
        ChartFlow("L2", "DRAM", run.number("dram.bytes_written"), False),
        ChartFlow("LDS", "Compute units", run.number("lds.bytes_asked_for"), True),
        ChartFlow(below_l1, "Scalar cache", scalar, True),
    ]
    if run.tree.get("engine"):
        units.append(ChartUnit("Engine", f"{GROUPED_0(run.number('engine.requests'))} requests", last, 1))
        flows.append(ChartFlow("Engine", "L2", run.number("l2.sparse_fills") * LINE_BYTES, True))
    return units, [flow for flow in flows if flow.size_bytes]


def memory_chart(measured: Sequence[RunMetrics]) -> Picture | None:
    """Draw the chart of the last run of several; None where nothing was timed."""
    run = next((one for one in reversed(measured) if one.get("l1.transactions")), None)
    if run is None:
        return None
    units, flows = units_and_flows(run)
    if not flows:
        return None
    most = max(flows, key=lambda flow: flow.size_bytes)
    rows = [(flow.source, flow.target, flow.size_bytes) for flow in flows]
    return Picture(
        name="memory-chart",
        title=f"Memory chart: {run.name or run.kernel}",
        alt=f"The largest flow is from {most.source} to {most.target}, {_amount(most.size_bytes)}.",
        heads=("from", "to", "bytes"),
        rows=rows,
        draw=lambda figure: _draw(figure, units, flows),
        size=(_STEP * max(unit.column for unit in units) + 1.6, 2.0),
    )


def _amount(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{GROUPED_DIGITS_3(size)} {unit}"


def _draw(figure: Any, units: Sequence[ChartUnit], flows: Sequence[ChartFlow]) -> None:
    width, height = figure.get_size_inches()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-0.1, width - 0.1)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    at = {unit.name: (_STEP * unit.column, 0.2 + _ROWS * unit.row) for unit in units}
    for unit in units:
        x, y = at[unit.name]
        axes.add_patch(_rectangle(x, y))
        axes.text(x + _BOX[0] / 2, y + 0.22, unit.name, ha="center", va="center", fontsize=8, weight="bold")
        axes.text(x + _BOX[0] / 2, y + 0.45, unit.said, ha="center", va="center", fontsize=7)
    most = max(flow.size_bytes for flow in flows)
    for flow in flows:
        _arrow(axes, at[flow.source], at[flow.target], flow, _WIDEST * flow.size_bytes / most)


def _rectangle(x: float, y: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), *_BOX, fill=False, linewidth=0.8, edgecolor=COLOURS[6])


def _arrow(axes: Any, source: tuple[float, float], target: tuple[float, float], flow: ChartFlow, points: float) -> None:
    """Draw an arrow between two boxes, reads above writes, with its bytes."""
    (x0, y0), (x1, y1) = source, target
    if x0 == x1:  # one above the other
        x = x0 + _BOX[0] / 2
        ends = (x, y0 if y0 > y1 else y0 + _BOX[1]), (x, y1 + _BOX[1] if y0 > y1 else y1)
        label = (x + 0.06, (ends[0][1] + ends[1][1]) / 2, "left")
    else:
        shift = 0.2 if flow.read else 0.44
        ends = (x0 + (_BOX[0] if x1 > x0 else 0.0), y0 + shift), (x1 + (_BOX[0] if x0 > x1 else 0.0), y1 + shift)
        label = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2 - 0.06, "center")
    style = {"arrowstyle": "-|>", "color": COLOURS[0 if flow.read else 5], "linewidth": max(points, _THINNEST)}
    axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    axes.text(label[0], label[1], _amount(flow.size_bytes), ha=label[2], va="bottom", fontsize=6.5)
