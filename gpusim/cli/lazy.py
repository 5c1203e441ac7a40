"""Commands from a table: a command's file is imported when the command is named, and its declaration read then."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from gpusim.cli.options import grouped


class CommandEntry(NamedTuple):
    """A command of the table."""

    place: str
    """Module and function, as a dotted path."""
    text: str
    """Help text in the list of commands."""

    def made(self, name: str) -> Any:
        """Return the command as Typer makes it of its function, whose module is imported now."""
        module, _, function = self.place.rpartition(".")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, short_help=self.text)(grouped(getattr(import_module(module), function)))
        return typer.main.get_command(app)


class CommandGroup(NamedTuple):
    """Commands below a common name."""

    text: str
    """Help text in the list of commands."""
    help: str
    """Help text at the head of the group's own list."""
    commands: Mapping[str, CommandEntry]
    """Commands by name."""

    def made(self, name: str) -> Any:
        """Return the group as Typer has it; none of its commands is imported."""
        app = typer.Typer(
            name=name,
            help=self.help,
            cls=SectionedGroup,
            no_args_is_help=True,
            add_completion=False,
            rich_markup_mode=None,
            callback=lambda: None,
        )
        return filled(app, {"Commands": self.commands})


Sections = Mapping[str, Mapping[str, CommandEntry | CommandGroup]]


class CommandTable(MutableMapping[str, Any]):
    """A group's commands by name, each made when it is asked for."""

    def __init__(self, sections: Sections) -> None:
        self.sections = sections
        self._rows = {name: row for rows in sections.values() for name, row in rows.items()}
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._rows[name].made(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError(f"{name}: commands are rows of the table")

    __delitem__ = __setitem__  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class SectionedGroup(TyperGroup):
    """A group whose list of commands is the table's: in its sections and in its words."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands' names in the order of the table."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the table, with one column for all names."""
        assert isinstance(self.commands, CommandTable)
        width = max(map(len, self.commands))
        for title, rows in self.commands.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), row.text) for name, row in rows.items()])


def filled(app: typer.Typer, sections: Sections) -> Any:
    """Return the group that Typer makes of an application, with the table's commands."""
    group: Any = typer.main.get_command(app)
    group.commands = CommandTable(sections)
    return group
