"""What the page says of one result: summary, sections with rules, layers, source, configuration."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from gpusim.base.formats import COUNT, FIXED_1, GROUPED_DIGITS_3, GROUPED_DIGITS_4, PERCENT, PERCENT_0, RATIO
from gpusim.base.html import Element, table, tag, written
from gpusim.base.picture import Picture
from gpusim.base.table import MISSING
from gpusim.results import metrics
from gpusim.results.report.access import HEADS, LineRow, access_rows, line_rows, patterns
from gpusim.results.report.details import build_heads, build_rows, hotspot_rows
from gpusim.results.report.guesses import guesses
from gpusim.results.report.many import all_rows
from gpusim.results.report.measures import nearest_bound, unit_name
from gpusim.results.report.result import Result, RunMetrics, read
from gpusim.results.report.rows import views_of
from gpusim.results.report.rule import PerformanceFinding, format_location
from gpusim.results.report.rules import apply_rules
from gpusim.results.report.screen import top_findings, verified
from gpusim.results.report.sections import SECTIONS, ReportSection

_SUMMARY = {
    "cycles": "kernel.cycles",
    "time": "kernel.time_us",
    "time on the host": "host.time_us",
    "issued": "kernel.ipc",
    "occupancy": "kernel.occupancy",
    "L1 hit rate": "l1.hit_rate",
    "L2 hit rate": "l2.hit_rate",
    "DRAM busy": "profile.dram_utilization",
    "DRAM read": "profile.dram_read_throughput",
    "DRAM written": "profile.dram_write_throughput",
}
Sources = dict[str, list[str]]


def fragment(document: Mapping[str, Any]) -> str:
    """Return the HTML of a result's JSON object for notebooks, without styles or scripts of its own."""
    result = read(document)
    parts = [tag("p", tag("strong", result.title)), show_time_breakdown(result), summary(result), rows(result)]
    return written(tag("div", *parts))


def summary(result: Result) -> Element:
    """Make the summary of a result: what the terminal's screen says first."""
    rows: list[tuple[str, ...]] = [("kernel", *(column.kernels for column in result.columns))]
    rows += [
        (name, *(column.text(path) for column in result.columns))
        for name, path in _SUMMARY.items()
        if any(column.get(path) is not None for column in result.columns)
    ]
    if len(result.columns) > 1:
        factors = [result.speed_up(column) for column in result.columns]
        rows.insert(2, ("speed-up", *(MISSING if f is None else f"{RATIO(f)}" for f in factors)))
    bounds = [nearest_bound(column) for column in result.columns]
    rows.append(
        ("nearest bound", *(f"{unit_name(name)} {PERCENT(near)}" if name else MISSING for name, near in bounds))
    )
    rows.append(("verified", *map(verified, result.columns)))
    remarks = [f"partial, {result.stopped_by}: all figures are of what was simulated by then"] * bool(result.stopped_by)
    remarks += [remark for column in result.columns for remark in column.remarks]
    remarks += result.remarks
    heads = ("", *(column.name or "value" for column in result.columns))
    top = top_findings(result, 5)
    return tag(
        "section",
        tag("h3", "Summary"),
        [tag("p", remark, class_="remark") for remark in remarks],
        table("Summary", heads, rows, sortable=False),
        tag("h4", "Look at") if top else None,
        _rules(top) if top else None,
    )


def sections(result: Result, pictures: dict[str, list[Picture]], prefix: str, sources: Sources) -> Iterator[Element]:
    """Yield the sections that have something to show."""
    for section in SECTIONS:
        parts: list[Element] = [picture.element(prefix) for picture in pictures.get(section.key, ())]
        said = apply_rules(result, section.key)
        if said:
            parts.append(_rules(said))
        if section.key == "access":
            parts += [_accesses(column) for column in result.columns if patterns(column)]
            parts += [_lines(column, sources) for column in result.columns if line_rows(column)]
        if section.key == "guesses":
            parts += [_guesses(result, column) for column in result.columns if guesses(result, column)]
        if section.key == "source":
            parts += [_hotspots(column, sources) for column in result.columns if column.tree.get("hotspots")]
        rows = build_rows(result, section)
        if rows:
            parts.append(_metrics(result, section, rows))
        if parts:
            yield tag(
                "section", tag("h3", section.title), tag("p", section.tells, class_="tells"), parts,
                id=f"{prefix}-{section.key}",
            )  # fmt: skip


def show_time_breakdown(result: Result, pictures: Sequence[Picture] = (), prefix: str = "") -> Element | None:
    """Show where the time of a run of many rows goes: pictures, sums by pass, kind or stream, the dearest rows."""
    views = views_of(result)
    tables = views.summaries()
    if not tables:
        return None
    drawn = [picture.element(prefix) for picture in pictures]
    told = tag("ul", [tag("li", line) for line in (*views.closing(), *views.remarks())])
    shown = [table.html(sortable=False) for table in tables]
    return tag("section", tag("h3", "Where does the time go?"), drawn, shown, told)


