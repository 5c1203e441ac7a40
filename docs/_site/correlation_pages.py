"""results/correlation: the results of `gpusim correlate`, and the layers before and after what was fitted."""

import json
import re
from collections.abc import Callable, Sequence
from statistics import geometric_mean, mean, median

import gpusim
from docs._site.pages import RESULTS as STORED
from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_0, FIXED_1, FIXED_2, FIXED_3, GENERAL, PERCENT, PERCENT_0, PERCENT_CHANGE
from gpusim.base.picture import Picture
from gpusim.base.progress import Reporter
from gpusim.base.student import interval
from gpusim.config.gpu import load_gpu
from gpusim.lab.microbench.bandwidth import element_stream, strided_reads
from gpusim.lab.microbench.bench import Bench
from gpusim.lab.microbench.references import published
from gpusim.lab.microbench.views import deviation_text
from gpusim.lab.silicon import report, views
from gpusim.lab.silicon.compare import KINDS, CorrelationPoint, classify_kernel, groups
from gpusim.lab.silicon.kernels import KernelSource, kernel_files
from gpusim.lab.silicon.measured import MeasuredTable, ProductPoint, load_measured, read_points
from gpusim.lab.silicon.picture import draw_tables
from gpusim.lab.silicon.predict import predict
from gpusim.lab.silicon.prediction import Conditions

# cycles at commit 3648221: GPU, layer: dense, with the engine
BEFORE = {
    ("mi6", "A"): (3158503, 2043308),
    ("mi6", "B"): (3158503, 1100071),
    ("mi6", "C"): (842009, 389318),
    ("r9nano", "A"): (1650755, 1041963),
    ("r9nano", "B"): (1650755, 562524),
    ("r9nano", "C"): (519266, 388374),
}
RESULTS = STORED / "correlation"
TABLE = "rocblas-r9nano"
# GPU, and bytes from one array to the next as the published copies had them: printed there, or BabelStream's default
BANDWIDTHS = {"r9nano": 256 << 20, "mi6": 256 << 20, "mi25": 0xCA00000, "vega56": 0xCA00000, "mi60": 256 << 20}
# cards that another model of their architecture does not stand for
OWN_MODELS = {"RX Vega 56 (Vega 10)": "vega56", "RX 570 (Polaris 10)": "mi6"}
UNDER_LOAD_GHZ = (0.85, 0.95)  # of an R9 Nano, "typically": Hardwareluxx, AMD Radeon R9 Nano im Test (2015), page 2
# AMD's product pages: peak engine clock
VEGA_10_PEAK_GHZ = {
    "Radeon Instinct MI25": 1.5,
    "RX Vega 56": 1.471,
    "RX Vega 64": 1.546,
    "Vega Frontier Edition": 1.6,
    "RX Vega 64 Liquid": 1.677,
}
VEGA = ("vega10-sgemm", "vega10-hgemm", "vega20-sgemm", "vega20-dgemm", "vega20-hgemm")
MI100 = ("mi100-sgemm", "mi100-hgemm", "mi100-bf16", "mi100-dgemm", "mi100-batched")
MI200 = ("mi200-sgemm", "mi200-dgemm", "mi200-bf16")
FAR = 2.0  # a ratio, or its reciprocal, from which on a row is explained by itself
CHANNELS_BYTES = 4096  # after which Vega 10's 16 channels of 256 bytes come again
SHORT_K, BUSY_MACS, LARGE_MACS, BUSY_SHARE = 200, 2e8, 12.5e9, 0.9  # of products, for words on what is off
EXACT, SAMPLED = "-exact", "-sampled"  # behind its name: some of its points run whole, and the same as they are usually
EXTRAPOLATED = "-extrapolated"  # behind its name: the whole table by a version that extrapolated what is large
MOVED = 0.2  # of a ratio, by a change of the model: less is not listed
UNHASHED = "-unhashed"  # behind its name: with channel numbers that are address bits as they are
SEARCH = "-search"  # behind a table's name: what `--fit` has found
HEAD = ("GPU", "layer", "dense before", "dense after", "engine before", "engine after")


