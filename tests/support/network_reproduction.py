"""A small publication of networks in a folder, and made-up results of its points."""

from collections.abc import Callable, Mapping
from pathlib import Path

from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint
from gpusim.lab.papers.publication import Reproduction
from gpusim.lab.papers.records import (
    WORK,
    NetworkLaunchRecord,
    NetworkPointRecord,
    NetworkRowRecord,
    ReproductionResults,
)

NETWORK = """
input: [2, 5, 5]
layers:
  - {name: conv1, kind: convolution, filters: 3, kernel: 3, bias: false}
  - {name: relu1, kind: relu}
  - {name: fc1, kind: fully_connected, outputs: 3, bias: false}
"""
INDEX = """
title: A test's publication of networks
source: Nobody 2021
question: Which layer of {networks} takes the time?
runs:
  gpus: [mi6, r9nano]
  networks: {net: {network: net.yaml, batches: [1, 2]}}
  ways:
    plain: {title: plain}
    lowered: {title: lowered, sets: {convolution: im2col}}
  sets: {training.update: none}
answers:
  - {claim: most, holds: "The convolution does ({found}).", does_not: "ReLU does ({found}): {why}.", in_part: "Either."}
figures: [time, gain]
"""
TIME = """
kind: layers
title: Time
source: Figure 1
gpus: [1]
measures:
  time: {of: kernel.time_us}
  share: {of: kernel.time_us, share: true}
  an_image: {of: kernel.time_us / work.images}
claims:
  - name: most
    text: convolution takes most
    quote: most of it is convolution
    place: page 2
    said: most
    measure: time
    aggregation: each
    group: {more: {kind: convolution}, by: sum}
  - text: an image takes less time
    own: a test asks
    measure: an_image
    aggregation: each
    trend: {label: batch, falls: true}
  - {text: no texture cache beside L1, own: a test asks, unaskable: there is one cache}
  - {text: conv7 is short, own: a test asks, measure: time, aggregation: each, where: {layer: conv7}, bound: {below: 1}}
"""
GAIN = """
kind: layer_ratios
title: Gain
source: Figure 2
batches: [2]
label: gpu
measures: {time: {of: kernel.time_us}}
claims:
  - {text: the second GPU is faster, own: a test asks, measure: time, aggregation: each, bound: {above: 1}}
"""
FIGURES = {"time": TIME, "gain": GAIN}


def written(folder: Path, index: str = INDEX, **figures: str) -> Path:
    """The publication's file, with some of its figures replaced."""
    inside = folder / "nets"
    inside.mkdir(exist_ok=True)
    for name, text in {**FIGURES, **figures}.items():
        (inside / f"{name}.yaml").write_text(text)
    (folder / "net.yaml").write_text(NETWORK)
    path = folder / "nets.yaml"
    path.write_text(index)
    return path


def loaded(folder: Path, index: str = INDEX, **figures: str) -> Reproduction:
    """The publication, as it is read."""
    return load_reproduction(str(written(folder, index, **figures)))


def row(
    layer: str, kind: str, part: str, us: float, by: str = "pass", width: float = 0.0, images: int = 1
) -> NetworkRowRecord:
    """A row that takes so many microseconds, with a half-width."""
    work = {**dict.fromkeys(WORK, 1), "images": images}
    counts = {"kernel.time_us": us, "kernel.cycles": 1e3 * us, "roofline.valu": 500 * us, "stalls.issued": us}
    return NetworkRowRecord(
        by, layer, kind, part, work, {**counts, "stalls.idle": 3 * us}, {"kernel.time_us": width} if width else {}
    )


def network(conv: float, relu: float, images: int = 1, width: float = 0.0) -> NetworkPointRecord:
    """A run of a convolution and a ReLU, forward and backward, whose backward passes take twice as long."""
    rows = [
        row("conv1", "convolution", "forward", conv, images=images, width=width),
        row("relu1", "relu", "forward", relu, images=images, width=width),
        row("relu1", "relu", "backward_data", 2 * relu, images=images, width=width),
        row("conv1", "convolution", "backward_weights", 2 * conv, images=images, width=width),
        *(
            row("conv1", "convolution", part, us, "direction")
            for part, us in (("forward", conv), ("backward", 2 * conv))
        ),
        row("fc1", "fully_connected", "backward", relu, "direction"),
        row("", "", "all", 3 * (conv + relu), "network", images=images),
    ]
    return NetworkPointRecord(rows, [NetworkLaunchRecord("conv1", "forward", "k", conv)], 1.0, 0.0, 1.0)


def results_of(
    reproduction: Reproduction, of: Callable[[NetworkPoint], NetworkPointRecord | None]
) -> ReproductionResults:
    """Results of all points of all figures, as a function makes them; None for one that has not been run."""
    points: dict[str, NetworkPoint] = {}
    for figure in reproduction.figures.values():
        if isinstance(figure, NetworkFigure):
            points |= {one.key: one for one in figure.points(reproduction)}
    made: Mapping[str, NetworkPointRecord | None] = {key: of(one) for key, one in points.items()}
    return ReproductionResults(
        reproduction.name, {}, networks={key: one for key, one in made.items() if one is not None}
    )
