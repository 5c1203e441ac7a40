"""A comparison for people, and as one JSON object."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gpusim.base.formats import FIXED_3
from gpusim.base.intervals import Estimate
from gpusim.base.table import Table, columns
from gpusim.results.report.values import format_metric, unit_of
from gpusim.study.compare.comparison import Comparison, PartComparison
from gpusim.study.compare.rules import TIME
from gpusim.study.compare.views import WHY, letter, side_columns

MOST_FINDINGS, MOST_CHANGES, MOST_VALUES, MOST_PARTS = 8, 12, 10, 12


def show(comparison: Comparison, out: TextIO, everything: bool = False) -> None:
    """Print a comparison: what is compared, times, and for the part that changed most why, and its largest changes.

    everything: all parts, all changes.
    """
    letters = [letter(number) for number in range(len(comparison.sides))]
    for head, side in zip(letters, comparison.sides, strict=True):
        print(f"{head}  {side.label}" + (f": {side.title}" if side.title else ""), file=out)
    if comparison.configuration:
        show_configuration("configuration", comparison.configuration, letters, out, None if everything else MOST_VALUES)
    else:
        print("\nsame configuration", file=out)
    if len(comparison.parts) > 1:
        _show_parts(comparison, letters, out, everything)
    if comparison.alone:
        print(f"\nnot in all of them: {', '.join(comparison.alone)}", file=out)
    for part in comparison.parts if everything else comparison.parts[:1]:
        _show_part(comparison, part, letters, out, everything)


def show_configuration(
    head: str, differing: Mapping[str, Sequence[Any]], letters: Sequence[str], out: TextIO, most: int | None
) -> None:
    """Print the values that differ between the sides, at most so many; None: all."""
    print(f"\n{head}", file=out)
    rows = [(path, *map(_short, held)) for path, held in list(differing.items())[:most]]
    Table(columns("value", *letters), rows, notes=more(rows, differing)).show(out)


def more(listed: Sequence[Any], whole: Collection[Any]) -> list[str]:
    """Return a line that says how many are not listed; none where all are."""
    return [f"and {len(whole) - len(listed)} more (--all)"] if len(listed) < len(whole) else []


def _show_parts(comparison: Comparison, letters: Sequence[str], out: TextIO, everything: bool) -> None:
    listed = comparison.parts if everything else comparison.parts[:MOST_PARTS]
    print("\ntime us, largest difference first", file=out)
    rows = []
    for part in listed:
        why = part.why[-1][0].sentence if part.why[-1] else ""
        rows.append((part.name, *map(_time, part.times_us), _ratio(part), why))
    Table(side_columns(["part"], letters, WHY), rows, notes=more(rows, comparison.parts)).show(out)


def _show_part(
    comparison: Comparison, part: PartComparison, letters: Sequence[str], out: TextIO, everything: bool
) -> None:
    if part.decided:
        show_configuration("decided by the runs themselves", part.decided, letters, out, None)
    print(f"\n{part.name}: " if part.name else "\n", end="", file=out)
    if part.times[0] is not None:
        times = " → ".join(f"{side} {_estimate(time)} us" for side, time in zip(letters, part.times, strict=True))
        print(times + (f", x{_with_width(part.pairs[0].ratio)}" if len(letters) == 2 else ""), file=out)
    if not part.distinct:
        print("the times are not distinguishable: they differ by less than their confidence intervals", file=out)
    elif len(letters) > 2:
        compared = [
            (
                f"{letters[pair.second]}/{letters[pair.first]}",
                _with_width(pair.ratio),
                "differ" if pair.distinct else "not distinguishable",
            )
            for pair in part.pairs
        ]
        Table(columns("times", "ratio", "verdict"), compared).show(out)
    for side, why in zip(letters[1:], part.why, strict=True):
        if why:
            print(f"why {side} differs from {letters[0]}" if len(letters) > 2 else "why", file=out)
            for finding in why if everything else why[:MOST_FINDINGS]:
                print(f"  {finding.topic:<9} {finding.sentence}", file=out)
    if not part.changes:
        print("no metric differs", file=out)
        return
    changes = part.changes if everything else part.changes[:MOST_CHANGES]
    print("largest changes", file=out)
    units = {path: unit for run in comparison.sides for path, unit in run.units.items()}
    rows = [
        (
            c.path,
            *(format_metric(c.path, v) for v in c.values),
            "from 0" if c.ratio is None else FIXED_3(c.ratio),
            unit_of(c.path, units.get(c.path, "")),
        )
        for c in changes
    ]
    Table(side_columns(["metric"], letters, "unit"), rows, notes=more(changes, part.changes)).show(out)


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    return {
        "sides": [{"label": side.label, "title": side.title} for side in comparison.sides],
        "configuration": comparison.configuration,
        "parts": [
            {
                "name": part.name,
                "time_us": part.times_us,
                "time_us_half_width": [None if time is None else time[1] for time in part.times],
                "pairs": [asdict(pair) for pair in part.pairs],
                "decided": part.decided,
                "distinguishable": part.distinct,
                "why": [[asdict(finding) for finding in why] for why in part.why],
                "changes": [{"path": c.path, "values": c.values, "ratio": c.ratio} for c in part.changes],
            }
            for part in comparison.parts
        ],
        "not_in_all": comparison.alone,
    }


def _estimate(time: Estimate | None) -> str:
    if time is None:
        return "–"
    return _time(time[0]) + (f" ± {_time(time[1])}" if time[1] else "")


def _with_width(ratio: Estimate | None) -> str:
    if ratio is None:
        return "–"
    return FIXED_3(ratio[0]) + (f" ± {FIXED_3(ratio[1])}" if ratio[1] else "")


def _time(value: float | None) -> str:
    return "–" if value is None else format_metric(TIME, float(value))


def _ratio(part: PartComparison) -> str:
    first, last = part.times_us[0], part.times_us[-1]
    return FIXED_3(last / first) if first and last is not None else "–"


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