def layers() -> str:
    """Layers A, B and C on both GPUs, from full runs."""
    rows: list[Sequence[str]] = []
    for (gpu, layer), (dense, engine) in BEFORE.items():
        both = gpusim.run(f"layer{layer}.yaml", engine="both", verify=False, sets={"gpu": gpu}, quiet=True)
        after = both.dense.kernel.cycles, both.sparse.kernel.cycles
        rows.append([gpu, layer, *map(str, (dense, after[0], engine, after[1]))])
    return table(list(HEAD), rows)


RX560 = {  # what is changed, and how
    "as shipped": {},
    "banks are address bits": {"gpu.dram.bank_masks": [0x400, 0x800, 0x8000, 0x10000]},
}


def rx560() -> str:
    """GFLOPS of the points measured on an RX 560, measured and modelled."""
    rows: list[Sequence[str]] = [["measured", "130 to 150", "8 to 10", "130 to 150"]]
    for name, sets in RX560.items():
        measured, document = load_measured("sgemm-rx560", sets)
        points = read_points(document.path.parent / measured.points)
        kernels = KernelSource(kernel_files(measured.kernels, None), multiply_accumulate=False)
        condition = Conditions.of(measured, limit_gflop=1.0, sampling=None)
        times = [predict(point, condition, kernels).time_us for point in points]
        rows.append([name, *(FIXED_0(p.gflop / (t * 1e-6)) for p, t in zip(points, times, strict=True))])
    return table(["GFLOPS", "N = 4095", "N = 4096", "N = 4097"], rows)


def held_to_whole() -> str:
    """Points by earlier versions' extrapolation, whole, and as they are run now, each against the whole run."""
    earlier, whole, now = (_rows(suffix) for suffix in (EXTRAPOLATED, EXACT, SAMPLED))
    rows = []
    for label, exact in whole.items():
        old, new = earlier[label], now[label].prediction
        true_us, bar_us = exact.prediction.time_us, new.half_width_us
        off = PERCENT_CHANGE(new.time_us / true_us - 1)
        assert bar_us is not None
        rows.append(
            [
                label,
                PERCENT_CHANGE(old.prediction.time_us / true_us - 1),
                *(FIXED_2(row.ratio) for row in (old, exact)),
                new.how if new.how == "whole" else PERCENT_0(new.simulated),
                *([off, f"{FIXED_1(100 * bar_us / true_us)} %"] if bar_us else ["–", "–"]),
                "–" if not bar_us else "yes" if abs(new.time_us - true_us) <= bar_us else "no",
            ]
        )
    heads = ["product", "extrapolated − whole", "ratio, extrapolated", "ratio, whole", "simulated now"]
    return table([*heads, "now − whole", "half-width", "within"], rows)


def vega() -> str:
    """Tables of Vega GPUs: how much of each was run, and how far off kernels of each kind are."""
    return _cards(VEGA, KINDS)


def cdna() -> str:
    """The same of MI100 and MI200, whose kernels are all of assembly or of general batches."""
    return _cards((*MI100, *MI200), KINDS[::2])


def _cards(names: Sequence[str], kinds: Sequence[str]) -> str:
    rows = []
    for name in names:
        measured, _ = load_measured(name)
        if not (RESULTS / f"{name}.json").exists():
            rows.append([name, f"0 of {len(_points(name))}", *["–"] * 5, _launch_text(measured), *["–"] * len(kinds)])
            continue
        held = list(_rows("", name).values())
        ratios = [row.ratio for row in held]
        off = [abs(ratio - 1) for ratio in ratios]
        by_kind: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for row in held:
            by_kind[classify_kernel(row)].append(abs(row.ratio - 1))
        rank = groups(held)["all"].rank_correlation
        rows.append([
            f"[{name}](correlation/{name}.md)", f"{len(held)} of {len(_points(name))}",
            *(PERCENT(value) for value in (mean(off), median(off))),
            FIXED_2(min(ratios)), FIXED_2(max(ratios)), FIXED_3(rank), _launch_text(measured),
            *(f"{len(own)}: {PERCENT(mean(own))}" if (own := by_kind[kind]) else "–" for kind in kinds),
        ])  # fmt: skip
    heads = ["table", "points run", "mean error", "median", "least", "most", "rank correlation", "launch"]
    return table([*heads, *kinds], rows)


