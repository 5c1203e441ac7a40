"""`gpusim layers`: what a network's layers cost, without simulating."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.base.table import Column, Table, columns
from gpusim.cli.options import JsonOption, NetworkSource, PhaseOption, SetOption

if TYPE_CHECKING:
    from gpusim.config.network_run import NetworkSettings
    from gpusim.model.core.gpu_spec import GpuSpec
    from workloads.networks.compared import NetworkSummary
    from workloads.networks.figures import LayerFigures
    from workloads.networks.graph import Network
    from workloads.networks.kind import Gemm
    from workloads.networks.memory import MemoryPlan
    from workloads.networks.schedule import Schedule

DEFAULT_GPU = "mi6"  # as of `gpusim net`
PLAIN = ("layer", "kind", "output", "gemm", "macs", "parameters", "biases", "memory_bytes", "live_bytes")


@dataclass(frozen=True)
class EstimateOptions:
    """What is estimated, and by which fit."""

    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Instead: how long each layer and pass would take, about; without --gpu on mi6."
        ),
    ] = False
    fitted: Annotated[
        Path | None,
        typer.Option(
            "--fitted",
            metavar="FILE",
            help="With --estimate: a fit that fit-estimates wrote. [default: the shipped one]",
        ),
    ] = None
    sets: SetOption = field(default_factory=list)


def layers(
    source: NetworkSource,
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NETWORK]...", help="Further ones: a row each, not their layers."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Images in a batch. [default: figures are an image's]")
    ] = None,
    phase: PhaseOption = "inference",
    gpu: Annotated[
        str | None, typer.Option(metavar="GPU", help="GPU whose memory must do: a shipped one or a file's path.")
    ] = None,
    asked: EstimateOptions = EstimateOptions(),
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw depth and work of networks (.svg, .png; Matplotlib)."),
    ] = None,
) -> None:
    """List a network's layers: shapes, matrix products, work, parameters, memory; nothing is simulated."""
    if picture is not None:
        check_format(picture)
        require_matplotlib("layers")
    if more:
        if gpu is not None:
            raise UserError("--gpu: belongs to a single network, whose memory is held against the GPU's")
        if asked.estimate or asked.fitted is not None or asked.sets:
            option = "--estimate" if asked.estimate else "--set" if asked.sets else "--fitted"
            raise UserError(f"{option}: belongs to a single network, whose layers are estimated")
        _compare(source, more, batch, phase == "train", json_file, picture)
        return
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.jobs.networks.settings import make_layers_circulant
    from gpusim.model.core.gpu_spec import GpuSpec
    from gpusim.results.report.document import as_json
    from workloads.networks.compared import summarize_network
    from workloads.networks.figures import document, layer_figures
    from workloads.networks.memory import MemoryPlan, plan

    network = source.load()
    inputs = [Path(network.source)]
    settings = spec = None
    if gpu is None and asked.estimate:
        gpu = DEFAULT_GPU
    if gpu is not None:
        file = opened(gpu, GPU_FOLDER)
        settings = load_settings(file, asked.sets)
        spec = settings.gpu
        network = make_layers_circulant(network, settings.block_circulant)
        inputs += file.files
    elif asked.sets:
        raise UserError(f"--set {asked.sets[0]}: belongs to --estimate, or to --gpu")
    if asked.fitted is not None:
        if not asked.estimate:
            raise UserError(f"--fitted {asked.fitted}: belongs to --estimate")
        inputs.append(asked.fitted)
    check_outputs({"--json": json_file, "--picture": picture}, inputs)
    train = phase == "train"
    if asked.estimate and picture is not None:
        raise UserError(f"--picture {picture}: draws what is counted, and has nothing of --estimate")
    if asked.estimate and settings is not None:
        _estimate(network, settings, batch if batch is not None else network.batch or 1, train, asked.fitted, json_file)
        return
    planned = plan_of(network, 1 if batch is None else batch, train)
    from gpusim.jobs.networks.storage import check_memory_capacity, launch_counts, network_plan
    from gpusim.jobs.running.operators import gpu_facts

    if spec is not None:

        def with_batch(images: int) -> MemoryPlan:
            schedule = _schedule(network, images, train)
            try:  # with the operators' workspace, as `gpusim net` needs it
                return network_plan(schedule)
            except UserError:  # no operator computes one of the layers, whose figures are shown all the same
                return plan(schedule)

        check_memory_capacity(with_batch(planned.schedule.batch), spec, with_batch)

    figures = layer_figures(planned, launch_counts(planned, gpu_facts(spec or GpuSpec())))
    if json_file is not None:
        put(json_file, as_json(document(planned, figures, per_image=batch is None)))
    if picture is not None:
        _draw(picture, [summarize_network(planned, figures)])
    show(planned, figures, batch is None, spec, sys.stderr if json_file == STANDARD_OUTPUT else sys.stdout)


def _estimate(
    network: "Network", settings: "NetworkSettings", batch: int, train: bool, file: Path | None, json_file: Path | None
) -> None:
    from gpusim.jobs.estimates import views
    from gpusim.jobs.estimates.fitted import SHIPPED, load_fitted
    from gpusim.jobs.estimates.network import estimate
    from gpusim.results.report.document import as_json

    found = estimate(network, settings, batch, train, fitted=load_fitted(file or SHIPPED))
    cost, out = found.cost(), sys.stderr if json_file == STANDARD_OUTPUT else sys.stdout
    if json_file is not None:
        put(json_file, as_json(views.document(found, cost)))
    table = views.table(found, cost)
    if not out.isatty():
        out.write(f"{table.title}\n")  # a pipe's reader too is to know that it is an estimate
    table.show(out)


