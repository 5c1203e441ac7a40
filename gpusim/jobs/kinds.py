"""From a run's configuration to its job: one row for each kind of workload."""

from collections.abc import Callable
from typing import Any

from gpusim.config.run import RunConfig
from gpusim.config.workload import GemmWorkload, LayerWorkload
from gpusim.jobs.gemm import GemmJob, gemm_problem, layer_problem
from gpusim.running.job import Job

# class of `workload` in a configuration → its job
JOBS: dict[type, Callable[[RunConfig, Any], Job]] = {
    LayerWorkload: lambda config, workload: GemmJob(config, layer_problem(workload)),
    GemmWorkload: lambda config, workload: GemmJob(config, gemm_problem(workload)),
}


def job_of(config: RunConfig) -> Job:
    """Make the job that the configuration asks for."""
    return JOBS[type(config.workload)](config, config.workload)
