"""The command line: reads the arguments, runs the command, turns what it raises into messages and an exit code.

Commands and their options are declared in the files `declared_...`, apart from what they do: a command imports what it
needs when it runs, so that `--help` is instant. Of the declarations, too, only that of the command is imported.
"""

import contextlib
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, EXIT_USER_ERROR, SimulationError, UserError
from gpusim.base.version import __version__
from gpusim.cli.options import grouped, with_values

# commands in the order of the help: each its function, in the file `declared_...` of its kind
COMMANDS: Mapping[str, str] = {
    "run": "runs.run",
    "exec": "runs.exec_",
    "hip": "hip.hip",
    "show": "tools.show",
    "layers": "networks.layers",
    "net": "networks.net",
    "sweep": "results.sweep",
    "reproduce": "results.reproduce",
    "report": "reports.report",
    "compare": "results.compare",
    "query": "results.query",
    "metrics": "tools.metrics",
    "capture": "tools.capture",
    "monitor": "monitor.monitor",
    "bench": "measurements.bench",
    "disasm": "tools.disasm",
    "microbench": "measurements.microbench",
    "correlate": "measurements.correlate",
    "check-sampling": "measurements.check_sampling",
}
RESULTS_COMMANDS: Mapping[str, str] = {
    "list": "results.list_",
    "sweeps": "results.sweeps",
    "show": "results.show",
    "name": "results.name",
    "delete": "results.delete",
    "export": "results.export",
}
KERNELS_COMMANDS: Mapping[str, str] = {
    "build": "tools.kernels_build",
    "check": "tools.kernels_check",
}
GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "results": ("Results in a store: list runs and sweeps, show, name, delete, export them.", RESULTS_COMMANDS),
    "kernels": (
        "Code objects: build them from sources, check what of them can be executed.",
        KERNELS_COMMANDS,
    ),
}


def command_line(word: str | None = None) -> typer.Typer:
    """The program with the command, or the group of commands, of that name; with all of them if none has it."""
    app = typer.Typer(
        name="gpusim",
        help="Cycle-level simulator of AMD GCN3 GPUs that runs real machine code, with the Spartan compaction engine.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        callback=root,
        invoke_without_command=True,
    )
    known = word in COMMANDS or word in GROUPS
    _add(app, {name: place for name, place in COMMANDS.items() if name == word or not known})
    for name, (text, commands) in GROUPS.items():
        if name == word or not known:
            group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
            _add(group, commands)
            app.add_typer(group, name=name)
    return app


def _add(app: typer.Typer, commands: Mapping[str, str]) -> None:
    for name, place in commands.items():
        file, _, function = place.partition(".")
        app.command(name)(grouped(getattr(import_module(f"gpusim.cli.declared_{file}"), function)))


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
        result: Any = command_line(given[0] if given else None)(args=given, prog_name="gpusim", standalone_mode=False)
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
