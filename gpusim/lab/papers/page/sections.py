"""Parts of a publication's page: how it was run, what failed, what was not run, and the answers to its question."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpusim.base.formats import PERCENT, TIMES, duration
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.lab.papers.ages import figure_keys
from gpusim.lab.papers.claims import DEFINED, STATES, JudgedClaim
from gpusim.lab.papers.figures.compared import ComparisonFigure, engine_share
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.page.answers import answer_question, question
from gpusim.lab.papers.page.markdown import Block, bullets, heading, text
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.points import ReproductionPoint, RunsFigure
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import ReproductionResults
from gpusim.lab.papers.values import list_groups, mean_of
from gpusim.lab.papers.views import LIMITS, NETWORK_RUNS, ZEROS
from gpusim.lab.versions.age import FigureAge, describe_ages
from gpusim.lab.versions.model import name_model, present_model

_PLACE = ("case", "batch", "x", "y", "change")  # labels that distinguish a way's points


def show_question(
    publication: Publication, claims: Sequence[JudgedClaim], first: Table | None, ages: Mapping[str, FigureAge]
) -> Iterator[Block]:
    """Yield the question, the table that decides it, and the sentences that answer it.

    Args:
        publication: The publication with its results.
        claims: The claims that the answers follow from.
        first: The table that decides it.
        ages: Ages of the points; of which models the answers are is said where one is old.
    """
    if publication.spec.question:
        yield heading(question(publication))
    if first is not None:
        yield first
    answers = answer_question(publication, claims)
    if answers:
        yield from show_model(ages, "runs behind these answers", only_old=True)
        yield bullets(answers)


def list_objections(publication: Publication) -> Iterator[Block]:
    """Yield what a reviewer would object to, each with its answer."""
    if publication.spec.objections:
        yield heading("What a reviewer would object to")
        lines = [f"*{one.objection}* {one.answer}" for one in publication.spec.objections]
        yield bullets(filled(line, publication) for line in lines)


def show_model(ages: Mapping[str, FigureAge], what: str, only_old: bool = False) -> Iterator[Block]:
    """Yield a line on which models made some runs.

    Args:
        ages: Ages of the runs.
        what: What is counted.
        only_old: Yield nothing where all are of the present model.
    """
    if ages and not (only_old and all(age.is_current for age in ages.values())):
        yield text(describe_ages(ages.values(), what, name_model(present_model())))


def first_table(publication: Publication) -> Table | None:
    """Return the table that stands first: the first figure's, where it sets ways beside one another and any has run."""
    name, figure = next(iter(publication.figures.items()))
    if not isinstance(figure, ComparisonFigure) or figure.normalized_to is None:
        return None
    is_run = any(point.key in publication.results.points for point in figure.points(publication.spec))
    return publication.tables[name][0] if is_run else None


def count_verdicts(publication: Publication, claims: Sequence[JudgedClaim]) -> str:
    """Return how many claims hold by each comparison, or on each GPU: the publication's, and those asked here."""
    lines = []
    for name, title in publication.reproduction.columns.items():
        for whose, is_own in (("the source's", False), ("our own", True)):
            judged = [
                one.judging[name].state for one in claims if name in one.judging and bool(one.claim.own) == is_own
            ]
            states = [state for state in judged if state != DEFINED]
            counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
            by = title if publication.spec.runs is None else f"on {title}"
            apart = len(judged) - len(states)
            more = f" {apart} that no run can refute are not counted." if apart else ""
            if judged:
                lines.append(f"Of {whose} {len(states)} [claims](claims.md), {by}: {counts or 'none'}.{more}")
    return text(*lines)


def list_failures(results: ReproductionResults) -> Iterator[Block]:
    """Yield the points that failed, with their errors."""
    if results.errors:
        yield text("Points that failed:")
        yield bullets(f"{key}: {error}" for key, error in results.errors.items())


def describe_runs(results: ReproductionResults) -> str:
    """Return how the runs were made, and what they took."""
    points = results.runs.values()
    seconds = plain_sum(one.seconds for one in points)
    whole = plain_sum(one.seconds / one.fraction for one in points if one.fraction)
    sampled = sum(one.fraction < 1 for one in points)
    lines = [
        f"{len(points)} run{'s' * (len(points) != 1)}, {sampled} of them sampled, took {duration(seconds)} of one"
        f" process; in whole all would take about {duration(whole)}."
    ]
    if results.said:
        lines.append("Last run: " + "; ".join(f"{name} {value}" for name, value in results.said.items()) + ".")
    return text(*lines)


