"""A publication's folder: a page of all figures, claims, tables as CSV, pictures, of networks a page a figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gpusim.base.files import folder, write_together
from gpusim.base.formats import TIMES
from gpusim.base.table import Table, columns
from gpusim.lab.papers.ages import figure_keys, point_ages
from gpusim.lab.papers.claim_spec import ClaimSpec
from gpusim.lab.papers.claims import BESIDE, DEFINED, FAILS, HOLDS, MIXED, UNASKABLE, UNDECIDED, JudgedClaim, judge_all
from gpusim.lab.papers.formats import capitalized
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.page import sections
from gpusim.lab.papers.page.markdown import TOP, Block, FigureSlot, anchor, bullets, heading, html, markdown, text
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.page.summary import SummaryParagraph, summarize, text_bars
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import FILE, as_json
from gpusim.lab.versions.age import FigureAge

PAGE, CLAIMS = "README.md", "claims.md"


@dataclass(frozen=True)
class RenderedPublication:
    """The rendered contents of a publication."""

    publication: Publication
    """Publication with its results."""

    @cached_property
    def claims(self) -> Sequence[JudgedClaim]:
        """Claims with their verdicts."""
        return judge_all(self.publication)

    @cached_property
    def table(self) -> Table:
        """Table of the claims."""
        return claims_table(self.publication, self.claims)

    @cached_property
    def ages(self) -> Mapping[str, FigureAge]:
        """Ages of the known points."""
        return point_ages(self.publication)

    @cached_property
    def page(self) -> Sequence[Block]:
        """Blocks of the page of all figures."""
        return list(_page(self.publication, self.claims, self.ages, self.summary))

    @cached_property
    def summary(self) -> Sequence[SummaryParagraph]:
        """Sentences at the head of the page."""
        return summarize(self.publication, self.ages)

    def screen(self, only: Mapping[str, Figure]) -> Iterator[Block]:
        """Yield what a terminal shows: question, first table, answers, the claims of these figures with their rules;
        of all figures the summary with its picture before.
        """
        if only.keys() == self.publication.figures.keys() and self.summary:
            yield bullets(one.markdown for one in self.summary)
            picture = self.publication.pictures.get(self.publication.spec.summary_picture)
            yield "".join(f"{line}\n" for line in text_bars(picture)) if picture is not None else ""
        claims = [judged for judged in self.claims if judged.figure in only]
        yield from sections.show_question(self.publication, claims, sections.first_table(self.publication), self.ages)
        yield claims_table(self.publication, claims, brief=True)

    def files(self, only: Mapping[str, Figure]) -> dict[str, str]:
        """Return text files by name: the page, claims, and the CSV files of these figures."""
        publication = self.publication
        claims_page = markdown(_claims_page(publication, self.table, self.ages))
        files = {FILE: as_json(publication.results), CLAIMS: claims_page, "claims.csv": self.table.csv()}
        for name in only:
            for table in publication.tables[name]:
                files[f"{name}{'-' + table.name if table.name else ''}.csv"] = table.csv()
            if publication.spec.runs is not None:
                files[f"{name}.md"] = markdown(_figure_page(publication, name, self.claims, self.ages))
        return {PAGE: markdown(self.page), **files}

    def html(self) -> str:
        """Return the page with its pictures and claims as one HTML file; raise MissingExtraError without Matplotlib."""
        links = {CLAIMS: f"#{anchor('Claims')}"}
        return html([*self.page, heading("Claims"), self.table], self.publication.pictures, links, FILE)

    def drawings(self, only: Mapping[str, Figure]) -> dict[str, bytes]:
        """Draw these figures' pictures into SVG files by name; raise MissingExtraError without Matplotlib."""
        pictures = self.publication.pictures
        return {f"{name}.svg": pictures[name].file(".svg") for name in only if name in pictures}


def write(where: Path, files: Mapping[str, str | bytes]) -> None:
    """Write all files, or none.

    Args:
        where: Folder.
        files: Contents by name.
    """
    place = folder(where)
    write_together({place / name: content for name, content in files.items()})