def _launch_text(measured: MeasuredTable) -> str:
    """Write the times of a measurement that no kernel takes, and of which kernels they are."""
    more = {} if measured.hip_launch_us is None else {"HIP": measured.hip_launch_us}
    own = [f"{kind} {GENERAL(us)}" for kind, us in {**more, **measured.campaign_launch_us}.items()]
    return ", ".join([f"{GENERAL(measured.launch_us)} µs" + " a kernel" * measured.launch_each, *own])


def beyond() -> str:
    """Rows of Vega's tables beyond a factor of two, beside those of the same tile: is the kernel off, or the row?

    A round is as many workgroups as there are compute units; times of a round are without the launch.
    """
    rows = []
    for name in VEGA:
        units = load_measured(name)[0].gpu.cus
        held = [row for row in _rows("", name).values() if row.prediction.point.kernel]
        for row in held:
            if 1 / FAR < row.ratio < FAR:
                continue
            near = [other for other in held if other is not row and _tile_of(other) == _tile_of(row)]
            times = [_of_a_round(one, units) for one in (row, *near)]
            cells = (
                [f"{FIXED_2(min(r.ratio for r in near))} to {FIXED_2(max(r.ratio for r in near))}"] if near else ["–"]
            )
            for of in (0, 1):
                others = FIXED_0(median(time[of] for time in times[1:])) if near else "–"
                cells += [FIXED_0(times[0][of]), others]
            said = _said_of_row(row, near, times)
            rows.append([name, row.prediction.point.label, FIXED_2(row.ratio), classify_kernel(row), *cells, said])
    heads = ["table", "product", "ratio", "kernel", "ratios of its tile", "measured, µs a round", "others of its tile"]
    return table([*heads, "modelled, µs a round", "others of its tile", "what tells it from them"], rows)


def hashed() -> str:
    """Points of Vega 10 with L2's and DRAM's channel numbers hashed, as shipped, beside address bits as they are: those
    that move, and how far off all are.
    """
    rows: list[Sequence[str]] = []
    both: list[tuple[str, CorrelationPoint, CorrelationPoint]] = []
    moved: dict[bool, list[str]] = {True: [], False: []}
    for name in ("vega10-sgemm", "vega10-hgemm"):
        shipped = _rows("", name)
        both += [(name, row, shipped[label]) for label, row in _rows(UNHASHED, name).items()]
    for name, before, row in both:
        point = row.prediction.point
        assert isinstance(point, ProductPoint)
        if abs(row.ratio / before.ratio - 1) > MOVED:
            moved[abs(row.ratio - 1) < abs(before.ratio - 1)].append(point.label)
            apart = " and ".join(COUNT(one) for one in _strides_bytes(point))
            ratios = (FIXED_2(one.ratio) for one in (before, row))
            rows.append([name, point.label, classify_kernel(row), apart, *ratios])
    sums = []
    for name in dict.fromkeys(name for name, *_ in both):
        for kind in KINDS:
            of_kind = [(before, row) for held, before, row in both if held == name and classify_kernel(row) == kind]
            ratios_of = [[pair[of].ratio for pair in of_kind] for of in (0, 1)]
            means = (PERCENT(mean(abs(ratio - 1) for ratio in one)) for one in ratios_of)
            ranges = (f"{FIXED_2(min(one))} to {FIXED_2(max(one))}" for one in ratios_of)
            sums.append([name, kind, str(len(of_kind)), *means, *ranges])
    heads = ["table", "product", "kernel", "rows of A and B apart, bytes", "ratio, address bits", "ratio, hashed"]
    sum_heads = ["table", "kernel", "points of both", "mean error, address bits", "hashed"]
    return (
        f"{table(sum_heads + ['ratios, address bits', 'hashed'], sums)}\n\nOf those that move by more than"
        f" {PERCENT_0(MOVED)}, {len(moved[True])} come nearer and {len(moved[False])} go away:\n\n{table(heads, rows)}"
    )


