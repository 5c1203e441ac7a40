"""`gpusim net`: a network's layers on the simulated GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpusim.base.errors import UserError
from gpusim.base.extensions import job_command
from gpusim.base.files import write_whole
from gpusim.base.progress import Reporter
from gpusim.cli.options import (
    DrawOptions,
    EngineChoice,
    GpuOption,
    JobCommandOptions,
    JobsOption,
    LiveOptions,
    MarkdownOption,
    NetworkSource,
    NoVerifyOption,
    PhaseOption,
    SamplingOptions,
    StoreOptions,
)

if TYPE_CHECKING:
    from gpusim.config.files import Document
    from gpusim.config.network_run import NetworkSettings
    from gpusim.jobs.networks.run import NetworkRunRequest
    from gpusim.jobs.running.job import Job


DataOption = Literal["auto", "real", "synthetic"]
GainsOption = Literal["fusion", "l1_bypass"]


@dataclass(frozen=True)
class NetOptions:
    """What of a network is run; None for what the network's file or a default decides."""

    batch: Annotated[
        int | None, typer.Option("--batch", metavar="N", help="Images in a batch. [default: what the file says, or 1]")
    ] = None
    phase: PhaseOption = "inference"
    layers: Annotated[
        str | None,
        typer.Option("--layers", metavar="FIRST:LAST", help="Report these layers alone; either end may be left out."),
    ] = None
    gpu: GpuOption = "mi6"
    data: Annotated[
        DataOption,
        typer.Option(
            "--data",
            help="real: values of an iteration, compared with NumPy; synthetic: launches alone, over made-up values; "
            "auto: real up to 3 GiB of tensors.",
        ),
    ] = "auto"
    jobs: JobsOption = None
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs", metavar="FILE", help="Arrays (.npz) by the network's input names, labels, parameters."
        ),
    ] = None
    outputs: Annotated[
        Path | None,
        typer.Option("--outputs", metavar="FILE", help="Write outputs and gradients, by tensor, into an .npz file."),
    ] = None
    chakra: Annotated[
        Path | None,
        typer.Option(
            "--chakra",
            metavar="FILE",
            help="Write the times of layers' passes as an execution trace (MLCommons Chakra), for cluster simulators.",
        ),
    ] = None
    no_verify: NoVerifyOption = False
    engine: Annotated[
        EngineChoice,
        typer.Option(
            "--engine",
            help="off: dense; on: convolutions over activation maps skip zeros, with the compaction engine; both: the "
            "two, compared.",
        ),
    ] = "off"
    gains: Annotated[
        GainsOption | None,
        typer.Option(
            "--gains",
            help="Run twice, and say what each layer gains. fusion: by ReLUs as the last step of the kernels before "
            "them; l1_bypass: by loads that go past L1, and by choosing so for each layer.",
        ),
    ] = None
    monitor: Annotated[
        str | None,
        typer.Option(
            "--monitor",
            metavar="CURVES",
            help="With --phase train: a whole training over recorded zeros (a file, or as gpusim monitor has them), in "
            "which the sparsity monitor decides what skips zeros, beside other ways to decide.",
        ),
    ] = None
    dnnmark: Annotated[
        bool, typer.Option("--dnnmark", help="Instead of a network: DNNMark's six benchmarks and its metrics.")
    ] = False
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="ROWS", help="With --dnnmark: rows and columns. [default: 256 as there]"),
    ] = None
    markdown: MarkdownOption = False


