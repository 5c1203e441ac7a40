"""The result of a run for a person: tables on a terminal, plain lines on a pipe."""

import math
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

from gpusim.base.progress import scaled
from gpusim.results import metrics
from gpusim.results.record import RunRecord
from isa.execution.resident import group_lines, in_brackets
from isa.object.names import short

_FRACTION = "fraction"  # a unit that values show themselves: as per cent


def shown(path: str, value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return _histogram(value) if path.endswith("histogram") else _range(value)
    if path == "kernel.name":
        return " + ".join(map(short, value.split(" + ")))
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        metric = metrics.describe(path)
        if metric is not None and metric.unit == _FRACTION:
            return f"{100 * value:.1f} %"
        if path.endswith("instructions_per_s"):
            return scaled(value)
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _histogram(buckets: list[int]) -> str:
    """Median and largest value of a histogram in powers of two (bucket b: 2^b to 2^(b+1) - 1)."""
    total = sum(buckets)
    if not total:
        return "–"
    below = [sum(buckets[: b + 1]) for b in range(len(buckets))]
    median = next(b for b, count in enumerate(below) if 2 * count >= total)
    largest = next(b for b, count in enumerate(below) if count == total)
    return f"half < {2 ** (median + 1):,}, all < {2 ** (largest + 1):,}"


def _range(values: list[int]) -> str:
    """Smallest and largest of several units' values."""
    return f"{min(values):,} to {max(values):,}" if values else "–"


def show(records: Sequence[RunRecord], stream: TextIO | None = None) -> None:
    """Print the metrics of one run, or of a dense and a sparse one side by side with their ratio."""
    out = stream or sys.stdout
    trees = [metrics.to_tree(r) for r in records]
    titles = [_title(r) for r in records]
    ratios = metrics.normalized(trees[1], trees[0]) if len(records) == 2 else None
    compared = f"ratio to {records[0].variant}"
    if out.isatty():
        _tables(titles, trees, ratios, compared, out)
    else:
        _lines(titles, trees, ratios, compared, out)
    for record in records:
        if record.total.sampling is not None:
            _print_sampling(record, out)
        if len(record.launches) > 1:
            _print_launches(record, out)
        if record.total.hotspots:
            _print_hotspots(record, out)
        if record.total.resident:
            _print_resident(record, out)


def wrapped(text: str, indent: int, out: TextIO) -> str:
    """A line as it is on a pipe; on a terminal, broken to its width, what follows indented."""
    if not out.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, indent + 20)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, replace_whitespace=False, break_on_hyphens=False)


def _title(record: RunRecord) -> str:
    """The head of a run's column."""
    engine = f"engine {'on' if record.uses_engine else 'off'}"
    return f"{short(record.kernel)}, {engine}" + (" (partial)" if record.partial else "")


def _print_sampling(record: RunRecord, out: TextIO) -> None:
    sampling = record.total.sampling
    assert sampling is not None
    said = sampling.described()
    share = f"{100 * said['fraction']:.3g} % of the instructions simulated, {said['speed_up']:.3g} times fewer"
    sure = f"half-widths at {100 * said['confidence']:g} %"
    how = f"sampled by {said['method']}: {share}; {said['rounds']:.4g} rounds; {sure}; {said['reason']}"
    print(wrapped(f"\n{_title(record)}: {how}", 2, out), file=out)


def _print_launches(record: RunRecord, out: TextIO) -> None:
    print(wrapped(f"\n{_title(record)}: launches, their cycles, share of all", 2, out), file=out)
    cycles = record.total.cycles
    for number, facts in enumerate(record.launches, 1):
        share = f"{100 * facts.cycles / cycles:5.1f} %" if cycles else ""
        line = f"{number:>6}  {facts.cycles:>15,}  {share}  {short(facts.kernel.name)}"
        print(wrapped(line.rstrip(), 34, out), file=out)


def _print_hotspots(record: RunRecord, out: TextIO) -> None:
    total = record.total
    whole = sum(total.stalls.values())
    title = f"\n{short(record.kernel)}: wavefront-cycles by instruction, share of all, and their largest reasons"
    print(wrapped(title, 2, out), file=out)
    for h in total.hotspots:
        reasons = sorted(h.stalls.items(), key=lambda item: -item[1])[:3]
        text = ", ".join(f"{name} {100 * n / h.cycles:.0f} %" for name, n in reasons)
        share = f"{h.cycles:>15,}  {100 * h.cycles / whole:5.1f} %"
        line = f"{share}  {h.address:#07x}  {h.instruction + in_brackets(h.source):<56}  {text}"
        print(wrapped(line, 35, out), file=out)


