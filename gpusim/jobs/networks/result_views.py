"""How a network's result is shown: where its time goes, its layers and passes, and those that skip zeros."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpusim.base.formats import (
    DIGITS_2,
    DIGITS_3,
    FACTOR,
    FIXED_1,
    FIXED_3,
    GROUPED_0,
    GROUPED_1,
    HUNDREDTH_PARTS,
    MILLIONS_0,
    MILLIONS_1,
    PERCENT_DIGITS_2,
    PERCENT_DIGITS_3,
    PERCENT_GENERAL,
    SHARE_0,
    SHARE_1,
    scaled,
    three_digits,
)
from gpusim.base.sums import plain_sum
from gpusim.base.table import MISSING, Table, TableCell
from gpusim.base.view import View, column
from gpusim.jobs.networks.gains import describe_fusion, gains_tables
from gpusim.model.core.sampled import DRAWS, ITERATIONS, WHOLE, WINDOWS
from gpusim.results.report.result import ResultRow, choice_text, sampling_text
from gpusim.results.report.rows import DEAREST, ResultViews
from gpusim.results.report.views import UNKNOWN, bound_text, time_cell
from gpusim.results.report.words import BACKWARD, LEGEND, PASSES, PHASES, REASONS

ZEROS = "zeros: of the map's values; padded: of the products with them, where the padding's zeros count too"
ENGINE = "requests: the engine's; lines: that it read from DRAM; wasted: the share of them that went into no answer"
_LEFT_OUT_BY = {  # instructions of a network that are not simulated
    "equal": "by equal launches",
    WINDOWS: "by whole workgroups",
    ITERATIONS: "by iterations within workgroups",
}


def _bound(row: ResultRow) -> TableCell | str:
    bound = row.values.get("bound")
    if not bound:
        return ""
    near = f"{bound['name']} {HUNDREDTH_PARTS(bound['utilization'])}"
    return TableCell(bound["name"], f"{near}%", near)


def _stalls(row: ResultRow) -> list[tuple[str, float]]:
    return list((row.values.get("stalls") or {}).items())


def _stalls_cell(row: ResultRow) -> TableCell:
    full = ", ".join(f"{REASONS[reason][0]} {SHARE_0(share)}" for reason, share in _stalls(row))
    brief = " ".join(f"{REASONS[reason][1]} {HUNDREDTH_PARTS(share)}" for reason, share in _stalls(row))
    return TableCell(full, full, brief)


def _launches(row: ResultRow) -> TableCell:
    count, simulated = row.values["launches"], row.values["simulated_launches"]
    if count == simulated:
        return TableCell(count, f"{count}")
    return TableCell(count, f"{count} ({simulated})", f"{count},{simulated}")


def _verified(row: ResultRow) -> TableCell:
    passed = (row.values.get("verification") or {}).get("passed")
    if passed is None:
        return TableCell(MISSING, MISSING)
    return TableCell(True, "yes") if passed else TableCell(False, "WRONG", "NO")


def _pass_words(what: str) -> tuple[str, str]:
    return PASSES.get(what, (what, what))


LAYERS = View(
    [
        column("values.name", "layer"),
        column("values.pass", "pass", lambda what: _pass_words(what)[0], narrow=lambda what: _pass_words(what)[1]),
        column(lambda row: time_cell(row) or UNKNOWN, "time", unit="us", short="us", right=True),
        column("values.share", "share", SHARE_1, short="%", narrow=HUNDREDTH_PARTS, right=True),
        column("measured.tree.kernel.ipc", "IPC", FIXED_1, right=True),
        column(_bound, "bound", short="bound %"),
        column(_stalls_cell, "stalls", short="stalls %"),
        column("measured.tree.l1.hit_rate", "L1", SHARE_0, short="L1%", narrow=HUNDREDTH_PARTS, right=True),
        column("measured.tree.l2.hit_rate", "L2", SHARE_0, short="L2%", narrow=HUNDREDTH_PARTS, right=True),
        column(
            "measured.tree.dram.bytes", "DRAM", MILLIONS_1, "MB", short="MB",
            narrow=lambda size: three_digits(size / 1e6), right=True,
        ),
        column(_launches, "launches", short="run", right=True),
        column(_verified, "verified", short="ok", right=True),
    ],
    "rows",
    legend=LEGEND,
)  # fmt: skip
DEAREST_ROWS = View(
    [
        column("measured.name", "row"),
        column("values.time_us", "time", GROUPED_1, "us"),
        column("values.share", "share", SHARE_1),
        column(lambda row: bound_text(row.values), "bound"),
        column(
            lambda row: next((f"{name.replace('_', ' ')} {SHARE_1(share)}" for name, share in _stalls(row)), MISSING),
            "largest stall",
        ),
    ],
    "dearest",
)


def _groups_view(head: str) -> View:
    columns = [
        column("name", head),
        column("time_us", "time", GROUPED_1, "us"),
        column("share", write=SHARE_1),
        column("launches"),
    ]
    return View(columns, f"by-{head.partition(' ')[0]}", f"time by {head}")


def _known(path: str, write: Callable[[Any], str], title: str) -> Any:
    """Make a column of numbers of which a pipe's reader too sees where they are unknown."""

    def cell(row: Mapping[str, Any]) -> TableCell:
        value = row[path]
        return UNKNOWN if value is None else TableCell(value, write(value))

    return column(cell, title, right=True)


