"""The list of commands, the other way to start, and what a shell is told to complete."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gpusim.cli.lazy import CommandGroup, Sections
from gpusim.cli.main import all_sections, command_line, invoke

GPUSIM = [sys.executable, "-m", "gpusim"]


def _lists(sections: Sections) -> Iterator[tuple[Sections, dict[str, str]]]:
    """Each list of commands: its sections, and what it says of each command."""
    yield sections, {name: row.text for rows in sections.values() for name, row in rows.items()}
    for rows in sections.values():
        for row in rows.values():
            if isinstance(row, CommandGroup):
                yield from _lists({"Commands": row.commands})


@pytest.mark.parametrize(("sections", "texts"), list(_lists(all_sections())))
def test_each_command_of_a_list_has_one_whole_line(sections: Sections, texts: dict[str, str]) -> None:
    width = 78 - 2 - max(map(len, texts)) - 2  # of a terminal with 80 columns: margins, the name, the space behind it
    assert [text for text in texts.values() if len(text) > width or not text.endswith(".")] == []


def test_the_help_has_the_sections_and_all_commands(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--help"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line[:-1] for line in lines if line[:1].isalpha() and line.endswith(":")] == ["Options", *all_sections()]
    for rows in all_sections().values():
        for name, row in rows.items():
            assert [line.split(maxsplit=1) for line in lines].count([name, row.text]) == 1


def test_every_row_has_its_command() -> None:
    def check(group: object) -> None:
        for name, command in getattr(group, "commands", {}).items():
            assert command.name == name and command.help
            check(command)

    check(command_line())


def test_a_row_is_no_place_to_put_a_command() -> None:
    with pytest.raises(TypeError, match="rows of the table"):
        command_line().commands["x"] = None


def test_the_package_is_run_as_the_command_is() -> None:
    done = subprocess.run([*GPUSIM, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("gpusim ")
    done = subprocess.run([*GPUSIM, "exce"], capture_output=True, text=True)
    assert done.returncode == 2 and "Did you mean 'exec'?" in done.stderr


def _completed(*words: str) -> list[str]:
    """What bash is offered for the last of the words."""
    asked = {"_GPUSIM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["gpusim", *words])}
    done = subprocess.run(
        GPUSIM, env={**os.environ, **asked, "COMP_CWORD": str(len(words))}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["report", "results", "reproduce"]),
        (["results", "s"], ["sweeps", "show"]),
        (["run", "--st"], ["--store"]),
        (["run", "--engine", "o"], ["on", "off"]),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words: list[str], offered: list[str]) -> None:
    assert _completed(*words) == offered


def test_a_shell_gets_its_script() -> None:
    done = subprocess.run(GPUSIM, env={**os.environ, "_GPUSIM_COMPLETE": "source_bash"}, capture_output=True, text=True)
    assert done.returncode == 0 and "complete -o default -F _gpusim_completion gpusim" in done.stdout
