"""The command line: reads the arguments, runs the command, turns what it raises into messages and an exit code.

A command is a file of this folder, with its options, its help and what it does; `SECTIONS` has a row for each. A file
is imported when its command is named, and imports what it needs when the command runs, so that `--help` is instant.
"""

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, EXIT_USER_ERROR, SimulationError, UserError
from gpusim.base.extensions import command_modules
from gpusim.base.version import __version__
from gpusim.base.visible import make_streams_visible
from gpusim.cli.lazy import CommandEntry, CommandGroup, SectionedGroup, Sections, filled
from gpusim.cli.options import add_empty_values

# the commands in the order of the help: each its function, and what the list of commands says of it in one line
RESULTS = CommandGroup(
    "A store's runs, sweeps: list, show, name, delete, export.",
    "Results in a store: list runs and sweeps, show, name, delete, export them.",
    {
        "list": CommandEntry("gpusim.cli.results.list_", "List runs: what was run, how it ended, its time."),
        "sweeps": CommandEntry("gpusim.cli.results.sweeps", "List sweeps: axes, points, how many have ended."),
        "show": CommandEntry("gpusim.cli.results.show", "Show a run's result or a sweep's points again."),
        "name": CommandEntry("gpusim.cli.results.name", "Give a run or a sweep a name, by which it is found."),
        "delete": CommandEntry("gpusim.cli.results.delete", "Delete runs with all that is known of them."),
        "export": CommandEntry("gpusim.cli.results.export", "Write runs with their metrics as CSV or Parquet."),
    },
)
KERNELS = CommandGroup(
    "Code objects: build them, check what can be executed.",
    "Code objects: build them from sources, check what of them can be executed.",
    {
        "build": CommandEntry(
            "gpusim.cli.kernels.kernels_build", "Compile kernels into code objects beside their sources."
        ),
        "check": CommandEntry("gpusim.cli.kernels.kernels_check", "Say which kernels of files can be executed."),
    },
)
SECTIONS: Sections = {
    "Run things": {
        "run": CommandEntry("gpusim.cli.run.run", "Simulate a layer and report what it cost."),
        "exec": CommandEntry("gpusim.cli.exec.exec_", "Execute a kernel of your own, as a file describes it."),
        "check": CommandEntry("gpusim.cli.check.check", "Look for races and unwritten values in a kernel."),
        "hip": CommandEntry("gpusim.cli.hip.hip", "Run a HIP or OpenCL program on the simulated GPU."),
        "packages": CommandEntry("gpusim.cli.packages.packages", "Fetch CuPy, JAX or AMD's libraries into a folder."),
        "suite": CommandEntry("gpusim.cli.suite.suite", "Run a folder of kernels and programs; compare times."),
        "net": CommandEntry("gpusim.cli.net.net", "Run a network's layers, forward and backward."),
        "sweep": CommandEntry("gpusim.cli.sweep.sweep", "Run a configuration with values varied, on all cores."),
    },
    "Results": {
        "report": CommandEntry("gpusim.cli.report.report", "Make one HTML page of results that works offline."),
        "compare": CommandEntry("gpusim.cli.compare.compare", "Set runs, or whole sweeps, beside the first."),
        "results": RESULTS,
        "query": CommandEntry("gpusim.cli.query.query", "Ask the store in SQL; nothing can be changed."),
    },
    "Look without running": {
        "show": CommandEntry("gpusim.cli.show.show", "Print the machine that a configuration describes."),
        "layers": CommandEntry("gpusim.cli.layers.layers", "List a network's layers: shapes, work, memory."),
        "metrics": CommandEntry("gpusim.cli.metrics.metrics", "List every reported metric with its definition."),
        "disasm": CommandEntry("gpusim.cli.disasm.disasm", "Print a code object's kernels as assembly."),
        "kernels": KERNELS,
    },
}


def all_sections() -> Sections:
    """Return the commands by section: the simulator's, then those of extensions."""
    sections = {title: dict(commands) for title, commands in SECTIONS.items()}
    for module in command_modules():
        for title, commands in module.SECTIONS.items():
            sections.setdefault(title, {}).update(commands)
    return sections


def command_line() -> Any:
    """Return the program, whose commands are imported when they are named."""
    app = typer.Typer(
        name="gpusim",
        help="Cycle-level simulator of AMD GPUs (GCN3, Vega, CDNA) on real machine code, with Spartan's engine.",
        cls=SectionedGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        callback=root,
        invoke_without_command=True,
    )
    return filled(app, all_sections())


def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Handle the options before the command."""
    if version:
        print(f"gpusim {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    code = invoke(arguments)
    gc.freeze()  # or the interpreter looks for garbage once more before it ends
    sys.exit(code)


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. A user's error is one line on standard error and code 2."""
    with make_streams_visible(sys.stdout, sys.stderr):
        return _invoke(arguments)


def _invoke(arguments: list[str] | None) -> int:
    try:
        given = add_empty_values(sys.argv[1:] if arguments is None else arguments)
        result: Any = command_line().main(args=given, prog_name="gpusim", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return _ended(EXIT_INTERRUPTED, "gpusim: interrupted")
    except BrokenPipeError:  # the reader of a pipe has gone; nothing more to say
        return _ended(1)
    except UserError as error:
        return _ended(EXIT_USER_ERROR, *(f"gpusim: error: {problem}" for problem in error.problems), *_notes(error))
    except SimulationError as error:
        return _ended(1, f"gpusim: {type(error).__name__}: {error}", *_notes(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "standard output: " if _is_full(sys.stdout) else ""
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {where}{error.strerror or error}")
    except MemoryError as error:
        return _ended(EXIT_USER_ERROR, f"gpusim: error: not enough memory: {error}".removesuffix(": "))
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return _ended(EXIT_USER_ERROR, str(error))
        if not hasattr(error, "format_message"):  # not one of the command line parser's own
            raise
        text = error.format_message().replace("Value error, ", "")
        if hasattr(error.__cause__, "errors"):  # pydantic's, of an option's value
            from gpusim.config.check import option_problem

            text = text.replace(getattr(error, "message", ""), option_problem(error.__cause__))
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {' '.join(text.split())}")


def _notes(error: BaseException) -> Sequence[str]:
    """Return what was added to an error, such as where the wavefronts stand in an endless loop."""
    return getattr(error, "__notes__", ())


def _is_full(stream: TextIO) -> bool:
    """Tell whether a stream cannot be written to, by ending its line: what it could not write it no longer holds."""
    try:
        print(file=stream, flush=True)
    except OSError:
        return True
    return False


def _ended(code: int, *lines: str) -> int:
    """Return the exit code, after the lines are on standard error; what can no longer be written is dropped quietly."""
    for line in lines:
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # or else Python tries once more at its end, and says so
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