SPARSE = [
    column("layer"),
    _known("zeros", SHARE_1, "zeros"),
    _known("padded", SHARE_1, "padded"),
    _known("time_us", three_digits, "us"),
]
BESIDE_DENSE = [
    _known("dense_us", three_digits, "dense us"),
    _known("speed_up", FACTOR, "speed-up"),
    column(lambda row: row["dense_by"] or UNKNOWN, "dense by", right=False),
]
BY_ENGINE = [
    _known("requests", scaled, "requests"),
    _known("lines", scaled, "lines"),
    _known("wasted", SHARE_0, "wasted"),
]


class NetworkViews(ResultViews):
    """Tables and lines of a network's iteration."""

    def summaries(self) -> list[Table]:
        """Return what layers gain, the time by pass and by kind of layer, and the dearest rows."""
        timed = self._timed()
        if not timed:
            return []
        tables = [
            *gains_tables(self.result),
            _grouped(timed, "pass", lambda row: PHASES.get(row.values["pass"], BACKWARD)),
        ]
        if any(row.values.get("kind") for row in timed):  # older results have none
            tables.append(_grouped(timed, "kind of layer", _kind_of_layer))
        if len(timed) > DEAREST:
            dearest = sorted(timed, key=lambda row: -row.values["time_us"])[:DEAREST]
            tables.append(DEAREST_ROWS.table(dearest, f"the {DEAREST} dearest rows of {len(timed)}"))
        return tables

    def rows_table(self) -> Table:
        """Return the table of layers and passes."""
        return LAYERS.table(self.rows, self.result.what, self.closing())

    def further_tables(self) -> list[Table]:
        """Return the table of layers that skip zeros, next to the dense ones where both ran; none if no layer does."""
        rows = [row for row in self.rows if row.values.get("zeros")]
        if not rows:
            return []
        both = len(self.result.columns) > 1
        dense = {_layer_pass(row): row for row in self.result.rows if both and row.variant != rows[0].variant}
        engine = any(row.measured.tree.get("engine") for row in rows)
        columns = [*SPARSE, *(BESIDE_DENSE if both else ()), *(BY_ENGINE if engine else ())]
        notes = [ZEROS, *([ENGINE] if engine else [])]
        if both:
            notes.append(
                "speed-up: cycles of the dense row / those of the sparse one, im2col and transpositions included"
            )
            factor = self.result.speed_up(self.result.last)
            notes += [] if factor is None else [f"all rows: {FIXED_3(factor)}x"]
        cells = [_sparse_row(row, dense.get(_layer_pass(row))) for row in rows]
        return [View(columns, "sparse", "layers that skip zeros").table(cells, notes=notes)]

    def remarks(self) -> list[str]:
        """Tell of each row how its algorithm was chosen, where it was: how many times as long others take."""
        chosen = [row for row in self.result.rows if row.values.get("choice")]
        if not chosen:
            return []
        kinds = " and ".join(dict.fromkeys(str(row.values.get("kind", "convolution")) for row in chosen))
        return [
            f"{kinds} by the fastest algorithm, and how many times as long others take:",
            *(f"{row.measured.name}: {choice_text(row.values['choice'], row.values.get('cycles') or 0)}"
              for row in chosen),
        ]  # fmt: skip

    def closing(self) -> list[str]:
        """Return the totals, how much was simulated, and whether the values are right."""
        return list(self._closing())

    def _timed(self) -> list[ResultRow]:
        return [row for row in self.rows if row.values.get("cycles") is not None]

    def _closing(self) -> Iterator[str]:
        result, timed = self.result, self._timed()
        total, sampling = result.last.tree.get("total") or {}, result.last.tree.get("sampling")
        cycles, time_us = result.last.number("kernel.cycles"), result.last.number("kernel.time_us")
        if timed:
            yield f"total: {GROUPED_1(time_us)} us in {GROUPED_0(cycles)} cycles{_rates(timed, time_us)}"
            yield from self._overhead(time_us)
        unknown = total.get("unknown_launches") if result.stopped_by else 0
        others = f", {unknown} not yet" if unknown else ""
        yield (
            f"launches: {total.get('launches', 0)}, of which {total.get('simulated_launches', 0)} were"
            f" simulated{others}; equal ones, here or before, count as the first"
        )
        if sampling and time_us:
            yield from _sampled(sampling, result.last.number("kernel.time_us_half_width"), time_us)
        yield self._compared()
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            reasons.setdefault(row.values.get("why_dense", ""), []).append(_place(row))
        yield from (f"dense, {reason}: {', '.join(names)}" for reason, names in reasons.items() if reason)
        yield from describe_fusion(result) if "gains" not in result.document else ()
        if result.stopped_by:
            yield f"{result.stopped_by}: {len(self.rows) - len(timed)} of {len(self.rows)} rows are not finished"
        yield from result.remarks

    def _overhead(self, time_us: float) -> Iterator[str]:
        host_us = self.result.last.number("host.time_us")
        if host_us:
            launching, share = GROUPED_1(host_us - time_us), SHARE_1(1 - time_us / host_us)
            yield f"on the host {GROUPED_1(host_us)} us, of which launching takes {launching} us ({share})"

    def _compared(self) -> str:
        values = str(self.result.document.get("values"))
        data = {"real": "real values", "synthetic": "made-up values"}.get(values, "values")
        compared = [row for row in self.rows if (row.values.get("verification") or {}).get("passed") is not None]
        wrong = [_place(row) for row in compared if not row.values["verification"]["passed"]]
        file = self._file()
        if wrong:
            return f"{data}; WRONG: {', '.join(wrong)}{file}"
        if compared:
            return f"{data}; {len(compared)} of {len(self.rows)} rows compared with NumPy, all as expected{file}"
        return f"{data}; no result of a layer is compared{file}" if file else f"{data}; no result is compared"

    def _file(self) -> str:
        """Say how the comparison of the outputs with what the network's file means ended; empty without one."""
        file = self.result.last.tree.get("file")
        if not file:
            return ""
        if file["passed"] is None:
            return f"; compared with {file['compared_with']} of the file: {file['reason']}"
        if not file["passed"]:
            return f"; WRONG: {file['reason']} from what {file['compared_with']} gives for the file"
        error, bound = DIGITS_2(file["max_error"]), DIGITS_2(file["bound"])
        return f"; outputs as {file['compared_with']} gives them for the file, error {error} ≤ {bound}"


