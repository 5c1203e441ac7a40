"""Commands of whole networks, with their options: `layers`, `net`."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import (
    EngineChoice,
    GpuOption,
    JobOptions,
    JobsOption,
    JsonOption,
    LiveOptions,
    MarkdownOption,
    NoVerifyOption,
    PhaseChoice,
    PhaseOption,
    Source,
    StoreOptions,
)
from gpusim.cli.sampling_options import SamplingOptions


class DataOption(StrEnum):
    """What `--data` may be."""

    AUTO = "auto"
    REAL = "real"
    SYNTHETIC = "synthetic"


def layers(
    source: Source,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Images in a batch. [default: figures are an image's]")
    ] = None,
    phase: PhaseOption = PhaseChoice.INFERENCE,
    gpu: Annotated[
        str | None, typer.Option(metavar="GPU", help="GPU whose memory must do: a shipped one or a file's path.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """List a network's layers: shapes, matrix products, work, parameters, memory; nothing is simulated."""
    from gpusim.cli.layers import layers_command

    layers_command(source, batch, phase is PhaseChoice.TRAIN, gpu, json_file)


@dataclass(frozen=True)
class NetOptions:
    """What of a network is run; None for what the network's file or a default decides."""

    batch: Annotated[
        int | None, typer.Option("--batch", metavar="N", help="Images in a batch. [default: what the file says, or 1]")
    ] = None
    phase: PhaseOption = PhaseChoice.INFERENCE
    layers: Annotated[
        str | None,
        typer.Option("--layers", metavar="FIRST:LAST", help="Report these layers alone; either end may be left out."),
    ] = None
    gpu: GpuOption = "mi6"
    data: Annotated[
        DataOption,
        typer.Option(
            "--data",
            help="real: values of an iteration, compared with NumPy; synthetic: launches alone, over made-up values; "
            "auto: real up to 3 GiB of tensors.",
        ),
    ] = DataOption.AUTO
    jobs: JobsOption = None
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs", metavar="FILE", help="Arrays (.npz) by the network's input names, labels, parameters."
        ),
    ] = None
    outputs: Annotated[
        Path | None,
        typer.Option("--outputs", metavar="FILE", help="Write outputs and gradients, by tensor, into an .npz file."),
    ] = None
    no_verify: NoVerifyOption = False
    engine: Annotated[
        EngineChoice,
        typer.Option(
            "--engine",
            help="off: dense; on: convolutions over activation maps skip zeros, with the compaction engine; both: the "
            "two, compared.",
        ),
    ] = EngineChoice.OFF
    dnnmark: Annotated[
        bool,
        typer.Option("--dnnmark", help="Instead of a network: DNNMark's six benchmarks, its metrics and its claims."),
    ] = False
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="ROWS", help="With --dnnmark: rows and columns. [default: 256 as there]"),
    ] = None
    markdown: MarkdownOption = False


def net(
    source: Source,
    asked: NetOptions,
    options: JobOptions,
    sampling: SamplingOptions,
    storing: StoreOptions,
    live: LiveOptions,
) -> None:
    """Run a network's layers, forward and backward, as kernels on the simulated GPU: one table with what each costs."""
    from gpusim.cli.net import dnnmark_command, net_command

    raise typer.Exit(
        (dnnmark_command if asked.dnnmark else net_command)(source, asked, options, sampling, storing, live)
    )
