"""The pictures of one result: a run's, or a network's by layers."""

from collections.abc import Sequence

from gpusim.base.formats import DIGITS_3, GROUPED_DIGITS_3, PERCENT
from gpusim.base.picture import Picture
from gpusim.base.sums import plain_sum
from gpusim.results import metrics
from gpusim.results.metrics.memory import CACHES, VECTOR_PATH
from gpusim.results.report.guesses import guesses
from gpusim.results.report.measures import compute_units, unit_name
from gpusim.results.report.page import charts
from gpusim.results.report.page.memory_chart import memory_chart
from gpusim.results.report.page.time_chart import time_chart
from gpusim.results.report.page.timeline_chart import timeline_charts
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.rows import DEAREST
from gpusim.results.report.rule import STALLS
from gpusim.results.report.screen import modes

_CACHES = {
    level.name.removesuffix(" cache"): f"{level.section}.hit_rate" for level in dict.fromkeys((*VECTOR_PATH, *CACHES))
}
_CACHES |= {"L1 TLB": "translation.l1_hit_rate", "DRAM rows": "dram.row_hit_rate"}
_ENERGIES = {level.name: level.section for level in VECTOR_PATH}
_ENERGIES |= {"LDS": "lds", "DRAM": "dram", "engine": "engine"}
_COMPARED = (
    "kernel.cycles",
    "kernel.wavefront_instructions",
    "kernel.valu_instructions",
    "kernel.matrix_instructions",
    "kernel.vmem_instructions",
    "l1.transactions",
    "l2.transactions",
    "dram.bytes",
    "l2.read_latency_cycles",
    "dram.read_latency_cycles",
)
_HISTOGRAMS = [metric.path for metric in metrics.METRICS if metric.path.endswith("histogram")]
ANSWER = "answer"  # key of what is drawn above all sections
TIMELINE = "timeline"  # key of the timelines of launches and copies, below the answer
_MOST_GUESSES = 25  # bars of values without a source
_MOST_LAYERS = 60  # bars in a picture; more cannot be read


def draw_pictures(result: Result) -> dict[str, list[Picture]]:
    """Return the pictures of a result, by the key of the section that shows them; those without data are left out."""
    measured = [row.measured for row in result.rows if row.measured.tree][:_MOST_LAYERS] or list(result.columns)
    made: dict[str, list[Picture | None]] = {
        ANSWER: [_dearest(result)],
        TIMELINE: [*timeline_charts(result)],
        "speed_of_light": [_roofline(measured), _bounds(measured)],
        "stalls": [_stalls(measured)],
        "memory": [
            memory_chart(result.columns),
            _hit_rates(measured),
            *(_histogram(path, result.columns) for path in _HISTOGRAMS),
        ],
        "series": [time_chart(column, _numbered("series", result, n)) for n, column in enumerate(result.columns)],
        "engine": [_engine(measured)],
        "energy": [_energy(measured)],
        "guesses": [_guesses(result, n) for n in range(len(result.columns))],
        "launch": [_layers(result), _normalized(result)],
    }
    return {key: [picture for picture in drawn if picture is not None] for key, drawn in made.items()}


def _names(measured: Sequence[RunMetrics]) -> list[str]:
    return [one.name or one.kernel for one in measured]


def _roofline(measured: Sequence[RunMetrics]) -> Picture | None:
    """Draw the instruction roofline of Ding and Williams (PMBS 2019): vector instructions, matrix products among them,
    over 64-byte transactions.
    """
    points, roofs, peak = [], dict[str, float](), 0.0
    for launch in measured:
        cycles, clock = launch.number("kernel.cycles"), launch.number("kernel.clock_ghz")
        vector = launch.number("kernel.valu_instructions") + launch.number("kernel.matrix_instructions")
        if not cycles or not vector:
            continue
        peak = max(peak, compute_units(launch) * clock)
        for level, transactions, rate in _levels(launch):
            if transactions:
                points.append((launch.name or launch.kernel, level, vector / transactions, vector / cycles * clock))
                roofs[level] = max(roofs.get(level, 0.0), rate)
    if not points or not peak:
        return None
    said = ", ".join(f"{name} at {level} {DIGITS_3(intensity)}" for name, level, intensity, _ in points[:6])
    return Picture(
        name="roofline",
        title="Hierarchical roofline: vector instructions over transactions with L1, L2 and DRAM",
        alt=f"Vector instructions a 64-byte transaction: {said}.",
        heads=(
            "name",
            "level",
            "instructions a transaction",
            "instructions a ns",
            "roof of the level, transactions a ns",
        ),
        rows=[(name, level, x, y, roofs[level]) for name, level, x, y in points],
        draw=lambda figure: charts.roofline(
            figure,
            points,
            ("vector ALUs", peak),
            roofs,
            ("vector instructions a 64-byte transaction", "vector instructions a ns"),
        ),
        size=(7.2, 3.6),
    )


