"""What a run of many rows says, as tables: where a network's or a program's time goes first, then row by row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpusim.base.progress import scaled
from gpusim.base.sums import plain_sum
from gpusim.base.table import MISSING, Column, Table, TableCell
from gpusim.model.core.sampled import DRAWS, ITERATIONS, WINDOWS
from gpusim.results.report.gains import describe_fusion, gains_tables
from gpusim.results.report.measures import unit_name
from gpusim.results.report.result import Result, ResultRow, RunMetrics, choice_text, sampling_text
from isa.object.names import short

DEAREST = 10  # rows that are listed before all are
# in full and abbreviated
PASSES = {
    "forward": ("forward", "fwd"), "loss": ("loss", "loss"), "loss_gradient": ("loss gradient", "dloss"),
    "backward_data": ("back data", "bwd d"), "backward_weights": ("back weights", "bwd w"),
    "backward_bias": ("back bias", "bwd b"), "backward": ("backward", "bwd"),
    "gradient_sum": ("gradient sum", "sum"), "update": ("update", "upd"),
}  # fmt: skip
REASONS = {
    "execution_dependency": ("exec", "exe"), "memory_dependency": ("memory", "mem"),
    "memory_throttle": ("throttle", "thr"), "synchronization": ("barrier", "bar"),
    "instruction_fetch": ("fetch", "fet"), "branch_latency": ("branch", "bra"),
    "not_selected": ("not selected", "sel"), "idle": ("idle", "idl"),
}  # fmt: skip
LEGEND = (
    "fwd forward, bwd backward of d data, w weights, b bias, upd update; run: launches, of them simulated; stalls:"
    " mem memory, thr memory throttle, exe execution, bar barrier, fet fetch, bra branch, sel not selected, idl idle"
)
# what the phases of a training iteration are called, by the passes that they have
PHASES = {"forward": "forward", "loss": "forward", "update": "update"}
BACKWARD = "backward"
ZEROS = "zeros: of the map's values; padded: of the products with them, where the padding's zeros count too"
ENGINE = "requests: the engine's; lines: that it read from DRAM; wasted: the share of them that went into no answer"

_percent = "{:.1%}".format
UNKNOWN = TableCell(None, MISSING)  # says so on a pipe, too

_LEFT_OUT_BY = {  # instructions of a network that are not simulated
    "equal": "by equal launches",
    WINDOWS: "by whole workgroups",
    ITERATIONS: "by iterations within workgroups",
}


def summaries(result: Result) -> list[Table]:
    """Return the tables that answer where the time goes: by pass and kind of layer, or by stream; the dearest rows."""
    timed = [row for row in _last(result) if row.values.get("cycles") is not None]
    if result.kind == "hip":
        return _streams(result)
    if not timed or result.kind != "net":
        return []
    by_pass = _grouped(timed, "pass", lambda row: PHASES.get(row.values["pass"], BACKWARD))
    by_kind = _grouped(timed, "kind of layer", lambda row: str(row.values.get("kind") or "other").replace("_", " "))
    said = any(row.values.get("kind") for row in timed)  # older results have none
    return [
        *gains_tables(result),
        by_pass,
        *([by_kind] if said else []),
        *([_dearest(timed)] if len(timed) > DEAREST else []),
    ]


def rows_table(result: Result) -> Table:
    """Return the table of all rows of the variant that ran last."""
    return {"hip": _kernels, "net": _layers}.get(result.kind, _named)(result)


def _last(result: Result) -> list[ResultRow]:
    """Return the rows of the variant that ran last: of the sparse one, where two were compared."""
    return [row for row in result.rows if row.variant == result.last.name]


def _grouped(rows: Sequence[ResultRow], head: str, key: Callable[[ResultRow], str]) -> Table:
    """Sum up rows by a key, the longest first."""
    whole = plain_sum(row.values["time_us"] for row in rows)
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    found = []
    for name, held in groups.items():
        time_us = plain_sum(row.values["time_us"] for row in held)
        found.append((name, time_us, time_us / whole if whole else 0.0, sum(row.values["launches"] for row in held)))
    found.sort(key=lambda one: -one[1])
    columns = [Column(head), Column("time us", "{:,.1f}".format), Column("share", _percent), Column("launches")]
    return Table(columns, found, f"by-{head.partition(' ')[0]}", f"time by {head}")


def _dearest(rows: Sequence[ResultRow]) -> Table:
    """List the rows that take the most time, with what bounds them and what their wavefronts wait for."""
    dearest = sorted(rows, key=lambda row: -row.values["time_us"])[:DEAREST]
    columns = [
        Column("row"), Column("time us", "{:,.1f}".format), Column("share", _percent), Column("bound"),
        Column("largest stall"),
    ]  # fmt: skip
    cells = []
    for row in dearest:
        largest = next((f"{reason.replace('_', ' ')} {_percent(share)}" for reason, share in _stalls(row)), MISSING)
        cells.append((row.measured.name, row.values["time_us"], row.values["share"], _bound(row.values), largest))
    return Table(columns, cells, "dearest", f"the {DEAREST} dearest rows of {len(rows)}")


def _bound(values: Mapping[str, Any]) -> str:
    bound = values.get("bound")
    if not bound:
        return MISSING
    near = bound["utilization"]
    return unit_name(bound["name"]) + ("" if near is None else f" {100 * near:.0f}%")


def _stalls(row: ResultRow) -> list[tuple[str, float]]:
    return list((row.values.get("stalls") or {}).items())


def _known(value: Any, write: Callable[[Any], str]) -> TableCell:
    return UNKNOWN if value is None else TableCell(value, write(value))


def three_digits(value: float) -> str:
    """Write at least three digits of a number."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"


