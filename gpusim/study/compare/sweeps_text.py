"""A comparison of sweeps for people, and as one JSON object."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gpusim.base.formats import FIXED_3, SIGNED_2
from gpusim.base.intervals import Estimate
from gpusim.base.table import Table
from gpusim.results.report.layout import fitted
from gpusim.results.report.values import format_metric
from gpusim.study.compare.rules import TIME
from gpusim.study.compare.sweeps import MeanRatio, PointComparison, QuantityChange, SweepComparison
from gpusim.study.compare.text import MOST_FINDINGS, MOST_PARTS, MOST_VALUES, more, show_configuration
from gpusim.study.compare.views import WHY, letter, side_columns

SAME = "not distinguishable"
MOST_ALONE = 4  # points named that not all sweeps have


def show(comparison: SweepComparison, out: TextIO, everything: bool = False) -> None:
    """Print a comparison: the mean, what changed, the points whose time changed most; everything: all points."""
    letters = [letter(number) for number in range(len(comparison.sweeps))]
    for name, sweep in zip(letters, comparison.sweeps, strict=True):
        print(f"{name}  {sweep.label}: {sweep.title}", file=out)
    if comparison.fixed:
        show_configuration("beside the axes", comparison.fixed, letters, out, MOST_VALUES if not everything else None)
    else:
        print("\nbeside the axes: same configuration, same code", file=out)
    by = ", ".join(comparison.axes) or "nothing: one point each"
    print(file=out)
    _print(f"{len(comparison.points)} points in all of them, paired by {by}", out)
    _show_alone(comparison, letters, out, everything)
    for (base, number), mean in comparison.pairs.items():
        _print(f"{letters[number]}/{letters[base]}: {_mean(mean, comparison)}", out)
    for name, moved in zip(letters[1:], comparison.moved, strict=True):
        _show_moved(f"why {name} differs from {letters[0]}, on average of its points", moved, out, everything)
    _show_points(comparison, letters, out, everything)


def _mean(mean: MeanRatio, found: SweepComparison) -> str:
    width = f" ± {FIXED_3(mean.half_width)}" if mean.half_width else ""
    text = f"time x{FIXED_3(mean.ratio)}{width} (geometric mean)"
    if mean.same == len(found.points):
        return f"{text}; {SAME}: no point's times differ" + (" by more than their intervals" if width else "")
    counted = ((mean.faster, "faster"), (mean.slower, "slower"), (mean.same, SAME))
    text += f"; {', '.join(f'{count} {how}' for count, how in counted if count)}"
    if mean.half_width and abs(mean.ratio - 1) <= mean.half_width:
        text += f"; the mean is {SAME} from 1"
    return text


def _show_alone(comparison: SweepComparison, letters: Sequence[str], out: TextIO, everything: bool) -> None:
    for name, alone, unfinished in zip(letters, comparison.alone, comparison.unfinished, strict=True):
        if alone:
            named = alone if everything else alone[:MOST_ALONE]
            more = f"; and {len(alone) - len(named)} more (--all)" if len(named) < len(alone) else ""
            _print(f"{name} alone has {len(alone)}: {'; '.join(named)}{more}", out)
        if unfinished:
            _print(f"{name} has {unfinished} points that failed or have not been run", out)


def _show_moved(head: str, moved: Sequence[QuantityChange], out: TextIO, everything: bool) -> None:
    if not moved:
        return
    print(f"\n{head}", file=out)
    listed = moved if everything else moved[:MOST_FINDINGS]
    for one in listed:
        where = f"in {one.points} of {one.of} points" if one.points < one.of else "in all points"
        goes = "" if one.correlation is None else f", correlation with the time {SIGNED_2(one.correlation)}"
        although = "although " if one.against else ""
        _print(f"  {one.topic:<9} {although}{one.text}; {where}{goes}", out)
    for line in more(listed, moved):
        print(f"  {line}", file=out)


def _show_points(comparison: SweepComparison, letters: Sequence[str], out: TextIO, everything: bool) -> None:
    listed = comparison.points if everything else comparison.points[:MOST_PARTS]
    print("\ntime us, largest change first", file=out)
    variants = ["variant"] if any(point.variant for point in comparison.points) else []
    heads = side_columns((*comparison.axes, *variants), letters, WHY)
    rows = [
        (
            *map(_plain, point.values.values()),
            *([point.variant] if variants else []),
            *map(_time, point.times),
            FIXED_3(point.ratios[-1]),
            _why(point),
        )
        for point in listed
    ]
    Table(heads, rows, notes=more(listed, comparison.points)).show(out)


def _why(point: PointComparison) -> str:
    if all(time[0] == point.times[0][0] for time in point.times):
        return "same time"
    distinct = [number for number in range(1, len(point.times)) if point.is_distinct(number)]
    if not distinct:
        return SAME
    number = point.farthest if point.farthest in distinct else distinct[0]
    why = point.why[number - 1]
    of = f"{letter(number)}: " if len(point.times) > 2 else ""
    return f"{of}{why[0].sentence}" if why else ""


def _time(estimate: Estimate) -> str:
    time, width = estimate
    return format_metric(TIME, float(time)) + (f" ± {format_metric(TIME, width)}" if width else "")


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)


def _print(text: str, out: TextIO) -> None:
    print(fitted(text, 4, out), file=out)


def document(comparison: SweepComparison) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    return {
        "sweeps": [{"number": sweep.number, "name": sweep.name, "title": sweep.title} for sweep in comparison.sweeps],
        "axes": list(comparison.axes),
        "configuration": dict(comparison.fixed),
        "mean": [asdict(mean) for mean in comparison.means],
        "pairs": [{"first": a, "second": b, **asdict(mean)} for (a, b), mean in comparison.pairs.items()],
        "moved": [[asdict(sweep) for sweep in moved] for moved in comparison.moved],
        "points": [
            {
                "values": dict(point.values),
                "variant": point.variant,
                "runs": list(point.runs),
                "time_us": [time for time, _ in point.times],
                "time_us_half_width": [width for _, width in point.times],
                "ratio": point.ratios,
                "distinguishable": [point.is_distinct(number) for number in range(1, len(point.times))],
                "why": [[asdict(finding) for finding in why] for why in point.why],
            }
            for point in comparison.points
        ],
        "not_in_all": [list(alone) for alone in comparison.alone],
        "unfinished": list(comparison.unfinished),
    }
