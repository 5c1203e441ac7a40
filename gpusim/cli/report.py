"""`gpusim report`: results as one HTML page, and its pictures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import folder, write_together
from gpusim.base.launch_selector import LaunchSelector, parse_selector
from gpusim.base.outputs import check_outputs
from gpusim.base.picture import require_matplotlib
from gpusim.base.plain_data import read_json
from gpusim.base.progress import Reporter
from gpusim.cli.figure import FigureOptions, check, figure_files
from gpusim.cli.options import QuietOption, StoreFile, several

if TYPE_CHECKING:
    from gpusim.results.report.result import Result
    from gpusim.results.report.sweeps.points import SweepData
    from gpusim.results.store.reading import StoreReader
    from gpusim.results.store.sweeps import SweepTable

MOST_BYTES = 256 << 20  # of a result's file: read whole


class PictureKind(StrEnum):
    """Formats of a picture's file; of repeated options Typer knows no literals."""

    SVG = "svg"
    PNG = "png"
    PDF = "pdf"
    CSV = "csv"


def report(
    *,
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="[RESULT]...",
            help="Files that --json has written; runs of a store, by number or name; sweep:N: those of a sweep.",
            default_factory=list,
            show_default=False,
        ),
    ],
    sweep: Annotated[
        str | None, typer.Option(metavar="N", help="All points that have run of a store's sweep: the same as sweep:N.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page. [default: report.html, with --figure none]")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write pictures here too: a result's, or what compares several.")
    ] = None,
    picture: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these pictures: stalls, r2-stalls (of the second result), heat-map."),
    ] = None,
    kind: Annotated[
        list[PictureKind] | None, typer.Option("--format", help="Of these pictures; csv: their numbers. [default: svg]")
    ] = None,
    chosen: FigureOptions,
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with the kernels' sources: lines beside hot spots.")
    ] = None,
    only: Annotated[
        list[str],
        several(
            "--only",
            "CONDITION",
            "Of programs only such launches: kernel=REGEX, launch=FIRST-LAST, stream=NUMBER; repeatable.",
        ),
    ],
    store: StoreFile = None,
    quiet: QuietOption = False,
) -> int:
    """Make one HTML page of results that works offline: sections, rules, pictures, tables (needs Matplotlib).

    Of a sweep also a figure by choice: --figure with --x, --y, --by, --metric, --at, --baseline, --draw and --style.
    """
    from gpusim.results.store.sweeps import PREFIX

    names = [*results, *([PREFIX + sweep] if sweep is not None else ())]
    if not names:
        raise UserError("RESULT: a file, a run of a store, or a sweep (sweep:N) is needed")
    files = [Path(name) for name in names if _is_file(name)]
    if pictures is None and (picture or kind):
        raise UserError("--picture, --format: say with --pictures DIR where the files go")
    check(chosen)
    selector = parse_selector("--only", only)
    if only and chosen.figure is not None:
        raise UserError("--only: launches are selected for a program's page; --figure draws points of sweeps")
    page_file = html or (Path("report.html") if chosen.figure is None else None)
    check_outputs({"--html": page_file, "--figure": chosen.figure}, files)
    require_matplotlib("report", "")
    reporter = Reporter(quiet)
    written = figure_files(names, chosen, store)
    for path in written:
        reporter.say(f"{path}: the figure{' in numbers' * (path.suffix == '.csv')}")
    if page_file is not None:
        read_results = _read(names, store, selector)
        written |= _page(names, read_results, page_file, pictures, picture or (), kind or (), source, reporter)
    write_together(written)
    return 0


def _page(
    names: Sequence[str],
    read_results: "tuple[dict[str, Result], SweepData | None]",
    html: Path,
    pictures: Path | None,
    wanted: Sequence[str],
    kinds: Sequence[PictureKind],
    source: Path | None,
    reporter: Reporter,
) -> dict[Path, str | bytes]:
    """Return the page and its pictures, by their files."""
    from gpusim.results.report.page.page import page, picture_files, select_detailed

    results, swept = read_results
    if swept is None and len(results) > 1:
        reporter.say(
            f"{html}: {len(results)} results are drawn, {len(select_detailed(results))} of them with their sections"
        )
    suffixes = [f".{one}" for one in kinds or ("svg",)]
    made = {} if pictures is None else picture_files(results, wanted, suffixes, swept)
    written: dict[Path, str | bytes] = {html: page(results, _lines(source), reporter.say, swept)}
    if pictures is not None:
        held = folder(pictures)
        written |= {held / name: content for name, content in made.items()}
        files = [Path(name) for name in names if _is_file(name)]
        check_outputs({f"--pictures {path.name}": path for path in written if path != html}, files)
        reporter.say(f"{pictures}: {', '.join(made)}")
    what = f"{len(results)} result{'s' * (len(results) != 1)}" if swept is None else f"{len(swept.places)} points"
    reporter.say(f"{html}: {what}")
    return written


def _is_file(name: str) -> bool:
    """Tell whether a result is a file, not a run of a store; a name with a folder or with .json at its end is."""
    return Path(name).exists() or Path(name).name != name or Path(name).suffix == ".json"


