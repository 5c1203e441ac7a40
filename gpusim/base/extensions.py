"""Extensions: modules that add kinds of jobs, commands and sources to the simulator.

The simulator never imports a package above it. `gpusim/__init__.py` names the module of each extension, and
the module is imported when something first needs what it adds. The simulator's own kinds are added the same way,
so a kind of the laboratory and one of the simulator differ in nothing.

An extension module defines any of:

- `KINDS`, a mapping from names to `JobKind`;
- `COMMANDS`, the name of a module whose `SECTIONS` are added to the list of commands;
- `SOURCES`, folders below the repository's root whose files decide results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from gpusim.base import packages
from gpusim.base.errors import UserError, unknown_name


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of job, by the dotted names of the functions and classes that serve it; empty where it has none."""

    factory: str
    """Makes the job from what its command was given."""
    command: str = ""
    """Runs the kind where another kind's command has an option for it."""
    tables: str = ""
    """Returns the tables that a result of the kind has beside its rows, from a `Result`; an empty list for others."""
    show: str = ""
    """Prints a stored result of the kind: `show(document, stream)`."""
    views: str = ""
    """Makes the tables and lines of a result's rows: a subclass of `gpusim.results.report.rows.ResultViews`."""
    timelines: tuple[str, ...] = ("cycles", "launches")
    """What a timeline of the kind can show, the usual first."""
    result_kind: str = ""
    """Kind that its results name, where several kinds have the same; empty: its own name."""
    own_kernels: bool = False
    """Its kernels are gpusim's own, which a user does not change."""
    no_cycles: str = ""
    """Reason why a timeline cannot show cycles."""


_OTHER = JobKind(factory="")


@cache
def extensions() -> tuple[ModuleType, ...]:
    """Import the modules of all extensions, in their order."""
    return tuple(import_module(name) for name in packages.EXTENSIONS)


@cache
def job_kinds() -> Mapping[str, JobKind]:
    """Return every kind of job by its name."""
    return {name: kind for module in extensions() for name, kind in getattr(module, "KINDS", {}).items()}


def job_kind(name: str) -> JobKind:
    """Return the kind of that name; raise UserError for an unknown one."""
    kinds = job_kinds()
    if name not in kinds:
        raise UserError(f"kind: {unknown_name('kind of job', name, kinds)}")
    return kinds[name]


def known_kind(name: str) -> JobKind:
    """Return the kind that a result names; one without anything of its own for others, such as a launch of a script."""
    return {**{kind.result_kind: kind for kind in job_kinds().values()}, **job_kinds()}.get(name, _OTHER)


def extension_sources() -> tuple[str, ...]:
    """Return the folders of all extensions whose files decide results."""
    return tuple(place for module in extensions() for place in getattr(module, "SOURCES", ()))


def command_modules() -> Iterator[ModuleType]:
    """Import the modules that list the extensions' commands."""
    for module in extensions():
        if name := getattr(module, "COMMANDS", ""):
            yield import_module(name)


def load(dotted: str) -> Any:
    """Import a module's attribute by its dotted name."""
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def job_command(kind: str) -> Any:
    """Import the function that runs a kind where another kind's command has an option for it."""
    return load(job_kind(kind).command)
