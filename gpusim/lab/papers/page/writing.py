"""The folder: tables as CSV, pictures, claims, and a page that has all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gpusim.base.files import folder, write_together
from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.claims import BESIDE, ClaimVerdict, JudgedClaim, judge, judge_layers
from gpusim.lab.papers.kept import FILE, ReproductionResults, as_json
from gpusim.lab.papers.kinds import get_figure_kind
from gpusim.lab.papers.layer_values import format_measure
from gpusim.lab.papers.network_points import missing_points
from gpusim.lab.papers.page.blocks import TOP, Block, FigureSlot, Heading, anchor, html, markdown, text
from gpusim.lab.papers.page.marks import marks
from gpusim.lab.papers.page.network_page import figure_page, network_page
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.page.summary import first_table, show_question, summary
from gpusim.lab.papers.points import ANY_DATA, ReproductionPoint, does_fit, is_known, list_points
from gpusim.lab.papers.rules import describe_rule
from gpusim.lab.papers.specs.claim import ClaimSpec, Where
from gpusim.lab.papers.specs.figure import ComparisonFigure, Figure, RunsFigure, TrainingFigure
from gpusim.lab.papers.specs.layer_figure import LayersFigure, NetworkFigure, RatiosFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import MEASURES, FigureValue, matches, times

PAGE, CLAIMS = "README.md", "claims.md"
SIMPLE_MEASURES: Mapping[str, Callable[[float], str]] = {
    "conversion_gain": times,
    "training_speedup": times,
    "mean_speedup": times,
    "slowdown": times,
    "over_threshold": times,
    "storage_beside_l2": "{:,.0f} bytes".format,
    "area_beside_l2": "{:,.0f} µm²".format,
    "network_mib": "{:,.0f} MiB".format,
    "layer_mib": "{:,.1f} MiB".format,
    "ms": "{:,.1f} ms".format,
    "prefetch_over_first": times,
    "iteration_over_computation": times,
    "iteration_over_prefetch": times,
    "compression": times,
    "epochs_over_first": times,
    "stages_waiting": times,
    "stages_streaming": times,
    "stages_over_batches": times,
}


def judged(reproduction: Reproduction, results: ReproductionResults) -> list[JudgedClaim]:
    """Judge all claims of all figures."""
    found = []
    for name, figure in reproduction.figures.items():
        if not figure.claims:
            continue
        values_of = get_figure_kind(figure).values
        values = [] if values_of is None else list(values_of(reproduction, figure, results))
        for claim in figure.claims:
            verdicts = {
                one: _verdict(reproduction, figure, results, claim, one, [v for v in values if v.comparison == one])
                for one in reproduction.columns
            }
            found.append(JudgedClaim(name, claim, verdicts, _fits(reproduction, figure)))
    return found


def _verdict(
    reproduction: Reproduction,
    figure: Figure,
    results: ReproductionResults,
    claim: ClaimSpec,
    column: str,
    values: Sequence[FigureValue],
) -> ClaimVerdict:
    shown_by = _shown(figure, claim)
    if reproduction.spec.runs is None:
        return judge(claim, values, shown_by, _missing(reproduction, figure, results, claim, column))
    missing: list[str] = []
    if isinstance(figure, NetworkFigure):
        missing = missing_points(reproduction, figure, results.networks, claim.where, column)
    return judge_layers(claim, values, shown_by, missing)


def _missing(
    reproduction: Reproduction, figure: Figure, results: ReproductionResults, claim: ClaimSpec, column: str
) -> list[str]:
    """List the points that a claim has by one comparison and that were not run; of other kinds of figures, all such."""
    if isinstance(figure, TrainingFigure):
        held = [(reproduction.figures[one.figure], one.where) for one in figure.networks.values()]
    elif isinstance(figure, ComparisonFigure):
        held = [(figure, claim.where)]
    else:
        points = list_points(reproduction, figure) if isinstance(figure, RunsFigure) else []
        return [point.key for point in points if point.key not in results.points]
    asked = {
        point.key
        for one, where in held
        if isinstance(one, ComparisonFigure)
        for point in _points_of_claim(reproduction, one, where, column)
    }
    return sorted(asked - results.points.keys())


def _points_of_claim(
    reproduction: Reproduction, figure: ComparisonFigure, where: Where, column: str
) -> Iterator[ReproductionPoint]:
    """Yield the points with the labels of a claim, of one comparison's ways; none where the figure has not both."""
    comparison = reproduction.spec.comparisons[column]
    ways = {"path": comparison.path, "base": comparison.base}
    if not {*ways.values()} <= {*figure.paths} or not matches(ways, {n: w for n, w in where.items() if n in ways}):
        return
    run = {one for way in ways.values() for one in (way, *reproduction.spec.paths[way].made_of)}
    for point in list_points(reproduction, figure):
        labels = {n: w for n, w in where.items() if n in point.labels and n not in ways}
        if point.labels["data"] == ANY_DATA:
            labels.pop("data", None)
        if point.labels["path"] in run and matches(point.labels, labels):
            yield point


