"""`gpusim exec`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.progress import Reporter
from gpusim.cli.options import (
    JobOptions,
    LiveOptions,
    StoreOptions,
)
from gpusim.cli.sampling_options import JobSamplingOptions

if TYPE_CHECKING:
    from gpusim.running.job import Job


def exec_(
    config: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Execution's file, or the name of a shipped one (vector_add).")
    ],
    options: JobOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    live: LiveOptions,
) -> int:
    """Execute a kernel of your own: code object, sizes, arguments and expected results from a file."""
    return exec_command(config, options, storing, sampling, live)


def exec_command(
    name: str, options: JobOptions, storing: StoreOptions, sampling: JobSamplingOptions, live: LiveOptions
) -> int:
    """Execute a kernel as its file says and report its metrics; returns the exit code."""
    from gpusim.cli.outcome import JobAsked, overrides, run_job
    from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
    from gpusim.config.files import opened
    from gpusim.store.work import work_of_exec

    document = opened(name, EXAMPLE_FOLDER)
    config, path = load_exec(document, [*options.sets, *overrides(options), *sampling.overrides()])

    def make(reporter: Reporter) -> "Job":
        from gpusim.jobs.exec import ExecJob

        return ExecJob(config, path, reporter)

    inputs = [*document.files, *config.inputs(path)]
    return run_job(JobAsked(make, work_of_exec(config, path), inputs, config.outputs), options, storing, live)
