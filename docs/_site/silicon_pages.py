"""results/networks-silicon.md: convolutions of three networks beside MIOpen's times, from results/correlation."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import cast

import numpy as np

from docs._site.correlation_pages import RESULTS
from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_1, FIXED_2, GENERAL, GROUPED_1, PERCENT, PERCENT_0
from gpusim.config.network import load_network
from gpusim.lab.silicon import report
from gpusim.lab.silicon.compare import PASS_TITLES, CorrelationPoint, reduce_to_one_image, totals
from gpusim.lab.silicon.measured import load_measured, read_table
from gpusim.lab.silicon.measured_convolutions import BY_IMAGE, GEMM_SOLVERS, ConvolutionPoint
from workloads.networks.convolution import ConvolutionLayer
from workloads.operators.convolution import Convolution

SAME, OWN = "miopen-vega20", "miopen-vega20-own"
NETWORKS = ("alexnet", "alexnet-owt", "vgg16", "resnet18")
BAR = 0.20  # of the networks' sums for the solver that is the same
FAR = 1.3  # a ratio, or its reciprocal, from which on a point is far off
SHORT_US = 100  # of kernels: shorter ones show what a measurement holds beside them
LEFT_US = ((10, 30), (30, 40), (40, 70))
DRAWS = 10_000  # resamples of the median
NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """A convolution of a network, all layers of that shape, in a pass."""

    network: str
    layers: tuple[str, ...]
    direction: str
    same: tuple[CorrelationPoint, ...]  # one, or one for each batch
    own: tuple[CorrelationPoint, ...]

    @property
    def where(self) -> list[str]:
        """The first cells of a table's row."""
        first, *others = self.layers
        return [first if not others else f"{first} (×{len(self.layers)})", PASS_TITLES[self.direction]]


def _rows(name: str) -> list[CorrelationPoint]:
    file = RESULTS / f"{name}.json"
    return report.restored(json.loads(file.read_text(encoding="utf-8"))).rows if file.exists() else []


def _point(row: CorrelationPoint) -> ConvolutionPoint:
    assert isinstance(row.prediction.point, ConvolutionPoint)
    return row.prediction.point


def _fit() -> tuple[float, float]:
    """Return the interval of the time that no kernel takes, as it was fitted."""
    low, high = json.loads((RESULTS / f"{SAME}.json").read_text(encoding="utf-8"))["fit"]["launch_interval_us"]
    return low, high


def _left(same: Sequence[CorrelationPoint]) -> list[float]:
    """Return what of the measured time no simulated kernel takes, of the points with the shortest kernels first."""
    return [row.prediction.point.time_us - row.prediction.time_us for row in _shortest_first(same)]


def _shortest_first(same: Sequence[CorrelationPoint]) -> list[CorrelationPoint]:
    return sorted(same, key=lambda row: row.prediction.time_us)


def rows() -> list[Row]:
    """Every convolution of the networks that has been run in any way, in the networks' order."""
    same, own = _by_pass(_rows(SAME)), _by_pass(_rows(OWN))
    found = []
    for network in NETWORKS:
        for convolution, layers in _layers(network).items():
            for direction in PASS_TITLES:
                key = (convolution, direction)
                if key in same or key in own:
                    held = (tuple(rows.get(key, ())) for rows in (same, own))
                    found.append(Row(network, tuple(layers), direction, *held))
    return found


def _by_pass(held: Sequence[CorrelationPoint]) -> dict[tuple[Convolution, str], list[CorrelationPoint]]:
    found: dict[tuple[Convolution, str], list[CorrelationPoint]] = {}
    for row in held:
        found.setdefault(_place(_point(row)), []).append(row)
    return found


def _place(point: ConvolutionPoint) -> tuple[Convolution, str]:
    return reduce_to_one_image(point.convolution), point.direction


def _images(row: CorrelationPoint) -> int:
    return _point(row).convolution.shape[0]


def _layers(network: str) -> dict[Convolution, list[str]]:
    """Return the layers of a network by their convolution of an image."""
    found: dict[Convolution, list[str]] = {}
    graph = load_network(network)
    for layer in graph.layers:
        if layer.kind_name != "convolution":
            continue
        (shape,), kind = layer.input_shapes, cast(ConvolutionLayer, layer.kind)
        sizes = (kind.kernel, kind.stride, kind.padding, kind.dilation, kind.groups)
        found.setdefault(Convolution((1, *shape), kind.filters, *sizes), []).append(layer.name)
    return found


