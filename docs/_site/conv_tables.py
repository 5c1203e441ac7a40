"""Algorithms of convolution beside one another, on layers of known networks: tables of docs/kernels.md."""

from collections.abc import Iterator

from docs._site.pages import table
from docs._site.rooflines import Measurement, measure
from gpusim.base.formats import FIXED_0, FIXED_2, GROUPED_0, GROUPED_1
from gpusim.config.gpu import load_gpu
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.operators.conv_algorithms import ALGORITHMS, DENSE_ALGORITHMS
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution

GPUS = ("mi6", "r9nano")
LANES = 16  # multiply-accumulates of a SIMD and cycle
SAME = (1, 1, 1, 1)
LAYERS = {  # few images, which take seconds
    "AlexNet conv1": Convolution((4, 3, 227, 227), 96, (11, 11), (4, 4)),
    "AlexNet conv2": Convolution((1, 96, 27, 27), 256, (5, 5), padding=(2, 2, 2, 2)),
    "AlexNet conv3": Convolution((4, 256, 13, 13), 384, (3, 3), padding=SAME),
    "VGG conv3_1": Convolution((1, 128, 56, 56), 256, (3, 3), padding=SAME),
    "ResNet-18 conv2": Convolution((4, 64, 56, 56), 64, (3, 3), padding=SAME),
    "ResNet-18 conv3": Convolution((4, 128, 28, 28), 128, (3, 3), padding=SAME),
    "ResNet-18 conv4": Convolution((8, 256, 14, 14), 256, (3, 3), padding=SAME),
    "ResNet-18 conv5": Convolution((8, 512, 7, 7), 512, (3, 3), padding=SAME),
    "depth-wise 3×3": Convolution((2, 64, 28, 28), 64, (3, 3), padding=SAME, groups=64),
}
BY_IMAGE = ("ResNet-18 conv2",)  # with "im2col", which has many launches
BACKWARD = ("ResNet-18 conv2",)


def algorithms(layer: str) -> Iterator[str]:
    """Those that compute it, the one that the others are compared with first."""
    for name in DENSE_ALGORITHMS:
        if not ALGORITHMS[name].refuses(LAYERS[layer]) and (name != "im2col" or layer in BY_IMAGE):
            yield name


def forward_table() -> str:
    """Forward passes on both GPUs."""
    rows = []
    for layer, c in LAYERS.items():
        first: dict[str, int] = {}
        for name in algorithms(layer):
            primitive = ALGORITHMS[name].forward(c)
            workspace = sum(operand.size_bytes for operand in primitive.workspace.values())
            cells = [layer, str(c.shape[0]), f"`{name}`", GROUPED_1(workspace / 1e6)]
            for gpu in GPUS:
                spec = load_gpu(gpu)
                cells += _measured(primitive, measure(primitive, spec), spec, first, gpu)
            rows.append(cells)
    head = ["layer", "images", "algorithm", "workspace MB"]
    for gpu in GPUS:
        head += [f"{gpu}: cycles", "MACs, of the peak", "performed", "DRAM MB", "faster than `implicit`"]
    return table(head, rows)


def backward_table() -> str:
    """Gradients of some, on the default GPU."""
    rows, gpu = [], GPUS[0]
    for layer in BACKWARD:
        for kind in ("backward_data", "backward_weights"):
            first: dict[str, int] = {}
            for name in algorithms(layer):
                if name == "im2col":
                    continue
                primitive = getattr(ALGORITHMS[name], kind)(LAYERS[layer])
                spec = load_gpu(gpu)
                cells = [layer, kind.replace("_", " "), f"`{name}`"]
                rows.append([*cells, *_measured(primitive, measure(primitive, spec), spec, first, gpu)])
    head = ["layer", "pass", "algorithm", "cycles", "MACs, of the peak", "performed", "DRAM MB"]
    return table([*head, "faster than `implicit`"], rows)


def _measured(
    primitive: ConvolutionPass, found: Measurement, spec: GpuSpec, first: dict[str, int], gpu: str
) -> list[str]:
    peak = spec.cus * SIMDS * LANES * found.cycles
    ratio = first.setdefault(gpu, found.cycles) / found.cycles
    shares = [f"{FIXED_0(100 * macs / peak)} %" for macs in (primitive.macs, primitive.needed_macs)]
    return [f"{GROUPED_0(found.cycles / 1e3)} k", *shares, GROUPED_1(found.dram_bytes / 1e6), f"{FIXED_2(ratio)}×"]


SECTIONS = {"algorithms": forward_table, "gradients": backward_table}
