"""The picture of counters over time: rates, resident wavefronts and where their cycles go, one below the other."""

from collections.abc import Sequence
from typing import Any

from gpusim.base.formats import COUNT, GROUPED_0, GROUPED_DIGITS_3
from gpusim.base.picture import Picture
from gpusim.base.sums import plain_sum
from gpusim.results.report.over_time import IntervalReport, compute_interval_rates
from gpusim.results.report.page.charts import COLOURS
from gpusim.results.report.result import RunMetrics

_MOST = 400  # intervals that can be told apart
_PANEL_INCHES = 0.85
_STALLS_INCHES = 1.5
_REASONS = 6  # of stalls, the others as one


def time_chart(column: RunMetrics, name: str) -> Picture | None:
    """Draw a variant's series; None without one."""
    report = compute_interval_rates(column, _MOST)
    if report is None:
        return None
    reasons = _reasons(report)
    rates = {f"{rate.name}, {rate.unit}": values for rate, values in report.rates.items()}
    heads = ("to cycle", *rates, "resident wavefronts", *(f"{name.replace('_', ' ')}, %" for name in reasons))
    rows = list(zip(report.ends, *rates.values(), report.resident, *reasons.values(), strict=True))
    most = {name: max((v for v in values if v is not None), default=0.0) for name, values in rates.items()}
    said = "; ".join(f"{name}: at most {GROUPED_DIGITS_3(value)}" for name, value in most.items())
    title = f"Counters over time, {column.name}" if column.name else "Counters over time"
    return Picture(
        name=name,
        title=title,
        alt=f"{len(report.ends)} intervals up to cycle {COUNT(report.ends[-1] if report.ends else 0)}. {said}.",
        heads=heads,
        rows=rows,
        draw=lambda figure: _draw(figure, report, reasons),
        size=(7.2, _PANEL_INCHES * (len(rates) + 1) + _STALLS_INCHES + 0.9),
        note="Rates of each interval; wavefronts at its end. A wait is counted in the interval in which it ends.",
    )


def _reasons(found: IntervalReport) -> dict[str, Sequence[float]]:
    """Return the largest stall reasons with their shares, and the sum of the others."""
    ordered = sorted(found.stalls, key=lambda name: -plain_sum(found.stalls[name]))
    kept = {name: found.stalls[name] for name in ordered[:_REASONS]}
    rest = [found.stalls[name] for name in ordered[_REASONS:]]
    return kept | {"others": [plain_sum(values) for values in zip(*rest, strict=True)]}


def _draw(figure: Any, report: IntervalReport, reasons: dict[str, Sequence[float]]) -> None:
    panels: list[tuple[str, Sequence[float | None]]] = [
        (f"{rate.name}\n{rate.unit}", values) for rate, values in report.rates.items()
    ]
    panels.append(("resident\nwavefronts", list(report.resident)))
    ratios = [_PANEL_INCHES] * len(panels) + [_STALLS_INCHES]
    width, height = figure.get_size_inches()
    shape = {"left": 1.2 / width, "right": 1 - 0.15 / width, "bottom": 0.85 / height, "top": 1 - 0.1 / height}
    rows = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, gridspec_kw={**shape, "hspace": 0.25})
    edges = [0, *report.ends]
    for number, (axes, (name, values)) in enumerate(zip(rows, panels, strict=False)):
        drawn = [float("nan") if value is None else value for value in values]
        axes.stairs(drawn, edges, baseline=None, color=COLOURS[number % len(COLOURS)], linewidth=1.1)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
        axes.tick_params(labelsize=7)
    axes, bottom = rows[-1], [0.0] * len(report.ends)
    for number, (name, values) in enumerate(reasons.items()):
        top = [a + b for a, b in zip(bottom, values, strict=True)]
        colour = COLOURS[number % len(COLOURS)]
        axes.stairs(top, edges, baseline=bottom, fill=True, color=colour, label=name.replace("_", " "), linewidth=0)
        bottom = top
    axes.set_ylabel("wavefronts'\ncycles, %", rotation=0, ha="right", va="center", fontsize=7)
    axes.set_ylim(0, 100)
    axes.set_xlabel("cycle")
    axes.xaxis.set_major_formatter(lambda value, _: GROUPED_0(value))
    axes.tick_params(labelsize=7)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
