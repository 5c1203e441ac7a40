"""The command `monitor`, with its options."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import JsonOption, MarkdownOption, QuietOption, SetOption


class PlaceChoice(StrEnum):
    """What `--count-on` may be."""

    HOST = "host"
    DEVICE = "device"


@dataclass(frozen=True)
class MonitorOptions:
    """The monitor's settings, and where the result goes."""

    sets: SetOption = field(default_factory=list)
    json_file: JsonOption = None
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw true and measured sparsity (.svg, .png; Matplotlib)."),
    ] = None
    markdown: MarkdownOption = False
    quiet: QuietOption = False


@dataclass(frozen=True)
class TrainingOptions:
    """A training whose time is measured without monitor, with every iteration measured, and monitored."""

    model: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="MODEL",
            help="Instead of curves: train vggnet11, resnet10, alexnet, vgg16 or resnet18 on random images (needs the "
            "extra 'capture').",
        ),
    ] = None
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="With --train: iterations without and with the monitor.")
    ] = 5_000
    exhaustive_iterations: Annotated[
        int,
        typer.Option("--exhaustive-iterations", metavar="N", help="With --train: iterations that measure every map."),
    ] = 500
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="With --train: images in a batch.")] = 128
    place: Annotated[
        PlaceChoice, typer.Option("--count-on", help="With --train: where a measurement counts zeros.")
    ] = PlaceChoice.HOST
    device: Annotated[str, typer.Option("--device", help="With --train: auto, cpu, cuda, ... as PyTorch names it.")] = (
        "auto"
    )


def monitor(
    options: MonitorOptions,
    training: TrainingOptions,
    curves: Annotated[
        str | None,
        typer.Argument(
            metavar="[CURVES]",
            help="Sparsity over iterations: a file (.csv, .npz), or a shipped one (vggnet11, resnet10, observed, "
            "jumping).",
        ),
    ] = None,
) -> None:
    """Run the sparsity monitor over recorded curves, or beside a training: what is measured when, and how far off."""
    from gpusim.cli.monitor import monitor_command

    monitor_command(curves, options, training)