def _kind_of_layer(row: ResultRow) -> str:
    return str(row.values.get("kind") or "other").replace("_", " ")


def _layer_pass(row: ResultRow) -> tuple[str, str]:
    return row.values["name"], row.values["pass"]


def _place(row: ResultRow) -> str:
    return f"{row.values['name']} {_pass_words(row.values['pass'])[0]}"


def _grouped(rows: Sequence[ResultRow], head: str, key: Callable[[ResultRow], str]) -> Table:
    """Sum up rows by a key, the longest first."""
    whole = plain_sum(row.values["time_us"] for row in rows)
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    sums = []
    for name, members in groups.items():
        time_us = plain_sum(row.values["time_us"] for row in members)
        launches = sum(row.values["launches"] for row in members)
        share = time_us / whole if whole else 0.0
        sums.append({"name": name, "time_us": time_us, "share": share, "launches": launches})
    return _groups_view(head).table(sorted(sums, key=lambda group: -group["time_us"]))


def _sparse_row(row: ResultRow, dense: ResultRow | None) -> dict[str, Any]:
    values, zeros = row.values, row.values["zeros"]
    dense_values: Mapping[str, Any] = {} if dense is None else dense.values
    cycles, before = values.get("cycles"), dense_values.get("cycles")
    counts = row.measured.tree.get("engine") or {}
    read = counts.get("lines_fetched")
    return {
        "layer": values["name"],
        "zeros": zeros["fraction"],
        "padded": zeros["of_terms"],
        "time_us": values.get("time_us"),
        "dense_us": dense_values.get("time_us"),
        "speed_up": before / cycles if cycles and before else None,
        "dense_by": str(dense_values.get("operator", "")).partition("(")[2].rstrip(")"),
        "requests": counts.get("requests"),
        "lines": None if read is None else read + (counts.get("compacted_fetched") or 0),
        "wasted": None if read is None else counts["lines_wasted"] / read if read else 0.0,
    }


