"""The one screen that a run prints: what a person wants to know first, in ten seconds."""

from collections.abc import Callable, Iterator, Sequence

from gpusim.base.formats import DIGITS_2, GROUPED_0, GROUPED_1, PERCENT, PERCENT_0, RATIO
from gpusim.base.sums import plain_sum
from gpusim.base.table import MISSING
from gpusim.results.report.layout import Line, bar, columns, plain, wrapped
from gpusim.results.report.measures import unit_name
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.rule import LEAST_GAIN, PerformanceFinding, join_kernels
from gpusim.results.report.rules import apply_rules

_LABEL = 23  # columns of the rows' names
_SHARE = 9  # characters of ' 100.0 % '
_BOUNDS, _REASONS, _FINDINGS = 4, 4, 3  # how many of each are shown, the largest
_LEAST_BAR = 8  # characters
_LEAST_SHARE = 0.005  # below which a bar is not worth a line
_MODES = ("accurate", "prudent", "hasty", "prefetch_buffer_hits", "past_end", "compacted_fetched")


def screen(result: Result, width: int) -> list[Line]:
    """Return the lines of the screen that a run prints; `width`: columns that they may take."""
    page = _Page(result.columns, width)
    lines: list[Line] = wrapped(result.title, width, 2, "bold")
    if result.stopped_by:
        lines.append([(f"PARTIAL, {result.stopped_by}: all figures are of what was simulated by then", "bold yellow")])
    for column in result.columns:
        for remark in column.remarks:
            lines += wrapped(f"{column.name}: {remark}" if column.name else remark, width, 2)
    if any(column.name for column in result.columns):
        lines += page.row("", lambda column: column.name, "bold")
    lines += _overview(result, page)
    lines += page.row("verified", verified)
    lines += format_findings(result, width)
    lines += _bars("bound by", "share of the cycles that each unit needs at least", "roofline", _BOUNDS, page)
    lines += _bars("wavefronts' cycles", "where they go", "stalls", _REASONS, page)
    lines += _memory(page)
    if any(column.tree.get("engine") for column in result.columns):
        lines += _engine(page)
    if any(column.get("energy.total_uj") is not None for column in result.columns):
        lines += page.row("memory energy", _energy)
    return lines


