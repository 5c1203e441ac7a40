"""`gpusim compare`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.base.errors import UserError
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.cli.options import JsonOption, StoreFile


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
    from gpusim.results.store.project import store_to_read
    from gpusim.results.store.reading import StoreReader
    from gpusim.study.compare import sweeps_text, text
    from gpusim.study.compare.comparison import compare as compared
    from gpusim.study.compare.sides import side
    from gpusim.study.compare.sweeps import compare_sweeps

    if len(runs) < 2:
        raise UserError("compare: two runs or more are needed, as in: gpusim compare base 12")
    check_outputs({"--json": json_file})
    path = store_to_read(store)
    sweeps = _sweeps(runs, path)
    if sweeps:
        with StoreReader(path) as results:
            of_sweeps = compare_sweeps(results, sweeps)
        _put(sweeps_text.document(of_sweeps), json_file, lambda: sweeps_text.show(of_sweeps, sys.stdout, everything))
        return
    found = compared([side(run, path) for run in runs])
    _put(text.document(found), json_file, lambda: text.show(found, sys.stdout, everything))


def _sweeps(names: Sequence[str], store: Path) -> list[int]:
    """Return the sweeps that the names mean, none where these are runs; raises UserError for runs among sweeps."""
    from gpusim.results.store.reading import StoreReader
    from gpusim.results.store.sweeps import PREFIX, sweep_meant

    if not store.exists() and not any(name.startswith(PREFIX) for name in names):
        return []  # files need no store
    with StoreReader(store) as results:
        meant = [(name, None if Path(name).is_file() else sweep_meant(results, name)) for name in names]
    numbers = [number for _, number in meant if number is not None]
    if numbers and len(numbers) < len(names):
        run = next(name for name, number in meant if number is None)
        raise UserError(
            f"compare: {run} is a run: sweeps are compared with sweeps, as in: gpusim compare sweep:1 sweep:2"
        )
    return numbers


def _put(document: Mapping[str, Any], json_file: Path | None, show: Callable[[], None]) -> None:
    """Write the JSON object where it is asked for, and the text unless the object goes to standard output."""
    from gpusim.results.report.document import as_json

    if json_file is not None:
        put(json_file, as_json(dict(document)))
    if json_file != STANDARD_OUTPUT:
        show()