def _levels(launch: RunMetrics) -> list[tuple[str, float, float]]:
    """Return each memory level's name, its transactions, and the most that it can do in a nanosecond."""
    cycles, clock = launch.number("kernel.cycles"), launch.number("kernel.clock_ghz")
    levels = [("L1", launch.number("l1.transactions"), compute_units(launch) * clock)]
    for level, transactions, bound in (
        ("L2", launch.number("l2.transactions"), "roofline.l2"),
        ("DRAM", launch.number("dram.bytes") / 64, "roofline.dram"),
    ):
        fewest = launch.number(bound)  # cycles in which the level could have done it
        if fewest and cycles:
            levels.append((level, transactions, transactions / fewest * clock))
    return levels


def _bounds(measured: Sequence[RunMetrics]) -> Picture | None:
    bounds = list(dict.fromkeys(bound for one in measured for bound in one.group("roofline")))
    if not bounds or len(measured) > len(charts.COLOURS):
        return None
    series = {
        name: [_percent(one.share(f"roofline.{bound}")) for bound in bounds]
        for name, one in zip(_distinct(_names(measured)), measured, strict=True)
    }
    return _bars(
        "bounds", "Bounds: fewest cycles of each unit", list(map(unit_name, bounds)), series, "% of the cycles"
    )


def _stalls(measured: Sequence[RunMetrics]) -> Picture | None:
    if not any(one.group("stalls") for one in measured):
        return None
    names = _names(measured)
    parts = {r.replace("_", " "): [100 * (one.share(f"stalls.{r}") or 0.0) for one in measured] for r in STALLS}
    return _stack("stalls", "Where wavefronts' cycles go", names, parts, "% of resident wavefront-cycles")


def _hit_rates(measured: Sequence[RunMetrics]) -> Picture | None:
    caches = {
        cache: path for cache, path in _CACHES.items() if any(launch.get(path) is not None for launch in measured)
    }
    if not caches:
        return None
    if len(measured) <= 4:
        series = {
            name: [_percent(launch.get(path)) for path in caches.values()]
            for name, launch in zip(_distinct(_names(measured)), measured, strict=True)
        }
        return _bars("hit-rates", "Hit rates", list(caches), series, "% of the accesses")
    series = {cache: [_percent(launch.get(path)) for launch in measured] for cache, path in list(caches.items())[:2]}
    return _bars("hit-rates", "Hit rates by layer", _names(measured), series, "% of the accesses")


def _histogram(path: str, columns: Sequence[RunMetrics]) -> Picture | None:
    counted = {one.name or one.kernel: one.get(path) for one in columns if any(one.get(path) or ())}
    if not counted:
        return None
    last = max(max(b for b, count in enumerate(counts) if count) for counts in counted.values())
    series = {name: counts[: last + 1] for name, counts in counted.items()}
    metric = metrics.describe(path)
    assert metric is not None
    rows = [
        (2**bucket, 2 ** (bucket + 1) - 1, *(counts[bucket] for counts in series.values()))
        for bucket in range(last + 1)
    ]
    return Picture(
        path.replace(".", "-").replace("_", "-"), f"{path.replace('_', ' ').replace('.', ': ')}",
        f"{metric.definition}.", ("from, cycles", "to, cycles", *series), rows,
        lambda figure: charts.histogram(figure, series, "cycles"),
    )  # fmt: skip


def _engine(measured: Sequence[RunMetrics]) -> Picture | None:
    used = [one for one in measured if modes(one)]
    if not used:
        return None
    parts = {mode: [100 * modes(one)[mode] for one in used] for mode in modes(used[0])}
    return _stack("engine", "How the engine answered its requests", _names(used), parts, "% of the requests")


def _energy(measured: Sequence[RunMetrics]) -> Picture | None:
    known = [one for one in measured if one.number("energy.total_uj")]
    if not known:
        return None
    parts = {name: [one.number(f"energy.{path}_uj") for one in known] for name, path in _ENERGIES.items()}
    return _stack("energy", "Energy by part", _names(known), parts, "uJ")


