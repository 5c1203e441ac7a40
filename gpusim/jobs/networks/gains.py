"""What a network's run without a value of its settings and with it says: what each layer gains, and all together."""

from collections.abc import Iterator, Mapping

from gpusim.base.formats import GROUPED_1, SHARE_1, SHARE_CHANGE
from gpusim.base.intervals import differ
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.jobs.networks.gains_views import FUSION, L1_BYPASS
from gpusim.results.report.result import Result, ResultRow, RunMetrics

GainKey = tuple[str, str]  # a layer and its pass
MOST_LOSSES = 5
SOURCE = "Dong 2020, section 5.2.4, on a GTX 1080:"


def gains_tables(result: Result) -> list[Table]:
    """Make the table of what layers gain by the value that the run was asked to try; none for other runs."""
    made = {"fusion": _fusion, "l1_bypass": _l1_bypass}.get(result.document.get("gains", ""))
    whole = len(result.columns) == 2 and not result.stopped_by
    return [made(result)] if made is not None and whole else []


def describe_fusion(result: Result) -> list[str]:
    """Say which layers are part of other layers' kernels, and which are not, and why."""
    rows = [row for row in result.rows if row.variant == result.last.name]
    fused = [_joined(row) for row in rows if any(_fused(row))]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row.values.get("why_apart", {}).items():
            reasons.setdefault(why, []).append(_of_pass(name, row))
    lines = [f"fused: {', '.join(fused)}"] if fused else []
    return lines + [f"not fused, {why}: {', '.join(names)}" for why, names in reasons.items()]


def _fused(row: ResultRow) -> list[str]:
    """Name the layers that are part of a row's kernels."""
    return [name for name in row.values.get("joined", ()) if name not in row.values.get("why_apart", {})]


def _of_pass(name: str, row: ResultRow) -> str:
    what = row.values["pass"]
    return name if what == "forward" else f"{name} {what.replace('_', ' ')}"


def _joined(row: ResultRow) -> str:
    """Name a row with the layers that are part of its kernels; its pass where that is not the forward one."""
    return _of_pass(" + ".join([row.values["name"], *_fused(row)]), row)


def _timed(result: Result, column: RunMetrics) -> dict[GainKey, ResultRow]:
    """Return the rows of a variant whose time is known, by layer and pass."""
    rows = [row for row in result.rows if row.variant == column.name and row.values.get("cycles") is not None]
    return {(row.values["name"], row.values["pass"]): row for row in rows}


def _us(rows: list[ResultRow]) -> float:
    time_us: float = plain_sum(row.values["time_us"] for row in rows)
    return time_us


def _launching(column: RunMetrics) -> float:
    """Return the time in us that launching takes on the host."""
    return column.number("host.time_us") - column.number("kernel.time_us")


def _fusion(result: Result) -> Table:
    before, after = result.columns
    without, rows = _timed(result, before), []
    whole = before.number("host.time_us")
    for place, row in _timed(result, after).items():
        joined = [without.get((name, place[1])) for name in row.values.get("joined", ())]
        others = [one for one in joined if one is not None]
        if not _fused(row) or place not in without or len(others) < len(joined):  # of layers that are not listed
            continue
        apart, together = _us([without[place], *others]), _us([row])
        launches = sum(one.values["launches"] for one in (without[place], *others)) - row.values["launches"]
        gain = apart - together
        rows.append(
            {
                "layers": _joined(row),
                "apart_us": apart,
                "joined_us": _us(others),
                "fused_us": together,
                "gain_us": gain,
                "of_all": gain / whole,
                "launches_less": launches,
            }
        )
    rows.sort(key=lambda gain: -gain["gain_us"])
    fused = {(name, place[1]) for place, row in _timed(result, after).items() for name in _fused(row)}
    gone = [row for place, row in without.items() if row.values.get("kind") == "relu" or place in fused]
    notes = [*_fusion_notes(result, gone, whole), *describe_fusion(result)] if whole else []
    return FUSION.table(rows, notes=notes)


def _fusion_notes(result: Result, gone: list[ResultRow], whole: float) -> Iterator[str]:
    before, after = result.columns
    kernels = (before.number("kernel.time_us") - after.number("kernel.time_us")) / whole
    launching = (_launching(before) - _launching(after)) / whole
    yield (
        f"all: {SHARE_1(kernels + launching)} of {GROUPED_1(whole)} us on the host,"
        f" of which kernels {SHARE_1(kernels)}, launching {SHARE_1(launching)}"
    )
    each = _launching(before) / before.tree["total"]["launches"]
    time_us, launches = _us(gone) / whole, each * sum(row.values["launches"] for row in gone) / whole
    yield (
        f"upper bound, every ReLU and fused pooling at no cost: {SHARE_1(time_us + launches)}, of which kernels"
        f" {SHARE_1(time_us)}, launching {SHARE_1(launches)}"
    )
    yield f"{SOURCE} every activation's kernel left out is 4 % in the mean, of which kernels 3 %, launching 1 %"


def _estimate(row: ResultRow) -> tuple[float, float]:
    return row.values["cycles"], row.values.get("cycles_half_width") or 0.0


def _l1_bypass(result: Result) -> Table:
    before, after = result.columns
    through, past = _timed(result, before), _timed(result, after)
    places = [place for place in through if place in past]
    gains = {place: through[place].values["time_us"] - past[place].values["time_us"] for place in places}
    apart = [place for place in places if differ(_estimate(through[place]), _estimate(past[place]))]
    gaining = sorted((place for place in apart if gains[place] > 0), key=lambda place: -gains[place])
    losing = sorted((place for place in apart if gains[place] < 0), key=lambda place: gains[place])
    whole = _us([through[place] for place in places])
    rows = []
    for place in (*gaining, *reversed(losing[:MOST_LOSSES])):
        row, time_us = through[place], through[place].values["time_us"]
        rows.append(
            {
                "row": " ".join(place).replace("_", " "),
                "through_us": time_us,
                "past_us": past[place].values["time_us"],
                "gain_us": gains[place],
                "of_row": gains[place] / time_us if time_us else 0.0,
                "of_all": gains[place] / whole if whole else 0.0,
                "hit_rate": row.measured.get("l1.hit_rate"),
            }
        )
    notes = _l1_notes(through, past, gaining, len(losing), places) if whole else []
    return L1_BYPASS.table(rows, notes=list(notes))


def _l1_notes(
    through: Mapping[GainKey, ResultRow],
    past: Mapping[GainKey, ResultRow],
    gaining: list[GainKey],
    losing: int,
    places: list[GainKey],
) -> Iterator[str]:
    whole, other = _us([through[place] for place in places]), _us([past[place] for place in places])
    best = whole - plain_sum(through[p].values["time_us"] - past[p].values["time_us"] for p in gaining)
    yield f"{len(gaining)} of {len(places)} rows are faster past L1, {losing} slower, of which the slowest are listed"
    yield (
        f"all rows through L1 {GROUPED_1(whole)} us, past it {GROUPED_1(other)} us"
        f" ({SHARE_CHANGE((whole - other) / whole)}), each the faster way {GROUPED_1(best)} us"
        f" ({SHARE_CHANGE((whole - best) / whole)})"
    )
    if gaining:
        chosen: dict[str, list[str]] = {}
        for layer, what in gaining:
            chosen.setdefault(layer, []).append(f"{what}: true")
        said = ", ".join(f"{layer}: {{{', '.join(passes)}}}" for layer, passes in chosen.items())
        yield f'each the faster way: --set "layer_l1_bypass={{{said}}}"'
    yield f"{SOURCE} one convolution's backward weights gains 6.2 %, others little"
