"""`gpusim layers`: what a network's layers cost, without simulating."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.cli.options import JsonOption, NetworkSource, PhaseOption, SetOption

if TYPE_CHECKING:
    from gpusim.config.network_run import NetworkSettings
    from gpusim.model.core.gpu_spec import GpuSpec
    from workloads.networks.compared import NetworkSummary
    from workloads.networks.figures import LayerFigures
    from workloads.networks.graph import Network
    from workloads.networks.memory import MemoryPlan
    from workloads.networks.schedule import Schedule

DEFAULT_GPU = "mi6"  # as of `gpusim net`


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
        list[str] | None, typer.Argument(metavar="[NETWORK]...", help="Further ones: a row each, not their layers.")
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
    outputs = LayerOutputs(json_file, picture)
    train = phase == "train"
    if more:
        _refuse({"--gpu": gpu}, "belongs to a single network, whose memory is held against the GPU's")
        estimating = {"--estimate": asked.estimate, "--set": asked.sets, "--fitted": asked.fitted}
        _refuse(estimating, "belongs to a single network, whose layers are estimated")
        _compare(source, more, batch, train, outputs)
    elif asked.estimate:
        _refuse({f"--picture {picture}": picture}, "draws what is counted, and has nothing of --estimate")
        _estimate(source, gpu or DEFAULT_GPU, batch, train, asked, outputs)
    else:
        first = next(iter(asked.sets), "")
        _refuse({f"--set {first}": gpu is None and asked.sets}, "belongs to --estimate, or to --gpu")
        _refuse({f"--fitted {asked.fitted}": asked.fitted}, "belongs to --estimate")
        _list(source, gpu, batch, train, asked.sets, outputs)


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Raise UserError for the first of the options that was given."""
    for option, value in given.items():
        if value:
            raise UserError(f"{option}: {reason}")


class LayerOutputs(NamedTuple):
    """Files that the command writes, and where it prints."""

    json_file: Path | None
    """Path of the JSON object; None: none."""
    picture: Path | None
    """Path of the picture; None: none."""

    @property
    def stream(self) -> TextIO:
        """Where tables are printed."""
        return sys.stderr if self.json_file == STANDARD_OUTPUT else sys.stdout

    def check(self, inputs: Sequence[Path]) -> None:
        """Raise UserError where a file cannot be written, or is one of those that are read."""
        check_outputs({"--json": self.json_file, "--picture": self.picture}, inputs)

    def write(self, document: "dict[str, Any]", summaries: "Sequence[NetworkSummary]" = ()) -> None:
        """Write the JSON object and the picture of summaries, where they are wanted."""
        from gpusim.results.report.document import as_json
        from workloads.networks.compared import picture

        if self.json_file is not None:
            put(self.json_file, as_json(document))
        if self.picture is not None:
            write_whole(self.picture, picture(summaries).file(self.picture.suffix.lower()))


def _read(source: NetworkSource, gpu: str, sets: list[str]) -> "tuple[Network, NetworkSettings, list[Path]]":
    """Return the network as a GPU's file has it run, the file's settings, and all files that were read."""
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.jobs.networks.settings import make_layers_circulant

    network = source.load()
    file = opened(gpu, GPU_FOLDER)
    settings = load_settings(file, sets)
    circulant = make_layers_circulant(network, settings.block_circulant)
    return circulant, settings, [Path(network.source), *file.files]


def _list(
    source: NetworkSource, gpu: str | None, batch: int | None, train: bool, sets: list[str], outputs: LayerOutputs
) -> None:
    from gpusim.jobs.networks.storage import check_memory_capacity, launch_counts, network_plan
    from gpusim.jobs.running.operators import gpu_facts
    from gpusim.model.core.gpu_spec import GpuSpec
    from workloads.networks.compared import summarize_network
    from workloads.networks.figures import document, layer_figures
    from workloads.networks.memory import MemoryPlan, plan

    spec = None
    if gpu is None:
        network = source.load()
        inputs = [Path(network.source)]
    else:
        network, settings, inputs = _read(source, gpu, sets)
        spec = settings.gpu
    outputs.check(inputs)
    planned = plan_of(network, 1 if batch is None else batch, train)
    if spec is not None:

        def with_batch(images: int) -> MemoryPlan:
            schedule = _schedule(network, images, train)
            try:  # with the operators' workspace, as `gpusim net` needs it
                return network_plan(schedule)
            except UserError:  # no operator computes one of the layers, whose figures are shown all the same
                return plan(schedule)

        check_memory_capacity(with_batch(planned.schedule.batch), spec, with_batch)
    figures = layer_figures(planned, launch_counts(planned, gpu_facts(spec or GpuSpec())))
    outputs.write(document(planned, figures, per_image=batch is None), [summarize_network(planned, figures)])
    show(planned, figures, batch is None, spec, outputs.stream)


def _estimate(
    source: NetworkSource, gpu: str, batch: int | None, train: bool, asked: EstimateOptions, outputs: LayerOutputs
) -> None:
    from gpusim.jobs.estimates import views
    from gpusim.jobs.estimates.fitted import SHIPPED, load_fitted
    from gpusim.jobs.estimates.network import estimate

    network, settings, inputs = _read(source, gpu, asked.sets)
    outputs.check([*inputs, *([asked.fitted] if asked.fitted is not None else [])])
    images = batch if batch is not None else network.batch or 1
    found = estimate(network, settings, images, train, fitted=load_fitted(asked.fitted or SHIPPED))
    cost, out = found.cost(), outputs.stream
    outputs.write(views.document(found, cost))
    table = views.table(found, cost)
    if not out.isatty():
        out.write(f"{table.title}\n")  # a pipe's reader too is to know that it is an estimate
    table.show(out)


def _compare(source: NetworkSource, more: list[str], batch: int | None, train: bool, outputs: LayerOutputs) -> None:
    """Print, write and draw several networks side by side; raises UserError."""
    from gpusim.cli.layer_views import EXACT_SUMMARIES, summary_table
    from gpusim.config.network import load_network
    from workloads.networks.compared import document, summarize_network
    from workloads.networks.figures import layer_figures

    networks = [source.load(), *map(load_network, more)]
    outputs.check([Path(network.source) for network in networks])
    per_image, summaries = batch is None, []
    for network in networks:
        planned = plan_of(network, 1 if batch is None else batch, train)
        summaries.append(summarize_network(planned, layer_figures(planned)))
    outputs.write(document(summaries, train, per_image), summaries)
    out = outputs.stream
    (summary_table(summaries, train, per_image) if out.isatty() else EXACT_SUMMARIES.table(summaries)).show(out)


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
    from gpusim.cli.layer_views import EXACT, layers_table

    (layers_table(planned, layers, per_image, gpu) if out.isatty() else EXACT.table(layers)).show(out)