class _Page:
    """The screen's columns: one for each variant."""

    def __init__(self, measured: Sequence[RunMetrics], width: int) -> None:
        self.measured = measured
        self.cell = max((width - _LABEL) // len(measured), 12)

    def row(self, label: str, of: Callable[[RunMetrics], str], style: str = "") -> list[Line]:
        return columns(label, [of(column) for column in self.measured], _LABEL, self.cell, style)

    def bars(self, label: str, shares: Sequence[float | None]) -> Line:
        space = min(self.cell - _SHARE - 1, 40)
        space = space if space >= _LEAST_BAR else 0  # shorter ones would all look alike
        line = [(f"  {label}".ljust(_LABEL), "")]
        for share in shares:
            drawn = bar(share or 0.0, space) if space else ""
            text = (PERCENT(share) if share is not None else MISSING).rjust(_SHARE - 1)
            line += [(drawn, "cyan"), (text.ljust(self.cell - space), "")]
        return line


def verified(column: RunMetrics) -> str:
    """Say how the comparison of the results with their reference ended."""
    passed = column.get("verification.passed")
    if passed is None:
        return "not compared"
    error, bound = column.get("verification.max_error"), column.get("verification.bound")
    said = "passed" if passed else "WRONG"
    return said if error is None else f"{said}, error {DIGITS_2(error)} {'≤' if passed else '>'} {DIGITS_2(bound)}"


def modes(column: RunMetrics) -> dict[str, float]:
    """Return how the engine answered its requests: the share of each mode of search; empty without requests."""
    requests = column.number("engine.requests")
    if not requests:
        return {}
    return {mode.replace("_", " "): column.number(f"engine.{mode}") / requests for mode in _MODES}


def top_findings(result: Result, count: int = _FINDINGS) -> list[PerformanceFinding]:
    """Return the most important findings by gain; each rule once, for the column where it ranks highest.

    What a rule finds in several kernels is one finding with the gain of all. Left out are those of which another one
    names the cause in the same kernel, gains that are not worth it, and, where there is any gain, states without one.

    Args:
        result: The result.
        count: How many.
    """
    ranked = sorted(apply_rules(result), key=lambda finding: finding.rank, reverse=True)
    by_rule: dict[tuple[str, str], list[PerformanceFinding]] = {}
    for finding in ranked:
        by_rule.setdefault((finding.run, finding.rule.name), []).append(finding)
    # causes by the gain in all kernels: of many launches each one's is small
    known = [alike for alike in by_rule.values() if (join_kernels(alike).gain or 0.0) >= LEAST_GAIN]
    causes = {(finding.run, finding.rule.name, finding.kernel) for alike in known for finding in alike}
    chosen: dict[str, PerformanceFinding] = {}
    for (run, name), alike in by_rule.items():
        reasons = alike[0].rule.explained_by
        left = [finding for finding in alike if not any((run, reason, finding.kernel) in causes for reason in reasons)]
        if left:
            chosen.setdefault(name, join_kernels(left))
    large = [finding for finding in chosen.values() if finding.gain is None or finding.gain >= LEAST_GAIN]
    worth = sorted(large, key=lambda each: each.rank, reverse=True)
    with_gain = [finding for finding in worth if finding.gain is not None]
    return (with_gain or worth)[:count]


def _overview(result: Result, page: _Page) -> Iterator[Line]:
    yield from page.row("kernel", lambda column: column.kernels)
    if all(column.get("kernel.cycles") is None for column in page.measured):
        yield from page.row("executed", lambda column: column.text("kernel.wavefront_instructions"))
        yield from page.row("time", lambda column: "not modelled")
        return
    yield from page.row("cycles", lambda column: column.text("kernel.cycles"))
    yield from page.row("time", _times)
    if len(result.columns) > 1:
        yield from page.row("speed-up", lambda column: _speed_up(result, column), "bold")
    yield from page.row("issued", _issued)
    yield from page.row("occupancy", lambda column: f"{column.text('kernel.occupancy')} of the wavefront slots")


def _times(column: RunMetrics) -> str:
    kernel, host = column.text("kernel.time_us"), column.get("host.time_us")
    return kernel if host is None else f"{kernel}, host {column.text('host.time_us')}"


def _issued(column: RunMetrics) -> str:
    rate, share = column.text("kernel.ipc"), column.get("profile.issue_slot_utilization")
    return rate if share is None else f"{rate}, in {PERCENT(share)} of the CUs' cycles"


def _speed_up(result: Result, column: RunMetrics) -> str:
    factor = result.speed_up(column)
    return MISSING if factor is None else f"{RATIO(factor)}"


def _bars(title: str, explained: str, group: str, count: int, page: _Page) -> Iterator[Line]:
    """Yield the largest members of a group of metrics as bars, one line each; for stalls also the sum of the others."""
    names = list(dict.fromkeys(name for column in page.measured for name in column.group(group)))
    if not names:
        return
    shares = {name: [column.share(f"{group}.{name}") for column in page.measured] for name in names}
    order = sorted(names, key=lambda name: -max(share or 0.0 for share in shares[name]))
    worth = [name for name in order if max(share or 0.0 for share in shares[name]) >= _LEAST_SHARE][:count]
    yield [(title, "bold"), (f"  ({explained})", "dim")]
    for name in worth:
        yield page.bars(unit_name(name) if group == "roofline" else name.replace("_", " "), shares[name])
    if group == "stalls":  # they tile the whole
        rest = [
            plain_sum(shares[name][number] or 0.0 for name in order[len(worth) :])
            for number in range(len(page.measured))
        ]
        if max(rest) >= _LEAST_SHARE:
            yield page.bars("others", rest)


def _memory(page: _Page) -> Iterator[Line]:
    if all(column.tree.get("l2") is None for column in page.measured):
        return
    yield [("memory", "bold")]
    yield from page.row("  L1, L2 hit rate", lambda c: f"{c.text('l1.hit_rate')}, {c.text('l2.hit_rate')}")
    yield from page.row("  L1, L2, DRAM latency", _latencies)
    yield from page.row("  DRAM traffic", _dram)


def _latencies(column: RunMetrics) -> str:
    values = [column.get(f"{unit}.read_latency_cycles") for unit in ("l1", "l2", "dram")]
    return f"{', '.join(MISSING if value is None else f'{GROUPED_0(value)}' for value in values)} cycles"


def _dram(column: RunMetrics) -> str:
    moved = [column.get(f"profile.dram_{way}_throughput") for way in ("read", "write")]
    rate = (
        f"{GROUPED_1(plain_sum(value for value in moved if value))} GB/s, "
        if any(value is not None for value in moved)
        else ""
    )
    return f"{rate}{column.text('profile.dram_utilization')} busy"


def _engine(page: _Page) -> Iterator[Line]:
    yield [("engine", "bold"), ("  (accurate by mapping, prudent by bitmask, hasty line after line)", "dim")]
    yield from page.row("  requests", _modes)
    yield from page.row("  unused lines", _wasted)


def _modes(column: RunMetrics) -> str:
    shares = sorted(modes(column).items(), key=lambda item: -item[1])
    return ", ".join(f"{mode} {PERCENT_0(share)}" for mode, share in shares if share >= _LEAST_SHARE) or MISSING


def _wasted(column: RunMetrics) -> str:
    fetched = column.number("engine.lines_fetched")
    if not fetched:
        return MISSING
    return f"{PERCENT(column.number('engine.lines_wasted') / fetched)} of {GROUPED_0(fetched)} lines read"


def _energy(column: RunMetrics) -> str:
    total = column.number("energy.total_uj")
    share = f", DRAM {PERCENT(column.number('energy.dram_uj') / total)}" if total else ""
    return f"{column.text('energy.total_uj')}{share}"


def format_findings(result: Result, width: int) -> Iterator[Line]:
    """Yield the lines of the most important findings."""
    found = top_findings(result)
    if found:
        yield [("look at", "bold")]
    for finding in found:
        yield from wrapped(finding.text, width, 4, "yellow", "  ! ")
        if finding.advice and not finding.advice.startswith("see "):  # a section: the last line names them all
            yield from wrapped(finding.advice, width, 6, "", "    > ")


def hint() -> Line:
    """Return the line that says how to see more."""
    return plain("more: --details, --section memory (speed_of_light, stalls, engine, source, ...)")
