"""`gpusim results`: what a store has, run by run, and what is done with it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpusim.base.errors import UserError, nearest
from gpusim.base.extensions import job_kind, job_kinds, load
from gpusim.base.files import write_whole
from gpusim.base.formats import FIXED_2
from gpusim.base.outputs import check_outputs, put
from gpusim.base.progress import Reporter
from gpusim.cli.options import CsvOption, DetailsOption, JsonOption, SectionsOption, StoreFile, several

if TYPE_CHECKING:
    from gpusim.results.report.terminal import PrintOptions
    from gpusim.results.store.reading import StoreReader
    from gpusim.results.store.records import StoredRun
    from gpusim.results.store.sweeps import SweepTable

LISTED = "runs.id AS run, runs.name, runs.kind, runs.title, runs.gpu, runs.state"
_TIMES = """
    (SELECT group_concat(shown, ' / ') FROM (
        SELECT printf('%.1f', value) AS shown FROM subjects JOIN metric_values ON subject = subjects.id
        JOIN metric_names ON metric_names.id = metric AND metric_names.name = 'kernel.time_us'
        WHERE subjects.run = runs.id AND layer IS NULL AND launch IS NULL ORDER BY subjects.id
    )) AS "time us"
"""
_SWEEPS = """
    SELECT sweeps.*, count(runs.id) AS known, coalesce(sum(runs.state = 'failed'), 0) AS failed
    FROM sweeps LEFT JOIN points ON points.sweep = sweeps.id LEFT JOIN runs ON runs.id = run
    GROUP BY sweeps.id ORDER BY sweeps.id