def claims_table(publication: Publication, claims: Sequence[JudgedClaim], brief: bool = False) -> Table:
    """Make a table with a row for each claim and comparison that judges it, with the rule.

    Args:
        publication: The publication.
        claims: Its claims, or some.
        brief: Without what explains the values.
    """
    if publication.spec.runs is not None:
        return _layer_claims_table(publication, claims, brief)
    heads = columns("figure", "claim", "source", "by", "found", "verdict", "holds where")
    beyond = len(heads) if brief else None
    heads += columns("limit 1/(1-s), least", "most", write=TIMES) + columns("source within it", write=_yes)
    heads += columns("fits the GPU's memory", "what moved", "stands for", "what would decide it")
    rows: list[list[Any]] = []
    for judged in claims:
        head, rule = [judged.figure, judged.claim.text, judged.claim.said], judged.claim.describe()
        if not judged.judging:
            rows.append([*head, None, None, BESIDE, rule, *[None] * 5, judged.claim.origin, None])
        for name, verdict in judged.judging.items():
            limits = (min(verdict.limits), max(verdict.limits)) if verdict.limits else (None, None)
            left_out = f", {len(verdict.without)} of its runs not run" if verdict.without else ""
            row: list[Any] = [
                *head,
                publication.reproduction.columns[name],
                verdict.ours,
                verdict.state + left_out,
                rule or None,
            ]
            row += [*limits, judged.is_allowed(name), judged.fits or None]
            openings = "; ".join(verdict.openings) or None
            rows.append([*row, "; ".join(verdict.reasons) or None, judged.claim.origin, openings])
    return Table(heads[:beyond], [row[:beyond] for row in rows], "claims")


def _layer_claims_table(publication: Publication, claims: Sequence[JudgedClaim], brief: bool) -> Table:
    """Make a table with a row for each claim about a network's layers, with the rule that it is judged by."""
    heads = columns("figure", "claim", "source", "rule")
    heads += columns() if brief else columns("stands for")
    for title in publication.reproduction.columns.values():
        heads += columns(f"{title}: found", f"{title}: verdict", f"{title}: why")
    rows = []
    for one in claims:
        row: list[Any] = [one.figure, one.claim.text, one.claim.said, one.claim.describe() or None]
        row += [] if brief else [one.claim.origin]
        for verdict in one.verdicts.values():
            left_out = [f"without {', '.join(verdict.without)}: not run"] if verdict.without else []
            openings = [f"open: {opening}" for opening in verdict.openings]
            row += [verdict.ours, verdict.state, "; ".join([*verdict.reasons, *openings, *left_out]) or None]
        rows.append(row)
    return Table(heads, rows, "claims")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "**no**"


def _claims_page(publication: Publication, table: Table, ages: Mapping[str, FigureAge]) -> Iterator[Block]:
    yield heading(f"Claims of {publication.spec.source}", TOP)
    name = publication.reproduction.name
    yield text(f"Made by `gpusim reproduce {name}`; no figure here is typed. [The page of all](README.md).")
    yield from sections.show_model(ages, "runs that claims are judged by")
    yield table


def _page(
    publication: Publication,
    claims: Sequence[JudgedClaim],
    ages: Mapping[str, FigureAge],
    summary: Sequence[SummaryParagraph],
) -> Iterator[Block]:
    """Yield the blocks of the page of all figures: the summary first, then answers."""
    of_networks = publication.spec.runs is not None
    yield heading(publication.spec.title, TOP)
    yield from _show_summary(publication, summary)
    command = publication.reproduction.command
    yield text(f"Made by `gpusim reproduce {command}` from [its runs](results.json); no figure here is typed.")
    yield from sections.show_model(ages, "runs")
    first = sections.first_table(publication)
    yield from sections.show_question(publication, claims, first, ages)
    yield from sections.list_objections(publication)
    if of_networks:
        yield from _runs_of_networks(publication, claims, ages)
    else:
        yield heading("How it was run, and means of all figures")
        yield sections.describe_runs(publication.results)
        yield sections.count_verdicts(publication, claims)
        yield sections.table_of_means(publication)
    yield from sections.list_failures(publication.results)
    for name, figure in publication.figures.items():
        yield heading(f"{name}: {figure.title}")
        if of_networks:
            yield from _network_figure(publication, name, claims)
            yield from sections.list_marked_points(publication, figure, ages)
            continue
        yield text(f"{figure.source}. {filled(figure.note, publication)}".rstrip())
        yield from _show_picture(publication, name)
        yield from (table for table in publication.tables[name] if table is not first)
        yield from sections.list_marked_points(publication, figure, ages)


