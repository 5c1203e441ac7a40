"""`gpusim run`."""

from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter
from gpusim.cli.options import JobOptions
from gpusim.cli.outcome import overrides, run_job
from gpusim.config.files import opened
from gpusim.config.run import load_run

if TYPE_CHECKING:
    from gpusim.jobs.job import Job


def run_command(name: str, engine: str | None, verify: bool, out: Path | None, options: JobOptions) -> int:
    """Run a configuration and write its result; returns the exit code. The options override `run:` of the file."""
    own = [f"run.engine={engine}"] * (engine is not None) + ["run.verify=false"] * (not verify)
    document = opened(name)
    config = load_run(document, [*options.sets, *own, *overrides(options)])

    def make(_: Reporter) -> "Job":
        from gpusim.jobs.kinds import job_of

        return job_of(config)

    return run_job(make, options, [*document.files, *config.inputs], out=out)