def _time(values: Mapping[str, Any]) -> TableCell | None:
    time_us = values.get("time_us")
    if time_us is None:
        return None
    width = values.get("time_us_half_width")
    bar = f" ± {100 * width / time_us:.2g}%" if width and time_us else ""
    return TableCell(time_us, f"{time_us:,.1f}{bar}", f"{three_digits(time_us)}{bar}")


def _share(values: Mapping[str, Any]) -> TableCell | None:
    share = values.get("share")
    return None if share is None else TableCell(share, _percent(share), f"{100 * share:.0f}")


def _number(
    row: ResultRow, path: str, full: Callable[[float], str], brief: Callable[[float], str] | None = None
) -> Any:
    value = row.measured.get(path)
    return TableCell(value, full(value), (brief or full)(value)) if isinstance(value, int | float) else None


def _layers(result: Result) -> Table:
    columns = [
        Column("layer"), Column("pass"), Column("time us", short="us", right=True),
        Column("share", short="%", right=True), Column("IPC", right=True), Column("bound", short="bound %"),
        Column("stalls", short="stalls %"), Column("L1", short="L1%", right=True),
        Column("L2", short="L2%", right=True),
        Column("DRAM MB", short="MB", right=True), Column("launches", short="run", right=True),
        Column("verified", short="ok", right=True),
    ]  # fmt: skip
    rows = []
    for row in _last(result):
        values, stalls = row.values, _stalls(row)
        bound = values.get("bound")
        full = ", ".join(f"{REASONS[reason][0]} {100 * share:.0f}%" for reason, share in stalls)
        brief = " ".join(f"{REASONS[reason][1]} {100 * share:.0f}" for reason, share in stalls)
        passed = (values.get("verification") or {}).get("passed")
        near = f"{bound['name']} {100 * bound['utilization']:.0f}" if bound else ""
        rows.append(
            [
                row.values["name"],
                TableCell(values["pass"], *PASSES.get(values["pass"], (values["pass"],) * 2)),
                _time(values) or UNKNOWN,
                _share(values),
                _number(row, "kernel.ipc", "{:.1f}".format),
                TableCell(bound["name"], f"{near}%", near) if bound else "",
                TableCell(full, full, brief),
                _number(row, "l1.hit_rate", "{:.0%}".format, lambda share: f"{100 * share:.0f}"),
                _number(row, "l2.hit_rate", "{:.0%}".format, lambda share: f"{100 * share:.0f}"),
                _number(row, "dram.bytes", lambda size: f"{size / 1e6:,.1f}", lambda size: three_digits(size / 1e6)),
                _launches(values),
                {None: MISSING, True: TableCell(True, "yes"), False: TableCell(False, "WRONG", "NO")}[passed],
            ]
        )
    return Table(columns, rows, "rows", result.what, closing(result), LEGEND)


def _named(result: Result) -> Table:
    """Make the table of rows that have a name alone: groups of microbenchmarks, measured points."""
    columns = [
        Column("row"), Column("launches"), Column("cycles", "{:,}".format), Column("time us", right=True),
        Column("share", _percent), Column("bound"),
    ]  # fmt: skip
    rows = [
        (
            row.measured.name, row.values["launches"], row.values.get("cycles"), _time(row.values),
            row.values.get("share"), _bound(row.values),
        )
        for row in _last(result)
    ]  # fmt: skip
    return Table(columns, rows, "rows", result.what, list(result.remarks))


def _launches(values: Mapping[str, Any]) -> TableCell:
    count, simulated = values["launches"], values["simulated_launches"]
    if count == simulated:
        return TableCell(count, f"{count}")
    return TableCell(count, f"{count} ({simulated})", f"{count},{simulated}")


