"""What users rely on: the names of `gpusim`, with their methods and parameters, and the command line.

The list lies in public_names.txt. What is in it stays; what is new is added by running this file.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpusim
from gpusim.cli.main import command_line

MADE_BY_USERS = ("Device", "Local", "Pointer")  # of the others Device makes the instances
LIST = Path(__file__).with_name("public_names.txt")


def _parameters(function: Any) -> str:
    """'(a, *, b=)': names in order, `=` where one has a default."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown: list[str] = []
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(marks.get(p.kind, "") + p.name + "=" * (p.default is not p.empty))
    return f"({', '.join(shown)})"


def _members(name: str, kind: type) -> Iterator[str]:
    own = [c for c in kind.__mro__ if c.__module__.split(".")[0] in ("gpusim", "isa")]
    if kind.__name__ in MADE_BY_USERS:
        yield f"{name}{_parameters(kind.__init__)}"
    for member in sorted({m for c in own for m in vars(c) if not m.startswith("_")}):
        value = inspect.getattr_static(kind, member)
        if inspect.isfunction(value):
            yield f"{name}.{member}{_parameters(value)}"
        elif isinstance(value, property):
            yield f"{name}.{member}"


def python_names() -> Iterator[str]:
    """Lines of the interface for scripts."""
    for name in gpusim.__all__:
        value = getattr(gpusim, name)
        yield f"gpusim.{name}"
        if isinstance(value, type) and not hasattr(value, "model_fields"):  # the reference lists those
            yield from _members(f"gpusim.{name}", value)


def command_names(command: Any = None, path: str = "$ gpusim") -> Iterator[str]:
    """Lines of the command line: every command's arguments and options."""
    command = command_line() if command is None else command
    for parameter in command.params:
        if parameter.name != "help":
            yield f"{path} {parameter.opts[-1] if parameter.opts[-1].startswith('-') else parameter.metavar}"
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield f"{path} {name}"
        yield from command_names(below, f"{path} {name}")


def _found() -> list[str]:
    return [*python_names(), *command_names()]


def test_the_public_names_are_those_of_the_list() -> None:
    listed, found = LIST.read_text(encoding="utf-8").splitlines(), _found()
    assert [line for line in listed if line not in found] == [], "gone: users' scripts would break"
    assert [line for line in found if line not in listed] == [], f"new: python {Path(__file__).name} adds them"


if __name__ == "__main__":
    LIST.write_text("\n".join(_found()) + "\n", encoding="utf-8")
