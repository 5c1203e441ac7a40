"""What it comes to: how it was run, how many claims hold, what failed, and the means that answer whether it pays."""

from collections.abc import Iterator, Mapping, Sequence

from gpusim.base.progress import clock, percent
from gpusim.base.sums import plain_sum
from gpusim.base.table import Column, Table
from gpusim.lab.papers.claims import BESIDE, STATES, JudgedClaim
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.kinds.compared import engine_share
from gpusim.lab.papers.page.answers import answer_question, question
from gpusim.lab.papers.page.blocks import Block, BulletList, Heading, text
from gpusim.lab.papers.page.marks import find_outdated_points
from gpusim.lab.papers.points import is_known
from gpusim.lab.papers.specs.figure import ComparisonFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import groups, limit_of, mean_of, measured, times


def show_question(
    reproduction: Reproduction, results: ReproductionResults, claims: Sequence[JudgedClaim], first: Table | None
) -> Iterator[Block]:
    """Yield the question, the table that decides it, and the sentences that answer it. first: that table."""
    if reproduction.spec.question:
        yield Heading(question(reproduction))
    if first is not None:
        yield first
    said = answer_question(reproduction, results, claims)
    if said:
        yield BulletList(tuple(said))


def first_table(
    reproduction: Reproduction, results: ReproductionResults, tables: Mapping[str, Sequence[Table]]
) -> Table | None:
    """Return the table that stands first: the first figure's, where it sets ways beside one another and any has run."""
    name, figure = next(iter(reproduction.figures.items()))
    if not isinstance(figure, ComparisonFigure) or figure.normalized_to is None:
        return None
    return tables[name][0] if is_known(reproduction, figure, results.points, some=True) else None


def summary(reproduction: Reproduction, results: ReproductionResults, claims: Sequence[JudgedClaim]) -> Iterator[Block]:
    """Yield how it was run, how many claims hold, the means of all figures, and what failed."""
    yield text(*describe_runs(results))
    counted = []
    for name, one in reproduction.spec.comparisons.items():
        states = [claim.verdicts[name].state for claim in claims if claim.verdicts[name].state != BESIDE]
        said = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
        counted.append(f"Of {len(states)} [claims](claims.md), {one.title}: {said}.")
    yield text(*counted)
    yield _means(reproduction, results)
    yield from failures(results)


def failures(results: ReproductionResults) -> Iterator[Block]:
    """Yield the points that failed, with their errors."""
    if results.errors:
        yield text("Points that failed:")
        yield BulletList(tuple(f"{key}: {error}" for key, error in results.errors.items()))


def describe_runs(results: ReproductionResults) -> Iterator[str]:
    """Yield lines that say how the runs were made, and what they took."""
    points = results.runs.values()
    seconds = plain_sum(one.seconds for one in points)
    whole = plain_sum(one.seconds / one.fraction for one in points if one.fraction)
    sampled = sum(one.fraction < 1 for one in points)
    counted = f"{len(points)} run{'s' * (len(points) != 1)}"
    yield (
        f"{counted}, {sampled} of them sampled, took {clock(seconds)} (m:ss) of one process;"
        f" in whole all would take about {clock(whole)}."
    )
    others = len(find_outdated_points(results))
    if others:
        yield f"{others} of them are by other sources, and named below the tables of their figures."
    if results.said:
        yield "Last run: " + "; ".join(f"{name} {value}" for name, value in results.said.items()) + "."


def _means(reproduction: Reproduction, results: ReproductionResults) -> Table:
    """Make a table of each figure of speed-ups: means by comparison, of the engine's share, zeros and their limit."""
    comparisons = reproduction.spec.comparisons.values()
    columns = [Column("figure"), Column("data"), Column("points"), Column("zeros", percent)]
    columns += [Column("limit 1/(1-s)", times), *(Column(one.title, times) for one in comparisons)]
    columns += [Column("the engine's own share", times)]
    rows: list[list[object]] = []
    for name, figure in reproduction.figures.items():
        if not isinstance(figure, ComparisonFigure) or "speedup" not in figure.measures:
            continue
        held = list(groups(reproduction, figure, results))
        for data in figure.data:
            some = [group for group in held if group.data == data and group.zeros is not None]
            zeros = [group.zeros for group in some]
            gains = [[measured(g, "speedup", one.path, one.base) for g in some] for one in comparisons]
            shares = [engine_share(reproduction, group) for group in some]
            limits = [None if share is None else limit_of(share) for share in zeros]
            counts = [group.count for group in some]
            means = [mean_of(zip(numbers, counts, strict=True)) for numbers in (zeros, limits, *gains, shares)]
            rows.append([name, data, len(some), *means])
    return Table(columns, rows, title="Mean speed-ups.")