def _shown(figure: Figure, claim: ClaimSpec) -> Callable[[float], str]:
    if isinstance(figure, RatiosFigure):
        return times
    if isinstance(figure, LayersFigure):
        return partial(format_measure, figure.measures.get(claim.measure) or next(iter(figure.measures.values())))
    if claim.measure in MEASURES:
        return MEASURES[claim.measure].shown
    return SIMPLE_MEASURES.get(claim.measure, lambda value: f"{100 * value:.1f} %")


def _fits(reproduction: Reproduction, figure: Figure) -> str:
    """Return whether all the figure's layers fit at the publication's batch, or how many do, as text."""
    if not isinstance(figure, RunsFigure):
        return ""
    said = [
        does_fit(reproduction, figure, case, batch)
        for case, held in figure.cases.items()
        for batch in held.batches or figure.batches
    ]
    fitting = said.count("yes")
    return "yes" if fitting == len(said) else f"{fitting} of {len(said)}"


def claims_table(reproduction: Reproduction, claims: Sequence[JudgedClaim], brief: bool = False) -> Table:
    """Make a table with a row for each claim and comparison that judges it, with the rule.

    brief: without what explains the values.
    """
    if reproduction.spec.runs is not None:
        return _layer_claims_table(reproduction, claims)
    columns = [Column("figure"), Column("claim"), Column("source"), Column("by"), Column("found"), Column("verdict")]
    columns.append(Column("holds where"))
    beyond = len(columns) if brief else None
    columns += [Column("limit 1/(1-s), least", times), Column("most", times), Column("source within it", _yes)]
    columns += [Column("fits the GPU's memory"), Column("what moved")]
    rows: list[list[Any]] = []
    for one in claims:
        held = {name: verdict for name, verdict in one.verdicts.items() if verdict.state != BESIDE}
        if not held:
            rows.append(
                [one.figure, one.claim.text, one.claim.said, None, None, BESIDE, describe_rule(one.claim), *[None] * 5]
            )
        for name, verdict in held.items():
            limits = (min(verdict.limits), max(verdict.limits)) if verdict.limits else (None, None)
            row: list[Any] = [one.figure, one.claim.text, one.claim.said, reproduction.columns[name]]
            row += [verdict.ours, verdict.state + _left_out(verdict), describe_rule(one.claim) or None]
            row += [*limits, one.is_allowed(name), one.fits or None]
            rows.append([*row, "; ".join(verdict.reasons) or None])
    return Table(columns[:beyond], [row[:beyond] for row in rows], "claims")


def _left_out(verdict: ClaimVerdict) -> str:
    return f", {len(verdict.without)} of its runs not run" if verdict.without else ""


def _layer_claims_table(reproduction: Reproduction, claims: Sequence[JudgedClaim]) -> Table:
    """Make a table with a row for each claim about a network's layers, with the rule that it is judged by."""
    columns = [Column("figure"), Column("claim"), Column("source"), Column("rule")]
    for title in reproduction.columns.values():
        columns += [Column(f"{title}: found"), Column(f"{title}: verdict"), Column(f"{title}: why")]
    rows = []
    for one in claims:
        row: list[Any] = [one.figure, one.claim.text, one.claim.said, describe_rule(one.claim) or None]
        for verdict in one.verdicts.values():
            left_out = [f"without {', '.join(verdict.without)}: not run"] if verdict.without else []
            row += [verdict.ours, verdict.state, "; ".join([*verdict.reasons, *left_out]) or None]
        rows.append(row)
    return Table(columns, rows, "claims")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "**no**"


@dataclass(frozen=True)
class RenderedPublication:
    """The rendered contents of a publication."""

    claims: Sequence[JudgedClaim]
    """Claims with their verdicts."""
    table: Table
    """Table of the claims."""
    tables: Mapping[str, Sequence[Table]]
    """Tables by figure."""
    page: Sequence[Block]
    """Blocks of the page."""


