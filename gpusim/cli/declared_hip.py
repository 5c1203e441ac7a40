"""The command that runs HIP programs, as its user sees it: its options and its help."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import GpuOption, JobOptions, LiveOptions, MarkdownOption, StoreOptions
from gpusim.cli.sampling_options import SamplingOptions


class TimingChoice(StrEnum):
    """What `--timing` may be."""

    ON = "on"
    OFF = "off"


class BoundsChoice(StrEnum):
    """What `--bounds` may be."""

    PAGE = "page"
    EXACT = "exact"


@dataclass(frozen=True)
class HipOptions:
    """What of a program is simulated.

    kernels: a regular expression, the kernels that are timed; root: a folder with libraries of another system.
    """

    gpu: GpuOption = "r9nano"
    timing: Annotated[
        TimingChoice,
        typer.Option("--timing", help="on: through the timing model; off: for the program's results alone."),
    ] = TimingChoice.ON
    kernels: Annotated[
        str | None,
        typer.Option(
            "--kernels", metavar="REGEX", help="Time the kernels whose name it matches; execute the others alone."
        ),
    ] = None
    bounds: Annotated[
        BoundsChoice,
        typer.Option(
            "--bounds",
            help="Where an allocation ends for its kernels: with its page, as on a GPU; exact: with its last byte.",
        ),
    ] = BoundsChoice.PAGE
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="Folder with another system's libraries, for what needs them."),
    ] = None
    markdown: MarkdownOption = False


def hip(
    asked: HipOptions,
    options: JobOptions,
    sampling: SamplingOptions,
    storing: StoreOptions,
    live: LiveOptions,
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="The program and its arguments.")
    ] = None,
) -> None:
    """Run an unmodified HIP program on the simulated GPU: its output and its exit code are its own."""
    from gpusim.cli.hip import hip_command

    raise typer.Exit(hip_command(program or [], asked, options, sampling, storing, live))
