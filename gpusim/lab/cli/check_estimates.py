"""`gpusim check-estimates`: estimates by bounds alone, held to shipped runs."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.files import write_whole
from gpusim.base.outputs import check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.options import MarkdownOption, QuietOption


def check_estimates(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the record that --estimate tells errors by.")
    ] = None,
    markdown: MarkdownOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate shipped runs without any like run, simulate them, and say how far off the estimates were."""
    check_outputs({"--to": to}, [])
    from gpusim.lab.checks.estimates.check import CASES, check  # imports the compiled core: up to a second

    found = check(CASES, Reporter(quiet))
    if to is not None:
        write_whole(to, json.dumps(found.document(), indent=1, allow_nan=False) + "\n")
    if markdown:
        print(found.table().markdown())
    elif not quiet:
        found.table().show(sys.stdout)