def _us(value: float) -> str:
    return GROUPED_1(value)


def same_solver() -> str:
    """A row for each convolution and pass whose solver of rocBLAS's products was run; times are those of an image."""
    cells = []
    for row in rows():
        for one in row.same:
            p, point, images = one.prediction, _point(one), _images(one)
            spread = f"{_us(min(point.measured_us))} to {_us(max(point.measured_us))}"
            cells.append([
                row.network, *row.where, NOTHING if point.solver in BY_IMAGE else str(images),
                _us(point.time_us / images), spread if len(point.measured_us) > 1 else NOTHING,
                _us(one.modelled_us / images), _us((p.im2col_us or 0.0) / images), FIXED_2(one.ratio),
                "HIP" if point.is_compiled else "assembly", COUNT(p.workgroups),
                f"{p.bound} {PERCENT_0(p.utilization)}",
            ])  # fmt: skip
    heads = ["network", "layer", "pass", "batch", "measured, µs an image", "by batch", "simulated", "of it moving"]
    return table([*heads, "ratio", "product's kernel", "workgroups", "bound"], cells)


def by_solver() -> str:
    """A row for each solver, over all rows of the data file that were run."""
    held = _rows(SAME)
    cells = []
    for solver in GEMM_SOLVERS:
        mine = [row for row in held if _point(row).solver == solver]
        if mine:
            ratios = [row.ratio for row in mine]
            off = [abs(ratio - 1) for ratio in ratios]
            measured, modelled = (
                sum(of(row) / _images(row) for row in mine)
                for of in (lambda row: row.prediction.point.time_us, lambda row: row.modelled_us)
            )
            cells.append([
                f"`{solver}`", str(len(mine)), PERCENT(mean(off)), PERCENT(median(off)),
                FIXED_2(min(ratios)), FIXED_2(max(ratios)), FIXED_2(modelled / measured),
            ])  # fmt: skip
    return table(["solver", "points", "mean error", "median", "least", "most", "ratio of sums an image"], cells)


def sums() -> str:
    """A row for the sum of each network's passes; the last column: without what no kernel takes."""
    cells = [
        [
            s.network,
            s.what,
            str(s.points),
            FIXED_2(s.measured_us / 1e3),
            FIXED_2(s.modelled_us / 1e3),
            FIXED_2(s.ratio),
            FIXED_2(s.kernels_ratio),
        ]
        for s in totals(_rows(SAME))
        if s.network in NETWORKS
    ]
    heads = ["network", "pass", "convolutions", "measured, ms an image", "simulated", "ratio", "ratio of kernels alone"]
    return table(heads, cells)


def ours() -> str:
    """A row for each convolution, pass and batch that our fastest algorithm was run with, the networks' first."""
    held = [(row.network, row.where, row.same, one) for row in rows() for one in row.own]
    listed, same = {_place(_point(one)) for *_, one in held}, _by_pass(_rows(SAME))
    for one in _rows(OWN):
        if (place := _place(_point(one))) not in listed:
            named = _point(one).label.split(maxsplit=1)[1].rpartition(" x")[0]
            held.append(("other", [named, PASS_TITLES[place[1]]], tuple(same.get(place, ())), one))
    cells = []
    for network, where, by_products, one in held:
        p, point = one.prediction, _point(one)
        images = _images(one)
        by_image = _us(_an_image(by_products)[0]) if by_products else NOTHING
        width = f" ± {_us((p.half_width_us or 0.0) / images)}" if p.how != "whole" else ""
        cells.append([
            network, *where, str(images), point.solver, _us(point.time_us / images), by_image, p.by,
            f"{_us(one.modelled_us / images)}{width}", FIXED_2(one.ratio), f"{p.bound} {PERCENT_0(p.utilization)}",
        ])  # fmt: skip
    heads = [
        "network",
        "layer",
        "pass",
        "batch",
        "MIOpen's fastest",
        "measured, µs an image",
        "its products by rocBLAS",
    ]
    return table([*heads, "our fastest", "simulated", "ratio", "bound"], cells)


def _an_image(held: Sequence[CorrelationPoint]) -> tuple[float, float]:
    """Return the measured and the simulated time of an image, the mean of those with several batches."""
    return (
        mean(row.prediction.point.time_us / _images(row) for row in held),
        mean(row.modelled_us / _images(row) for row in held),
    )


