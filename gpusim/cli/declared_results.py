"""Commands about a store of results, with their options: `sweep`, `results`, `compare`, `query`."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.cli.options import DetailsOption, JobsOption, JsonOption, LiveOptions, QuietOption, SectionsOption

StoreFile = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE", help="The store. [default: gpusim.toml's, or gpusim.db]"),
]
FreshPoints = Annotated[
    bool, typer.Option("--fresh", help="Run all points, whatever the store has; keep the new runs too.")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's number or name; of a sweep: sweep:N.")]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows as CSV; -: to standard output.")
]


class KindChoice(StrEnum):
    """What `--kind` may be."""

    RUN = "run"
    EXEC = "exec"
    NET = "net"
    MICROBENCH = "microbench"


class StateChoice(StrEnum):
    """What `--state` may be."""

    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True)
class ListOptions:
    """Which runs are listed; None: any. last: so many, the newest; 0: all."""

    store: StoreFile = None
    kind: Annotated[KindChoice | None, typer.Option("--kind", help="Only runs of this command.")] = None
    state: Annotated[StateChoice | None, typer.Option("--state", help="Only runs that ended so.")] = None
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Only runs with this in name, title or command.")
    ] = None
    having: Annotated[
        list[str],
        typer.Option(
            "--with",
            metavar="PATH=VALUE",
            help="Only runs whose configuration has this value; repeatable.",
            default_factory=list,
            show_default=False,
        ),
    ] = field(default_factory=list)
    sweep: Annotated[int | None, typer.Option("--sweep", metavar="N", help="Only points of this sweep.")] = None
    last: Annotated[int, typer.Option("--last", metavar="N", min=0, help="The newest N; 0: all.")] = 40


def list_(options: ListOptions) -> None:
    """List runs: number, name, what was run, on what, how it ended, its time, when."""
    from gpusim.cli.results import list_command

    list_command(options)


def sweeps(store: StoreFile = None) -> None:
    """List sweeps: number, name, title, axes, how many points it has, how many are known and failed, when."""
    from gpusim.cli.results import sweeps_command

    sweeps_command(store)


def show(
    run: RunArgument,
    store: StoreFile = None,
    json_file: JsonOption = None,
    details: DetailsOption = False,
    *,
    sections: SectionsOption,
) -> None:
    """Show a run's result or a sweep's points again, as the command did."""
    from gpusim.cli.results import show_command

    show_command(run, store, json_file, details, sections)


def delete(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Numbers or names of runs; sweep:N: a sweep with its runs.")
    ],
    store: StoreFile = None,
) -> None:
    """Delete runs with all that is known of them."""
    from gpusim.cli.results import delete_command

    delete_command(runs, store)


def name(
    run: RunArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name; none: it loses its name.")] = None,
    move: Annotated[bool, typer.Option("--move", help="Also when another has the name, which loses it.")] = False,
    store: StoreFile = None,
) -> None:
    """Give a run or a sweep a name, such as 'base', by which `compare`, `show` and `report` find it."""
    from gpusim.cli.results import name_command

    name_command(run, name, move, store)


def _metrics(help: str) -> Any:
    """`--metric`. help: what it chooses, and what is chosen without it."""
    return typer.Option("--metric", metavar="PATH", help=help, default_factory=list, show_default=False)


@dataclass(frozen=True)
class ExportOptions:
    """What is exported, and where to. metrics: columns of the wide table, all if empty."""

    csv_file: CsvOption = None
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the rows as Parquet (extra 'parquet').")
    ] = None
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="This table or view. [default: a row for each run, wide]"),
    ] = None
    metrics: Annotated[list[str], _metrics("Only this metric of the runs; repeatable. [default: all]")] = field(
        default_factory=list
    )
    store: StoreFile = None


def export(options: ExportOptions) -> None:
    """Write runs with their metrics, a column each, or one table of the store, as CSV or Parquet."""
    from gpusim.cli.results import export_command

    export_command(options)


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; docs/results.md lists the tables.")],
    store: StoreFile = None,
    json_file: JsonOption = None,
    csv_file: CsvOption = None,
) -> None:
    """Ask the store in SQL; nothing can be changed."""
    from gpusim.cli.results import query_command

    query_command(sql, store, json_file, csv_file)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...",
            help="Numbers or names of runs, or JSON files of --json; RUN:PART is one variant; sweep:N a whole sweep.",
        ),
    ],
    store: StoreFile = None,
    json_file: JsonOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Print all parts and all changes.")] = False,
) -> None:
    """Set runs, or whole sweeps, beside the first: times, what changed most, and what moved with it."""
    from gpusim.cli.compare import compare_command

    compare_command(runs, store, json_file, everything)


def _objective(name: str, how: str) -> Any:
    return typer.Option(
        name,
        metavar="WHAT",
        help=f"A metric, a path of the configuration, or a sum of such that is to be {how}; repeatable.",
        default_factory=list,
        show_default=False,
    )


class MethodChoice(StrEnum):
    """What `--method` may be."""

    GRID = "grid"
    ZIP = "zip"
    RANDOM = "random"
    SOBOL = "sobol"
    SEARCH = "search"


@dataclass(frozen=True)
class SweepOptions:
    """What is varied beside what the file says, where it runs, where it is kept. None: what the file says."""

    sets: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="PATH=A,B,…",
            help="Vary a value over these, or fix it to one; repeatable.",
            default_factory=list,
            show_default=False,
        ),
    ] = field(default_factory=list)
    method: Annotated[MethodChoice | None, typer.Option("--method", help="How points are chosen.")] = None
    points: Annotated[
        int | None, typer.Option("--points", metavar="N", min=1, help="How many: random, sobol, search.")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Of random, sobol, search.")] = None
    minimize: Annotated[list[str], _objective("--minimize", "small")] = field(default_factory=list)
    maximize: Annotated[list[str], _objective("--maximize", "large")] = field(default_factory=list)
    jobs: JobsOption = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run the points on the workers of this Dask scheduler, such as tcp://host:8786 (extra 'cluster').",
        ),
    ] = None
    storing: StoreFile = None
    fresh: FreshPoints = False
    retry: Annotated[bool, typer.Option("--retry", help="Run points again that failed before.")] = False
    metrics: Annotated[
        list[str], _metrics("Metric in the table; repeatable. [default: kernel.cycles, kernel.time_us]")
    ] = field(default_factory=list)
    csv_file: CsvOption = None
    listed: Annotated[bool, typer.Option("--list", help="List the points and exit.")] = False
    quiet: QuietOption = False


def sweep(
    file: Annotated[
        str, typer.Argument(metavar="SWEEP", help="A sweep's file, or a configuration that --set varies (layerB).")
    ],
    options: SweepOptions,
    live: LiveOptions,
) -> None:
    """Run a configuration with values varied, on all cores; stored point by point, so that it can go on later."""
    from gpusim.cli.sweep import sweep_command

    raise typer.Exit(sweep_command(file, options, live))


@dataclass(frozen=True)
class ReproduceOptions:
    """What of a publication is run, how, and where it is written. out: None: a folder of the publication's name."""

    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="FIGURE",
            help="Only this figure or table (6.16); repeatable. [default: all]",
            default_factory=list,
            show_default=False,
        ),
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
) -> None:
    """Run the points of a publication's figures, and set what it says beside what is found."""
    from gpusim.cli.reproduce import reproduce_command

    raise typer.Exit(reproduce_command(name, options, live))