def _dearest(result: Result) -> Picture | None:
    timed = [row for row in result.rows if row.values.get("time_us") and row.variant == result.last.name]
    if len(timed) < 2:
        return None
    timed.sort(key=lambda row: -row.values["time_us"])
    names = [row.measured.name for row in timed[:DEAREST]]
    times: list[float | None] = [float(row.values["time_us"]) for row in timed[:DEAREST]]
    if len(timed) > DEAREST:
        names.append(f"{len(timed) - DEAREST} others")
        times.append(plain_sum(row.values["time_us"] for row in timed[DEAREST:]))
    return _bars("dearest", "Where the time goes: the dearest rows", names, {"time": times}, "us")


def _layers(result: Result) -> Picture | None:
    timed = [row for row in result.rows if row.measured.tree and row.values.get("time_us") is not None][:_MOST_LAYERS]
    if not timed:
        return None
    series: dict[str, list[float | None]] = {"time": [float(row.values["time_us"]) for row in timed]}
    return _bars("layers", "Time by layer and pass", [row.measured.name for row in timed], series, "us")


def _numbered(name: str, result: Result, n: int) -> str:
    """Return the name of a picture of column `n`: columns may have any characters in theirs."""
    return name if len(result.columns) == 1 else f"{name}-{n}"


def _guesses(result: Result, n: int) -> Picture | None:
    """Draw what hangs at most, in column `n`, on each value without a source, by the kind of the value."""
    column = result.columns[n]
    ranked = guesses(result, column)[:_MOST_GUESSES]
    if not ranked:
        return None
    kinds = list(dict.fromkeys(guess.value.kind for guess in ranked))
    parts = {kind: [100 * guess.share * (guess.value.kind == kind) for guess in ranked] for kind in kinds}
    title = f"Values without a source, {column.name}" if column.name else "Values without a source"
    rows = [guess.value.path for guess in ranked]
    table = [(g.value.path, str(g.value.value), g.value.kind, 100 * g.share, g.of) for g in ranked]
    axis = "% of what it takes part in, at most"
    most = ranked[0]
    return Picture(
        name=_numbered("guesses", result, n),
        title=title,
        alt=f"Most hangs on {most.value.path} ({most.value.kind}): {PERCENT(most.share)} of {most.of}.",
        heads=("value", "is", "kind", axis, "of"),
        rows=table,
        draw=lambda figure: charts.stacked_bars(figure, rows, parts, axis),
        size=charts.bars_size(len(rows)),
    )


def _normalized(result: Result) -> Picture | None:
    """Draw every column's metrics divided by those of the first column."""
    if len(result.columns) < 2:
        return None
    first = result.columns[0]
    paths = [path for path in _COMPARED if first.number(path)]
    if not paths:
        return None
    series = {
        one.name: [one.number(path) / first.number(path) if one.get(path) is not None else None for path in paths]
        for one in result.columns
    }
    return _bars("normalized", f"Normalised to {first.name}", paths, series, f"ratio to {first.name}")


def _bars(
    name: str, title: str, rows: Sequence[str], series: dict[str, list[float | None]], axis: str
) -> Picture:  # fmt: skip
    table = [(row, *(values[number] for values in series.values())) for number, row in enumerate(rows)]
    largest = max(((v or 0.0, row, s) for s, values in series.items() for row, v in zip(rows, values, strict=True)))
    return Picture(
        name=name,
        title=title,
        alt=f"The largest is {largest[1]} with {GROUPED_DIGITS_3(largest[0])} {axis} ({largest[2]}).",
        heads=(axis, *series),
        rows=table,
        draw=lambda figure: charts.grouped_bars(figure, rows, series, axis),
        size=charts.bars_size(len(rows), len(series)),
    )


def _stack(name: str, title: str, rows: Sequence[str], parts: dict[str, list[float]], axis: str) -> Picture:
    table = [(row, *(values[number] for values in parts.values())) for number, row in enumerate(rows)]
    means = sorted(((plain_sum(values) / len(values), part) for part, values in parts.items()), reverse=True)[:3]
    whole = plain_sum(map(plain_sum, parts.values())) / len(rows) or 1.0
    said = ", ".join(f"{part} {PERCENT(mean / whole)}" for mean, part in means)
    return Picture(
        name=name,
        title=title,
        alt=f"The largest parts, on average: {said}.",
        heads=(axis, *parts),
        rows=table,
        draw=lambda figure: charts.stacked_bars(figure, rows, parts, axis),
        size=charts.bars_size(len(rows)),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number where one occurs more than once, so that they can be keys."""
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]