def training() -> str:
    """A row for each convolution's passes together: those of which a simulated time stands beside the measured one."""
    cells = []
    by_layers = {(row.network, row.layers, row.direction): row for row in rows() if row.same}
    timed, listed = _timed()
    for network in NETWORKS:
        whole: list[Row] = []
        for convolution, names in _layers(network).items():
            layers = tuple(names)
            passes = [row for d in PASS_TITLES if (row := by_layers.get((network, layers, d)))]
            whole += passes
            without = [d for d in PASS_TITLES if d not in {row.direction for row in passes}]
            why = {
                "not drawn": [d for d in without if (convolution, d) not in listed],
                "of other solvers": [d for d in without if (convolution, d) in listed - timed],
                "not run": [d for d in without if (convolution, d) in timed],
            }
            said = "; ".join(f"{''.join(which)} {reason}" for reason, which in why.items() if which)
            cells.append([network, f"{layers[0]} ×{len(layers)}", *_sum(passes), said or NOTHING])
        cells.append([network, "all", *_sum(whole), NOTHING])
    heads = ["network", "layers", "passes", "measured, µs an image", "simulated", "ratio", "without"]
    return table(heads, cells)


def _timed() -> tuple[set[tuple[Convolution, str]], set[tuple[Convolution, str]]]:
    """Return the convolutions and passes that the data file has: with a time of rocBLAS's products, and with any."""
    return tuple({_place(point) for point in _points(name)} for name in (SAME, OWN))  # type: ignore[return-value]


def _points(name: str) -> list[ConvolutionPoint]:
    """Return all points of a table, run or not."""
    measured, document = load_measured(name)
    held = read_table(measured, document, document.path.parent / measured.points)
    return [point for point in held if isinstance(point, ConvolutionPoint)]


def coverage() -> str:
    """A row for each network: how many of its convolutions and passes the data file has, and how many were run."""
    timed, listed = _timed()
    same = {_place(_point(row)) for row in _rows(SAME)}
    own = {_place(_point(row)) for row in _rows(OWN)}
    cells = []
    for network in NETWORKS:
        places = [(convolution, d) for convolution in _layers(network) for d in PASS_TITLES]
        counts = [sum(place in held for place in places) for held in (listed, timed, same, own, same | own)]
        cells.append([network, str(len(places)), *map(str, counts)])
    heads = ["network", "convolutions and passes", "in the data file", "with a time of rocBLAS's products", "simulated"]
    return table([*heads, "ours simulated", "either"], cells)


def _sum(passes: Sequence[Row]) -> list[str]:
    """Return which passes, and their times together, of all layers of each shape."""
    if not passes:
        return [NOTHING] * 4
    times = [(len(row.layers), *_an_image(row.same)) for row in passes]
    measured = sum(count * us for count, us, _ in times)
    modelled = sum(count * us for count, _, us in times)
    which = "".join(d for d in PASS_TITLES if any(row.direction == d for row in passes))
    return [which, _us(measured), _us(modelled), FIXED_2(modelled / measured)]


def conclusion() -> str:
    """What the figures say, each sentence by what is found."""
    return "\n".join(f"- {sentence}" for sentence in _sentences())


