"""`gpusim exec`."""

from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter
from gpusim.cli.options import JobOptions
from gpusim.cli.outcome import overrides, run_job
from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
from gpusim.config.files import opened

if TYPE_CHECKING:
    from gpusim.jobs.job import Job


def exec_command(name: str, options: JobOptions) -> int:
    """Execute a kernel as its file says and report its metrics; returns the exit code."""
    document = opened(name, EXAMPLE_FOLDER)
    config, path = load_exec(document, [*options.sets, *overrides(options)])

    def make(reporter: Reporter) -> "Job":
        from gpusim.jobs.exec import ExecJob

        return ExecJob(config, path, reporter)

    return run_job(make, options, [*document.files, *config.inputs(path)], config.outputs)