def _kernels(result: Result) -> Table:
    columns = [
        Column("launches", right=True), Column("cycles", right=True), Column("time us", right=True),
        Column("share", right=True), Column("bound", right=True), Column("instructions", right=True), Column("kernel"),
    ]  # fmt: skip
    rows = []
    for row in _last(result):
        values = row.values
        count, timed = values["launches"], values["timed"]
        launches = f"{count:,}" if timed in (0, count) else f"{count:,} ({timed:,} timed)"
        width = values.get("cycles_half_width")
        interval = f" ± {max(1, round(width)):,}" if width else ""
        rows.append(
            [
                TableCell(count, launches),
                _known(values.get("cycles"), f"{{:,}}{interval}".format),
                _time(values) or UNKNOWN,
                _known(values.get("share"), _percent),
                _bound(values),
                _known(values["wavefront_instructions"], "{:,}".format),
                short(values["name"]),
            ]
        )
    return Table(columns, rows, "rows", result.what, closing(result))


def _streams(result: Result) -> list[Table]:
    """Make the table of a program's streams: what they did, and for how long; none if none is known."""
    streams = result.document.get("streams")
    if not streams:
        return []
    whole = max(one["ended_us"] for one in streams)
    rows = [
        (
            one["stream"], one["kernels"], one["kernel_us"], one["copies"], one["copied_bytes"] / 1e6, one["copy_us"],
            (one["kernel_us"] + one["copy_us"]) / whole if whole else 0.0,
        )
        for one in streams
    ]  # fmt: skip
    columns = [
        Column("stream"), Column("kernels"), Column("kernels us", "{:,.1f}".format), Column("copies"),
        Column("copied MB", "{:,.2f}".format), Column("copies us", "{:,.1f}".format), Column("busy", _percent),
    ]  # fmt: skip
    return [Table(columns, rows, "streams", f"by stream, of {whole:,.1f} us")]


def closing(result: Result) -> list[str]:
    """Return the lines that hold for the whole run, as text below its rows."""
    return list((_of_network if result.kind == "net" else _of_program)(result, result.last))


def _of_program(result: Result, column: RunMetrics) -> Iterator[str]:
    if result.stopped_by:
        yield f"PARTIAL, {result.stopped_by}: all figures are of what was simulated by then"
    sampling = column.tree.get("sampling")
    if sampling:
        yield (
            f"sampled: {sampling['fraction']:.1%} of the timed instructions simulated; half-widths (±) at"
            f" {100 * sampling['confidence']:g} %"
        )


def _of_network(result: Result, column: RunMetrics) -> Iterator[str]:
    rows, total = _last(result), column.tree.get("total") or {}
    timed = [row for row in rows if row.values.get("cycles") is not None]
    cycles, time_us = column.number("kernel.cycles"), column.number("kernel.time_us")
    if timed:
        yield f"total: {time_us:,.1f} us in {cycles:,.0f} cycles{_rates(timed, time_us)}"
        yield from _overhead(column, time_us)
    launches, simulated = total.get("launches", 0), total.get("simulated_launches", 0)
    unknown = total.get("unknown_launches") if result.stopped_by else 0
    others = f", {unknown} not yet" if unknown else ""
    yield (
        f"launches: {launches}, of which {simulated} were simulated{others}; equal ones, here or before, count as the"
        " first"
    )
    sampling = column.tree.get("sampling")
    if sampling and time_us:
        width = column.number("kernel.time_us_half_width")
        if sampling["method"] == DRAWS:
            yield f"{sampling_text(sampling)}; total ± {width:,.1f} us ({100 * width / time_us:.2g} %)"
        else:
            yield (
                f"sampled: {100 * sampling['fraction']:.3g} % of the instructions simulated,"
                f" {sampling['speed_up']:.3g} times fewer; total ± {width:,.1f} us ({100 * width / time_us:.2g} %) at"
                f" {100 * sampling['confidence']:g} % confidence"
            )
            yield from _left_out(sampling)
    yield _compared(result, rows)
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.values.get("why_dense", ""), []).append(_place(row))
    yield from (f"dense, {reason}: {', '.join(names)}" for reason, names in reasons.items() if reason)
    yield from describe_fusion(result) if "gains" not in result.document else ()
    if result.stopped_by:
        yield f"{result.stopped_by}: {len(rows) - len(timed)} of {len(rows)} rows are not finished"
    yield from result.remarks


def _left_out(sampling: Mapping[str, Any]) -> Iterator[str]:
    """Say by what how many instructions were not simulated."""
    left_out = sampling.get("left_out")  # older runs do not have it
    if left_out:
        said = ", ".join(f"{left_out[by] / 1e6:,.0f} M {how}" for by, how in _LEFT_OUT_BY.items() if by in left_out)
        simulated = sampling["instructions"] - plain_sum(left_out.values())
        yield f"of {sampling['instructions'] / 1e6:,.0f} M instructions {said}; {simulated / 1e6:,.0f} M simulated"