def rows(result: Result) -> Element | None:
    """Make the table of a network's layers and passes, or of a program's kernels; None for a run without rows."""
    if not result.rows:
        return None
    return tag(
        "details", tag("summary", f"All {len(result.rows)} rows"), [one.html() for one in all_rows(views_of(result))]
    )


def configuration(result: Result) -> Element:
    """Make the table of every value of the configuration."""
    rows = [(path, str(value)) for path, value in metrics.leaves(result.config)]
    return tag("details", tag("summary", "Configuration: every value"), table("Configuration", ("path", "value"), rows))


def _metrics(result: Result, section: ReportSection, rows: Sequence[tuple[str, ...]]) -> Element:
    shown = []
    for path, *cells, unit in rows:
        metric = metrics.describe(path)
        assert metric is not None
        shown.append((tag("span", path, title=metric.definition), *cells, unit, metric.definition))
    heads = [*build_heads(result), "definition"]
    return tag(
        "details", tag("summary", f"Metrics: {section.title}"), table(section.title, heads, shown), class_="metrics"
    )


def _hotspots(column: RunMetrics, sources: Sources) -> Element:
    rows = []
    for spot in hotspot_rows(column):
        reasons = ", ".join(f"{name.replace('_', ' ')} {PERCENT_0(share)}" for name, share in spot["reasons"].items())
        name = PurePath(spot["file"]).name if spot["file"] else None
        place = f"{name}:{spot['line']}" if name else MISSING
        lines = sources.get(name or "", [])
        share = 100 * spot["share"]
        text = lines[spot["line"] - 1].strip() if name and 0 < spot["line"] <= len(lines) else ""
        rows.append(
            (
                (f"{spot['address']:#07x}", spot["address"]), tag("code", spot["instruction"]),
                (COUNT(spot['cycles']), spot["cycles"]), (GROUPED_DIGITS_4(share), share), reasons, place,
                tag("code", text) if text else "",
            )
        )  # fmt: skip
    title = f"{column.name}: {column.kernel}" if column.name else column.kernel
    heads = ("address", "instruction", "wavefront-cycles", "share, %", "largest reasons", "source", "source line")
    return table(f"Costliest instructions, {title}", heads, rows)


def _guesses(result: Result, column: RunMetrics) -> Element:
    title = f"{column.name}: {column.kernel}" if column.name else column.kernel
    rows = [
        (
            guess.value.path,
            str(guess.value.value),
            guess.value.kind,
            (GROUPED_DIGITS_3(100 * guess.share), guess.share),
            guess.of,
            guess.value.source,
        )
        for guess in guesses(result, column)
    ]
    return table(
        f"Values without a source, {title}",
        ("path", "value", "kind", "at most, %", "of", "source of the default"),
        rows,
    )


def _accesses(column: RunMetrics) -> Element:
    title = f"{column.name}: {column.kernel}" if column.name else column.kernel
    rows = [(tag("code", row.cells[0]), *row.cells[1:], format_location(row.spot)) for row in access_rows(column)]
    return table(f"Memory instructions, {title}", (*HEADS, "source"), rows)


def _lines(column: RunMetrics, sources: Sources) -> Element:
    """Make the source with its counters: lines that have any, and those between where the text is known."""
    rows: list[tuple[Any, ...]] = []
    before: LineRow | None = None
    for row in line_rows(column):
        name = PurePath(row.file).name
        text = sources.get(name, [])
        if before is not None and before.file == row.file:
            for number in range(before.line + 1, min(row.line, len(text) + 1)):
                rows.append((f"{name}:{number}", tag("code", text[number - 1]), *[""] * 6))
        active = MISSING if row.active_lanes is None else FIXED_1(row.active_lanes)
        shown = tag("code", text[row.line - 1]) if 0 < row.line <= len(text) else ""
        counts = (row.lines, row.least_lines, row.bank_conflict_cycles, row.wait_cycles)
        rows.append((f"{name}:{row.line}", shown, COUNT(row.vector_instructions), active, *(COUNT(n) for n in counts)))
        before = row
    heads = ("line", "source", "vector instructions", "active lanes", "memory lines", "least", "bank conflicts, cycles")
    title = f"{column.name}: {column.kernel}" if column.name else column.kernel
    return table(f"Source lines, {title}", (*heads, "waited for, wavefront-cycles"), rows, sortable=False)


def _rules(found: Sequence[PerformanceFinding]) -> Element:
    advice = [tag("span", one.advice, class_="advice") if one.advice else None for one in found]
    return tag("ul", [tag("li", f"{one.text}. ", tip) for one, tip in zip(found, advice, strict=True)], class_="rules")