def _show_summary(publication: Publication, summary: Sequence[SummaryParagraph]) -> Iterator[Block]:
    """Yield the sentences of the summary and its picture."""
    if summary:
        yield bullets(one.markdown for one in summary)
        name = publication.spec.summary_picture
        if name in publication.pictures:
            yield FigureSlot(name, publication.figures[name].title)


def _show_picture(publication: Publication, name: str) -> Iterator[Block]:
    """Yield a figure's picture, unless it stands at the head of the page."""
    is_above = bool(publication.spec.summary) and name == publication.spec.summary_picture
    if name in publication.pictures and not is_above:
        yield FigureSlot(name, publication.figures[name].title)


def _runs_of_networks(
    publication: Publication, claims: Sequence[JudgedClaim], ages: Mapping[str, FigureAge]
) -> Iterator[Block]:
    yield sections.count_verdicts(publication, claims)
    yield from sections.list_networks_not_run(publication)
    if publication.results.networks:
        yield sections.describe_runs(publication.results)
        yield sections.table_of_networks(publication.results, ages)


def _network_figure(publication: Publication, name: str, claims: Sequence[JudgedClaim]) -> Iterator[Block]:
    """Yield a figure of a publication of networks, with its claims."""
    figure = publication.figures[name]
    yield text(f"{figure.source}. {figure.note}".rstrip() + f" [Numbers]({name}.md).")
    yield from _show_picture(publication, name)
    if not any(table.rows for table in publication.tables[name]):
        yield text(_why_empty(publication, name))
    sentences = [_claim(judged) for judged in claims if judged.figure == name]
    if sentences:
        yield bullets(sentences)


def _why_empty(publication: Publication, name: str) -> str:
    """Say why a figure shows nothing."""
    figure, gpus = publication.figures[name], len(publication.reproduction.columns)
    if isinstance(figure, NetworkFigure) and figure.needed_gpus > gpus:
        return (
            f"It is of {figure.needed_gpus} GPUs, of which {gpus} is named: `--gpu` takes several, such as mi6,r9nano."
        )
    return f"Not run yet: `gpusim reproduce {publication.reproduction.command} --only {name}` runs it."


def _claim(judged: JudgedClaim) -> str:
    """Return a claim with its verdicts, as one line."""
    if judged.claim.unaskable:
        return f"{judged.claim.text}: *{UNASKABLE}*. {_origin(judged.claim)}. {capitalized(judged.claim.unaskable)}."
    verdicts = []
    for column, verdict in judged.judging.items():
        more = f" ({'; '.join(verdict.reasons)})" if verdict.state in (UNASKABLE, DEFINED) else ""
        found = f" {verdict.ours}" if verdict.state in (HOLDS, MIXED, FAILS, UNDECIDED, DEFINED) else ""
        more += f" (without {', '.join(verdict.without)}: not run)" if verdict.without else ""
        verdicts.append(f"{column} **{verdict.state}**{found}{more}")
    return f"{judged.claim.text}: {'. '.join(verdicts) or 'no value'}. {_origin(judged.claim)}."


def _origin(claim: ClaimSpec) -> str:
    """Return the source's figure and words, or that it is asked here."""
    return f"Source: {claim.said}, {claim.origin}" if claim.quote else f"Our own: {claim.origin}"


def _figure_page(
    publication: Publication, name: str, claims: Sequence[JudgedClaim], ages: Mapping[str, FigureAge]
) -> Iterator[Block]:
    """Yield the blocks of a figure's page: which model made it, its rules, and its tables."""
    figure = publication.figures[name]
    yield heading(f"{name}: {figure.title}", TOP)
    yield text(f"{figure.source}. {figure.note}".rstrip() + " [The page of all](README.md).")
    own = {key: ages[key] for key in figure_keys(publication, figure)}
    yield from sections.show_model(own, "runs")
    if any(age.is_current for age in own.values()):
        yield from sections.list_marked_points(publication, figure, ages)
    rules = [judged.claim for judged in claims if judged.figure == name and judged.claim.describe()]
    if rules:
        yield text("Rules of its claims:")
        yield bullets(f"{claim.text}: `{claim.describe()}`" for claim in rules)
    tables = [table for table in publication.tables[name] if table.rows]
    if not tables:
        yield text(_why_empty(publication, name))
    yield from tables
