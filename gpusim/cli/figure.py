"""The options of `gpusim report` for a figure by choice, and its files."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpusim.base.errors import UserError
from gpusim.cli.options import several

KindChoice = Literal["lines", "bars", "heat-map", "front"]
StyleChoice = Literal["screen", "paper", "wide"]


@dataclass(frozen=True)
class FigureOptions:
    """What is drawn of a sweep into a file of one's own; without a choice what the sweep suggests."""

    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Draw one figure of a sweep into this file (.svg, .pdf, .png), its numbers beside it (.csv).",
        ),
    ] = None
    x: Annotated[str, typer.Option("--x", metavar="AXIS", help="Across. [default: the axis with most effect]")] = ""
    y: Annotated[str, typer.Option("--y", metavar="AXIS", help="Down: a heat map.")] = ""
    by: Annotated[str, typer.Option("--by", metavar="AXIS", help="A line or bar each. [default: the workload]")] = ""
    metrics: Annotated[
        list[str],
        several("--metric", "WHAT", "A metric, or a sum of such; twice: a front, the cost first. [default: objective]"),
    ] = field(default_factory=list)
    at: Annotated[
        list[str], several("--at", "AXIS=VALUE", "Only points with this value; repeatable.")
    ] = field(default_factory=list)  # fmt: skip
    baseline: Annotated[
        list[str],
        several("--baseline", "AXIS=VALUE", "Draw the ratio to points that have this value; repeatable."),
    ] = field(default_factory=list)
    draw: Annotated[KindChoice | None, typer.Option("--draw", help="How. [default: by what is chosen]")] = None
    style: Annotated[
        StyleChoice, typer.Option("--style", help="paper: a column of 3.33 inches; wide: both columns.")
    ] = "screen"


def check(options: FigureOptions) -> None:
    """Raise UserError for choices without --figure, and for a file of another kind."""
    if options.figure is None:
        given = [one.name for one in fields(options) if getattr(options, one.name) not in (None, "", [], "screen")]
        if given:
            flags = ", ".join(f"--{name.removesuffix('s') if name == 'metrics' else name}" for name in given)
            raise UserError(f"{flags}: say with --figure FILE where the figure goes")
        return
    from gpusim.base.picture import KINDS

    if options.figure.suffix.lower() not in KINDS:
        raise UserError(f"--figure {options.figure}: a figure's name ends in {', '.join(KINDS)}")


def figure_files(names: Sequence[str], options: FigureOptions, store: str | None) -> dict[Path, str | bytes]:
    """Return the figure and its numbers by their files; none without --figure. Raises UserError."""
    if options.figure is None:
        return {}
    from gpusim.results.report.page.figures import draw_figure
    from gpusim.results.report.sweeps.series import FigureChoice
    from gpusim.results.store.reading import open_store
    from gpusim.results.store.sweep_points import swept
    from gpusim.results.store.sweeps import sweep_meant

    with open_store(store) as results:
        number = sweep_meant(results, names[0]) if len(names) == 1 else None
        if number is None:
            raise UserError(f"--figure: is of one sweep, as in: gpusim report sweep:1 --figure {options.figure}")
        points = swept(results, number, options.metrics)
    choice = FigureChoice(
        metrics=options.metrics,
        x=options.x,
        y=options.y,
        by=options.by,
        at=_values("--at", options.at),
        baseline=_values("--baseline", options.baseline),
        kind=options.draw or "",
    )
    picture = draw_figure(points, choice, options.style, options.figure.stem)
    kind = options.figure.suffix.lower()
    return {options.figure: picture.file(kind), options.figure.with_suffix(".csv"): picture.numbers.csv()}


def _values(option: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the values of options AXIS=VALUE by axis."""
    from gpusim.config.tree import parse_set

    values = {}
    for text in given:
        if "=" not in text:
            raise UserError(f"{option} {text}: expected AXIS=VALUE, for example engine.sib_kib=64")
        steps, value = parse_set(text)
        values[".".join(steps)] = value
    return values
