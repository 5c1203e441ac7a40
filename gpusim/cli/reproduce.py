"""`gpusim reproduce`: a publication's figures and claims, from runs in a store."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, MissingExtraError
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import check_outputs
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter, clock
from gpusim.base.table import Table, columns
from gpusim.base.version import __version__
from gpusim.cli.options import FreshPoints, JobsOption, LiveOptions, QuietOption, StoreFile, several

if TYPE_CHECKING:
    from gpusim.config.figure import Figure
    from gpusim.config.reproduction import Reproduction
    from gpusim.reproduce.kept import Results

EXIT_SOME_FAILED = 1


@dataclass(frozen=True)
class ReproduceOptions:
    """What of a publication is run, how, and where it is written. out: None: a folder of the publication's name."""

    only: Annotated[
        list[str],
        several("--only", "FIGURE", "Only this figure or table (6.16); repeatable. [default: all]"),
    ] = field(default_factory=list)
    listed: Annotated[
        bool, typer.Option("--list", help="List figures, their points and what they may cost, and exit.")
    ] = False
    exact: Annotated[bool, typer.Option("--exact", help="Simulate in whole and compare results with NumPy's.")] = False
    jobs: JobsOption = None
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write pictures, CSV files and claims here. [default: its name]"),
    ] = None
    draw: Annotated[
        bool, typer.Option("--draw", help="Run nothing: make tables and pictures of what the folder has.")
    ] = False
    storing: StoreFile = None
    fresh: FreshPoints = False
    quiet: QuietOption = False


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="PUBLICATION", help="A publication's file, or the name of a shipped one (spartan).")
    ],
    options: ReproduceOptions,
    live: LiveOptions,
) -> int:
    """Run the points of a publication's figures, and set what it says beside what is found."""
    from gpusim.config.reproduction import load_reproduction
    from gpusim.live.view import live_view
    from gpusim.reproduce.kept import load
    from gpusim.store.project import store_to_read

    reproduction = load_reproduction(name)
    figures = reproduction.chosen(options.only)
    if options.listed:
        _list(reproduction, figures, options.exact)
        return 0
    where = options.out or Path(reproduction.name)
    reporter = Reporter(options.quiet)
    if options.draw:
        _write(reproduction, load(where, reproduction.name), figures, where, reporter, drawn=True)
        return 0
    store = store_to_read(options.storing)
    check_outputs({"--store": store})
    with live_view(live.live, f"reproduce {reproduction.name}", reporter):
        return _run(reproduction, figures, store, where, options, reporter)


def _list(reproduction: "Reproduction", figures: "Mapping[str, Figure]", exact: bool) -> None:
    from gpusim.reproduce.plan import plan_of

    plan = plan_of(reproduction, figures, exact)
    rows: list[Sequence[Any]] = [
        (name, len(plan.by_figure[name]), clock(plan.seconds(name)), figure.title) for name, figure in figures.items()
    ]
    rows.append(("all, each point once", len(plan.points), clock(plan.seconds()), ""))
    Table(columns("figure", "points", "estimated m:ss of one process", "what"), rows).show(sys.stdout)


def _run(
    reproduction: "Reproduction",
    figures: "Mapping[str, Figure]",
    store: Path,
    where: Path,
    options: ReproduceOptions,
    reporter: Reporter,
) -> int:
    from gpusim.reproduce.kept import FILE, load
    from gpusim.reproduce.plan import plan_of
    from gpusim.reproduce.running import Running, collected
    from gpusim.store.keeper import Keeper  # imports what runs kernels: up to a second
    from gpusim.store.work import sources_hash
    from gpusim.sweep.executor import LocalProcesses

    jobs = options.jobs if options.jobs is not None else default_jobs()
    plan = plan_of(reproduction, figures, options.exact)
    known = load(where, reproduction.name).points if (where / FILE).exists() else {}
    with Keeper(store, options.fresh) as keeper, Interrupt() as interrupt:
        interrupt.deferred = True
        ran = Running(keeper, LocalProcesses(jobs, reporter), reporter, interrupt).run(plan)
        interrupt.deferred = False
    sentence = ran.sentence(len(plan.points))
    said = {
        "gpusim": __version__,
        "sources": sources_hash(),
        "jobs": jobs,
        "points": sentence,
        "simulated": "in whole" if options.exact else "sampled",
    }
    whole = plan if not options.only else plan_of(reproduction, reproduction.figures, options.exact)
    # what was not to be run, or cannot be here, stays as it was
    others = whole.points.keys() - plan.points.keys() | ran.left_out.keys()
    earlier = {key: point for key, point in known.items() if key in others}
    with Keeper(store) as keeper:
        results = collected(reproduction.name, whole, keeper, ran.errors, said, earlier)
    _write(reproduction, results, figures, where, reporter, drawn=False)
    reporter.say(sentence)
    if interrupt.asked:
        reporter.say(f"{interrupt.reason}: the same command goes on")
        return EXIT_INTERRUPTED
    return EXIT_SOME_FAILED if ran.errors else 0


def _write(
    reproduction: "Reproduction",
    results: "Results",
    figures: "Mapping[str, Figure]",
    where: Path,
    reporter: Reporter,
    drawn: bool,
) -> None:
    """Write the folder's files. drawn: the pictures are wanted, and Matplotlib's absence is an error."""
    from gpusim.reproduce.page.writing import contents, pictures, write

    files: dict[str, str | bytes] = {**contents(reproduction, results, figures)}
    try:
        files |= pictures(reproduction, results, figures)
    except MissingExtraError as error:
        if drawn:
            raise
        reporter.say(f"no pictures: {error}; --draw --out {where} draws them later, or elsewhere")
    write(where, files)
    reporter.say(f"{len(files)} files of {len(results.points)} runs in {where}")
