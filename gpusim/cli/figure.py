"""The options of `gpusim report` for a figure by choice, and its files."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpusim.base.errors import UserError, unknown_name
from gpusim.cli.options import several

FigureKindChoice = Literal["lines", "bars", "heat-map", "contour", "front", "slice", "parallel", "importance"]
StyleChoice = Literal[
    "screen", "paper", "wide", "ieee", "ieee-wide", "acm", "acm-wide", "lncs", "elsevier", "elsevier-wide", "slide"
]
LegendChoice = Literal["top", "right", "inside", "none"]
PaletteChoice = Literal["okabe-ito", "tol", "grey", "ordered"]


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
        list[str], several("--baseline", "AXIS=VALUE", "Draw the ratio to points that have this value; repeatable.")
    ] = field(default_factory=list)
    draw: Annotated[FigureKindChoice | None, typer.Option("--draw", help="How. [default: by what is chosen]")] = None
    style: Annotated[
        StyleChoice,
        typer.Option(
            "--style", help="Width and letters of a template's column, or of both (…-wide); paper: 3.33 in, wide: 7 in."
        ),
    ] = "screen"
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Above it. [default: on a screen]")] = ""
    labels: Annotated[
        list[str], several("--label", "NAME=TEXT", "Text for an axis, a metric or a value; repeatable.")
    ] = field(default_factory=list)  # fmt: skip
    order: Annotated[
        list[str], several("--order", "AXIS=A,B,…", "First values of an axis, in this order; repeatable.")
    ] = field(default_factory=list)  # fmt: skip
    panels: Annotated[
        list[str], several("--panel", "AXIS", "A panel for each value, as for each workload; repeatable.")
    ] = field(default_factory=list)  # fmt: skip
    columns: Annotated[int, typer.Option("--columns", metavar="N", min=0, help="Panels side by side.")] = 0
    legend: Annotated[LegendChoice, typer.Option("--legend", help="Its place.")] = "top"
    x_range: Annotated[str, typer.Option("--x-range", metavar="LOW:HIGH", help="Ends of the x axis.")] = ""
    y_range: Annotated[
        str, typer.Option("--y-range", metavar="LOW:HIGH", help="Ends of the y axis; of a heat map its colours.")
    ] = ""
    share_y: Annotated[
        bool | None,
        typer.Option("--share-y/--own-y", help="One y axis for all panels, or one each. [default: by the values]"),
    ] = None
    palette: Annotated[PaletteChoice, typer.Option("--palette", help="Colours; ordered: shades.")] = "okabe-ito"
    file: Annotated[
        Path | None,
        typer.Option("--figure-options", metavar="FILE", help="YAML with these options; those given here go first."),
    ] = None


@dataclass(frozen=True)
class _FigureFile:
    """A file with the options of a figure, by the options' names."""

    x: str = ""
    y: str = ""
    by: str = ""
    metric: list[str] = field(default_factory=list)
    at: dict[str, Any] = field(default_factory=dict)
    baseline: dict[str, Any] = field(default_factory=dict)
    draw: FigureKindChoice | Literal[""] = ""
    style: StyleChoice = "screen"
    title: str = ""
    label: dict[str, str] = field(default_factory=dict)
    order: dict[str, list[Any]] = field(default_factory=dict)
    panel: list[str] = field(default_factory=list)
    columns: int = 0
    legend: LegendChoice = "top"
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    share_y: bool | None = None
    palette: PaletteChoice = "okabe-ito"


def check(options: FigureOptions) -> None:
    """Raise UserError for choices without --figure, and for a file of another kind."""
    if options.figure is None:
        given = [one.name for one in fields(options) if getattr(options, one.name) != _usual(one.name)]
        if given:
            flags = ", ".join(f"--{_FLAGS.get(name, name.replace('_', '-'))}" for name in given)
            raise UserError(f"{flags}: say with --figure FILE where the figure goes")
        return
    from gpusim.base.picture import KINDS

    if options.figure.suffix.lower() not in KINDS:
        raise UserError(f"--figure {options.figure}: a figure's name ends in {', '.join(KINDS)}")


_FLAGS = {"metrics": "metric", "labels": "label", "panels": "panel", "file": "figure-options"}


def _usual(name: str) -> Any:
    return getattr(FigureOptions(), name)


def _read_options(options: FigureOptions) -> _FigureFile:
    """Return the options of the file with those of the command line over them; raise UserError."""
    of_file = _FigureFile()
    if options.file is not None:
        from gpusim.base.plain_data import parse_as
        from gpusim.config.files import read

        data = read(options.file)
        known = [one.name for one in fields(_FigureFile)]
        for key in data:
            if key not in known:
                raise UserError(f"{options.file}: {unknown_name('option', str(key), known)}")
        of_file = parse_as(
            _FigureFile, data, str(options.file), "a file has the options of report --figure by their names"
        )
    over: dict[str, Any] = {
        "metric": options.metrics,
        "at": _values("--at", options.at),
        "baseline": _values("--baseline", options.baseline),
        "label": dict(_pair("--label", text) for text in options.labels),
        "order": {path: _list(text) for path, text in (_pair("--order", text) for text in options.order)},
        "panel": options.panels,
        "x_range": _range("--x-range", options.x_range),
        "y_range": _range("--y-range", options.y_range),
    }
    same = ("x", "y", "by", "draw", "style", "title", "columns", "legend", "share_y", "palette")
    over |= {name: getattr(options, name) for name in same if getattr(options, name) != _usual(name)}
    return replace(of_file, **{name: value for name, value in over.items() if value})


def _pair(option: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise UserError(f"{option} {text}: expected NAME=VALUE")
    return name, value


def _list(text: str) -> list[Any]:
    from gpusim.config.yaml_values import parse_value

    values = parse_value(f"[{text}]")
    return [str(value) if isinstance(value, list) else value for value in values]


def _range(option: str, text: str) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise UserError(f"{option} {text}: expected LOW:HIGH, for example 0:1") from None
    if not low < high:
        raise UserError(f"{option} {text}: the first number must be less than the second")
    return low, high


def figure_files(names: Sequence[str], options: FigureOptions, store: str | None) -> dict[Path, str | bytes]:
    """Return the figure and its numbers by their files; none without --figure. Raises UserError."""
    if options.figure is None:
        return {}
    from gpusim.results.report.page.figures import draw_figure
    from gpusim.results.report.sweeps.series import FigureChoice, FigureLayout
    from gpusim.results.store.reading import open_store
    from gpusim.results.store.sweep_points import swept
    from gpusim.results.store.sweeps import sweep_meant

    chosen = _read_options(options)
    with open_store(store) as results:
        number = sweep_meant(results, names[0]) if len(names) == 1 else None
        if number is None:
            raise UserError(f"--figure: is of one sweep, as in: gpusim report sweep:1 --figure {options.figure}")
        points = swept(results, number, chosen.metric)
    layout = FigureLayout(
        title=chosen.title,
        labels=chosen.label,
        order=chosen.order,
        legend=chosen.legend,
        x_range=chosen.x_range,
        y_range=chosen.y_range,
        columns=chosen.columns,
        share_y=chosen.share_y,
        palette=chosen.palette,
    )
    choice = FigureChoice(
        metrics=chosen.metric,
        x=chosen.x,
        y=chosen.y,
        by=chosen.by,
        at=chosen.at,
        baseline=chosen.baseline,
        kind=chosen.draw,
        panels=chosen.panel,
        layout=layout,
    )
    picture = draw_figure(points, choice, chosen.style, options.figure.stem)
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
