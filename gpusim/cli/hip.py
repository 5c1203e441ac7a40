"""`gpusim hip`."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter, reporting
from gpusim.cli.options import GpuOption, JsonOption, QuietOption, SetOption, TimelineOption, WindowOption
from gpusim.cli.sampling_options import ConfidenceOption, ErrorOption, shares

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from gpusim.hip.launching import Launches
    from gpusim.hip.session import Session
    from gpusim.sampling.spec import SamplingSpec

_TIMINGS = ("on", "off", "sample")
_BOUNDS = ("page", "exact")


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
) -> int:
    """Run an unmodified HIP program on the simulated GPU: its output and its exit code are its own."""
    return hip_command(program or [], options)


def hip_command(arguments: Sequence[str], options: HipOptions) -> int:
    """Run a HIP program on the simulated GPU; returns its exit code."""
    from gpusim.cli.timeline import drawing, window_of
    from gpusim.config.gpu import load_gpu
    from gpusim.hip.supervisor import Program, run_program

    if not arguments:
        raise UserError("no program: gpusim hip [OPTIONS] -- PROGRAM [ARGUMENTS]")
    timing, sampling = _timing(options), _sampling(options)
    check_outputs({"--json": options.json_file, "--timeline": options.timeline}, [Path(arguments[0])])
    if options.bounds not in _BOUNDS:
        raise UserError(f"--bounds {options.bounds}: allowed: {', '.join(_BOUNDS)}")
    cycles = window_of(options.timeline, options.window)
    kernels, keep = _pattern(options.kernels), options.json_file is not None
    gpu = load_gpu(options.gpu, options.sets)
    reporter = Reporter(options.quiet)
    reporter.on_terminal = False  # a bar would be drawn over what the program prints

    with Interrupt() as interrupt, reporting(reporter), drawing(options.timeline, cycles, reporter) as drawn:
        interrupt.deferred = True  # what was simulated by then is reported
        made: list[Launches] = []

        def sessions() -> "Callable[[socket.socket, int], Session]":
            from gpusim.hip.launching import Launches, Options  # the compiled core: while the program starts
            from gpusim.hip.session import Session

            how = Options(gpu, timing, kernels, sampling, drawn, keep, options.bounds == "exact")
            made.append(launches := Launches(None if sampling is None else sampling.confidence))
            errors = Reporter(quiet=False)
            errors.on_terminal = False
            return lambda socket, file: Session(socket, file, how, launches, errors, lambda: interrupt.asked)

        code = run_program(Program(arguments, options.root), reporter, sessions, lambda: interrupt.asked)
    from gpusim.hip import report

    (launches,) = made
    if interrupt.asked and launches.partial:  # whatever a program that was told of it makes of that
        code = EXIT_INTERRUPTED
    config = {
        "gpu": gpu.model_dump(mode="json"),
        "program": list(arguments),
        "timing": timing,
        "sampling": None if sampling is None else sampling.model_dump(mode="json"),
        "kernels": options.kernels,
        "bounds": options.bounds,
    }
    if options.json_file is not None:
        text = report.as_json(report.document(launches, config, code))
        if options.json_file == STANDARD_OUTPUT:
            sys.stdout.write(text)
        else:
            write_whole(options.json_file, text)
    if not options.quiet:
        report.show(launches)
    return code


def _timing(options: HipOptions) -> bool:
    if options.timing not in _TIMINGS:
        raise UserError(f"--timing {options.timing}: allowed: {', '.join(_TIMINGS)}")
    on = options.timing != "off"
    for option, value in (("--kernels", options.kernels), ("--timeline", options.timeline)):
        if not on and value is not None:
            raise UserError(f"{option} {value}: nothing is timed with --timing off")
    return on


def _sampling(options: HipOptions) -> "SamplingSpec | None":
    """Return how launches are sampled, if they are: what is skipped is executed, for a program reads its results."""
    from gpusim.sampling.spec import SamplingSpec

    said = shares(options.error, options.confidence)
    if options.timing == "sample":
        if options.timeline is not None:
            raise UserError(f"--timeline {options.timeline}: a sampled launch has none; --timing on")
        return SamplingSpec.model_validate({"functional": True, **said})
    for option in said:
        raise UserError(f"--{option}: belongs to --timing sample")
    return None


def _pattern(text: str | None) -> "re.Pattern[str] | None":
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UserError(f"--kernels {text}: no regular expression: {error}") from None
