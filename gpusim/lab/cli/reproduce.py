"""`gpusim reproduce`: a publication's figures and claims, from runs in a store."""

import math
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, MissingExtraError, UserError
from gpusim.base.formats import GROUPED_0, duration
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import check_outputs
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter
from gpusim.base.table import Table, columns
from gpusim.base.version import __version__
from gpusim.cli.options import FreshPoints, JobsOption, LiveOptions, QuietOption, StoreFile, several
from gpusim.lab.cli.ages import AgeOptions, show_ages

if TYPE_CHECKING:
    from gpusim.lab.papers.network_points import PointSelection
    from gpusim.lab.papers.page.markdown import Block
    from gpusim.lab.papers.publication import Figure, Reproduction
    from gpusim.lab.papers.records import ReproductionResults

EXIT_SOME_FAILED = 1


@dataclass(frozen=True)
class ReproduceOptions:
    """Options for reproducing a publication."""

    only: Annotated[
        list[str], several("--only", "FIGURE", "Only this figure or table (6.16); repeatable. [default: all]")
    ] = field(default_factory=list)
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="NETWORK",
            help="Of a publication of networks: this one of its own, or a file's instead.",
        ),
    ] = None
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="A,B", help="The same: these GPUs of its own, or files' instead.")
    ] = None
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="N,M", help="The same: these batches of its own, or others instead."),
    ] = None
    listed: Annotated[
        bool,
        typer.Option("--estimate", "--list", help="List figures, their points, and what those that lack would cost."),
    ] = False
    exact: Annotated[
        bool, typer.Option("--full", "--exact", help="Simulate in whole, and compare products' results with NumPy's.")
    ] = False
    jobs: JobsOption = None
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write pictures, CSV files and claims here. [default: its name]"),
    ] = None
    """Output folder; None: a folder with the publication's name."""
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write page, pictures and claims as one HTML file too."),
    ] = None
    draw: Annotated[
        bool, typer.Option("--draw", help="Run nothing: make tables and pictures of what the folder has.")
    ] = False
    check_claims: Annotated[
        bool,
        typer.Option(
            "--check-claims",
            help="Run nothing: list the claims that no run can refute, and what would decide the undecided ones, by"
            " what the folder has; exit code 1 if there are any that no run can refute.",
        ),
    ] = False
    storing: StoreFile = None
    fresh: FreshPoints = False
    quiet: QuietOption = False


def reproduce(
    options: ReproduceOptions,
    ages: AgeOptions,
    live: LiveOptions,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PUBLICATION",
            help="A publication's file, or the name of a shipped one (accuracy, bcm, dnnmark, icpe2018, layerwise,"
            " matrix-cores, spartan, spartan-networks, training-phase, transformers). With --stale, --renew, --check,"
            " --prove and --table: a recording; all by default.",
        ),
    ] = None,
) -> int:
    """Run the points of a publication's figures, and set what it says beside what is found."""
    from gpusim.lab.papers.figures.layers import metric_paths
    from gpusim.lab.papers.figures.reading import load_reproduction
    from gpusim.lab.papers.own import select_publication
    from gpusim.lab.papers.records import load
    from gpusim.results.live.view import live_view
    from gpusim.results.store.project import store_to_read

    if ages.is_asked:
        jobs, store = options.jobs or default_jobs(), store_to_read(options.storing)
        return show_ages([] if name is None else [name], ages, store, jobs, Reporter(options.quiet))
    if name is None:
        raise UserError("PUBLICATION: is missing; only --stale, --renew, --check, --prove and --table do without")
    gpus, batches = _words(options.gpu), _numbers(options.batch)
    reproduction, asked = select_publication(load_reproduction(name), options.network, gpus, batches)
    metric_paths(reproduction)  # checked before anything runs
    figures = reproduction.chosen(options.only)
    if options.listed:
        _list(reproduction, figures, options.exact, asked, store_to_read(options.storing), Reporter(options.quiet))
        return 0
    where = options.out or Path(reproduction.name)
    if options.check_claims:
        return _check_claims(reproduction, load(where, reproduction.name))
    reporter = Reporter(options.quiet)
    if options.draw:
        check_outputs({"--html": options.html})
        _write(reproduction, load(where, reproduction.name), figures, where, options, reporter)
        return 0
    store = store_to_read(options.storing)
    check_outputs({"--store": store, "--html": options.html})
    with live_view(live.live, f"reproduce {reproduction.name}", reporter):
        return _run(reproduction, figures, store, where, options, reporter, asked)


def _words(text: str | None) -> list[str]:
    """Return the words of a list with commas; raise UserError for an empty one."""
    words = [] if text is None else [word.strip() for word in text.split(",")]
    if "" in words:
        raise UserError(f"--gpu {text!r}: a name is missing; expected such as mi6,r9nano")
    return words


def _numbers(text: str | None) -> list[int]:
    """Return the numbers of a list with commas; raise UserError for what is none."""
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise UserError(f"--batch {text!r}: '{word}' is no batch; expected numbers such as 16,64,128")
    return [int(word) for word in words]


def _check_claims(reproduction: "Reproduction", results: "ReproductionResults") -> int:
    from gpusim.lab.papers.publication import Publication
    from gpusim.lab.papers.refutation import check_claims

    check = check_claims(Publication(reproduction, results))
    for table in check.tables(reproduction.columns):
        if table.rows:
            table.show(sys.stdout)
    print(f"{len(check.irrefutable)} claims that no run can refute, {len(check.undecided)} undecided")
    return EXIT_SOME_FAILED if check.irrefutable else 0