def _sampled(sampling: Mapping[str, Any], width: float, time_us: float) -> Iterator[str]:
    """Say how much was sampled, how sure the total is, and by what instructions were not simulated."""
    total = f"total ± {GROUPED_1(width)} us ({PERCENT_DIGITS_2(width / time_us)})"
    if sampling["method"] == DRAWS:
        yield f"{sampling_text(sampling)}; {total}"
        return
    share, fewer = PERCENT_DIGITS_3(sampling["fraction"]), DIGITS_3(sampling["speed_up"])
    simulated = f"{share} of the instructions simulated, {fewer} times fewer"
    if sampling["method"] == WHOLE:
        yield f"no value is an estimate: every launch, or one equal to it, was simulated whole; {simulated}"
    else:
        yield f"sampled: {simulated}; {total} at {PERCENT_GENERAL(sampling['confidence'])} confidence"
    left_out = sampling.get("left_out")  # older runs do not have it
    if left_out:
        parts = ", ".join(f"{MILLIONS_0(left_out[by])} M {how}" for by, how in _LEFT_OUT_BY.items() if by in left_out)
        instructions = sampling["instructions"]
        rest = instructions - plain_sum(left_out.values())
        yield f"of {MILLIONS_0(instructions)} M instructions {parts}; {MILLIONS_0(rest)} M simulated"


def _rates(timed: Sequence[ResultRow], time_us: float) -> str:
    """Say the rate of arithmetic: multiply-accumulates of the definition, and those that are needed."""
    counts = [plain_sum(row.values[name] for row in timed) for name in ("macs", "needed_macs")]
    rate, needed = (GROUPED_0(2e-3 * macs / time_us if time_us else 0.0) for macs in counts)
    return f"; {rate} GFLOP/s in multiply-accumulates ({needed} in those that are needed)"