def _rates(timed: Sequence[ResultRow], time_us: float) -> str:
    """Say the rate of arithmetic: multiply-accumulates of the definition, and those that are needed."""
    counts = [plain_sum(row.values[name] for row in timed) for name in ("macs", "needed_macs")]
    rate, needed = (2e-3 * macs / time_us if time_us else 0.0 for macs in counts)
    return f"; {rate:,.0f} GFLOP/s in multiply-accumulates ({needed:,.0f} in those that are needed)"


def _overhead(column: RunMetrics, time_us: float) -> Iterator[str]:
    host_us = column.number("host.time_us")
    if host_us:
        share = 1 - time_us / host_us
        yield f"on the host {host_us:,.1f} us, of which launching takes {host_us - time_us:,.1f} us ({_percent(share)})"


def _compared(result: Result, rows: Sequence[ResultRow]) -> str:
    data = {"real": "real values", "synthetic": "made-up values"}.get(str(result.document.get("values")), "values")
    compared = [row for row in rows if (row.values.get("verification") or {}).get("passed") is not None]
    wrong = [_place(row) for row in compared if not row.values["verification"]["passed"]]
    if wrong:
        return f"{data}; WRONG: {', '.join(wrong)}"
    if compared:
        return f"{data}; {len(compared)} of {len(rows)} rows compared with NumPy, all as expected"
    return f"{data}; no result is compared"


def _place(row: ResultRow) -> str:
    return f"{row.values['name']} {PASSES.get(row.values['pass'], (row.values['pass'],))[0]}"


def sparse_tables(result: Result) -> list[Table]:
    """Make the table of layers that skip zeros, next to the dense ones where both ran; none if no layer does."""
    rows = [row for row in _last(result) if row.values.get("zeros")]
    if not rows:
        return []
    both = len(result.columns) > 1
    dense = {
        (row.values["name"], row.values["pass"]): row for row in result.rows if both and row.variant != rows[0].variant
    }
    engine = any(row.measured.tree.get("engine") for row in rows)
    heads = ["zeros", "padded", "us", *(["dense us", "speed-up", "dense by"] if both else [])]
    heads += ["requests", "lines", "wasted"] if engine else []
    table = [
        [row.values["name"], *_sparse_cells(row, dense.get((row.values["name"], row.values["pass"])), both, engine)]
        for row in rows
    ]
    notes = [ZEROS, *([ENGINE] if engine else [])]
    if both:
        notes.append("speed-up: cycles of the dense row / those of the sparse one, im2col and transpositions included")
        whole = result.speed_up(result.last)
        if whole is not None:
            notes.append(f"all rows: {whole:.3f}x")
    columns = [Column("layer"), *(Column(head, right=head != "dense by") for head in heads)]
    return [Table(columns, table, "sparse", "layers that skip zeros", notes)]


def _sparse_cells(row: ResultRow, dense: ResultRow | None, both: bool, engine: bool) -> list[Any]:
    zeros = row.values["zeros"]
    cells: list[Any] = [_known(zeros[key], _percent) for key in ("fraction", "of_terms")]
    cells.append(_known(row.values.get("time_us"), three_digits))
    if both:
        cycles, before = row.values.get("cycles"), dense.values.get("cycles") if dense is not None else None
        speed_up = before / cycles if cycles and before else None
        by = "" if dense is None else str(dense.values["operator"]).partition("(")[2].rstrip(")")
        before_us = None if dense is None else dense.values.get("time_us")
        cells += [_known(before_us, three_digits), _known(speed_up, "{:.2f}x".format), by or UNKNOWN]
    if engine:
        cells += _engine_cells(row)
    return cells


def _engine_cells(row: ResultRow) -> list[Any]:
    counts = row.measured.tree.get("engine")
    if not counts:
        return [UNKNOWN] * 3
    wasted = counts["lines_wasted"] / counts["lines_fetched"] if counts["lines_fetched"] else 0.0
    lines = counts["lines_fetched"] + (counts.get("compacted_fetched") or 0)
    return [_known(counts["requests"], scaled), _known(lines, scaled), _known(wasted, "{:.0%}".format)]


def choice_lines(result: Result) -> list[str]:
    """Say of each row how its algorithm was chosen, where it was: how many times as long others take."""
    chosen = [row for row in result.rows if row.values.get("choice")]
    said = [
        f"{row.measured.name}: {choice_text(row.values['choice'], row.values.get('cycles') or 0)}" for row in chosen
    ]
    kinds = " and ".join(dict.fromkeys(str(row.values.get("kind", "convolution")) for row in chosen))
    return [f"{kinds} by the fastest algorithm, and how many times as long others take:", *said] if said else []
