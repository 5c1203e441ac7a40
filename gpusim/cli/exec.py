"""`gpusim exec`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.progress import Reporter
from gpusim.cli.options import DrawOptions, JobCommandOptions, JobSamplingOptions, LiveOptions, StoreOptions

if TYPE_CHECKING:
    from gpusim.jobs.running.job import Job


def exec_(
    config: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Execution's file, or the name of a shipped one (vector_add).")
    ],
    options: JobCommandOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    draws: DrawOptions,
    live: LiveOptions,
) -> int:
    """Execute a kernel of your own: code object, sizes, arguments and expected results from a file."""
    from gpusim.cli.outcome import JobRequest, overrides, run_job
    from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
    from gpusim.config.files import opened
    from gpusim.results.store.work import describe_exec

    document = opened(config, EXAMPLE_FOLDER)
    execution, path = load_exec(
        document, [*options.sets, *overrides(options), *sampling.overrides(), *draws.overrides()]
    )

    def make(reporter: Reporter) -> "Job":
        from gpusim.jobs.exec import ExecJob

        return ExecJob(execution, path, reporter)

    inputs = [*document.files, *execution.inputs(path)]

    request = JobRequest(make, describe_exec(execution, path), inputs, execution.outputs, is_countable=True)
    return run_job(request, options, storing, live)
