"""The tables of docs/networks.md."""

from collections.abc import Callable

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_3, GENERAL, GROUPED_0, GROUPED_1
from gpusim.config.files import shipped
from gpusim.config.network import NETWORK_FOLDER, load_network
from tests.support.network_tables import ICPE_TABLE_1
from tests.support.utilization import TABLE_4
from workloads.networks.figures import LayerFigures, layer_figures
from workloads.networks.kinds import KINDS
from workloads.networks.memory import MemoryPlan, plan
from workloads.networks.onnx_nodes import READERS
from workloads.networks.onnx_recurrent import GATES
from workloads.networks.schedule import inference, training
from workloads.networks.tensor import format_shape

BATCH = 128


def kinds() -> str:
    """Kinds of layers with what a file may say of each."""
    rows = []
    for name, kind in KINDS.items():
        fields = ", ".join(
            f"`{key}`" if field.is_required() else f"`{key}` ({_default(field.default)})"
            for key, field in kind.model_fields.items()
        )
        rows.append([f"`{name}`", (kind.__doc__ or "").partition("\n")[0], fields or "–"])
    return table(["kind", "what it is", "values (defaults)"], rows)


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return str(value[0]) if len(set(value)) == 1 else format_shape(value)
    if value is None or isinstance(value, bool):
        return "–" if value is None else str(value).lower()
    return GENERAL(value) if isinstance(value, float) else str(value)


def operators() -> str:
    """ONNX operators that are read."""
    return ", ".join(f"`{name}`" for name in (*READERS, *GATES, "Constant", "Shape", "Size"))


def totals() -> str:
    """The shipped networks."""
    rows = []
    for file in sorted(shipped(NETWORK_FOLDER)):
        network = load_network(file)
        layers = layer_figures(plan(inference(network, 1)))
        trained = "–" if network.forward_alone else GROUPED_0(plan(training(network, BATCH)).bytes / (1 << 20))
        sums = [sum(getattr(one, name) for one in layers) for name in ("macs", "parameters", "biases")]
        rows.append(
            [
                f"`{file.removesuffix('.yaml')}`",
                ", ".join(format_shape(shape) for shape in network.inputs.values()),
                str(len(network.layers)),
                GROUPED_1(sums[0] / 1e6),
                COUNT(sums[1]),
                COUNT(sums[2]),
                GROUPED_0(plan(inference(network, BATCH)).bytes / (1 << 20)),
                trained,
            ]
        )
    head = ["network", "input", "layers", "M MACs an image", "parameters", "biases"]
    return table([*head, f"inference, batch {BATCH}: MiB", f"training, batch {BATCH}: MiB"], rows)


def _row(one: LayerFigures, image: LayerFigures, planned: MemoryPlan) -> list[str]:
    counts = {"forward": 0, "backward_data": 0, "backward_weights": 0}
    for step in one.passes:
        if step.what.value in counts:
            counts[step.what.value] = step.macs
    product = planned.schedule.network[one.name].gemm
    groups = f"{product.count} · " if product and product.count > 1 else ""
    return [
        one.name,
        one.kind,
        format_shape(one.shape),
        groups + format_shape((product.m, product.k, product.n)) if product else "",
        GROUPED_1(image.macs / 1e6) if image.macs else "",
        *(GROUPED_1(value / 1e9) if value else "" for value in counts.values()),
        COUNT(one.parameters + one.biases) if one.parameters else "",
        GROUPED_1(one.memory_bytes / (1 << 20)),
        GROUPED_0(one.live_bytes / (1 << 20)),
    ]


def layers_of(name: str) -> Callable[[], str]:
    """A network's layers in training."""

    def make() -> str:
        network = load_network(name)
        planned = plan(training(network, BATCH))
        images = layer_figures(plan(training(network, 1)))
        rows = [_row(one, image, planned) for one, image in zip(layer_figures(planned), images, strict=True)]
        head = ["layer", "kind", "output", "GEMM an image", "M MACs an image", "G MACs forward", "G MACs data"]
        return table([*head, "G MACs weights", "trained values", "MiB of the layer", "MiB in use"], rows)

    return make


def operations() -> str:
    """ICPE 2018's table 1 beside what is counted here."""
    layers = {layer.name: layer for layer in load_network("alexnet").layers}
    rows = []
    for name, (printed, unit, _) in ICPE_TABLE_1.items():
        exact = layers[name].operations
        letter = "M" if unit == 1_000_000 else "K"
        how = "rounded" if printed == round(exact / unit) else "cut off"
        rows.append([name, COUNT(exact), f"{printed}{letter}", how if exact % unit else "exact"])
    return table(["layer", "operations", "printed", "how"], rows)


def utilization() -> str:
    """Table 4 of Li et al. 2018 with equations 9 to 11."""
    rows = []
    for row in TABLE_4:
        rows.append(
            [
                f"{row.layer}, {row.library}",
                format_shape(row.result),
                format_shape(row.tile),
                str(row.block_size),
                str(row.registers),
                COUNT(row.grid),
                COUNT(row.equation_9),
                str(row.most_blocks),
                FIXED_3(row.utilization),
            ]
        )
    head = ["kernel", "M×N", "tile", "block", "registers", "grid as printed", "grid by (9)", "blocks by (10)"]
    return table([*head, "utilization by (11)"], rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "kinds": kinds,
    "operators": operators,
    "totals": totals,
    "operations": operations,
    "utilization": utilization,
    "alexnet": layers_of("alexnet"),
    "vgg16": layers_of("vgg16"),
    "resnet18": layers_of("resnet18"),
}
