"""The simulator's kinds of jobs, and jobs made by the name of their kind.

A kind's module is imported when a job of it is made. Packages above the simulator add kinds of their own
(`gpusim.base.extensions`).
"""

from typing import Any

from gpusim.base.extensions import job_kind, load
from gpusim.config.run import RunConfig
from gpusim.jobs.running.job import Job


def make_job(kind: str, *arguments: Any) -> Job:
    """Make a job of a kind.

    Args:
        kind: name of the kind.
        arguments: what its factory takes.

    Returns:
        The job.

    Raises:
        UserError: the kind is unknown.
    """
    job: Job = load(job_kind(kind).factory)(*arguments)
    return job


def make_run_job(config: RunConfig) -> Job:
    """Make the job of a run's configuration, whose workload says its kind."""
    return make_job(config.workload.kind, config)
