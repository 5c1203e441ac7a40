"""What each layer of an iteration costs, counted without simulating: products, parameters, bytes, memory."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from gpusim.base.sums import plain_sum
from workloads.networks.graph import Layer
from workloads.networks.kind import Gemm, Pass
from workloads.networks.memory import MemoryPlan
from workloads.networks.schedule import Step
from workloads.networks.tensor import TensorRole, elements
from workloads.shapes import Shape

SCHEMA_VERSION = 1
LaunchCounter = Callable[[Step], int | None]  # kernel launches of a step; None: no operator computes it

# what the figures mean: of the JSON object, and of docs/how-to/networks.md
MEANINGS = {
    "macs": "multiply-accumulates of the forward pass, zeros of the padding included",
    "operations": "arithmetic and logical operations of the forward pass, counted as in ICPE 2018's table 1",
    "parameters": "trained values without biases: filters, matrices, scales",
    "biases": "trained values that are added: biases, shifts",
    "gemm": "the forward pass as im2col gives it: `count` products of M × K by K × N",
    "output_bytes": "of the output, in place or not",
    "memory_bytes": "what is counted to the layer: output and its gradient, parameters with gradients and moments, "
    "saved tensors, the largest workspace; what works in place has none of its own",
    "live_bytes": "of device memory in use in the layer's step with the most",
    "passes": "the layer's steps: work, tensors read and written, each once, workspace, kernel launches",
    "peak_bytes": "of device memory in use in the step with the most",
    "planned_bytes": "of device memory from the first to the last byte in use, as the tensors are placed",
}


@dataclass(frozen=True)
class PassFigures:
    """Figures of a layer's step."""

    what: Pass
    """Pass."""
    parameter: str
    """Parameter that an update changes; empty for other passes."""
    gemm: Gemm | None
    """Matrix product of the step; None: no product."""
    read_bytes: int
    """Bytes read."""
    written_bytes: int
    """Bytes written."""
    workspace_bytes: int
    """Bytes of workspace."""
    launches: int | None
    """Number of launches; None: unknown."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of this step."""
        return self.gemm.macs if self.gemm else 0


@dataclass(frozen=True)
class LayerFigures:
    """Figures of a layer in an iteration; bytes and work are those of the whole batch."""

    name: str
    """Name of the layer."""
    kind: str
    """Its kind."""
    inputs: tuple[str, ...]
    """Names of its inputs."""
    input_shapes: tuple[Shape, ...]
    """Shapes of the inputs, of one image."""
    shape: Shape
    """Shape of the output, of one image."""
    gemm: Gemm | None
    """Product of an image; None: none."""
    operations: int
    """Operations of the forward pass that are no products."""
    parameters: int
    """Weights."""
    biases: int
    """Biases."""
    output_bytes: int
    """Bytes of the output."""
    memory_bytes: int
    """Bytes of all its tensors."""
    live_bytes: int
    """Bytes in use when it runs."""
    passes: tuple[PassFigures, ...]
    """Figures of each pass."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the forward pass."""
        return self.gemm.macs if self.gemm else 0

    @property
    def all_macs(self) -> int:
        """Multiply-accumulates of all passes."""
        return sum(one.macs for one in self.passes)


def layer_figures(plan: MemoryPlan, launches: LaunchCounter | None = None) -> tuple[LayerFigures, ...]:
    """Return the figures of every layer, in order.

    Args:
        plan: Memory plan of the iteration.
        launches: Returns the kernel launches of a step, where known.
    """
    steps: dict[str, list[int]] = {layer.name: [] for layer in plan.schedule.network.layers}
    for number, step in enumerate(plan.schedule.steps):
        steps[step.layer].append(number)
    return tuple(_of_layer(plan, layer, steps[layer.name], launches) for layer in plan.schedule.network.layers)


def product_of(layer: Layer, what: Pass, batch: int) -> Gemm | None:
    """Return the matrix products of a pass; None for a pass that has none."""
    if layer.gemm is None:
        return None
    forward = layer.gemm.over(batch)
    m, k, n, count = forward.m, forward.k, forward.n, forward.count
    if what is Pass.FORWARD:
        return forward
    if what is Pass.BACKWARD_WEIGHTS:
        return Gemm(m, n, k, count)
    return Gemm(k, m, n, count) if what is Pass.BACKWARD_DATA else None


