"""How near primitives' kernels come to their bounds on the default GPU: tables of results/kernels.md, and a test."""

from dataclasses import dataclass

import numpy as np

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_0, FIXED_2, GROUPED_0, PERCENT_0
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from workloads.operators.activation import ActivationBackward, ActivationForward
from workloads.operators.add import Add
from workloads.operators.batch_norm import BatchNormBackward, BatchNormInference, BatchNormTraining
from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.bypass import Bypass
from workloads.operators.concat import Concat, Split
from workloads.operators.conv_algorithms import ALGORITHMS
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.count_zeros import CountZeros
from workloads.operators.dropout import DropoutBackward, DropoutForward
from workloads.operators.fully_connected import (
    FullyConnected,
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.operators.lrn import LrnBackward, LrnForward
from workloads.operators.operator import before
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive, build
from workloads.operators.softmax import SoftmaxBackward, SoftmaxForward, SoftmaxLossBackward, SoftmaxLossForward
from workloads.operators.verify import verify

MEMORY_BYTES = 1 << 29
WAVEFRONT = 64  # multiply-accumulates of a compute unit and cycle
PINS_BYTES_PER_CYCLE = GpuSpec().dram.bytes_per_s / GpuSpec().clock_hz
IMAGES = (8, 32, 128, 128)  # DNNMark's benchmarks, smaller: 100 x 32 x 256 x 256
ODD = (16, 96, 55, 55)  # AlexNet's first layer
DEEP = (64, 512, 7, 7)  # ResNet's last
CLASSES = (4096, 1000)
MAX_3 = Pooling("max", (3, 3), (2, 2))
MAX_2 = Pooling("max", (2, 2), (2, 2))
MAX_1 = Pooling("max", (3, 3), (1, 1), (1, 1))
AVERAGE_3 = Pooling("average", (3, 3), (2, 2), (1, 1))
AVERAGE_1 = Pooling("average", (3, 3), (1, 1), (1, 1))
POOLING = (PoolingForward, PoolingBackward)
GLOBAL_AVERAGE, GLOBAL_MAX = (Pooling.over_plane(mode, DEEP) for mode in ("average", "max"))

MEASURED: tuple[Primitive, ...] = (
    *(ActivationForward(name, IMAGES) for name in ("relu", "sigmoid", "tanh")),
    *(ActivationBackward(name, IMAGES) for name in ("relu", "sigmoid", "tanh")),
    *(made(pooling, IMAGES) for pooling in (MAX_3, MAX_2, MAX_1, AVERAGE_3, AVERAGE_1) for made in POOLING),
    *(made(pooling, DEEP) for pooling in (GLOBAL_AVERAGE, GLOBAL_MAX) for made in POOLING),
    BiasForward(IMAGES),
    *(BiasBackward(shape) for shape in (IMAGES, ODD, DEEP, CLASSES)),
    *(made(shape) for made in (BatchNormTraining, BatchNormBackward) for shape in (IMAGES, DEEP)),
    BatchNormInference(IMAGES),
    SoftmaxForward(CLASSES),
    SoftmaxBackward(CLASSES),
    SoftmaxForward((8, 21, 128, 128)),
    SoftmaxBackward((8, 21, 128, 128)),
    SoftmaxLossForward(CLASSES),
    SoftmaxLossBackward(CLASSES),
    DropoutForward(IMAGES),
    DropoutBackward(IMAGES),
    Add(IMAGES),
    Add(IMAGES, 5),
    Concat((32, 96, 28, 28), (64, 32)),
    Split((32, 96, 28, 28), (64, 32)),
    Concat((32, 96, 27, 27), (63, 33)),
    Bypass(IMAGES),
    CountZeros(IMAGES),
    *(made(shape) for shape in (IMAGES, ODD) for made in (LrnForward, LrnBackward)),
    Sgd(CLASSES),
    Adam(CLASSES),
)
CONVOLUTIONS = {  # by algorithm
    "implicit": (
        Convolution((4, 3, 227, 227), 96, (11, 11), (4, 4)),  # AlexNet's first layer
        Convolution((16, 256, 13, 13), 384, (3, 3), padding=(1, 1, 1, 1)),  # its third
        Convolution((8, 64, 56, 56), 64, (3, 3), padding=(1, 1, 1, 1)),  # ResNet-18
        Convolution((16, 64, 56, 56), 128, (3, 3), (2, 2), (1, 1, 1, 1)),
        Convolution((16, 256, 14, 14), 512, (1, 1), (2, 2)),
    ),
    "im2col": (Convolution((2, 256, 13, 13), 384, (3, 3), padding=(1, 1, 1, 1)),),
    "ellpack_dib": (Convolution((16, 256, 13, 13), 384, (3, 3), padding=(1, 1, 1, 1)),),
    "ellpack_dib_registers": (Convolution((16, 256, 13, 13), 384, (3, 3), padding=(1, 1, 1, 1)),),
    "ellpack_dib_software": (Convolution((16, 256, 13, 13), 384, (3, 3), padding=(1, 1, 1, 1)),),
}
ZEROS = 0.7  # of the maps whose zeros are skipped, uniformly random
FULLY = ((128, 4096), 1000)
PRODUCTS: tuple[Primitive, ...] = (
    *(
        made(c)
        for name, convolutions in CONVOLUTIONS.items()
        for c in convolutions
        for made in (ALGORITHMS[name].forward, ALGORITHMS[name].backward_data, ALGORITHMS[name].backward_weights)
        if name in made(c).name  # what an algorithm has none of its own for is the default's
    ),
    *(made(*FULLY) for made in (FullyConnectedForward, FullyConnectedBackwardData, FullyConnectedBackwardWeights)),
)


FEW_ROWS = ((1, 1024), (1, 4096), (2, 4096), (4, 4096), (8, 128), (8, 1024), (8, 4096))  # images, values
FEW_ROWS_OF_HALVES = ((1, 4096), (8, 4096))  # with weights of FP16
FEW_OUTPUTS = 1000


@dataclass(frozen=True)
class ForwardByTiles(FullyConnectedForward):
    """By the kernels for many images, however few they are."""

    few = False


@dataclass(frozen=True)
class Measurement:
    """Of an operator simulated whole. shares: of its cycles that each roofline allows not to be fewer, launches added
    up; dram_bytes: read and written back."""

    cycles: int
    launches: int
    shares: dict[str, float]
    dram_bytes: int

    @property
    def largest(self) -> tuple[str, float]:
        """The nearest bound but latency's, and its share."""
        return max(((n, s) for n, s in self.shares.items() if n != "latency"), key=lambda pair: pair[1])


def measure(primitive: Primitive, gpu: GpuSpec = GpuSpec()) -> Measurement:
    """With data of its own; AssertionError where the result is wrong."""
    operator = build(primitive, DeviceMemory(MEMORY_BYTES), gpu_facts(gpu))
    for name in primitive.skips_zeros_of:
        skipped = operator.tensors[name].array
        skipped[np.random.default_rng(1).random(skipped.shape) < ZEROS] = 0
    inputs = before(operator)
    engine = EngineSpec()
    runs = [simulate(one, gpu, engine if one.regions else None, checked=True) for one in operator.launches]
    assert verify(operator, inputs).passed, primitive
    cycles = sum(run.cycles for run in runs)
    shares = {name: sum(run.roofline[name] for run in runs) / cycles for name in runs[0].roofline}
    moved = sum(run.dram.bytes_read + run.dram.bytes_written for run in runs)
    return Measurement(cycles, len(runs), shares, moved)


def label(primitive: Primitive) -> str:
    """Name, and what beside the shape makes a difference."""
    if isinstance(primitive, PoolingForward | PoolingBackward):
        pooling = primitive.pooling
        window = f"{pooling.kernel[0]}×{pooling.kernel[1]}/{pooling.stride[0]}"
        return f"{primitive.name}, {'whole plane' if primitive.over_plane else window}"
    if isinstance(primitive, Add):
        return f"{primitive.name}, {primitive.count} arrays"
    return primitive.name


def primitives_table() -> str:
    """docs/results/kernels.md: primitives against their bounds."""
    rows = []
    for primitive in MEASURED:
        found, work = measure(primitive), primitive.work
        name, share = found.largest
        largest = max([*primitive.takes.values(), *primitive.gives.values()], key=lambda operand: operand.size)
        least = work.read_bytes + work.written_bytes
        cells = [
            label(primitive),
            "×".join(map(str, largest.shape)),
            str(found.launches),
            f"{GROUPED_0(found.cycles / 1e3)} k",
        ]
        cells += [PERCENT_0(found.shares["dram"]), PERCENT_0(found.shares["valu"])]
        cells += [f"{name} {PERCENT_0(share)}", FIXED_2(found.dram_bytes / least)]
        rows.append([*cells, f"{FIXED_0(100 * least / (found.cycles * PINS_BYTES_PER_CYCLE))} %"])
    head = ["pass", "shape", "launches", "cycles", "DRAM pins busy", "VALU busy", "nearest bound"]
    return table([*head, "DRAM bytes / least", "least bytes / cycles, of the pins'"], rows)


def products_table() -> str:
    """docs/results/kernels.md: convolutions and fully connected layers against the rate of multiply-accumulates."""
    rows = []
    for primitive in PRODUCTS:
        found = measure(primitive)
        name, share = found.largest
        shape = ""
        if isinstance(primitive, ConvolutionPass):
            c = primitive.convolution
            shape = f"{'×'.join(map(str, c.shape))} → {c.filters}, {c.kernel[0]}×{c.kernel[1]}/{c.stride[0]}"
        if isinstance(primitive, FullyConnected):
            shape = f"{primitive.shape[0]}×{primitive.inputs} → {primitive.outputs}"
        rate = primitive.macs / (WAVEFRONT * GpuSpec().cus * found.cycles)
        cells = [primitive.name, shape, str(found.launches), f"{GROUPED_0(found.cycles / 1e3)} k", PERCENT_0(rate)]
        shares = [PERCENT_0(found.shares[bound]) for bound in ("valu", "lds", "dram")]
        rows.append([*cells, *shares, f"{name} {PERCENT_0(share)}"])
    head = ["pass", "shape", "launches", "cycles", "MACs, of the peak", "VALU busy", "LDS busy", "DRAM pins busy"]
    return table([*head, "nearest bound"], rows)


def few_rows_table() -> str:
    """docs/results/kernels.md: fully connected layers over few images, by their kernel and by that for many."""
    rows = []
    cases = *((shape, False) for shape in FEW_ROWS), *((shape, True) for shape in FEW_ROWS_OF_HALVES)
    for shape, half in cases:
        kinds = FullyConnectedForward, ForwardByTiles
        few, tiles = (measure(made(shape, FEW_OUTPUTS, half=half)) for made in kinds)
        cells = [*map(str, shape), "FP16" if half else "FP32"]
        cells += [COUNT(tiles.cycles), COUNT(few.cycles), f"{FIXED_2(tiles.cycles / few.cycles)}×"]
        rows.append([*cells, *(PERCENT_0(few.shares[bound]) for bound in ("dram", "l2", "valu"))])
    head = ["images", "values", "weights", "by tiles", "`few_rows`", "faster", "DRAM pins busy", "L2 busy", "VALU busy"]
    return table(head, rows)


if __name__ == "__main__":
    print(primitives_table())
    print(products_table())