"""


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's number or name; of a sweep: sweep:N.")]


RunKindChoice = Literal["run", "exec", "net", "microbench"]
StateChoice = Literal["done", "partial", "failed"]


@dataclass(frozen=True)
class ListOptions:
    """Filters for the list of stored runs; None or empty: no filter."""

    store: StoreFile = None
    kind: Annotated[RunKindChoice | None, typer.Option("--kind", help="Only runs of this command.")] = None
    state: Annotated[StateChoice | None, typer.Option("--state", help="Only runs that ended so.")] = None
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Only runs with this in name, title or command.")
    ] = None
    having: Annotated[
        list[str], several("--with", "PATH=VALUE", "Only runs whose configuration has this value; repeatable.")
    ] = field(default_factory=list)
    sweep: Annotated[int | None, typer.Option("--sweep", metavar="N", help="Only points of this sweep.")] = None
    last: Annotated[int, typer.Option("--last", metavar="N", min=0, help="The newest N; 0: all.")] = 40
    """Number of newest runs; 0: all."""


def list_(options: ListOptions) -> None:
    """List runs: number, name, what was run, on what, how it ended, its time, when."""
    from gpusim.results.store.reading import open_store

    where, values = _conditions(options)
    source = f"FROM runs JOIN configurations ON hash = configuration WHERE {' AND '.join(where) or '1'}"
    with open_store(options.store) as results:
        ((count,),) = results.rows(f"SELECT count(*) {source}", values).rows
        limit = options.last or count
        sql = f"SELECT {LISTED}, {_TIMES}, started {source} ORDER BY runs.id DESC LIMIT ?"
        found = results.rows(sql, [*values, limit])
        if not count:
            _check_paths(results, options.having)
    found[::-1].table().show(sys.stdout)
    if count > limit:
        print(f"the newest {limit} of {count} runs; --last 0 lists all", file=sys.stderr)
    elif not count:
        print(f"{results.path}: no such run", file=sys.stderr)


def sweeps(store: StoreFile = None) -> None:
    """List sweeps: number, name, title, axes, how many points it has, how many have ended and failed, when."""
    from gpusim.cli.views import CODE, SWEEPS
    from gpusim.results.store.reading import open_store

    with open_store(store) as results:
        found = results.rows(_SWEEPS)
    rows = [{**row, "axes": list(json.loads(row["specification"]).get("axes", {}))} for row in found]
    several = len({row["sources"] for row in rows}) > 1
    (SWEEPS.with_columns(CODE) if several else SWEEPS).table(rows).show(sys.stdout)
    if not rows:
        print(f"{results.path}: no sweep has been stored in it; gpusim sweep runs one", file=sys.stderr)


def show(
    run: RunArgument,
    store: StoreFile = None,
    json_file: JsonOption = None,
    details: DetailsOption = False,
    *,
    sections: SectionsOption,
) -> None:
    """Show a run's result or a sweep's points again, as the command did."""
    from gpusim.results.report.terminal import PrintOptions
    from gpusim.results.store.reading import open_store
    from gpusim.results.store.sweeps import sweep_meant

    wanted = PrintOptions(sections, details)
    wanted.chosen()  # an unknown one is refused before anything is read
    check_outputs({"--json": json_file})
    from gpusim.results.report.document import as_json
    from gpusim.results.store.records import stored_run

    with open_store(store) as results:
        sweep = sweep_meant(results, run)
        if sweep is not None:
            _show_sweep(results.sweep(sweep), json_file, wanted)
            return
        stored = stored_run(results, run)
    if json_file is not None:
        put(json_file, as_json(stored.document()))
        return
    row = stored.row
    lines = {
        "run": stored.label,
        "what": f"{row['kind']}: {row['title']}, on {row['gpu']}",
        "state": row["state"] + (f": {row['error']}" if row["error"] else ""),
        "started": f"{row['started']}, {FIXED_2(row['wall_s'])} s, on {row['host']}",
        "command": f"{row['command']} (in {row['folder']})",
        "code": f"gpusim {row['gpusim']}, sources {row['sources']}",
    }
    for head, text in lines.items():
        print(f"{head:<8} {text}")
    if stored.content:
        print()
        _show_result(stored, wanted)


def delete(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Numbers or names of runs; sweep:N: a sweep with its runs.")
    ],
    store: StoreFile = None,
) -> None:
    """Delete runs with all that is known of them."""
    from gpusim.results.store.edit import delete as deleted
    from gpusim.results.store.project import store_to_read

    path = store_to_read(store)
    count, of_them = deleted(path, runs)
    of_sweeps = f"{of_them} sweep{'s' * (of_them != 1)}, " if of_them else ""
    Reporter().say(f"deleted from {path}: {of_sweeps}{count} run{'s' * (count != 1)}")


def name(
    run: RunArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name; none: it loses its name.")] = None,
    move: Annotated[bool, typer.Option("--move", help="Also when another has the name, which loses it.")] = False,
    store: StoreFile = None,
) -> None:
    """Give a run or a sweep a name, such as 'base', by which `compare`, `show` and `report` find it."""
    from gpusim.results.store.edit import give_name
    from gpusim.results.store.project import store_to_read

    give_name(store_to_read(store), run, name, move)


@dataclass(frozen=True)
class ExportOptions:
    """Options for exporting stored runs."""

    csv_file: CsvOption = None
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the rows as Parquet (extra 'parquet').")
    ] = None
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="This table or view. [default: a row for each run, wide]"),
    ] = None
    metrics: Annotated[
        list[str], several("--metric", "PATH", "Only this metric of the runs; repeatable. [default: all]")
    ] = field(default_factory=list)
    """Metrics with a column in the wide table; empty: all."""
    store: StoreFile = None


def export(options: ExportOptions) -> None:
    """Write runs with their metrics, a column each, or one table of the store, as CSV or Parquet."""
    from gpusim.results.store.project import store_to_read
    from gpusim.results.store.reading import StoreReader

    outputs = {"--csv": options.csv_file, "--parquet": options.parquet}
    if not any(outputs.values()):
        raise UserError("export: --csv FILE or --parquet FILE says what is written")
    if options.table is not None and options.metrics:
        raise UserError(f"--metric {options.metrics[0]}: belongs to the wide table; --table names another")
    path = store_to_read(options.store)
    check_outputs(outputs, [path])
    with StoreReader(path) as results:
        found = results.wide(*options.metrics) if options.table is None else results.table(options.table)
    table = found.table()
    if options.parquet is not None:
        write_whole(options.parquet, table.parquet())
    if options.csv_file is not None:
        put(options.csv_file, table.csv())


def _conditions(options: ListOptions) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    for column, choice in (("kind", options.kind), ("state", options.state)):
        if choice is not None:
            where.append(f"runs.{column} = ?")
            values.append(choice)
    if options.sweep is not None:
        where.append("runs.id IN (SELECT run FROM points WHERE points.sweep = ?)")
        values.append(options.sweep)
    if options.text is not None:
        where.append("(ifnull(runs.name, '') || ' ' || runs.title || ' ' || runs.command) LIKE ? ESCAPE '\\'")
        escaped = options.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values.append(f"%{escaped}%")
    for text in options.having:
        path, value = _path_and_value(text)
        where.append("json_extract(json, ?) IS json_extract(?, '$')")
        values += [path, json.dumps(value)]
    return where, values


def _check_paths(results: "StoreReader", having: Sequence[str]) -> None:
    """Raise UserError for a `--with` whose path no run's configuration has; it names the newest one's nearest."""
    from gpusim.results import metrics

    for text in having:
        path, _ = _path_and_value(text)
        if results.rows("SELECT 1 FROM configurations WHERE json_type(json, ?) IS NOT NULL LIMIT 1", [path]):
            continue
        newest = results.rows("SELECT id FROM runs ORDER BY id DESC LIMIT 1").rows
        known = [known for known, _ in metrics.leaves(results.configuration(newest[0][0]))] if newest else []
        plain = path.removeprefix("$.").replace('"', "")
        guess = nearest(plain, known)
        hint = f"; did you mean '{guess}'?" if guess else ""
        raise UserError(f"--with {text}: no run's configuration has {plain}{hint}")


def _path_and_value(text: str) -> tuple[str, Any]:
    from gpusim.config.tree import parse_set

    try:
        steps, value = parse_set(text)
    except UserError as error:
        raise UserError(str(error).replace("--set", "--with")) from None
    return "$" + "".join(f'."{step}"' for step in steps), value


def _show_sweep(sweep: "SweepTable", json_file: Path | None, wanted: "PrintOptions") -> None:
    """Print the sweep's points, as `gpusim sweep` does, and which is the best."""
    table = sweep.table()
    if wanted.sections or wanted.details:
        raise UserError(f"{sweep.label}: sections are of a run; gpusim compare and report tell more of a sweep")
    if json_file is not None:
        put(json_file, table.json())
        return
    print(f"{sweep.label}: {sweep.title}; {sweep.known} of {sweep.planned} points have ended\n")
    table.show(sys.stdout)
    for line in ("", *sweep.answers()):
        print(line)


def _show_result(stored: "StoredRun", wanted: "PrintOptions") -> None:
    """Print the run's result as the command that made it does."""
    from gpusim.results.report import terminal

    document = stored.document()
    own = job_kind(stored.row["kind"]).show if stored.row["kind"] in job_kinds() else ""
    if own and not (wanted.sections or wanted.details):
        load(own)(document, sys.stdout)
    else:
        terminal.show(document, wanted=wanted)