def _list(
    reproduction: "Reproduction",
    figures: "Mapping[str, Figure]",
    exact: bool,
    asked: "PointSelection",
    store: Path,
    reporter: Reporter,
) -> None:
    from gpusim.lab.papers.costs import plan_costs
    from gpusim.lab.papers.plan import plan_points

    plan = plan_points(reproduction, figures, exact, asked)
    costs = plan_costs(plan, store, reporter)

    def row(name: str, keys: Sequence[str], what: str) -> tuple[Any, ...]:
        lacking = costs.of(keys)
        cycles = math.fsum(one.cycles for one in lacking)
        memory = max((one.memory_mb for one in lacking), default=0.0)
        return name, len(keys), len(lacking), duration(costs.seconds(keys)), GROUPED_0(cycles), GROUPED_0(memory), what

    rows = [row(name, plan.by_figure[name], figure.title) for name, figure in figures.items()]
    rows.append(row("all, what is equal once", list(plan.points), ""))
    heads = columns("figure", "points", "lacking", "estimated, one process", "cycles", "memory MB", "what")
    Table(heads, rows, notes=[*costs.notes, "nothing was run"]).show(sys.stdout)


def _run(
    reproduction: "Reproduction",
    figures: "Mapping[str, Figure]",
    store: Path,
    where: Path,
    options: ReproduceOptions,
    reporter: Reporter,
    asked: "PointSelection",
) -> int:
    from gpusim.lab.papers.figures.layers import metric_paths
    from gpusim.lab.papers.network_points import PointSelection
    from gpusim.lab.papers.plan import plan_points
    from gpusim.lab.papers.records import FILE, ReproductionResults, load
    from gpusim.lab.papers.running import PlanRunner, collected
    from gpusim.results.store.keeper import StoreWriter  # imports what runs kernels: up to a second
    from gpusim.study.sweep.executor import LocalProcesses

    jobs = options.jobs if options.jobs is not None else default_jobs()
    plan = plan_points(reproduction, figures, options.exact, asked)
    known = load(where, reproduction.name) if (where / FILE).exists() else ReproductionResults(reproduction.name, {})
    with StoreWriter(store, options.fresh) as keeper, Interrupt() as interrupt:
        interrupt.deferred = True
        ran = PlanRunner(keeper, LocalProcesses(jobs, reporter), reporter, interrupt).run(plan)
        interrupt.deferred = False
    sentence = ran.sentence(len(plan.points))
    values = {
        "gpusim": __version__,
        "jobs": jobs,
        "points": sentence,
        "simulated": "in whole" if options.exact else "sampled",
    }
    whole = (
        plan
        if not options.only and asked == PointSelection()
        else plan_points(reproduction, reproduction.figures, options.exact)
    )
    # what was not to be run, or cannot be here, stays as it was
    others = whole.points.keys() - plan.points.keys() | ran.left_out.keys()
    earlier = ReproductionResults(
        reproduction.name,
        {key: point for key, point in known.points.items() if key in others},
        networks={key: point for key, point in known.networks.items() if key in others},
    )
    with StoreWriter(store) as keeper:
        results = collected(reproduction.name, whole, keeper, ran.errors, values, earlier, metric_paths(reproduction))
    _write(reproduction, results, figures, where, options, reporter)
    reporter.say(sentence)
    if interrupt.asked:
        reporter.say(f"{interrupt.reason}: the same command goes on")
        return EXIT_INTERRUPTED
    for key, error in ran.errors.items():
        reporter.say_if_quiet(f"gpusim: {key}: {error}")
    return EXIT_SOME_FAILED if ran.errors else 0


def _write(
    reproduction: "Reproduction",
    results: "ReproductionResults",
    figures: "Mapping[str, Figure]",
    where: Path,
    options: ReproduceOptions,
    reporter: Reporter,
) -> None:
    """Write the folder's files, and print what they come to. Where nothing was to be run, pictures are what is wanted,
    and Matplotlib's absence is an error.
    """
    from gpusim.base.files import write_together
    from gpusim.lab.papers.page.writing import RenderedPublication, write
    from gpusim.lab.papers.publication import Publication

    rendered = RenderedPublication(Publication(reproduction, results))
    files: dict[str, str | bytes] = {**rendered.files(figures)}
    page: dict[Path, str | bytes] = {}
    try:
        files |= rendered.drawings(figures)
        if options.html is not None:
            page[options.html] = rendered.html()
    except MissingExtraError as error:
        if options.draw or options.html is not None:
            raise
        reporter.say(f"no pictures: {error}; --draw --out {where} draws them later, or elsewhere")
    write(where, files)
    write_together(page)
    _print(rendered.screen(figures))
    reporter.say(f"{len(files)} files of {len(results.runs)} runs in {where}{f', {options.html}' if page else ''}")


def _print(blocks: "Iterable[Block]") -> None:
    """Print headings, sentences and tables."""
    from gpusim.lab.papers.page.markdown import plain

    for block in blocks:
        if isinstance(block, Table) and block.rows:
            block.show(sys.stdout)
        elif isinstance(block, str):
            for line in block.splitlines():
                words, is_item = plain(line), line.startswith("- ")
                print(textwrap.fill(words, 100, initial_indent="- ", subsequent_indent="  ") if is_item else words)
