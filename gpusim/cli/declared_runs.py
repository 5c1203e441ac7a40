"""Commands that run a kernel or a layer: `run`, `exec`."""

from typing import Annotated

import typer

from gpusim.cli.options import (
    ConfigArgument,
    EngineChoice,
    JobOptions,
    LiveOptions,
    NoVerifyOption,
    StoreOptions,
)
from gpusim.cli.sampling_options import JobSamplingOptions


def run(
    config: ConfigArgument,
    engine: Annotated[
        EngineChoice | None,
        typer.Option(help="off: dense kernel, whole L2; on: sparse kernel with the engine; both: the two, compared."),
    ] = None,
    no_verify: NoVerifyOption = False,
    *,
    options: JobOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    live: LiveOptions,
) -> None:
    """Simulate a layer and report what it cost."""
    from gpusim.cli.run import run_command

    raise typer.Exit(
        run_command(config, engine.value if engine else None, not no_verify, options, storing, sampling, live)
    )


def exec_(
    config: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Execution's file, or the name of a shipped one (vector_add).")
    ],
    options: JobOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    live: LiveOptions,
) -> None:
    """Execute a kernel of your own: code object, sizes, arguments and expected results from a file."""
    from gpusim.cli.exec import exec_command

    raise typer.Exit(exec_command(config, options, storing, sampling, live))
