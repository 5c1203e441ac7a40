"""`gpusim hip`."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter, reporting
from gpusim.cli.timeline import drawing, window_of
from gpusim.config.gpu import load_gpu

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from gpusim.hip.session import Session

_TIMINGS = ("on", "off")


@dataclass(frozen=True)
class Asked:
    """The options of `gpusim hip`."""

    gpu: str
    sets: Sequence[str]
    timing: str
    kernels: str | None
    json_file: Path | None
    timeline: Path | None
    window: str | None
    root: Path | None
    quiet: bool


def hip_command(arguments: Sequence[str], asked: Asked) -> int:
    """Run a HIP program on the simulated GPU; returns its exit code."""
    from gpusim.hip.supervisor import Program, run_program

    if not arguments:
        raise UserError("no program: gpusim hip [OPTIONS] -- PROGRAM [ARGUMENTS]")
    timing = _timing(asked)
    check_outputs({"--json": asked.json_file, "--timeline": asked.timeline}, [Path(arguments[0])])
    cycles = window_of(asked.timeline, asked.window)
    kernels = _pattern(asked.kernels)
    gpu = load_gpu(asked.gpu, asked.sets)
    reporter = Reporter(asked.quiet)
    reporter.on_terminal = False  # a bar would be drawn over what the program prints

    with Interrupt() as interrupt, reporting(reporter), drawing(asked.timeline, cycles, reporter) as drawn:
        interrupt.deferred = True  # what was simulated by then is reported
        made: list[object] = []

        def sessions() -> "Callable[[socket.socket, int], Session]":
            from gpusim.hip.launching import Launches, Options  # the compiled core: while the program starts
            from gpusim.hip.session import Session

            options = Options(gpu, timing, kernels, drawn, asked.json_file is not None)
            launches = Launches()
            made.append(launches)
            errors = Reporter(quiet=False)
            errors.on_terminal = False
            return lambda socket, file: Session(socket, file, options, launches, errors, lambda: interrupt.asked)

        code = run_program(Program(arguments, asked.root), reporter, sessions, lambda: interrupt.asked)
    from gpusim.hip import report
    from gpusim.report.document import as_json

    (launches,) = made
    config = {
        "gpu": gpu.model_dump(mode="json"),
        "program": list(arguments),
        "timing": timing,
        "kernels": asked.kernels,
    }
    if asked.json_file is not None:
        text = as_json(report.document(launches, config, code))
        if asked.json_file == STANDARD_OUTPUT:
            sys.stdout.write(text)
        else:
            write_whole(asked.json_file, text)
    if not asked.quiet:
        report.show(launches)
    return code


def _timing(asked: Asked) -> bool:
    if asked.timing == "sample":
        raise UserError("--timing sample: launches of a HIP program are not sampled; allowed: on, off")
    if asked.timing not in _TIMINGS:
        raise UserError(f"--timing {asked.timing}: allowed: {', '.join(_TIMINGS)}")
    on = asked.timing == "on"
    for option, value in (("--kernels", asked.kernels), ("--timeline", asked.timeline)):
        if not on and value is not None:
            raise UserError(f"{option} {value}: nothing is timed with --timing off")
    return on


def _pattern(text: str | None) -> "re.Pattern[str] | None":
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UserError(f"--kernels {text}: no regular expression: {error}") from None


def hip(
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="The program, as on a shell's line.")
    ] = None,
    gpu: Annotated[
        str, typer.Option(metavar="GPU", help="GPU: the name of a shipped one (mi6, r9nano) or a file's path.")
    ] = "r9nano",
    timing: Annotated[
        str, typer.Option(metavar="on|off", help="on: through the timing model; off: for the program's results alone.")
    ] = "on",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set any value of the configuration by its path; repeatable."),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write every launch's metrics as one JSON object."),
    ] = None,
    kernels: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Time the kernels whose name it matches; execute the others alone."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw what happens in each cycle into a trace for ui.perfetto.dev."),
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="FIRST:END", help="Cycles of each launch that the timeline shows.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with another system's libraries, for programs that need them."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run an unmodified HIP program on the simulated GPU: its output and exit code are its own."""
    asked = Asked(gpu, set_ or [], timing, kernels, json_file, timeline, window, root, quiet)
    raise typer.Exit(hip_command(program or [], asked))
