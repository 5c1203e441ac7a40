"""Are the commands that pages show commands of today: do their options and values pass the command line's parser?

Nothing is run: arguments are read as for a run, so an option that has gone, a value that is no longer allowed, or an
argument too many is found on the page that shows it.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from gpusim.cli.main import command_line
from gpusim.cli.options import add_empty_values
from tests.support.shell_blocks import ShownCommand, mentioned_commands, shown_commands

ROOT = Path(__file__).parents[3]
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")})
SHOWN = [command for page in PAGES for command in shown_commands(page)]
MADE_UP = ("COMMAND", "hello")  # a placeholder, and the command that an extension adds
_PLACEHOLDER = re.compile(r"[A-Z]+")


def mistake(words: tuple[str, ...]) -> str:
    """Return what the parser says of arguments; empty if they can be read. A placeholder such as N stands for 1."""
    command, given = command_line(), add_empty_values(words)
    context = command.make_context("gpusim", [], resilient_parsing=True)
    while hasattr(command, "get_command"):
        name, *given = given or [""]
        found = command.get_command(context, name)
        if found is None:
            return f"no such command '{name}'"
        command, context = found, context.__class__(found, info_name=name, parent=context)
    return _parsed(command, given) and _parsed(command, ["1" if _PLACEHOLDER.fullmatch(one) else one for one in given])


def _parsed(command: Any, given: list[str]) -> str:
    try:
        command.make_context(command.name, list(given))
    except Exception as error:
        if not hasattr(error, "format_message"):  # not the parser's own
            raise
        return str(error.format_message()) or type(error).__name__
    return ""


def _id(command: ShownCommand) -> str:
    return f"{command.page.stem}-{command.line}"


@pytest.mark.parametrize("command", SHOWN, ids=_id)
def test_a_shown_command_can_be_read(command: ShownCommand) -> None:
    where = f"{command.page.relative_to(ROOT)}:{command.line}: {command.text}"
    assert mistake(command.words) == "", where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_that_a_text_mentions_exist(page: Path) -> None:
    """A mention may leave arguments out. Decision records tell of what was there when they were written."""
    if page.parent.name == "decisions":
        return
    mentioned = [command for command in mentioned_commands(page) if command.words and command.words[0] not in MADE_UP]
    wrong = {command.text: mistake(command.words) for command in mentioned}
    left_out = ("Missing ", "no such command ''")
    assert {
        text: said for text, said in wrong.items() if said and not (said.startswith(left_out) or "requires an" in said)
    } == {}


def test_pages_show_commands() -> None:
    assert len(SHOWN) > 150 and len({command.page for command in SHOWN}) > 25


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["exec", "vector_add", "--hotspot"], "No such option: --hotspot"),
        (["exec", "vector_add", "more"], "unexpected extra argument"),
        (["hip", "--bounds", "some", "--", "./program"], "'some' is not one of"),
        (["results", "lists"], "no such command 'lists'"),
        (["net", "lenet", "--batch", "many"], "should be a valid integer"),
        (["net", "lenet", "--batch", "N", "--store"], ""),
    ],
)
def test_what_cannot_be_read_is_found(words: list[str], said: str) -> None:
    assert said in mistake(tuple(words)) and bool(mistake(tuple(words))) is bool(said)


def test_commands_are_found_in_every_kind_of_block(tmp_path: Path) -> None:
    page = tmp_path / "p.md"
    page.write_text(
        "```sh\nA=1 gpusim run a \\\n  --json b  # a comment that isn't closed\n"
        "cd x && .venv/bin/gpusim show c | head > d\n```\n"
        "```\n$ gpusim exec e\ngpusim: error: no command\n```\n```python\ngpusim.run()\n```\n"
    )
    assert [(one.line, one.words) for one in shown_commands(page)] == [
        (2, ("run", "a", "--json", "b")),
        (4, ("show", "c")),
        (7, ("exec", "e")),
    ]
