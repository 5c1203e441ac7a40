"""Columns of the tables of a network's layers, on a terminal and on a pipe, and the lines below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusim.base.formats import COUNT, DIGITS_3, GROUPED_0, GROUPED_1, GROUPED_2, PERCENT
from gpusim.base.table import Column, Table
from gpusim.base.view import View, column
from workloads.networks.compared import MEANINGS, SUMS
from workloads.networks.tensor import format_shape

if TYPE_CHECKING:
    from gpusim.model.core.gpu_spec import GpuSpec
    from workloads.networks.compared import NetworkSummary
    from workloads.networks.figures import LayerFigures
    from workloads.networks.kind import Gemm
    from workloads.networks.memory import MemoryPlan

MIB = 1 << 20


def _product(gemm: "Gemm | None") -> str:
    """Write a product as '96×363×3025', several equal ones as '128 · 96×363×3025'."""
    if gemm is None:
        return ""
    return (f"{gemm.count} · " if gemm.count > 1 else "") + format_shape((gemm.m, gemm.k, gemm.n))


def _counted(count: int) -> str:
    return COUNT(count) if count else ""


def _digits(value: float) -> str:
    """Write a number with three digits or all before the point ('1,234', '12.3'); zero as an empty text."""
    return (GROUPED_0(value) if value >= 999.5 else DIGITS_3(value)) if value else ""


EXACT_SUMMARIES = View([column("network.name", "network"), *(column(name, name) for name in SUMS)])


def _of_kind(kind: str) -> Column:
    return column(lambda row: row.kinds.get(kind, 0), kind.replace("_", " "), _counted)


def summary_table(summaries: "Sequence[NetworkSummary]", training: bool, per_image: bool) -> Table:
    """Make the table of several networks for people, with a column for each kind of layer that one of them has.

    Args:
        summaries: Networks; a row for each.
        training: Work is that of all passes, too.
        per_image: Figures are those of one image.
    """
    passes = [column(lambda row: row.all_passes_flops / 1e9, "all passes", GROUPED_2)] if training else []
    view = View(
        [
            column("network.name", "network"),
            *map(_of_kind, dict.fromkeys(kind for summary in summaries for kind in summary.kinds)),
            column("with_weights", write=COUNT),
            column(lambda row: row.flops / 1e9, "GFLOPs", GROUPED_2),
            *passes,
            column(lambda row: row.parameters / 1e6, "M parameters", GROUPED_2),
            column(lambda row: row.planned_bytes / MIB, "MiB", GROUPED_1),
        ],
        "networks",
    )
    images = "one image" if per_image else f"batch {summaries[0].batch}"
    title = f"layers by kind, and what they cost: {'training' if training else 'inference'}, {images}"
    return view.table(summaries, title, [f"GFLOPs: {MEANINGS['flops']}"])


def _mib(size: int) -> str:
    return f"{GROUPED_1(size / MIB)} MiB"


EXACT = View(
    [
        column("name", "layer"),
        column("kind"),
        column(lambda layer: format_shape(layer.shape), "output"),
        column(lambda layer: _product(layer.gemm), "gemm"),
        *(column(path, path) for path in ("macs", "parameters", "biases", "memory_bytes", "live_bytes")),
    ]
)


def readable(planned: "MemoryPlan") -> View:
    """Return the columns for people: products of an image, work of all passes where all are run."""
    network, train = planned.schedule.network, planned.schedule.training
    return View(
        [
            column("name", "layer"),
            column(lambda layer: format_shape(layer.shape), "output"),
            column(lambda layer: _product(network[layer.name].gemm), "GEMM an image", right=True),
            column(lambda layer: (layer.all_macs if train else layer.macs) / 1e6, "M MACs", _digits),
            column(lambda layer: layer.parameters + layer.biases, "parameters", _counted),
            column(lambda layer: layer.memory_bytes / MIB, "MiB", _digits),
        ]
    )


def layers_table(
    planned: "MemoryPlan", layers: "tuple[LayerFigures, ...]", per_image: bool, gpu: "GpuSpec | None"
) -> Table:
    """Make the table for people, with what holds for the whole network below.

    Args:
        planned: Memory plan of the iteration, with its schedule.
        layers: Figures of each layer.
        per_image: Figures are those of one image.
        gpu: GPU whose memory is compared; None: none.
    """
    schedule = planned.schedule
    images = "one image" if per_image else f"batch {schedule.batch}"
    what = "training (MACs of all passes)" if schedule.training else "inference"
    title = f"{schedule.network.name}: {what}, {images}"
    return readable(planned).table(layers, title, _closing(planned, layers, gpu))


def _closing(planned: "MemoryPlan", layers: "tuple[LayerFigures, ...]", gpu: "GpuSpec | None") -> list[str]:
    """Return the lines below the table: what holds for the whole network."""
    forward, every = sum(layer.macs for layer in layers), sum(layer.all_macs for layer in layers)
    work = f"{GROUPED_1(forward / 1e6)} M MACs forward"
    if planned.schedule.training:
        work += f", {GROUPED_1(every / 1e6)} M in all passes"
    parameters, biases = sum(layer.parameters for layer in layers), sum(layer.biases for layer in layers)
    lines = [f"{work}; {COUNT(parameters + biases)} parameters, {COUNT(biases)} of them biases"]
    step = planned.schedule.steps[planned.peak].name
    memory = f"memory: {_mib(planned.bytes)}; most in use in {step}: {_mib(planned.live_bytes[planned.peak])}"
    if gpu is not None:
        memory += f", {PERCENT(planned.bytes / (gpu.memory_mib << 20))} of {gpu.name}'s"
    network = planned.schedule.network
    batch = [f"the file's batch is {network.batch}: --batch {network.batch} counts for it"] if network.batch else []
    return [*lines, memory, *batch, *network.remarks]