def _strides_bytes(point: ProductPoint) -> tuple[int, int]:
    """Return how far the rows of A and B lie apart."""
    strides = (point.m if point.transposes[0] == "N" else point.k, point.k if point.transposes[1] == "N" else point.n)
    return strides[0] * point.element_bytes, strides[1] * point.element_bytes


def _tile_of(row: CorrelationPoint) -> tuple[str | int, ...]:
    """Return what rows have in common whose workgroups do the same work: kind, operands, tile, K."""
    point = row.prediction.point
    assert isinstance(point, ProductPoint)
    tile = next(part for part in point.kernel.split("_") if part.startswith("MT"))
    return classify_kernel(row), point.transposes, tile, point.k


def _of_a_round(row: CorrelationPoint, units: int) -> tuple[float, float]:
    p, rounds = row.prediction, -(-row.prediction.workgroups // units)
    return (p.point.time_us - row.launch_us) / rounds, p.time_us / rounds


def _said_of_row(row: CorrelationPoint, near: Sequence[CorrelationPoint], times: Sequence[tuple[float, float]]) -> str:
    """Say by predicates what is particular to a row."""
    said, point = [], row.prediction.point
    assert isinstance(point, ProductPoint)
    if near:
        slower = [times[0][of] / median(time[of] for time in times[1:]) for of in (0, 1)]
        said.append(
            f"a round takes {FIXED_1(slower[0])} times theirs on the card, {FIXED_1(slower[1])} times in the model"
        )
    apart = _strides_bytes(point)
    if any(one % CHANNELS_BYTES == 0 for one in apart):
        said.append(f"rows {' and '.join(GENERAL(one / 1024) for one in apart)} KiB apart, which meet in one channel")
    split = re.search(r"_GSU(\d+)_", point.kernel)
    if split and int(split[1]) & (int(split[1]) - 1):
        said.append(f"K split in {split[1]}, no power of two")
    return "; ".join(said) or "–"


def cards_picture() -> Picture:
    """One picture of all tables."""
    tables = {
        load_measured(name)[0].title.removeprefix("rocBLAS "): list(_rows("", name).values()) for name in (TABLE, *VEGA)
    }
    return draw_tables(tables)


def cards() -> str:
    """The picture of all tables in the page."""
    made = cards_picture()
    return f"![{made.alt}](correlation/{made.name}.svg)"


def clocks() -> str:
    """Is what Fiji's clock was fitted to a clock, or a loss that the model lacks? What busy points of Vega say."""
    fiji, _ = load_measured(TABLE)
    assert fiji.clock_ghz is not None
    loss = fiji.clock_ghz / fiji.gpu.clock_ghz
    rows, found = [], {}
    for name in (TABLE, "vega10-sgemm"):
        measured, _ = load_measured(name)
        held = [row for row in _rows("", name).values() if _is_busy(row)]
        clock_ghz = measured.clock_ghz
        assert clock_ghz is not None
        ratio = geometric_mean(row.prediction.time_us / (row.prediction.point.time_us - row.launch_us) for row in held)
        found[name] = clock_ghz * ratio / loss
        cells = [name, measured.gpu.clock_ghz, clock_ghz, len(held), FIXED_3(ratio), FIXED_2(found[name])]
        rows.append([str(cell) for cell in cells])
    heads = [
        "table",
        "data sheet, GHz",
        "modelled, GHz",
        "busy points",
        "ratio",
        f"GHz with a loss of {PERCENT(1 - loss)}",
    ]
    needed, (low, high) = found["vega10-sgemm"], UNDER_LOAD_GHZ
    is_seen = "which" if low <= fiji.clock_ghz <= high else "and no"
    enough = [f"{card} ({GENERAL(peak_ghz)})" for card, peak_ghz in VEGA_10_PEAK_GHZ.items() if peak_ghz >= needed]
    verdict = (
        f"An R9 Nano runs at {GENERAL(low)} to {GENERAL(high)} GHz under load, {is_seen} Fiji's "
        f"{GENERAL(fiji.clock_ghz)} GHz is one of. If it were a loss of the vector ALUs instead, Vega 10 would lose it "
        f"too, and would need {FIXED_2(needed)} GHz, the whole time: {', '.join(enough) or 'no card of its'} has so "
        f"much at most, of {len(VEGA_10_PEAK_GHZ)} kinds."
    )
    return f"{table(heads, rows)}\n\n{verdict} {_in_both()}"


def remains() -> str:
    """What of Fiji's products is off, by kind, in words that follow from the stored rows."""
    rows = list(_rows("").values())
    products = [(row, row.prediction.point) for row in rows if isinstance(row.prediction.point, ProductPoint)]
    flat = [row for row, of in products if of.k < SHORT_K and of.m * of.n * of.k >= BUSY_MACS]
    large = [row for row, of in products if of.transposes == "TN" and of.m * of.n * of.k >= LARGE_MACS]
    kinds = {
        f"K below {SHORT_K} and {GENERAL(BUSY_MACS / 1e9)} billion multiply-accumulates or more": flat,
        f"TN of {GENERAL(LARGE_MACS / 1e9)} billion multiply-accumulates or more": large,
        "all products": rows,
    }
    lines = [f"- {kind}: {describe_sides(chosen)}." for kind, chosen in kinds.items() if chosen]
    busy = [row for row in large if row.prediction.utilization >= BUSY_SHARE]
    others = [row for row in large if row not in busy]
    if busy and others:
        ratios = [FIXED_2(geometric_mean(row.ratio for row in some)) for some in (busy, others)]
        lines.append(
            f"- Of these TN products, the {len(busy)} whose bound is busy for {PERCENT_0(BUSY_SHARE)} of the time or"
            f" more have a mean ratio of {ratios[0]}, the other {len(others)} of {ratios[1]}."
        )
    slow = sorted((row for row in rows if row.ratio > 1 + MOVED), key=lambda row: -row.ratio)
    if slow:
        named = ", ".join(f"{row.prediction.point.label} ({PERCENT_0(row.ratio - 1)})" for row in slow)
        lines.append(f"- More than {PERCENT_0(MOVED)} too slow: {named}.")
    return "\n".join(lines)


def describe_sides(rows: Sequence[CorrelationPoint]) -> str:
    """Say how many rows are too fast and too slow, and by how much."""
    sides = []
    for name, sign in (("fast", -1), ("slow", 1)):
        off = [100 * sign * (row.ratio - 1) for row in rows if sign * (row.ratio - 1) > 0]
        if off:
            span = f"{FIXED_0(min(off))} to {FIXED_0(max(off))}" if len(off) > 1 else FIXED_0(off[0])
            sides.append(f"{len(off)} of {len(rows)} are {span} % too {name}")
    return ", ".join(sides) or f"all {len(rows)} are exact"


def bandwidths() -> str:
    """DRAM bandwidths of published programs' access patterns on the model, beside what cards reached."""
    rows = []
    for name, apart_bytes in BANDWIDTHS.items():
        bench = Bench(load_gpu(name), Reporter(quiet=True))
        for kernel in ("copy", "triad", "read"):
            figures = [
                row
                for row in published(f"bandwidth.dram_{kernel}_share", bench.gpu.architecture)
                if OWN_MODELS.get(row.part, name) == name
                and (name not in OWN_MODELS.values() or row.part in OWN_MODELS)
            ]
            if not figures:
                continue
            rates = strided_reads(bench) if kernel == "read" else [element_stream(bench, kernel, apart_bytes)]
            rate, half_width = interval(rates)
            in_percent = 100 * bench.gpu.clock_hz / bench.gpu.dram.bytes_per_s
            share = rate * in_percent
            spread = f" ± {FIXED_1(half_width * in_percent)}" if half_width else ""
            what = kernel if kernel == "read" else f"{kernel}, arrays {apart_bytes >> 20} MiB apart"
            for row in figures:
                off = deviation_text(row.deviation(share))
                rows.append([name, what, f"{FIXED_1(share)}{spread} %", f"{row.text} %", off, row.part, row.source])
    return table(["model", "what", "of the pins", "published", "deviation", "card", "source"], rows)


def _is_busy(row: CorrelationPoint) -> bool:
    """Whether vector ALUs or LDS take an assembly kernel's time, of which its launch is a small part."""
    p = row.prediction
    return (
        classify_kernel(row) == KINDS[0]
        and p.bound in ("valu", "lds")
        and p.utilization >= 0.8
        and p.point.time_us >= 200
    )


def _points(name: str) -> list[ProductPoint]:
    measured, document = load_measured(name)
    path = document.path.parent / measured.points
    return read_points(path, general=measured.general, peak_gflops=measured.peak_gflops)


def _in_both() -> str:
    """Say how fast Vega 20 was in the products that both cards' tables have."""
    names = ("vega10-sgemm", "vega20-sgemm")
    old, new = ({p.label: p for p in _points(name) if not p.is_compiled and p.batch == 1} for name in names)
    ratios = [old[label].time_us / new[label].time_us for label in old if label in new]
    clock_ghz = load_measured(names[0])[0].clock_ghz
    assert clock_ghz is not None
    return (
        f"{len(ratios)} products of assembly kernels are in both SGEMM tables; Vega 20's measured speed is "
        f"{FIXED_2(min(ratios))} to {FIXED_2(max(ratios))} of Vega 10's, with as many compute units: "
        f"{FIXED_2(median(ratios) * clock_ghz)} GHz if that ran at {GENERAL(clock_ghz)}."
    )


def _rows(suffix: str, name: str = TABLE) -> dict[str, CorrelationPoint]:
    contents = (RESULTS / f"{name}{suffix}.json").read_text(encoding="utf-8")
    return {row.prediction.point.label: row for row in report.restored(json.loads(contents)).rows}


def summary() -> str:
    """README.md: what the shipped result says in a few words."""
    found = groups(list(_rows("").values()))
    points, whole = found["all"], found["run whole"]
    return (
        f"`gpusim correlate` runs {points.count} matrix products that AMD timed on a Fiji card, with AMD's own kernels "
        f"from the user's package, and compares: mean error {PERCENT(points.mean_absolute_error)}, "
        f"{FIXED_2(points.least)} to {FIXED_2(points.most)} times the measured time. "
        f"{whole.count} were run whole, the others [sampled, each with its half-width]"
        "(results/correlation.md#large-products)."
    )


SUMMARY: dict[str, Callable[[], str]] = {"held to silicon": summary}
SECTIONS: dict[str, Callable[[], str]] = {
    "held to whole": held_to_whole,
    "vega": vega,
    "cdna": cdna,
    "beyond": beyond,
    "hashed": hashed,
    "remains": remains,
}
SIMULATED: dict[str, Callable[[], str]] = {
    "layers": layers,
    "rx560": rx560,
    "clocks": clocks,
    "cards": cards,
    "bandwidths": bandwidths,
}


def result(name: str, contents: str) -> str:
    """The page of a result kept as JSON. name: its table's, or that with SEARCH behind it."""
    measured, _ = load_measured(name.removesuffix(SEARCH))
    return views.markdown(measured, report.restored(json.loads(contents)))