def _sentences() -> Iterator[str]:
    same = _rows(SAME)
    if not same:
        yield "Nothing was run."
        return
    every = [s for s in totals(same) if s.what == "all" and s.network in NETWORKS]
    within = [s for s in every if abs(s.ratio - 1) <= BAR]
    figures = ", ".join(f"{s.network} {FIXED_2(s.ratio)}" for s in every)
    yield (
        f"MIOpen's solvers of rocBLAS's products, {len(same)} points: the sums of {len(within)} of {len(every)} "
        f"networks are within {PERCENT_0(BAR)} of the measured ones ({figures})."
    )
    measured, document = load_measured(SAME)
    data = document.path.parent / measured.points
    points = _points(SAME)
    every_row, used = len(data.read_text(encoding="utf-8").splitlines()) - 1, sum(len(p.measured_us) for p in points)
    run = {row.prediction.point.label for row in same}
    left = [
        f"{point.label} ({FIXED_1(point.convolution.macs * 2e-9)} GFLOP, in {FIXED_1(point.time_us)} µs)"
        for point in points
        if point.label not in run
    ]
    yield (
        f"Of the data file's {every_row} rows {used} have a time of such a solver, which are {len(points)} points: a"
        f" convolution and pass, with 1 x 1 filters a batch of them; {len(left)} of these have not been run, or took"
        f" less on the card than a measurement's own time: {', '.join(left) or NOTHING}."
        " The other rows have times of other solvers alone."
    )
    off = [abs(row.ratio - 1) for row in same]
    spread = [max(p.measured_us) / min(p.measured_us) - 1 for p in map(_point, same) if len(p.measured_us) > 1]
    interval = _fit()
    share = sum(row.launch_us for row in same) / sum(row.modelled_us for row in same)
    yield (
        f"A measurement's own time is {FIXED_1(same[0].launch_us)} µs, fitted to these points ({FIXED_1(interval[0])}"
        f" to {FIXED_1(interval[1])} by resampling): {PERCENT_0(share)} of the simulated sum. What the smallest two"
        f" leave beside their kernels is {' and '.join(FIXED_1(us) for us in _left(same)[:2])} µs."
    )
    shortest = zip(_shortest_first(same), _left(same), strict=True)
    short = [us for row, us in shortest if row.prediction.time_us < SHORT_US]
    counts = [sum(low <= us < high for us in short) for low, high in LEFT_US]
    said = ", ".join(f"{count} have {low} to {high} µs" for count, (low, high) in zip(counts, LEFT_US, strict=True))
    is_apart = counts[1] < min(counts[0], counts[2])
    apart = ": two sorts of measurements, for which one time cannot stand" if is_apart else ""
    yield f"Of the {len(short)} points whose kernels take less than {SHORT_US} µs, {said} beside them{apart}."
    yield f"One by one they are {PERCENT(mean(off))} off in the mean, {PERCENT(median(off))} in the median."
    if spread:
        yield (
            f"The card's own times of an image differ from batch to batch by {PERCENT_0(mean(spread))} in the mean and"
            f" {PERCENT_0(max(spread))} at most ({len(spread)} measured more than once)."
        )
    kinds = {kind: [r for r in same if _point(r).is_compiled == (kind == "HIP")] for kind in ("assembly", "HIP")}
    said = [
        f"{kind} {len(held)}: {PERCENT(mean(abs(r.ratio - 1) for r in held))}" for kind, held in kinds.items() if held
    ]
    yield f"By the product's kernel: {', '.join(said)} off in the mean."
    far = [row for row in same if not 1 / FAR <= row.ratio <= FAR]
    if far:
        fast = sum(row.ratio < 1 for row in far)
        share = sum(row.prediction.point.time_us for row in far) / sum(row.prediction.point.time_us for row in same)
        yield (
            f"{len(far)} are off by more than a factor of {GENERAL(FAR)} ({fast} too fast), of {PERCENT_0(share)} of"
            " the measured time."
        )
    yield from _of_ours(_rows(OWN))


def _of_ours(own: Sequence[CorrelationPoint]) -> Iterator[str]:
    if not own:
        return
    ratios = np.array(sorted(row.ratio for row in own))
    drawn = np.random.default_rng(0).choice(ratios, (DRAWS, len(ratios)))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    first, last = np.percentile(ratios, (5, 95))
    yield (
        f"Ours beside MIOpen's fastest, {len(own)} of the database's rows: simulated at {FIXED_2(first)} to"
        f" {FIXED_2(last)} of its measured time from the 5th to the 95th percentile ({FIXED_2(ratios[0])} to"
        f" {FIXED_2(ratios[-1])} all), {FIXED_2(median(ratios))} in the median ({FIXED_2(low)} to {FIXED_2(high)} in"
        f" 95 of 100 resamples); {sum(ratios < 1)} are faster."
    )
    for title, is_in in (
        ("strided or of an image's three channels", _is_awkward),
        ("the others", lambda row: not _is_awkward(row)),
    ):
        held = [row.ratio for row in own if is_in(row)]
        if held:
            faster = sum(ratio < 1 for ratio in held)
            every = f"{FIXED_2(min(held))} to {FIXED_2(max(held))}, {faster} of them faster than MIOpen's"
            yield f"Of these {title}: {len(held)}, {FIXED_2(median(held))} in the median, {every}."


def _is_awkward(row: CorrelationPoint) -> bool:
    c = _point(row).convolution
    return c.stride != (1, 1) or c.shape[1] <= 3


SECTIONS = {
    "conclusion": conclusion,
    "sums": sums,
    "by solver": by_solver,
    "same solver": same_solver,
    "ours": ours,
    "training": training,
    "coverage": coverage,
}
