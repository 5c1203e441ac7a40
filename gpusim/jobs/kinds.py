"""The kinds of jobs: a row for each, from what a command is asked for to its job.

A module is imported when a job of its kind is made.
"""

from importlib import import_module
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.config.run import RunConfig
from gpusim.running.job import Job

# kind → the module that has its job, and what makes it there
KINDS: dict[str, tuple[str, str]] = {
    "layer": ("gpusim.jobs.gemm", "layer_job"),
    "gemm": ("gpusim.jobs.gemm", "gemm_job"),
    "convolution": ("gpusim.jobs.convolution", "ConvolutionJob"),
    "exec": ("gpusim.jobs.exec", "ExecJob"),
    "net": ("gpusim.networks.job", "NetworkJob"),
    "monitored": ("gpusim.networks.monitored", "MonitoredJob"),
    "dnnmark": ("gpusim.networks.dnnmark", "BenchmarksJob"),
    "hip": ("gpusim.hip.job", "HipJob"),
    "microbench": ("gpusim.microbench.job", "MicrobenchJob"),
    "correlate": ("gpusim.correlation.job", "MeasuredJob"),
}


def make_job(kind: str, *asked: Any) -> Job:
    """Make the job of a kind from what it is asked for, as its class takes it; raises UserError for an unknown kind."""
    if kind not in KINDS:
        raise UserError(f"kind: {unknown_name('kind of job', kind, KINDS)}")
    module, name = KINDS[kind]
    job: Job = getattr(import_module(module), name)(*asked)
    return job


def job_of(config: RunConfig) -> Job:
    """Make the job of a run's configuration, whose workload says its kind."""
    return make_job(config.workload.kind, config)
