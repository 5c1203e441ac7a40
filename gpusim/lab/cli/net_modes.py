"""What `gpusim net` runs with --monitor and with --dnnmark."""

from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.cli.net import NetOptions, load_network_settings, network_request
from gpusim.cli.options import JobCommandOptions, LiveOptions, NetworkSource, SamplingOptions, StoreOptions

if TYPE_CHECKING:
    from gpusim.config.files import Document
    from gpusim.config.network_run import NetworkSettings
    from gpusim.jobs.networks.run import NetworkRunRequest
    from workloads.networks.graph import Network


def run_monitored(
    network: "Network",
    settings: "NetworkSettings",
    wanted: "NetworkRunRequest",
    gpu_file: "Document",
    asked: NetOptions,
    options: JobCommandOptions,
    storing: StoreOptions,
    live: LiveOptions,
) -> int:
    """Add up a whole training over recorded curves of zeros; returns the exit code."""
    from gpusim.cli.outcome import JobRequest, run_job
    from gpusim.jobs.kinds import make_job
    from gpusim.lab.monitor.curves import SYNTHETIC, find_curves
    from gpusim.lab.monitor.job import describe_monitored_run

    assert asked.monitor is not None
    for option, value in {"--inputs": asked.inputs, "--outputs": asked.outputs}.items():
        if value is not None:
            raise UserError(f"{option} {value}: --monitor runs iterations over made-up values")
    curves = find_curves(asked.monitor)
    file = Path(asked.monitor)
    read = [file] if asked.monitor not in SYNTHETIC and file.is_file() else []
    work = describe_monitored_run(network, settings, wanted, curves, read)
    job = make_job("monitored", network, settings, wanted, curves)
    inputs = [*gpu_file.files, Path(network.source), *network.files, *read]
    return run_job(JobRequest(lambda _: job, work, inputs, markdown=asked.markdown), options, storing, live)


def run_benchmarks(
    source: NetworkSource,
    asked: NetOptions,
    options: JobCommandOptions,
    sampling: SamplingOptions,
    storing: StoreOptions,
    live: LiveOptions,
) -> int:
    """Run DNNMark's six benchmarks, print their metrics and the claims; returns the exit code."""
    from gpusim.cli.outcome import JobRequest, run_job

    data = None if asked.data == "auto" else asked.data
    beside = {
        "NETWORK": source.name, "--torch": source.torch, "--layers": asked.layers, "--inputs": asked.inputs,
        "--outputs": asked.outputs, "--data": data, "--gains": asked.gains, "--monitor": asked.monitor,
        "--engine": None if asked.engine == "off" else asked.engine,
    }  # fmt: skip
    for option, value in beside.items():
        if value is not None:
            raise UserError(f"{option} {value}: --dnnmark runs benchmarks of its own, forward and backward")
    settings, gpu_file = load_network_settings(asked, options, sampling)
    from gpusim.lab.papers import dnnmark

    batch = dnnmark.FULL_BATCH if asked.batch is None else asked.batch
    size = dnnmark.FULL_SIZE if asked.size is None else asked.size
    job = dnnmark.BenchmarksJob(settings, batch, size, network_request(asked, options, storing, batch))
    return run_job(JobRequest(lambda _: job, job.work, gpu_file.files, markdown=asked.markdown), options, storing, live)
