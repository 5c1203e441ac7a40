"""docs/networks/silicon.md: convolutions of three networks beside MIOpen's measured times, from docs/correlation."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import cast

from gpusim.config.measured import load_measured, read_table
from gpusim.config.measured_convolutions import ConvolutionPoint
from gpusim.config.network import load_network
from gpusim.correlation import report
from gpusim.correlation.compare import PASS_TITLES, Compared, totals
from tests.support.correlation_pages import RESULTS
from tests.support.pages import table
from workloads.networks.convolution import Convolution as ConvolutionKind
from workloads.operators.convolution import Convolution

SAME, OWN = "miopen-vega20", "miopen-vega20-own"
NETWORKS = ("alexnet", "alexnet-owt", "vgg16", "resnet18")
BAR = 0.20  # of the networks' sums for the solver that is the same
FAR = 1.3  # a ratio, or its reciprocal, from which on a point is far off
NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """A convolution of a network, all layers of that shape, in a pass."""

    network: str
    layers: tuple[str, ...]
    direction: str
    same: Compared | None
    own: tuple[Compared, ...]

    @property
    def where(self) -> list[str]:
        """The first cells of a table's row."""
        first, *others = self.layers
        return [first if not others else f"{first} (×{len(self.layers)})", PASS_TITLES[self.direction]]


def _rows(name: str) -> list[Compared]:
    file = RESULTS / f"{name}.json"
    return report.restored(json.loads(file.read_text(encoding="utf-8"))).rows if file.exists() else []


def _point(row: Compared) -> ConvolutionPoint:
    assert isinstance(row.prediction.point, ConvolutionPoint)
    return row.prediction.point


def _fit() -> tuple[float, float]:
    """Return the interval of the time that no kernel takes, as it was fitted."""
    low, high = json.loads((RESULTS / f"{SAME}.json").read_text(encoding="utf-8"))["fit"]["launch_interval_us"]
    return low, high


def _left(same: Sequence[Compared]) -> list[float]:
    """Return what of the measured time no simulated kernel takes, of the points with the shortest kernels first."""
    ordered = sorted(same, key=lambda row: row.prediction.time_us)
    return [row.prediction.point.time_us - row.prediction.time_us for row in ordered]


def rows() -> list[Row]:
    """Every convolution of the networks that has been run in any way, in the networks' order."""
    same = {(_point(row).convolution, _point(row).direction): row for row in _rows(SAME)}
    own: dict[tuple[Convolution, str], list[Compared]] = {}
    for row in _rows(OWN):
        point = _point(row)
        own.setdefault((_of_an_image(point.convolution), point.direction), []).append(row)
    found = []
    for network in NETWORKS:
        for convolution, layers in _layers(network).items():
            for direction in PASS_TITLES:
                key = (convolution, direction)
                if key in same or key in own:
                    found.append(Row(network, tuple(layers), direction, same.get(key), tuple(own.get(key, ()))))
    return found


def _of_an_image(convolution: Convolution) -> Convolution:
    return replace(convolution, shape=(1, *convolution.shape[1:]))


def _layers(network: str) -> dict[Convolution, list[str]]:
    """Return the layers of a network by their convolution of an image."""
    found: dict[Convolution, list[str]] = {}
    graph = load_network(network)
    for layer in graph.layers:
        if layer.kind_name != "convolution":
            continue
        (shape,), kind = layer.input_shapes, cast(ConvolutionKind, layer.kind)
        sizes = (kind.kernel, kind.stride, kind.padding, kind.dilation, kind.groups)
        found.setdefault(Convolution((1, *shape), kind.filters, *sizes), []).append(layer.name)
    return found


def _us(value: float) -> str:
    return f"{value:,.1f}"


def same_solver() -> str:
    """A row for each convolution and pass whose solver of im2col and a product was run."""
    cells = []
    for row in rows():
        if row.same is None:
            continue
        p, point = row.same.prediction, _point(row.same)
        spread = f"{_us(min(point.measured_us))} to {_us(max(point.measured_us))}"
        cells.append([
            row.network, *row.where, _us(point.time_us), spread if len(point.measured_us) > 1 else NOTHING,
            _us(row.same.modelled_us), _us(p.im2col_us or 0.0), f"{row.same.ratio:.2f}",
            "HIP" if "_ISA000_" in point.kernel else "assembly", f"{p.workgroups:,}",
            f"{p.bound} {100 * p.utilization:.0f} %",
        ])  # fmt: skip
    heads = ["network", "layer", "pass", "measured, µs an image", "by batch", "simulated", "of it im2col", "ratio"]
    return table([*heads, "product's kernel", "workgroups", "bound"], cells)


def sums() -> str:
    """A row for the sum of each network's passes; the last column: without what no kernel takes."""
    held = _rows(SAME)
    launch_us = held[0].launch_us if held else 0.0
    cells = [
        [
            *(s.network, s.what, str(s.points), f"{s.measured_us / 1e3:.2f}", f"{s.modelled_us / 1e3:.2f}"),
            *(f"{s.ratio:.2f}", f"{(s.modelled_us - s.points * launch_us) / s.measured_us:.2f}"),
        ]
        for s in totals(held)
        if s.network in NETWORKS
    ]
    heads = ["network", "pass", "convolutions", "measured, ms an image", "simulated", "ratio", "ratio of kernels alone"]
    return table(heads, cells)


