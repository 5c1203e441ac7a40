"""`gpusim results` and `gpusim query`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.files import write_whole
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.cli.options import CsvOption, JsonOption, StoreFile

if TYPE_CHECKING:
    from gpusim.store.table import Table

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


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; docs/results.md lists the tables.")],
    store: StoreFile = None,
    json_file: JsonOption = None,
    csv_file: CsvOption = None,
) -> None:
    """Ask the store in SQL; nothing can be changed."""
    from gpusim.report import listing
    from gpusim.store.project import store_to_read
    from gpusim.store.reading import Results

    path = store_to_read(store)
    check_outputs({"--json": json_file, "--csv": csv_file}, [path])
    with Results(path) as results:
        found: Table = results.query(sql)
    if json_file is not None:
        _put(json_file, listing.as_json(found.columns, found.rows))
    if csv_file is not None:
        _put(csv_file, listing.as_csv(found.columns, found.rows))
    if json_file is None and csv_file is None:
        listing.show(found.columns, found.rows, sys.stdout)


def _put(file: Path, text: str) -> None:
    if file == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_whole(file, text)
