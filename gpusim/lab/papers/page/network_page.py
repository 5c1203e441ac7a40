"""The pages of a publication of networks: answers first, then each figure with its claims; a page of tables each."""

from collections.abc import Iterator, Sequence

from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.lab.papers.claims import BESIDE, FAILS, HOLDS, MIXED, STATES, UNASKABLE, UNDECIDED, JudgedClaim
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.kinds import get_figure_kind
from gpusim.lab.papers.network_points import network_points
from gpusim.lab.papers.page.blocks import TOP, Block, BulletList, FigureSlot, Heading, text
from gpusim.lab.papers.page.summary import describe_runs, failures, show_question
from gpusim.lab.papers.rules import describe_rule
from gpusim.lab.papers.specs.figure import Figure
from gpusim.lab.papers.specs.layer_figure import NetworkFigure, RatiosFigure
from gpusim.lab.papers.specs.reproduction import Reproduction


def not_run(reproduction: Reproduction, results: ReproductionResults) -> dict[str, list[str]]:
    """Return the points that have not been run, by figure."""
    found = {}
    for name, figure in reproduction.figures.items():
        if isinstance(figure, NetworkFigure):
            missing = [p.key for p in network_points(reproduction, figure) if p.key not in results.networks]
            if missing:
                found[name] = missing
    return found


def network_page(
    reproduction: Reproduction, results: ReproductionResults, claims: Sequence[JudgedClaim]
) -> Iterator[Block]:
    """Yield the blocks of the page of all."""
    spec = reproduction.spec
    yield Heading(spec.title, TOP)
    yield text(
        f"Made by `gpusim reproduce {reproduction.command}` from [its runs](results.json); no figure here is typed."
    )
    yield from show_question(reproduction, results, claims, None)
    yield from _counts(reproduction, results, claims)
    if results.networks:
        yield text(*describe_runs(results))
        yield _points_table(reproduction, results)
    yield from failures(results)
    for name, figure in reproduction.figures.items():
        yield Heading(f"{name}: {figure.title}")
        yield from _figure(reproduction, name, figure, results, claims)


def _counts(reproduction: Reproduction, results: ReproductionResults, claims: Sequence[JudgedClaim]) -> Iterator[Block]:
    """Yield how many claims hold on each GPU, and what has not been run."""
    counted = []
    for column in reproduction.columns:
        states = [one.verdicts[column].state for one in claims if one.verdicts[column].state != BESIDE]
        counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
        counted.append(f"Of {len(states)} [claims](claims.md) on {column}: {counts}.")
    yield text(*counted)
    missing = not_run(reproduction, results)
    if missing:
        points = list(dict.fromkeys(point for held in missing.values() for point in held))
        yield text(
            f"Not run, and nothing is concluded of it: {', '.join(points)}; `gpusim reproduce {reproduction.command}`"
            " runs what is missing."
        )


def _points_table(reproduction: Reproduction, results: ReproductionResults) -> Table:
    """Make a table of the runs: what each took, which part was simulated, and how far off its time may be."""
    columns = [Column("run"), Column("iteration, ms", "{:,.2f}".format), Column("half-width", percent)]
    columns += [Column("simulated", percent), Column("processor s", "{:,.0f}".format)]
    rows: list[list[object]] = []
    for key, kept in sorted(results.networks.items()):
        whole = next(row for row in kept.rows if row.by == "network" and row.part == "all")
        rows.append([key, whole.metrics["kernel.time_us"] / 1e3, kept.error, kept.fraction, kept.seconds])
    return Table(columns, rows, title="Runs.")


def _figure(
    reproduction: Reproduction, name: str, figure: Figure, results: ReproductionResults, claims: Sequence[JudgedClaim]
) -> Iterator[Block]:
    yield text(f"{figure.source}. {figure.note}".rstrip() + f" [Numbers]({name}.md).")
    kind = get_figure_kind(figure)
    if kind.picture is not None and kind.picture(reproduction, figure, results) is not None:
        yield FigureSlot(name, figure.title)
    if not any(table.rows for table in kind.tables(reproduction, figure, results)):
        yield text(_why_empty(reproduction, name, figure))
    said_ = tuple(_claim(one) for one in claims if one.figure == name)
    if said_:
        yield BulletList(said_)


def _why_empty(reproduction: Reproduction, name: str, figure: Figure) -> str:
    """Say why a figure shows nothing."""
    gpus = len(reproduction.columns)
    needed = max(figure.gpus, default=1) if isinstance(figure, NetworkFigure) else 1
    if isinstance(figure, RatiosFigure) and figure.label == "gpu":
        needed = max(needed, 2)
    if needed > gpus:
        return f"It is of {needed} GPUs, of which {gpus} is named: `--gpu` takes several, such as mi6,r9nano."
    return f"Not run yet: `gpusim reproduce {reproduction.command} --only {name}` runs it."


def _claim(one: JudgedClaim) -> str:
    """Return a claim with its verdicts, as one line."""
    if one.claim.unaskable:
        return f"{one.claim.text}: *{UNASKABLE}*: {one.claim.unaskable}."
    verdicts = []
    for column, verdict in one.verdicts.items():
        if verdict.state == BESIDE:
            continue
        more = f" ({'; '.join(verdict.reasons)})" if verdict.state == UNASKABLE else ""
        found = f" {verdict.ours}" if verdict.state in (HOLDS, MIXED, FAILS, UNDECIDED) else ""
        more += f" (without {', '.join(verdict.without)}: not run)" if verdict.without else ""
        verdicts.append(f"{column} **{verdict.state}**{found}{more}")
    return f"{one.claim.text} (source: {one.claim.said}): {'; '.join(verdicts) or 'no value'}."


def figure_page(
    reproduction: Reproduction, name: str, tables: Sequence[Table], claims: Sequence[JudgedClaim]
) -> Iterator[Block]:
    """Yield the blocks of a figure's page: its rules, and its tables."""
    figure = reproduction.figures[name]
    yield Heading(f"{name}: {figure.title}", TOP)
    yield text(f"{figure.source}. {figure.note}".rstrip() + " [The page of all](README.md).")
    rules = [one for one in claims if one.figure == name and describe_rule(one.claim)]
    if rules:
        yield text("Rules of its claims:")
        yield BulletList(tuple(f"{one.claim.text}: `{describe_rule(one.claim)}`" for one in rules))
    if not any(table.rows for table in tables):
        yield text(_why_empty(reproduction, name, figure))
    yield from (table for table in tables if table.rows)
