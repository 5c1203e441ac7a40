"""`gpusim query`: the store asked in SQL."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.outputs import check_outputs, put
from gpusim.cli.options import CsvOption, JsonOption, StoreFile

if TYPE_CHECKING:
    from gpusim.store.table import Table


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
        put(json_file, listing.as_json(found.columns, found.rows))
    if csv_file is not None:
        put(csv_file, listing.as_csv(found.columns, found.rows))
    if json_file is None and csv_file is None:
        listing.show(found.columns, found.rows, sys.stdout)
