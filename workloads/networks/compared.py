"""Several networks side by side: how many layers of each kind they have, and what they cost; nothing is simulated."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.formats import FIXED_2
from gpusim.base.picture import Picture
from workloads.networks.figures import SCHEMA_VERSION, LayerFigures
from workloads.networks.graph import Network
from workloads.networks.memory import MemoryPlan

MEANINGS = {
    "kinds": "layers by kind",
    "with_weights": "layers that multiply by weights: convolutions and fully connected ones",
    "flops": "floating-point operations of the forward pass's products: two for each multiply-accumulate",
    "all_passes_flops": "the same of all passes",
    "parameters": "trained values, biases included",
    "planned_bytes": "of device memory from the first to the last byte in use, as the tensors are placed",
}
SUMS = ("layers", "with_weights", "flops", "all_passes_flops", "parameters", "planned_bytes")
_PANELS = (("layers with weights", "with_weights", 1.0), ("GFLOPs of the forward pass", "flops", 1e-9))
_BAR_INCHES = 0.35


@dataclass(frozen=True)
class NetworkSummary:
    """A network in numbers; work and bytes are those of the plan's batch."""

    network: Network
    """The network."""
    batch: int
    """Images in a batch."""
    kinds: Mapping[str, int]
    """Layers by kind."""
    with_weights: int
    """Layers that multiply by weights."""
    flops: int
    """Floating-point operations of the forward pass's products."""
    all_passes_flops: int
    """The same of all passes."""
    parameters: int
    """Trained values, with biases."""
    planned_bytes: int
    """Device memory in use."""

    @property
    def layers(self) -> int:
        """Layers of all kinds."""
        return len(self.network.layers)


def summarize_network(planned: MemoryPlan, figures: Sequence[LayerFigures]) -> NetworkSummary:
    """Sum up the figures of a network's layers.

    Args:
        planned: Memory plan of the iteration.
        figures: Figures of each layer.
    """
    return NetworkSummary(
        network=planned.schedule.network,
        batch=planned.schedule.batch,
        kinds=Counter(one.kind for one in figures),
        with_weights=sum(one.gemm is not None for one in figures),
        flops=2 * sum(one.macs for one in figures),
        all_passes_flops=2 * sum(one.all_macs for one in figures),
        parameters=sum(one.parameters + one.biases for one in figures),
        planned_bytes=planned.bytes,
    )


def document(summaries: Sequence[NetworkSummary], training: bool, per_image: bool) -> dict[str, Any]:
    """Build the JSON object of several networks.

    Args:
        summaries: The networks.
        training: Work is that of all passes.
        per_image: Figures are those of one image.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "phase": "train" if training else "inference",
        "batch": None if per_image else summaries[0].batch,
        "meanings": MEANINGS,
        "networks": [
            {
                "network": one.network.name,
                "kinds": dict(one.kinds),
                **{name: getattr(one, name) for name in SUMS},
                "remarks": list(one.network.remarks),
            }
            for one in summaries
        ],
    }


def picture(summaries: Sequence[NetworkSummary]) -> Picture:
    """Make a picture of depth and work, a bar for each network (as Dong 2020, figure 2.4)."""
    names = [summary.network.name for summary in summaries]

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        for axes, (title, value, scale) in zip(figure.subplots(1, len(_PANELS), sharey=True), _PANELS, strict=True):
            bars = axes.barh(names, [getattr(summary, value) * scale for summary in summaries])
            axes.bar_label(bars, fmt="{:,.3g}", padding=3, fontsize=8)
            axes.margins(x=0.18)
            axes.set_title(title)
        axes.invert_yaxis()

    rows = [(summary.network.name, summary.with_weights, summary.flops / 1e9) for summary in summaries]
    described = "; ".join(
        f"{name}: {count} layers with weights, {FIXED_2(gflops)} GFLOPs" for name, count, gflops in rows
    )
    size = (9.0, 1.0 + _BAR_INCHES * len(names))
    heads = ("network", "layers with weights", "GFLOPs")
    return Picture(
        name="networks",
        title="Depth and work of networks",
        alt=described,
        heads=heads,
        rows=rows,
        draw=draw,
        size=size,
        framed=True,
    )
