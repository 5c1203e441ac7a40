"""Groups of options: what a command that takes one gets."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from gpusim.cli.net import NetOptions
from gpusim.cli.options import JobCommandOptions, LiveOptions, NetworkSource, SetOption, add_empty_values, grouped
from gpusim.lab.cli.correlate import CorrelateOptions


@dataclass(frozen=True)
class Pair:
    sets: SetOption = field(default_factory=list)
    width: Annotated[int, typer.Option("--width", min=1)] = 3


def received(command: Any, *arguments: str) -> list[Any]:
    """What a command gets, in the order of its parameters."""
    got: list[Any] = []
    app = typer.Typer()
    app.command()(grouped(command(got)))
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return got


def with_pair(got: list[Any]) -> Any:
    def command(file: Annotated[Path, typer.Argument()], height: int = 1, *, pair: Pair, source: NetworkSource) -> None:
        """Its help."""
        got.extend([file, height, pair, source])

    return command


def test_a_group_is_made_of_the_options_given_and_of_its_defaults() -> None:
    assert received(with_pair, "a") == [Path("a"), 1, Pair(), NetworkSource()]
    given = received(with_pair, "--set", "x=1", "a", "lenet", "--height", "2", "--set", "y=2", "--width", "7")
    assert given == [Path("a"), 2, Pair(["x=1", "y=2"], 7), NetworkSource("lenet")]


def test_its_help_and_name_are_the_commands() -> None:
    seen = grouped(with_pair([]))
    assert (seen.__name__, seen.__doc__) == ("command", "Its help.")


@pytest.mark.parametrize("kind", [JobCommandOptions, LiveOptions, NetworkSource, NetOptions, CorrelateOptions])
def test_a_command_without_options_gets_the_defaults_of_the_group(kind: type) -> None:
    def with_it(got: list[Any]) -> Any:
        def command(group: Any) -> None:
            got.append(group)

        command.__annotations__["group"] = kind
        return command

    assert received(with_it) == [kind()]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (["run", "--live", "layerB.yaml"], ["run", "--live", "", "layerB.yaml"]),
        (["run", "--live", "8080", "layerB.yaml"], ["run", "--live", "8080", "layerB.yaml"]),
        (["run", "x", "--live"], ["run", "x", "--live", ""]),
        (["run", "--live", "--store", "--quiet"], ["run", "--live", "", "--store", "", "--quiet"]),
        (["run", "--live=80", "--store", "a.db"], ["run", "--live=80", "--store", "a.db"]),
        (["run", "--", "--live"], ["run", "--", "--live"]),
    ],
)
def test_some_options_may_stand_without_their_value(given: list[str], seen: list[str]) -> None:
    assert add_empty_values(given) == seen