def _read(
    names: Sequence[str], store: str | None, selector: LaunchSelector
) -> "tuple[dict[str, Result], SweepData | None]":
    """Read results, by what the page calls them: files' names, with folders if two are the same, and runs.

    Of a sweep alone also its points, of which the results are the best. selector: selects launches of each result.
    """
    from gpusim.results.report.page.page import select_detailed
    from gpusim.results.report.result import read
    from gpusim.results.report.selected import select_launches
    from gpusim.results.store.reading import StoreReader, open_store
    from gpusim.results.store.records import stored_run
    from gpusim.results.store.sweeps import sweep_meant

    if len(names) == 1 and not _is_file(names[0]):
        with open_store(store) as stored_results:
            number = sweep_meant(stored_results, names[0])
            if number is not None and selector.conditions:
                raise UserError(f"{names[0]}: --only: launches are selected in results of programs, not in a sweep")
            if number is not None:
                return _read_sweep(stored_results, number)
    short = [Path(name).name for name in names]
    documents: dict[str, Result] = {}
    brief: dict[str, str] = {}  # results of which not all has been read → their runs

    def take(label: str, source: str, document: Any) -> None:
        if label in documents:
            raise UserError(f"{source}: is named twice")
        documents[label] = read(document, source)
        if selector.conditions:
            documents[label] = read(select_launches(document, selector, source))

    with ExitStack() as stack:
        results: StoreReader | None = None
        for name in names:
            if _is_file(name):
                label = Path(name).name if short.count(Path(name).name) == 1 else name
                take(label, name, read_json(Path(name), MOST_BYTES))
                continue
            results = results or stack.enter_context(open_store(store))
            sweep = sweep_meant(results, name)
            if sweep is None:
                stored = stored_run(results, name)
                take(f"run {stored.label}", f"run {stored.label}", stored.document())
                continue
            for label, run, document in _points(results, sweep):
                take(label, label, document)
                brief[label] = run
        for label in brief.keys() & select_detailed(documents).keys():
            assert results is not None
            documents[label] = read(stored_run(results, brief[label]).document(), label)
    return documents, None


def _read_sweep(results: "StoreReader", number: int) -> "tuple[dict[str, Result], SweepData]":
    """Return a sweep's points, and the results of the best design's runs."""
    from gpusim.results.report.page.sweep import COMPARED, best_runs
    from gpusim.results.report.result import read
    from gpusim.results.store.records import stored_run
    from gpusim.results.store.sweep_points import swept

    found = swept(results, number, [path for path in COMPARED if path in results.known_metrics()])
    if not found.places:
        raise UserError(f"{found.label}: none of its points has ended")
    labels = best_runs(found)
    runs = {label: label.rpartition(" ")[2].strip("()") for label in labels}
    return {label: read(stored_run(results, run).document(), label) for label, run in runs.items()}, found


def _points(results: "StoreReader", sweep: int) -> Iterator[tuple[str, str, Any]]:
    """Yield label, run and JSON object of a sweep's points that have ended, each run once; raises UserError.

    The object has what is compared, which the store has by metrics: that of a network is whole.
    """
    from gpusim.results.report.page.sweep import COMPARED
    from gpusim.results.store.records import stored_run

    known = set(results.known_metrics())
    table = results.sweep(sweep, *(path for path in COMPARED if path in known))
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in table:
        if row["state"] == "done":
            rows.setdefault(row["run"], [])
            if not any(held["variant"] == row["variant"] for held in rows[row["run"]]):
                rows[row["run"]].append(row)
    if not rows:
        raise UserError(f"{table.label}: none of its points has ended")
    asked = "SELECT id, name, kind FROM runs JOIN points ON run = id WHERE points.sweep = ?"
    known_as = {run: (name, kind) for run, name, kind in results.rows(asked, [sweep]).rows}
    for run, variants in rows.items():
        name, kind = known_as[run]
        label = f"run {run}" if name is None else f"run {name} ({run})"
        if table.specification.get("net") or not all(row.get("kernel.cycles") for row in variants):
            yield label, str(run), stored_run(results, str(run)).document()
        else:
            yield label, str(run), _brief(results.configuration(run), kind, variants, table)


def _brief(
    configuration: dict[str, Any], kind: str, variants: Sequence[Mapping[str, Any]], table: "SweepTable"
) -> dict[str, Any]:
    """Return the metrics of a table's rows, one of each variant, as a run's JSON object has them."""
    from gpusim.results import metrics

    head = {"schema_version": metrics.SCHEMA_VERSION, "kind": kind, "partial": False, "config": configuration}
    tree_of_run: dict[str, Any] = dict(head)
    for row in variants:
        tree = tree_of_run.setdefault(row["variant"], {}) if row["variant"] else tree_of_run
        for path in table.columns[table.columns.index("variant") + 1 :]:
            group, _, name = path.partition(".")
            if row[path] is not None:
                tree.setdefault(group, {})[name] = row[path]
    return tree_of_run


def _lines(sources: Path | None) -> dict[str, list[str]]:
    """Read the source files of a folder: their lines by the files' names."""
    if sources is None:
        return {}
    if not sources.is_dir():
        raise UserError(f"--source {sources}: is no folder")
    kinds = (".cl", ".hip", ".cpp", ".s", ".h", ".ll")
    found = sorted(path for path in sources.iterdir() if path.suffix in kinds and path.is_file())
    return {path.name: path.read_text(encoding="utf-8", errors="replace").splitlines() for path in found}
