"""`gpusim fit-estimates` fits estimates to stored launches, `gpusim fit-products` to results of correlate.

`gpusim check-estimates` holds them to shipped runs.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.outputs import check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.options import MarkdownOption, PhaseOption, QuietOption, SetOption

DEFAULT_BATCHES, DEFAULT_GPUS = "1", "mi6"


@dataclass(frozen=True)
class FitOptions:
    """Which iterations' launches take part, of which store, and where the fit goes."""

    batches: Annotated[
        str, typer.Option("--batch", metavar="N,...", help="Batches; iterations that the store knows whole take part.")
    ] = DEFAULT_BATCHES
    phase: PhaseOption = "train"
    gpus: Annotated[str, typer.Option("--gpu", metavar="GPU,...", help="GPUs: shipped ones or files.")] = DEFAULT_GPUS
    store: Annotated[
        str | None, typer.Option("--store", metavar="FILE", help="The store. [default: gpusim.toml's, or gpusim.db]")
    ] = None
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the fit, for layers --estimate --fitted FILE.")
    ] = None
    algorithms: Annotated[
        str | None,
        typer.Option("--convolution", metavar="NAME,...", help="Algorithms of convolution. [default: the default's]"),
    ] = None
    sets: SetOption = field(default_factory=list)
    markdown: MarkdownOption = False


def fit_estimates(
    networks: Annotated[
        list[str],
        typer.Argument(metavar="NETWORK...", help="Networks' files, or the names of shipped ones; two at least."),
    ],
    asked: FitOptions,
) -> None:
    """Fit what `layers --estimate` rests on to simulated launches, and say how far off it is for a network left out."""
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network import load_network
    from gpusim.config.network_run import AUTO, load_settings
    from gpusim.jobs.estimates.views import error_tables
    from gpusim.lab.checks.estimates.fitting import FitPoint, fitted_to, known_launches
    from gpusim.results.store.project import store_to_read
    from workloads.operators.conv_algorithms import DENSE_ALGORITHMS

    batches = [_batch(text) for text in asked.batches.split(",")]
    files = [opened(name, GPU_FOLDER) for name in asked.gpus.split(",")]
    loaded = [load_network(name) for name in networks]
    store = store_to_read(asked.store)
    read = [store, *(path for file in files for path in file.files), *(Path(item.source) for item in loaded)]
    check_outputs({"--to": asked.to}, read)
    algorithms = [] if asked.algorithms is None else asked.algorithms.split(",")
    variants = [[*asked.sets, f"convolution={name}"] for name in algorithms] or [asked.sets]
    points = [
        FitPoint(network, load_settings(file, sets), batch, asked.phase == "train")
        for file in files
        for sets in variants
        for network in loaded
        for batch in batches
    ]
    for point in points:
        if point.settings.convolution == AUTO:
            raise UserError(
                f"--convolution {AUTO}: name those of which the store has runs: {', '.join(DENSE_ALGORITHMS)}"
            )
    known = known_launches(points, store)
    fitted = fitted_to(known)
    for item in known:
        point = item.point
        what = f"{point.network.name}, {point.phase}, batch {point.batch}, {point.settings.convolution}"
        print(
            f"{what}, {point.settings.gpu.name}: {item.found} of {len(item.launches)} launches known"
            f"{'' if item.whole else ': left out'}",
            file=sys.stderr,
        )
    for table in error_tables(fitted):
        if asked.markdown:
            print(table.markdown())
        else:
            table.show(sys.stdout)
    if asked.to is not None:
        write_whole(asked.to, json.dumps(fitted.document(), indent=1, allow_nan=False) + "\n")


def fit_products(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT...", help="Results of `gpusim correlate`, each named as its table; two at least."
        ),
    ],
    kernels: Annotated[
        Path | None,
        typer.Option("--kernels", metavar="DIR", help="Folder with the kernels. [default: the installed package's]"),
    ] = None,
    fitted: Annotated[
        Path | None,
        typer.Option("--fitted", metavar="FILE", help="Another fit of fit-estimates. [default: the shipped one]"),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the fit, for layers --estimate --fitted FILE.")
    ] = None,
    markdown: MarkdownOption = False,
) -> None:
    """Fit the matrix unit's part of estimates to products that correlate has simulated, and say how far off it is for
    a table left out.
    """
    from gpusim.jobs.estimates.fitted import SHIPPED, load_fitted
    from gpusim.jobs.estimates.views import product_errors
    from gpusim.lab.checks.estimates.products import product_examples, with_products

    base = SHIPPED if fitted is None else fitted
    check_outputs({"--to": to}, results if base == to else [base, *results])
    examples = [example for result in results for example in product_examples(result, kernels)]
    estimates = with_products(load_fitted(base), examples)
    table = product_errors(estimates)
    if markdown:
        print(table.markdown())
    else:
        table.show(sys.stdout)
    if to is not None:
        write_whole(to, json.dumps(estimates.document(), indent=1, allow_nan=False) + "\n")


def _batch(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= int(text) <= 1 << 20:
        raise UserError(f"--batch {text}: a number of images from 1 to {1 << 20} is allowed, several with commas")
    return int(text)


def check_estimates(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the record that --estimate tells errors by.")
    ] = None,
    markdown: MarkdownOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate shipped runs without any like run, simulate them, and say how far off the estimates were."""
    check_outputs({"--to": to}, [])
    from gpusim.jobs.estimates.views import checked_table
    from gpusim.lab.checks.estimates.check import CASES, check  # imports the compiled core: up to a second

    checked = check(CASES, Reporter(quiet))
    if to is not None:
        write_whole(to, json.dumps(checked.document(), indent=1, allow_nan=False) + "\n")
    if markdown:
        print(checked_table(checked).markdown())
    elif not quiet:
        checked_table(checked).show(sys.stdout)