def _of_layer(plan: MemoryPlan, layer: Layer, steps: list[int], launches: LaunchCounter | None) -> LayerFigures:
    schedule = plan.schedule
    weights = layer.anatomy.parameters
    mine = [buffer for buffer in plan.buffers if buffer.layer == layer.name]
    workspaces = [buffer.bytes for buffer in mine if buffer.role is TensorRole.WORKSPACE]
    kept = sum(buffer.bytes for buffer in mine if buffer.role is not TensorRole.WORKSPACE)
    biases = elements(weights["bias"]) if "bias" in weights else 0
    passes = []
    for number in steps:
        step = schedule.steps[number]
        workspace = plan.buffer_of.get(f"{step.name}.workspace")
        passes.append(
            PassFigures(
                what=step.what,
                parameter=step.parameter,
                gemm=product_of(layer, step.what, schedule.batch),
                read_bytes=sum(schedule.tensors[name].bytes for name in set(step.reads.values())),
                written_bytes=sum(schedule.tensors[name].bytes for name in set(step.writes.values())),
                workspace_bytes=workspace.bytes if workspace else 0,
                launches=launches(step) if launches else None,
            )
        )
    return LayerFigures(
        name=layer.name,
        kind=layer.kind_name,
        inputs=layer.inputs,
        input_shapes=layer.input_shapes,
        shape=layer.shape,
        gemm=product_of(layer, Pass.FORWARD, schedule.batch),
        operations=layer.operations * schedule.batch,
        parameters=sum(map(elements, weights.values())) - biases,
        biases=biases,
        output_bytes=schedule.tensors[schedule.outputs[layer.name]].bytes,
        memory_bytes=kept + max(workspaces, default=0),
        live_bytes=max((plan.live_bytes[number] for number in steps), default=0),
        passes=tuple(passes),
    )


def document(plan: MemoryPlan, layers: tuple[LayerFigures, ...], per_image: bool) -> dict[str, Any]:
    """Build the JSON object of `gpusim layers`.

    Args:
        plan: Memory plan of the iteration.
        layers: Figures of each layer.
        per_image: Figures are those of one image.
    """
    schedule = plan.schedule
    network = schedule.network
    summed = ("macs", "operations", "parameters", "biases")
    return {
        "schema_version": SCHEMA_VERSION,
        "network": network.name,
        "phase": "train" if schedule.training else "inference",
        "batch": None if per_image else schedule.batch,
        "meanings": MEANINGS,
        "inputs": {name: list(shape) for name, shape in network.inputs.items()},
        "layers": [_layer_tree(layer) for layer in layers],
        "total": {
            **{name: sum(getattr(layer, name) for layer in layers) for name in summed},
            "all_passes_macs": sum(layer.all_macs for layer in layers),
            "peak_bytes": plan.live_bytes[plan.peak],
            "peak_step": schedule.steps[plan.peak].name,
            "planned_bytes": plan.bytes,
            "launches": _launches(layers),
        },
        "remarks": list(network.remarks),
    }


def _launches(layers: tuple[LayerFigures, ...]) -> int | None:
    counts = [one.launches for layer in layers for one in layer.passes]
    known = [count for count in counts if count is not None]
    return plain_sum(known) if len(known) == len(counts) else None


def _layer_tree(layer: LayerFigures) -> dict[str, Any]:
    names = ("name", "kind", "macs", "operations", "parameters", "biases", "output_bytes", "memory_bytes", "live_bytes")
    return {
        **{name: getattr(layer, name) for name in names},
        "inputs": list(layer.inputs),
        "input_shapes": [list(shape) for shape in layer.input_shapes],
        "output_shape": list(layer.shape),
        "gemm": _gemm_tree(layer.gemm),
        "passes": [_pass_tree(one) for one in layer.passes],
    }


def _pass_tree(one: PassFigures) -> dict[str, Any]:
    tree = {**asdict(one), "gemm": _gemm_tree(one.gemm), "macs": one.macs}
    tree = {"pass": str(tree.pop("what")), **tree}
    return {name: value for name, value in tree.items() if value not in ("", None) or name == "gemm"}


def _gemm_tree(gemm: Gemm | None) -> dict[str, int] | None:
    return None if gemm is None else {"m": gemm.m, "k": gemm.k, "n": gemm.n, "count": gemm.count}