def _compare(
    source: NetworkSource, more: list[str], batch: int | None, train: bool, json_file: Path | None, picture: Path | None
) -> None:
    """Print, write and draw several networks side by side; raises UserError."""
    from gpusim.config.network import load_network
    from gpusim.results.report.document import as_json
    from workloads.networks.compared import document, plain_table, summarize_network, table
    from workloads.networks.figures import layer_figures

    networks = [source.load(), *map(load_network, more)]
    check_outputs({"--json": json_file, "--picture": picture}, [Path(network.source) for network in networks])
    per_image, summaries = batch is None, []
    for network in networks:
        planned = plan_of(network, 1 if batch is None else batch, train)
        summaries.append(summarize_network(planned, layer_figures(planned)))
    if json_file is not None:
        put(json_file, as_json(document(summaries, train, per_image)))
    if picture is not None:
        _draw(picture, summaries)
    out = sys.stderr if json_file == STANDARD_OUTPUT else sys.stdout
    (table(summaries, train, per_image) if out.isatty() else plain_table(summaries)).show(out)


def _draw(file: Path, summaries: "list[NetworkSummary]") -> None:
    from workloads.networks.compared import picture

    write_whole(file, picture(summaries).file(file.suffix.lower()))


def plan_of(network: "Network", batch: int, train: bool) -> "MemoryPlan":
    """Return the memory plan of one iteration, with its schedule; raises UserError."""
    from workloads.networks.memory import plan

    return plan(_schedule(network, batch, train))


def _schedule(network: "Network", batch: int, train: bool) -> "Schedule":
    from workloads.networks.schedule import inference, training

    return training(network, batch) if train else inference(network, batch)


def show(
    planned: "MemoryPlan", layers: "tuple[LayerFigures, ...]", per_image: bool, gpu: "GpuSpec | None", out: TextIO
) -> None:
    """Print a table on a terminal, lines with tabs and exact figures on a pipe."""
    from workloads.networks.tensor import format_shape

    if not out.isatty():
        rows = [
            (
                one.name,
                one.kind,
                format_shape(one.shape),
                _product(one.gemm),
                one.macs,
                one.parameters,
                one.biases,
                one.memory_bytes,
                one.live_bytes,
            )
            for one in layers
        ]
        Table(columns(*PLAIN), rows).show(out)
        return
    train = planned.schedule.training
    heads = [*columns("layer", "output"), Column("GEMM an image", right=True), Column("M MACs", _digits)]
    heads += [Column("parameters", _counted), Column("MiB", _digits)]
    lines = [
        (
            one.name,
            format_shape(one.shape),
            _product(planned.schedule.network[one.name].gemm),
            (one.all_macs if train else one.macs) / 1e6,
            one.parameters + one.biases,
            one.memory_bytes / (1 << 20),
        )
        for one in layers
    ]
    Table(heads, lines, title=_title(planned, per_image), notes=_closing(planned, layers, gpu)).show(out)


def _title(planned: "MemoryPlan", per_image: bool) -> str:
    schedule = planned.schedule
    images = "one image" if per_image else f"batch {schedule.batch}"
    what = "training (MACs of all passes)" if schedule.training else "inference"
    return f"{schedule.network.name}: {what}, {images}"


def _closing(planned: "MemoryPlan", layers: "tuple[LayerFigures, ...]", gpu: "GpuSpec | None") -> list[str]:
    """Return the lines below the table: what holds for the whole network."""
    forward, every = sum(one.macs for one in layers), sum(one.all_macs for one in layers)
    work = f"{forward / 1e6:,.1f} M MACs forward"
    if planned.schedule.training:
        work += f", {every / 1e6:,.1f} M in all passes"
    parameters, biases = sum(one.parameters for one in layers), sum(one.biases for one in layers)
    lines = [f"{work}; {parameters + biases:,} parameters, {biases:,} of them biases"]
    step = planned.schedule.steps[planned.peak].name
    memory = f"memory: {_mib(planned.bytes)}; most in use in {step}: {_mib(planned.live_bytes[planned.peak])}"
    if gpu is not None:
        memory += f", {100 * planned.bytes / (gpu.memory_mib << 20):.1f} % of {gpu.name}'s"
    network = planned.schedule.network
    batch = [f"the file's batch is {network.batch}: --batch {network.batch} counts for it"] if network.batch else []
    return [*lines, memory, *batch, *network.remarks]


def _product(gemm: "Gemm | None") -> str:
    """Write a product as '96×363×3025', several equal ones as '128 · 96×363×3025'."""
    from workloads.networks.tensor import format_shape

    if gemm is None:
        return ""
    return (f"{gemm.count} · " if gemm.count > 1 else "") + format_shape((gemm.m, gemm.k, gemm.n))


def _counted(count: int) -> str:
    return f"{count:,}" if count else ""


def _digits(value: float) -> str:
    """Write a number with three digits or all before the point ('1,234', '12.3'); zero as an empty text."""
    return (f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}") if value else ""


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
