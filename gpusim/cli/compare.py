"""`gpusim compare`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.compare.comparison import compare
from gpusim.compare.sides import side
from gpusim.compare.text import document, show
from gpusim.report.document import as_json
from gpusim.store.project import store_to_read


def compare_command(runs: Sequence[str], store: str | None, json_file: Path | None, everything: bool) -> None:
    """Compare the runs with the first of them; print it, or write it as a JSON object."""
    if len(runs) < 2:
        raise UserError("compare: two runs or more are needed, as in: gpusim compare base 12")
    check_outputs({"--json": json_file})
    path = store_to_read(store)
    found = compare([side(run, path) for run in runs])
    to_output = json_file == STANDARD_OUTPUT
    if to_output:
        sys.stdout.write(as_json(document(found)))
        return
    if json_file is not None:
        write_whole(json_file, as_json(document(found)))
    show(found, sys.stdout, everything)
