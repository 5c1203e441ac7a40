"""What a network's run without a value of its settings and with it says: what each layer gains, and all together."""

from collections.abc import Iterator, Mapping

from gpusim.base.intervals import differ
from gpusim.base.sums import plain_sum
from gpusim.base.table import Column, Table
from gpusim.results.report.result import Result, ResultRow, RunMetrics

Place = tuple[str, str]  # a layer and its pass
MOST_LOSSES = 5
SOURCE = "Dong 2020, section 5.2.4, on a GTX 1080:"

_percent = "{:+.1%}".format
_time = "{:,.1f}".format


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


def _timed(result: Result, column: RunMetrics) -> dict[Place, ResultRow]:
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
    without, found = _timed(result, before), []
    whole = before.number("host.time_us")
    for place, row in _timed(result, after).items():
        joined = [without.get((name, place[1])) for name in row.values.get("joined", ())]
        others = [one for one in joined if one is not None]
        if not _fused(row) or place not in without or len(others) < len(joined):  # of layers that are not listed
            continue
        apart, together = _us([without[place], *others]), _us([row])
        launches = sum(one.values["launches"] for one in (without[place], *others)) - row.values["launches"]
        found.append(
            (_joined(row), apart, _us(others), together, apart - together, (apart - together) / whole, launches)
        )
    found.sort(key=lambda one: -one[4])
    columns = [
        Column("layers"), Column("apart us", _time), Column("of it joined", _time), Column("fused us", _time),
        Column("gain us", _time), Column("of all", _percent), Column("launches less", "{:d}".format),
    ]  # fmt: skip
    fused = {(name, place[1]) for place, row in _timed(result, after).items() for name in _fused(row)}
    gone = [row for place, row in without.items() if row.values.get("kind") == "relu" or place in fused]
    notes = [*_fusion_notes(result, gone, whole), *describe_fusion(result)] if whole else []
    return Table(columns, found, "gains", "gain by fusion: ReLUs and pooling as the last step of kernels", notes)


def _fusion_notes(result: Result, gone: list[ResultRow], whole: float) -> Iterator[str]:
    before, after = result.columns
    kernels = (before.number("kernel.time_us") - after.number("kernel.time_us")) / whole
    launching = (_launching(before) - _launching(after)) / whole
    yield (
        f"all: {kernels + launching:.1%} of {whole:,.1f} us on the host, of which kernels {kernels:.1%}, launching"
        f" {launching:.1%}"
    )
    each = _launching(before) / before.tree["total"]["launches"]
    time_us, launches = _us(gone) / whole, each * sum(row.values["launches"] for row in gone) / whole
    yield (
        f"upper bound, every ReLU and fused pooling at no cost: {time_us + launches:.1%}, of which kernels"
        f" {time_us:.1%}, launching {launches:.1%}"
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
    found = []
    for place in (*gaining, *reversed(losing[:MOST_LOSSES])):
        row, time_us = through[place], through[place].values["time_us"]
        hits = row.measured.get("l1.hit_rate")
        cells = (time_us, past[place].values["time_us"], gains[place], gains[place] / time_us if time_us else 0.0)
        found.append((" ".join(place).replace("_", " "), *cells, gains[place] / whole if whole else 0.0, hits))
    columns = [
        Column("row"), Column("through L1 us", _time), Column("past L1 us", _time), Column("gain us", _time),
        Column("of the row", _percent), Column("of all", _percent), Column("L1 hits", "{:.0%}".format),
    ]  # fmt: skip
    notes = _l1_notes(through, past, gaining, len(losing), places) if whole else []
    return Table(columns, found, "gains", "gain by loads that go past L1", list(notes))


def _l1_notes(
    through: Mapping[Place, ResultRow],
    past: Mapping[Place, ResultRow],
    gaining: list[Place],
    losing: int,
    places: list[Place],
) -> Iterator[str]:
    whole, other = _us([through[place] for place in places]), _us([past[place] for place in places])
    best = whole - plain_sum(through[p].values["time_us"] - past[p].values["time_us"] for p in gaining)
    yield f"{len(gaining)} of {len(places)} rows are faster past L1, {losing} slower, of which the slowest are listed"
    yield (
        f"all rows through L1 {whole:,.1f} us, past it {other:,.1f} us ({(whole - other) / whole:+.1%}), each the"
        f" faster way {best:,.1f} us ({(whole - best) / whole:+.1%})"
    )
    if gaining:
        chosen: dict[str, list[str]] = {}
        for layer, what in gaining:
            chosen.setdefault(layer, []).append(f"{what}: true")
        said = ", ".join(f"{layer}: {{{', '.join(passes)}}}" for layer, passes in chosen.items())
        yield f'each the faster way: --set "layer_l1_bypass={{{said}}}"'
    yield f"{SOURCE} one convolution's backward weights gains 6.2 %, others little"
