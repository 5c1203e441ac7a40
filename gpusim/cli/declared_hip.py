"""The command that runs HIP programs, as its user sees it: its options and its help."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import GpuOption, JsonOption, QuietOption, SetOption, TimelineOption, WindowOption
from gpusim.cli.sampling_options import ConfidenceOption, ErrorOption


@dataclass(frozen=True)
class HipOptions:
    """What `hip` may be told.

    timing: `on`, `off`, `sample`; error, confidence: of sampled launches; kernels: a regular expression, the kernels
    that are timed; bounds: `page`, `exact`; root: a folder with libraries of another system.
    """

    gpu: GpuOption = "r9nano"
    sets: SetOption = field(default_factory=list)
    timing: Annotated[
        str,
        typer.Option(
            "--timing",
            metavar="on|off|sample",
            help="on: through the timing model; sample: a part of each launch, the rest is executed alone;"
            " off: for the program's results alone.",
        ),
    ] = "on"
    error: ErrorOption = None
    confidence: ConfidenceOption = None
    kernels: Annotated[
        str | None,
        typer.Option(
            "--kernels", metavar="REGEX", help="Time the kernels whose name it matches; execute the others alone."
        ),
    ] = None
    json_file: JsonOption = None
    timeline: TimelineOption = None
    window: WindowOption = None
    bounds: Annotated[
        str,
        typer.Option(
            "--bounds",
            metavar="page|exact",
            help="Where an allocation ends for its kernels: with its page, as on a GPU; exact: with its last byte.",
        ),
    ] = "page"
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="Folder with another system's libraries, for what needs them."),
    ] = None
    quiet: QuietOption = False


def hip(
    options: HipOptions,
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="The program and its arguments.")
    ] = None,
) -> None:
    """Run an unmodified HIP program on the simulated GPU: its output and its exit code are its own."""
    from gpusim.cli.hip import hip_command

    raise typer.Exit(hip_command(program or [], options))