def _print_resident(record: RunRecord, out: TextIO) -> None:
    facts = record.launches[-1]
    kernel = facts.kernel
    when = f" in cycle {facts.cycles:,}" if "cycles" in kernel else ""
    ended = f"{kernel.workgroups:,} of {kernel.workgroups_total:,} workgroups had ended"
    print(wrapped(f"\n{short(kernel.name)}: stopped{when}, {ended}; resident:", 2, out), file=out)
    for line in group_lines(facts.resident):
        print(wrapped(f"  {line}", 4, out), file=out)


def _rows(trees: list[dict[str, Any]], ratios: dict[str, float | None] | None) -> dict[str, list[tuple[str, ...]]]:
    """Group → rows of (path, value of each run, ratio if any, unit)."""
    values = [dict(metrics.leaves(tree)) for tree in trees]
    paths = sorted(dict.fromkeys(path for v in values for path in v), key=metrics.position)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        metric = metrics.describe(path)
        cells = [shown(path, v.get(path)) + _half_width(path, v) + _share(path, v) for v in values]
        if metric is None or all(c == "–" for c in cells):
            continue
        if ratios is not None:
            factor = ratios.get(path)
            cells.append("" if factor is None else f"{factor:.3f}")
        unit = "" if metric.unit == _FRACTION else metric.unit
        groups.setdefault(path.partition(".")[0], []).append((path, *cells, unit))
    return groups


def _half_width(path: str, values: dict[str, Any]) -> str:
    """' ± 12' behind a sampled value, in its own digits; nothing behind one that is known, or a list."""
    width = values.get(path + metrics.SUFFIX)
    if not isinstance(width, float) or width == 0:
        return ""
    value = values[path]
    return f" ± {shown(path, max(1, round(width)) if isinstance(value, int) else width)}"


def _share(path: str, values: dict[str, Any]) -> str:
    """A stall reason's share of the resident wavefront-cycles, a bound's of the kernel's cycles."""
    value = values.get(path)
    if path.startswith("stalls."):
        whole = sum(v for p, v in values.items() if p.startswith("stalls."))
    elif path.startswith("roofline."):
        whole = values["kernel.cycles"]
    else:
        return ""
    return f" ({100 * value / whole:.1f} %)" if value is not None and whole else ""


def _lines(
    titles: list[str],
    trees: list[dict[str, Any]],
    ratios: dict[str, float | None] | None,
    compared: str,
    out: TextIO,
) -> None:
    print("; ".join(titles) + (f"; {compared}" if ratios is not None else ""), file=out)
    rows = [row for group in _rows(trees, ratios).values() for row in group]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for path, *cells, unit in rows:
        aligned = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:-1], strict=True))
        print(f"{path.ljust(widths[0])}  {aligned}  {unit}".rstrip(), file=out)


def _tables(
    titles: list[str],
    trees: list[dict[str, Any]],
    ratios: dict[str, float | None] | None,
    compared: str,
    out: TextIO,
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out)
    for group, rows in _rows(trees, ratios).items():
        table = Table(title=group, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
        shown_rows = [(path.partition(".")[2] or path, *cells, unit) for path, *cells, unit in rows]
        heads = ("metric", *titles, *([compared] if ratios is not None else []), "unit")
        longest = [max(map(len, head.split())) for head in heads]
        needed = sum(max(word, *(len(row[i]) for row in shown_rows)) + 3 for i, word in enumerate(longest))
        apart = needed <= console.width  # otherwise units stand under the metrics' names
        table.add_column("metric", no_wrap=True)
        for title in heads[1:-1]:
            table.add_column(title, justify="right", overflow="fold")
        if apart:
            table.add_column("unit")
        for name, *cells, unit in shown_rows:
            table.add_row(*((name, *cells, unit) if apart else (f"{name}\n  {unit}".rstrip(), *cells)))
        console.print(table)
        console.print()