def net(
    source: NetworkSource,
    asked: NetOptions,
    options: JobCommandOptions,
    sampling: SamplingOptions,
    draws: DrawOptions,
    storing: StoreOptions,
    live: LiveOptions,
) -> int:
    """Run a network's layers, forward and backward, as kernels on the simulated GPU: one table with what each costs."""
    from gpusim.cli.outcome import JobRequest, run_job

    if asked.chakra is not None and (asked.dnnmark or asked.monitor is not None):
        other = "--dnnmark" if asked.dnnmark else f"--monitor {asked.monitor}"
        raise UserError(f"--chakra {asked.chakra}: is of one run of a network; {other} makes several runs")
    if asked.dnnmark:
        if draws.perturb is not None:
            raise UserError(f"--perturb {draws.perturb}: is of a network's runs; --dnnmark runs benchmarks of its own")
        return int(job_command("dnnmark")(source, asked, options, sampling, storing, live))
    if asked.size is not None:
        raise UserError("--size: belongs to --dnnmark; a network's file says its input's shape itself")
    network = source.load()
    settings, gpu_file = load_network_settings(asked, options, sampling)
    if asked.outputs is not None and asked.outputs.suffix != ".npz":
        raise UserError(f"--outputs {asked.outputs}: the arrays are written as .npz")
    wanted = network_request(asked, options, storing, asked.batch if asked.batch is not None else network.batch or 1)
    wanted = replace(wanted, draws=draws.perturb or 1)
    from gpusim.jobs.kinds import make_job

    if asked.monitor is not None:
        monitor = job_command("monitored")
        return int(monitor(network, settings, wanted, gpu_file, asked, options, storing, live))
    from gpusim.jobs.networks.job import NetworkJob, describe_network_run  # imports what runs kernels: up to a second
    from gpusim.jobs.networks.values import load_arrays, write_arrays

    def make(_: Reporter) -> "Job":
        arrays = load_arrays(asked.inputs) if asked.inputs is not None else {}
        return make_job("net", network, settings, wanted, arrays, asked.outputs is not None, str(asked.inputs))

    def write_outputs(job: "Job") -> None:
        if asked.outputs is not None and isinstance(job, NetworkJob):
            write_arrays(asked.outputs, job.outputs)

    work = describe_network_run(network, settings, wanted, asked.inputs, asked.outputs is not None)
    read = [
        *gpu_file.files,
        Path(network.source),
        *network.files,
        *([asked.inputs] if asked.inputs is not None else []),
    ]

    def write_trace(document: Mapping[str, Any]) -> None:
        if asked.chakra is not None:
            from gpusim.jobs.networks.traces import network_trace

            write_whole(asked.chakra, network_trace(document, asked.chakra))

    outputs = {"--outputs": asked.outputs, "--chakra": asked.chakra}
    job = JobRequest(make, work, read, outputs, asked.markdown, write_outputs, also=write_trace, is_countable=True)
    return run_job(job, options, storing, live)


def load_network_settings(
    asked: NetOptions, options: JobCommandOptions, sampling: SamplingOptions
) -> "tuple[NetworkSettings, Document]":
    """Load the settings of a network's run, and the file of its GPU.

    Args:
        asked: Options of the network.
        options: Options of the command.
        sampling: Options of sampling.
    """
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.jobs.running.job import check_watched

    gpu_file = opened(asked.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, [*options.sets, *sampling.overrides()])
    check_watched("--every", options.every or 0, settings.sampling is not None)
    return settings, gpu_file


def network_request(
    asked: NetOptions, options: JobCommandOptions, storing: StoreOptions, batch: int
) -> "NetworkRunRequest":
    """Return what the options ask of a network's run.

    Args:
        asked: Options of the network.
        options: Options of the command.
        storing: Store, and whether it is used.
        batch: Images in a batch.
    """
    from gpusim.base.processors import default_jobs
    from gpusim.cli.outcome import LISTED_HOTSPOTS
    from gpusim.jobs.networks.run import NetworkRunRequest
    from gpusim.jobs.running.job import launches
    from gpusim.results.store.project import store_to_write

    hotspots = LISTED_HOTSPOTS if options.hotspots else 0
    return NetworkRunRequest(
        batch,
        asked.phase == "train",
        asked.layers,
        asked.data,
        not asked.no_verify,
        jobs=asked.jobs if asked.jobs is not None else default_jobs(),
        store=store_to_write(storing.store),
        fresh=storing.fresh,
        launches=launches(options.checked, hotspots, options.max_cycles or 0, every=options.every or 0),
        engine=asked.engine,
        gains=asked.gains or "",
    )