def table_of_means(publication: Publication) -> Table:
    """Make a table of each figure of speed-ups: means by comparison, of the engine's share, zeros and their limit."""
    pairs = publication.spec.comparisons.values()
    titles = [pair.title for pair in pairs]
    heads = columns("figure", "data", "points") + columns(*ZEROS, write=PERCENT)
    heads += columns(*LIMITS, *titles, "the engine's own share", write=TIMES)
    rows: list[list[object]] = []
    for name, figure in publication.figures.items():
        if not isinstance(figure, ComparisonFigure) or "speedup" not in figure.measures:
            continue
        groups = list_groups(publication, figure)
        for data in figure.data:
            some = [group for group in groups if group.data == data and group.zeros is not None]
            numbers = [[group.zeros for group in some], [group.map_zeros for group in some]]
            numbers += [[group.limit for group in some], [group.map_limit for group in some]]
            numbers += [[group.speedup(pair.path, pair.base) for group in some] for pair in pairs]
            numbers.append([engine_share(publication, group) for group in some])
            counts = [group.count for group in some]
            rows.append([name, data, len(some), *(mean_of(zip(one, counts, strict=True)) for one in numbers)])
    return Table(heads, rows, title="Mean speed-ups.")


def table_of_networks(results: ReproductionResults, ages: Mapping[str, FigureAge]) -> Table:
    """Make a table of networks' runs: what each took, which part was simulated, how far off its time may be, its model.

    Args:
        results: The results.
        ages: Ages of the runs.
    """
    rows = []
    for key, run in sorted(results.networks.items()):
        whole = run.iteration
        times = {"iteration_ms": whole.metrics["kernel.time_us"] / 1e3, "seconds": run.seconds}
        rows.append({"run": key, "error": run.error, "fraction": run.fraction, "model": ages[key].mark, **times})
    return NETWORK_RUNS.table(rows)


def list_networks_not_run(publication: Publication) -> Iterator[Block]:
    """Yield a line for the points of networks that have not been run."""
    figures = [figure for figure in publication.figures.values() if isinstance(figure, NetworkFigure)]
    points = [point.key for figure in figures for point in figure.points(publication.reproduction)]
    missing = list(dict.fromkeys(key for key in points if key not in publication.results.networks))
    if missing:
        command = f"gpusim reproduce {publication.reproduction.command}"
        yield text(f"Not run, and nothing is concluded of it: {', '.join(missing)}; `{command}` runs what is missing.")


def list_marked_points(publication: Publication, figure: Figure, ages: Mapping[str, FigureAge]) -> Iterator[Block]:
    """Yield a line for a figure's points that have not been run, and one for those of each older model.

    Args:
        publication: The publication with its results.
        figure: One of its figures.
        ages: Ages of the points.
    """
    keys = figure_keys(publication, figure)
    by_origin: dict[str, set[str]] = {}
    for key in keys:
        if not ages[key].is_current:
            by_origin.setdefault(ages[key].origin, set()).add(key)
    points = {}
    if isinstance(figure, RunsFigure):
        points = {point.key: point for point in figure.points(publication.spec)}
        missing = points.keys() - publication.results.points.keys()
        if missing:
            yield text(f"Not run, {_name_points(publication, points.values(), missing)}.")
    for origin, marked in sorted(by_origin.items()):
        if isinstance(figure, RunsFigure):
            names = _name_points(publication, points.values(), marked)
        else:
            some = "all" if len(marked) == len(keys) else ", ".join(key for key in keys if key in marked)
            names = f"{len(marked)} of {len(keys)} runs: {some}"
        yield text(f"Older than the present model, by {origin}, {names}.")


def _name_points(publication: Publication, points: Collection[ReproductionPoint], marked: Collection[str]) -> str:
    """Name points: how many of how many, and by way and data the places."""
    places: dict[str, dict[str, str]] = {}
    for point in points:
        way = f"{publication.spec.paths[point.labels['path']].title}, {point.labels['data']} data"
        place = " ".join(point.labels[label] for label in _PLACE if label in point.labels)
        places.setdefault(way, {})[point.key] = place
    parts = []
    for way, by_key in places.items():
        some = [place for key, place in by_key.items() if key in marked]
        if some:
            parts.append(f"{way}: {'all' if len(some) == len(by_key) else ', '.join(some)}")
    return f"{len(marked)} of {len(points)} points: {'; '.join(parts)}"
