"""`gpusim query`: the store asked in SQL."""

import sys
from typing import Annotated

import typer

from gpusim.base.outputs import check_outputs, put
from gpusim.cli.options import CsvOption, JsonOption, StoreFile


def query(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT; docs/how-to/stored-results.md lists the tables.")
    ],
    store: StoreFile = None,
    json_file: JsonOption = None,
    csv_file: CsvOption = None,
) -> None:
    """Ask the store in SQL; nothing can be changed."""
    from gpusim.results.store.project import store_to_read
    from gpusim.results.store.reading import StoreReader

    path = store_to_read(store)
    check_outputs({"--json": json_file, "--csv": csv_file}, [path])
    with StoreReader(path) as results:
        found = results.query(sql)
    table = found.table()
    if json_file is not None:
        put(json_file, table.json())
    if csv_file is not None:
        put(csv_file, table.csv())
    if json_file is None and csv_file is None:
        table.show(sys.stdout)