def ours() -> str:
    """A row for each convolution, pass and batch that our fastest algorithm was run with."""
    cells = []
    for row in rows():
        for one in row.own:
            p, point = one.prediction, _point(one)
            images = point.convolution.shape[0]
            by_image = NOTHING if row.same is None else f"{_us(row.same.prediction.point.time_us)}"
            width = f" ± {_us((p.half_width_us or 0.0) / images)}" if p.how != "whole" else ""
            cells.append([
                row.network, *row.where, str(images), point.solver, _us(point.time_us / images), by_image, p.by,
                f"{_us(one.modelled_us / images)}{width}", f"{one.ratio:.2f}", f"{p.bound} {100 * p.utilization:.0f} %",
            ])  # fmt: skip
    heads = ["network", "layer", "pass", "batch", "MIOpen's fastest", "measured, µs an image", "its im2col and product"]
    return table([*heads, "our fastest", "simulated", "ratio", "bound"], cells)


def training() -> str:
    """A row for each convolution's passes together: those of which a simulated time stands beside the measured one."""
    cells = []
    held = [row for row in rows() if row.same is not None]
    for network in NETWORKS:
        mine = [row for row in held if row.network == network]
        by_layer: dict[tuple[str, ...], list[Row]] = {}
        for row in mine:
            by_layer.setdefault(row.layers, []).append(row)
        for layers, passes in by_layer.items():
            cells.append([network, f"{layers[0]} ×{len(layers)}", *_sum(passes)])
        if mine:
            cells.append([network, "all", *_sum(mine)])
    heads = ["network", "layers", "passes", "measured, µs an image", "simulated", "ratio"]
    return table(heads, cells)


def _sum(passes: Sequence[Row]) -> list[str]:
    """Return which passes, and their times together, of all layers of each shape."""
    times = [(len(row.layers), row.same) for row in passes if row.same is not None]
    measured = sum(count * one.prediction.point.time_us for count, one in times)
    modelled = sum(count * one.modelled_us for count, one in times)
    which = "".join(d for d in PASS_TITLES if any(row.direction == d for row in passes))
    return [which, _us(measured), _us(modelled), f"{modelled / measured:.2f}"]


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
    figures = ", ".join(f"{s.network} {s.ratio:.2f}" for s in every)
    yield (
        f"MIOpen's im2col and product, {len(same)} convolutions and passes: the sums of {len(within)} of {len(every)} "
        f"networks are within {100 * BAR:.0f} % of the measured ones ({figures})."
    )
    measured, document = load_measured(SAME)
    data = document.path.parent / measured.points
    points = [p for p in read_table(measured, document, data) if isinstance(p, ConvolutionPoint)]
    every_row, used = len(data.read_text(encoding="utf-8").splitlines()) - 1, sum(len(p.measured_us) for p in points)
    yield (
        f"Of the data file's {every_row} rows {used} have a time of that solver, of {len(points)} convolutions and "
        f"passes; {len(points) - len(same)} of these have not been run, and other solvers' rows are left out."
    )
    off = [abs(row.ratio - 1) for row in same]
    spread = [max(p.measured_us) / min(p.measured_us) - 1 for p in map(_point, same) if len(p.measured_us) > 1]
    interval = _fit()
    share = len(same) * same[0].launch_us / sum(row.modelled_us for row in same)
    yield (
        f"A measurement's own time is {same[0].launch_us:.1f} µs, fitted to these points ({interval[0]:.1f} to"
        f" {interval[1]:.1f} by resampling): {100 * share:.0f} % of the simulated sum. What the smallest two"
        f" leave beside their kernels is {' and '.join(f'{us:.1f}' for us in _left(same)[:2])} µs."
    )
    yield f"One by one they are {100 * mean(off):.1f} % off in the mean, {100 * median(off):.1f} % in the median."
    if spread:
        yield (
            f"The card's own times of an image differ from batch to batch by {100 * mean(spread):.0f} % in the mean and"
            f" {100 * max(spread):.0f} % at most ({len(spread)} measured more than once)."
        )
    kinds = {
        kind: [r for r in same if ("_ISA000_" in _point(r).kernel) == (kind == "HIP")] for kind in ("assembly", "HIP")
    }
    said = [
        f"{kind} {len(held)}: {100 * mean(abs(r.ratio - 1) for r in held):.1f} %"
        for kind, held in kinds.items()
        if held
    ]
    yield f"By the product's kernel: {', '.join(said)} off in the mean."
    far = [row for row in same if not 1 / FAR <= row.ratio <= FAR]
    if far:
        fast = sum(row.ratio < 1 for row in far)
        share = sum(row.prediction.point.time_us for row in far) / sum(row.prediction.point.time_us for row in same)
        yield (
            f"{len(far)} are off by more than a factor of {FAR:g} ({fast} too fast), of {100 * share:.0f} % of the"
            " measured time."
        )
    own = _rows(OWN)
    if own:
        ratios = sorted(row.ratio for row in own)
        faster = sum(ratio < 1 for ratio in ratios)
        yield (
            f"Ours beside MIOpen's fastest, {len(own)} of the database's rows: simulated at {ratios[0]:.2f} to "
            f"{ratios[-1]:.2f} of its measured time, {median(ratios):.2f} in the median; {faster} are faster."
        )


SECTIONS = {
    "conclusion": conclusion,
    "sums": sums,
    "same solver": same_solver,
    "ours": ours,
    "training": training,
}
