"""The sections of a result, with every metric, its unit, its ratio where two were run, and what the rules say."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from gpusim.base.formats import COUNT, FIXED_0, FIXED_3, GROUPED_DIGITS_3, PERCENT, PERCENT_0
from gpusim.base.sums import plain_sum
from gpusim.base.table import MISSING
from gpusim.results import metrics
from gpusim.results.report.access import HEADS, access_rows, has_content
from gpusim.results.report.guesses import guesses
from gpusim.results.report.layout import Line, plain, wrapped
from gpusim.results.report.over_time import compute_interval_rates
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.rule import STALLS, format_location
from gpusim.results.report.rules import apply_rules
from gpusim.results.report.sections import ReportSection, list_section_paths
from gpusim.results.report.values import format_metric, get_value, unit_of, with_half_width
from isa.execution.resident import WavefrontGroup, group_lines
from isa.object.line_table import SourceFile, SourceLine
from isa.object.names import short

_LISTED = 25  # hot spots of a run of many rows
_LARGEST_REASONS = 3  # of a hot spot
_INTERVALS = 32  # of a series, neighbours joined


def details(result: Result, sections: Sequence[ReportSection], width: int) -> list[Line]:
    """Return the lines of the sections that have something to show; `width`: columns that lines should fit into."""
    lines: list[Line] = []
    for section in sections:
        body = list(_body(result, section, width))
        if body:
            if lines:
                lines.append(plain(""))
            lines += wrapped(f"{section.title} ({section.key}): {section.tells}", width, 2, "bold")
            lines += body
    return lines


def build_rows(result: Result, section: ReportSection) -> list[tuple[str, ...]]:
    """Return the rows of a section's metrics: path, each column's value, a ratio where there are several, unit.

    The ratio is that of the last column to the first. Metrics without any value are left out.

    Args:
        result: The result.
        section: Section of the report.
    """
    several = len(result.columns) > 1
    ratios = metrics.normalized(dict(result.last.tree), dict(result.columns[0].tree)) if several else {}
    rows = []
    for path in list_section_paths(section):
        cells = [with_half_width(column.tree, path) + _share(column, path) for column in result.columns]
        if all(cell == MISSING for cell in cells):
            continue
        if several:
            factor = ratios.get(path)
            cells.append("" if factor is None else f"{FIXED_3(factor)} ×")
        rows.append((path, *cells, unit_of(path)))
    return rows


def build_heads(result: Result) -> list[str]:
    """Return the heads of the columns of `build_rows`."""
    if len(result.columns) == 1:
        return ["metric", result.columns[0].title, "unit"]
    first = result.columns[0].name
    return ["metric", *(f"{c.name}: {c.title}" for c in result.columns), f"ratio to {first}", "unit"]


def hotspot_rows(column: RunMetrics) -> list[dict[str, Any]]:
    """Return the costliest instructions of a run: wavefront-cycles, their share of all, kernel, address, instruction,
    source file and line, and the largest stall reasons with their shares of the instruction's cycles.
    """
    whole = plain_sum(column.group("stalls").values())
    rows = []
    for spot in column.tree.get("hotspots") or ():
        reasons = {name: cycles for name, cycles in spot.items() if name in STALLS}
        cycles = plain_sum(reasons.values())
        largest = sorted(reasons.items(), key=lambda item: -item[1])[:_LARGEST_REASONS]
        rows.append(
            {
                "cycles": cycles,
                "share": cycles / whole if whole else 0.0,
                "kernel": short(spot["kernel"]),
                "address": spot["address"],
                "instruction": spot["instruction"],
                "file": spot.get("file"),
                "line": spot.get("line"),
                "reasons": {name: n / cycles for name, n in largest} if cycles else {},
            }
        )
    return rows


def _share(column: RunMetrics, path: str) -> str:
    share = column.share(path)
    return f" ({PERCENT(share)})" if share is not None else ""


def _body(result: Result, section: ReportSection, width: int) -> Iterator[Line]:
    rows = build_rows(result, section)
    if rows:
        yield from _table(build_heads(result), rows, width)
    for column in result.columns:
        if section.key == "launch":
            yield from _launches(column, width)
        if section.key == "access":
            yield from _accesses(column, width)
        if section.key == "guesses":
            yield from _guesses(result, column, width)
        if section.key == "series":
            yield from _series(column, width)
        if section.key == "source":
            yield from _hotspots(column, width)
            yield from _resident(column, width)
    for finding in apply_rules(result, section.key):
        yield from wrapped(finding.text, width, 4, "yellow", "  ! ")
        if finding.advice:
            yield from wrapped(finding.advice, width, 6, "", "    > ")


def _table(heads: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> Iterator[Line]:
    """Yield the aligned rows; values that would exceed `width` go on lines of their own below path and unit."""
    cells = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    whole = 2 + sum(cells) + 2 * (len(cells) - 1)
    yield from wrapped("; ".join(heads[1:-1]), width, 4, "dim", "  ")
    for path, *inner, unit in rows:
        values = [cell.rjust(size) for cell, size in zip(inner, cells[1:-1], strict=True)]
        if whole <= width:
            yield plain("  " + "  ".join([path.ljust(cells[0]), *values, unit]))
            continue
        yield plain(f"  {path}  {unit}".rstrip())
        beside = 4 + sum(cells[1:-1]) + 2 * len(values) <= width
        yield from (plain(line) for line in (["    " + "  ".join(values)] if beside else [f"      {c}" for c in inner]))


def _launches(column: RunMetrics, width: int) -> Iterator[Line]:
    launches = column.tree.get("launches") or ()
    whole = column.number("kernel.cycles")
    if launches:
        yield from wrapped(f"{column.title}: launches, their cycles, share of all", width, 4, "bold", "  ")
    for number, launch in enumerate(launches, 1):
        cycles = get_value(launch, "kernel.cycles") or 0
        share = f"{PERCENT(cycles / whole):>7}" if whole else ""
        name = format_metric("kernel.name", get_value(launch, "kernel.name"))
        yield from wrapped(f"{COUNT(cycles):>15} cycles  {share}  {name}", width, 40, "", f"  {number:>6}")


def _accesses(column: RunMetrics, width: int) -> Iterator[Line]:
    rows = access_rows(column)
    if not rows:
        return
    yield from wrapped(f"{column.kernel}: {'; '.join(HEADS[1:])} (docs/how-to/report.md)", width, 4, "bold", "  ")
    for row in rows[:_LISTED]:
        told = [f"{head} {cell}" for head, cell in zip(HEADS[1:], row.cells[1:], strict=True) if has_content(cell)]
        yield from wrapped(f"{row.cells[0]} [{format_location(row.spot)}]: {', '.join(told)}", width, 6, "", "    ")
    if len(rows) > _LISTED:
        yield plain(f"    and {len(rows) - _LISTED} others, waited for less")


def _guesses(result: Result, column: RunMetrics, width: int) -> Iterator[Line]:
    found = guesses(result, column)
    if found:
        yield from wrapped(f"{column.title}: at most this share of what stands behind it", width, 4, "bold", "  ")
    for guess in found:
        value = guess.value
        text = f"{PERCENT(guess.share):>8}  {value.path} = {value.value} ({value.kind})  {guess.of}"
        yield from wrapped(text, width, 14, "", "    ")


def _series(column: RunMetrics, width: int) -> Iterator[Line]:
    """Yield a row for each interval of a series, up to _INTERVALS of them."""
    report = compute_interval_rates(column, _INTERVALS)
    if report is None:
        return
    heads = ["to cycle", *(f"{rate.name}, {rate.unit}" for rate in report.rates), "wavefronts", "most cycles"]
    rows = []
    for k, end in enumerate(report.ends):
        values = [values[k] for values in report.rates.values()]
        rates = [MISSING if value is None else GROUPED_DIGITS_3(value) for value in values]
        reason = max(report.stalls, key=lambda name: report.stalls[name][k])
        most = f"{reason} {FIXED_0(report.stalls[reason][k])} %" if report.stalls[reason][k] else MISSING
        rows.append([COUNT(end), *rates, COUNT(report.resident[k]), most])
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    yield from wrapped(f"{column.title}: {'; '.join(heads)}", width, 4, "bold", "  ")
    for row in rows:
        yield plain(
            "    " + "  ".join(cell.rjust(size) for cell, size in zip(row[:-1], widths, strict=False)) + "  " + row[-1]
        )


def _hotspots(column: RunMetrics, width: int) -> Iterator[Line]:
    rows = hotspot_rows(column)
    if rows:
        title = f"{column.kernel}: wavefront-cycles by instruction, share of all, and their largest reasons"
        if column.tree.get("rows") and len(rows) > _LISTED:  # each launch has listed as many
            title = f"{column.kernels}: the {_LISTED} costliest instructions, of {len(rows)} listed"
            rows = rows[:_LISTED]
        yield from wrapped(title, width, 4, "bold", "  ")
    for row in rows:
        reasons = ", ".join(f"{name} {PERCENT_0(share)}" for name, share in row["reasons"].items())
        place = f" [{PurePath(row['file']).name}:{row['line']}]" if row["file"] else ""
        spent = f"{COUNT(row['cycles']):>15}  {PERCENT(row['share']):>7}"
        text = f"{spent}  {row['address']:#07x}  {row['instruction']}{place}  {reasons}"
        yield from wrapped(text, width, 37)


def _resident(column: RunMetrics, width: int) -> Iterator[Line]:
    """Yield lines that tell where the resident wavefronts were when the run was stopped."""
    groups: Sequence[Any] = column.tree.get("resident_wavefronts") or ()
    if not groups:
        return
    launch = RunMetrics("", (column.tree.get("launches") or [column.tree])[-1])
    ended = " of ".join(COUNT(launch.number(f"kernel.{name}")) for name in ("workgroups", "workgroups_total"))
    when = f" in cycle {COUNT(launch.number('kernel.cycles'))}" if launch.get("kernel.cycles") is not None else ""
    yield from wrapped(
        f"{launch.kernel}: stopped{when}, {ended} workgroups had ended; resident:", width, 4, "bold", "  "
    )
    places = [SourceLine(SourceFile(held["file"]), held["line"]) if "line" in held else None for held in groups]
    resident = [
        WavefrontGroup(held["count"], held["address"], held["instruction"], held["state"], place)
        for held, place in zip(groups, places, strict=True)
    ]
    for line in group_lines(resident):
        yield from wrapped(line, width, 6, "", "    ")