def render_publication(reproduction: Reproduction, results: ReproductionResults) -> RenderedPublication:
    """Make claims, tables and the page of a publication."""
    claims = judged(reproduction, results)
    tables = {n: list(get_figure_kind(f).tables(reproduction, f, results)) for n, f in reproduction.figures.items()}
    page = _page(reproduction, results, claims, tables) if reproduction.spec.runs is None else None
    blocks = list(page or network_page(reproduction, results, claims))
    return RenderedPublication(claims, claims_table(reproduction, claims), tables, blocks)


def render_screen(
    reproduction: Reproduction, results: ReproductionResults, of: RenderedPublication, only: Mapping[str, Figure]
) -> Iterator[Block]:
    """Yield what a terminal shows: question, first table, answers, and the claims of these figures with their rules."""
    asked = [one for one in of.claims if one.figure in only]
    first = first_table(reproduction, results, of.tables)
    yield from show_question(reproduction, results, asked, first)
    yield claims_table(reproduction, asked, brief=True)


def contents(
    reproduction: Reproduction, results: ReproductionResults, only: Mapping[str, Figure], of: RenderedPublication
) -> dict[str, str]:
    """Return text files by name: the page, claims, and the CSV files of these figures. of: what `render_publication`
    returned."""
    claims_page = markdown(_claims_page(reproduction, of.table))
    files = {FILE: as_json(results), CLAIMS: claims_page, "claims.csv": of.table.csv()}
    for name in only:
        for held in of.tables[name]:
            files[f"{name}{'-' + held.name if held.name else ''}.csv"] = held.csv()
        if reproduction.spec.runs is not None:
            files[f"{name}.md"] = markdown(figure_page(reproduction, name, of.tables[name], of.claims))
    return {PAGE: markdown(of.page), **files}


def render_html(reproduction: Reproduction, results: ReproductionResults, of: RenderedPublication) -> str:
    """Return the page with its pictures and claims as one HTML file; raise MissingExtraError without Matplotlib."""
    heading = Heading("Claims")
    links = {CLAIMS: f"#{anchor(heading.text)}"}
    return html(
        [*of.page, heading, of.table], draw_known_pictures(reproduction, results, reproduction.figures), links, FILE
    )


def draw_known_pictures(
    reproduction: Reproduction, results: ReproductionResults, only: Mapping[str, Figure]
) -> dict[str, Picture]:
    """Return the pictures of these figures that have something to show."""
    found = {}
    for name, figure in only.items():
        draw = get_figure_kind(figure).picture
        picture = None if draw is None else draw(reproduction, figure, results)
        if picture is not None:
            found[name] = picture
    return found


def pictures(reproduction: Reproduction, results: ReproductionResults, only: Mapping[str, Figure]) -> dict[str, bytes]:
    """Draw SVG files by name; raise MissingExtraError without Matplotlib."""
    return {f"{name}.svg": one.file(".svg") for name, one in draw_known_pictures(reproduction, results, only).items()}


def write(where: Path, contents_: Mapping[str, str | bytes]) -> None:
    """Write all files, or none."""
    place = folder(where)
    write_together({place / name: content for name, content in contents_.items()})


def _claims_page(reproduction: Reproduction, table: Table) -> Iterator[Block]:
    yield Heading(f"Claims of {reproduction.spec.source}", TOP)
    yield text(
        f"Made by `gpusim reproduce {reproduction.name}`; no figure here is typed. [The page of all](README.md)."
    )
    yield table


def _page(
    reproduction: Reproduction,
    results: ReproductionResults,
    claims: Sequence[JudgedClaim],
    tables: Mapping[str, Sequence[Table]],
) -> Iterator[Block]:
    yield Heading(reproduction.spec.title, TOP)
    yield text(
        f"Made by `gpusim reproduce {reproduction.name}` from [its runs](results.json); no figure here is typed."
    )
    first = first_table(reproduction, results, tables)
    yield from show_question(reproduction, results, claims, first)
    yield Heading("How it was run, and means of all figures")
    yield from summary(reproduction, results, claims)
    for name, figure in reproduction.figures.items():
        yield Heading(f"{name}: {figure.title}")
        yield text(f"{figure.source}. {filled(figure.note, reproduction, results)}".rstrip())
        if get_figure_kind(figure).picture is not None and is_known(reproduction, figure, results.points, some=True):
            yield FigureSlot(name, figure.title)
        yield from (table for table in tables[name] if table is not first)
        yield from marks(reproduction, figure, results)
