"""The command line: reads the arguments, runs the command, turns what it raises into messages and an exit code.

Commands and their options are declared in the files `declared_...`, apart from what they do: a command imports what it
needs when it runs, so that `--help` is instant.
"""

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, EXIT_USER_ERROR, SimulationError, UserError
from gpusim.base.version import __version__
from gpusim.cli import (
    declared_hip,
    declared_measurements,
    declared_monitor,
    declared_reports,
    declared_results,
    declared_runs,
    declared_tools,
)
from gpusim.cli.options import grouped, with_values

COMMANDS: Mapping[str, Callable[..., None]] = {
    "run": declared_runs.run,
    "exec": declared_runs.exec_,
    "hip": declared_hip.hip,
    "show": declared_tools.show,
    "layers": declared_runs.layers,
    "net": declared_runs.net,
    "sweep": declared_results.sweep,
    "reproduce": declared_results.reproduce,
    "report": declared_reports.report,
    "compare": declared_results.compare,
    "query": declared_results.query,
    "metrics": declared_tools.metrics,
    "capture": declared_tools.capture,
    "monitor": declared_monitor.monitor,
    "bench": declared_measurements.bench,
    "disasm": declared_tools.disasm,
    "microbench": declared_measurements.microbench,
    "correlate": declared_measurements.correlate,
    "check-sampling": declared_measurements.check_sampling,
}  # in the order of the help
KERNELS_COMMANDS: Mapping[str, Callable[..., None]] = {
    "build": declared_tools.kernels_build,
    "check": declared_tools.kernels_check,
}
RESULTS_COMMANDS: Mapping[str, Callable[..., None]] = {
    "list": declared_results.list_,
    "show": declared_results.show,
    "name": declared_results.name,
    "delete": declared_results.delete,
    "export": declared_results.export,
}

app = typer.Typer(
    name="gpusim",
    help="Cycle-level simulator of AMD GCN3 GPUs that runs real machine code, with the Spartan compaction engine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
kernels = typer.Typer(
    help="Code objects: build them from sources, check what of them can be executed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
results = typer.Typer(
    help="Results in a store: list, show, name, delete, export them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _app, _commands in ((app, COMMANDS), (kernels, KERNELS_COMMANDS), (results, RESULTS_COMMANDS)):
    for _name, _command in _commands.items():
        _app.command(_name)(grouped(_command))
app.add_typer(results, name="results")
app.add_typer(kernels, name="kernels")


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Options before the command."""
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
    try:
        given = with_values(sys.argv[1:] if arguments is None else arguments)
        result: Any = app(args=given, prog_name="gpusim", standalone_mode=False)
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
        where = f"{error.filename}: " if error.filename else "standard output: "
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {where}{error.strerror or error}")
    except MemoryError as error:
        return _ended(EXIT_USER_ERROR, f"gpusim: error: not enough memory: {error}".removesuffix(": "))
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return _ended(EXIT_USER_ERROR, str(error))
        if not hasattr(error, "format_message"):  # not one of the command line parser's own
            raise
        text = error.format_message().replace("Value error, ", "")
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {' '.join(text.split())}")


def _notes(error: BaseException) -> Sequence[str]:
    """What was added to an error, such as where the wavefronts stand in an endless loop."""
    return getattr(error, "__notes__", ())


def _ended(code: int, *lines: str) -> int:
    """The exit code, after the lines are on standard error; what can no longer be written is dropped quietly."""
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
