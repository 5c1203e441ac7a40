"""The suite: launches of all kinds, of sizes whose whole simulation takes some seconds to some minutes."""

from collections.abc import Callable, Sequence
from functools import partial

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import SHARE_0
from gpusim.config.gpu import load_gpu
from gpusim.config.run import load_run
from gpusim.jobs.gemm import GemmJob, gemm_problem
from gpusim.jobs.running.operators import gpu_facts
from gpusim.lab.checks.sampling.addresses import address_cases
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from gpusim.lab.checks.sampling.uneven import uneven_cases
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from workloads.operators.activation import ActivationForward
from workloads.operators.add import Add
from workloads.operators.batch_norm import BatchNormBackward, BatchNormTraining
from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.conv_im2col import Im2colForward
from workloads.operators.conv_implicit import ImplicitForward
from workloads.operators.convolution import Convolution
from workloads.operators.gemm_kernels import GEMM_KERNELS
from workloads.operators.lrn import LrnForward
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive, build
from workloads.operators.softmax import SoftmaxForward

DENSE = "sgemm"  # the fastest dense kernel of large products
FEW = "few rounds"  # the kind of products with few tiles and a long sum, as gradients of weights are


def find_main_launch(launches: Sequence[Launch]) -> int:
    """Return the number of the launch that multiplies: the last but for the sum of parts along a long depth."""
    return max(number for number, launch in enumerate(launches) if not launch.kernel.name.startswith("sum_parts"))


def product(gpu: str, m: int, n: int, k: int, sparsity: float = 0.0, sparse: str = "") -> SamplingLaunch:
    """Prepare the launch of a matrix product that multiplies; sparse: the kernel that takes the sparse operand, '': the
    dense one.
    """
    config = load_run(
        {
            "gpu": gpu,
            "workload": {"kind": "gemm", "name": "check", "m": m, "n": n, "k": k, "sparsity": sparsity, "seed": 1},
            "kernels": {"sparse": sparse} if sparse else {},
            "run": {"engine": "on" if sparse else "off"},
        }
    )
    job = GemmJob(config, gemm_problem(config.workload))  # type: ignore[arg-type]
    operator = job.operator(sparse or DENSE)
    engine = job.engine_spec if sparse and GEMM_KERNELS[sparse].uses_engine else None
    number = find_main_launch(operator.launches)
    return SamplingLaunch(operator.launches[number], job.gpu, engine, tuple(operator.launches[:number]))


def _primitive(primitive: Primitive, gpu: str, number: int | None) -> SamplingLaunch:
    """Prepare a primitive's launch of that number, None: the one that multiplies, over random operands."""
    spec = load_gpu(gpu)
    memory = DeviceMemory(spec.memory_mib << 20, architecture=spec.architecture)
    operator = build(primitive, memory, gpu_facts(spec), seed=1)
    if number is None:
        number = find_main_launch(operator.launches)
    return SamplingLaunch(operator.launches[number], spec, before=tuple(operator.launches[:number]))


def _bench(name: str, size: int, gpu: str) -> SamplingLaunch:
    """Prepare a launch of the speed benchmark."""
    from gpusim.lab.checks.bench.cases import CASES as BENCHED
    from gpusim.lab.checks.bench.cases import GEMM_SETTINGS

    config = load_run({"gpu": gpu, "workload": {"kind": "gemm", "name": "x", "m": 1, "n": 1, "k": 1}}, GEMM_SETTINGS)
    case = next(one for one in BENCHED if one.name == name)
    return SamplingLaunch(case.build(config, size).launch, config.gpu)


# layer, filters, positions of the windows of all images, taps: the networks' convolutions at several batches
_DENSE = (
    ("lenet conv2 b2048", 50, 8 * 8 * 2048, 500),
    ("cifarnet conv2 b512", 32, 16 * 16 * 512, 800),
    ("cifarnet conv3 b1024", 64, 8 * 8 * 1024, 800),
    ("alexnet conv1 b64", 96, 55 * 55 * 64, 363),
    ("alexnet conv2 b64", 256, 27 * 27 * 64, 1200),
    ("alexnet conv3 b64", 384, 13 * 13 * 64, 2304),
    ("alexnet conv4 b96", 384, 13 * 13 * 96, 3456),
    ("alexnet conv5 b128", 256, 13 * 13 * 128, 3456),
    ("vgg16 conv1_2 b12", 64, 224 * 224 * 12, 576),
    ("vgg16 conv2_1 b48", 128, 112 * 112 * 48, 576),
    ("vgg16 conv2_2 b16", 128, 112 * 112 * 16, 1152),
    ("vgg16 conv3_2 b48", 256, 56 * 56 * 48, 2304),
    ("vgg16 conv4_2 b12", 512, 28 * 28 * 12, 4608),
    ("vgg16 conv5_1 b48", 512, 14 * 14 * 48, 4608),
    ("resnet18 conv1 b48", 64, 112 * 112 * 48, 147),
    ("resnet18 down2 b512", 128, 28 * 28 * 512, 64),
    ("resnet18 conv2 b96", 64, 56 * 56 * 96, 576),
    ("resnet18 conv3 b96", 128, 28 * 28 * 96, 1152),
    ("resnet18 conv4 b96", 256, 14 * 14 * 96, 2304),
    ("resnet18 conv5 b128", 512, 7 * 7 * 128, 4608),
)
# the same with zeros among the activations: the part that they are
_SPARSE = (
    ("vgg11 conv2", 128, 112 * 112 * 12, 576, 0.5),
    ("vgg11 conv4", 256, 56 * 56 * 12, 2304, 0.6),
    ("vgg11 conv6", 512, 28 * 28 * 18, 4608, 0.7),
    ("resnet10 conv2", 64, 56 * 56 * 48, 576, 0.4),
    ("resnet10 conv4", 256, 14 * 14 * 192, 2304, 0.6),
    ("alexnet conv3", 384, 13 * 13 * 96, 2304, 0.8),
    ("cifarnet conv3", 64, 8 * 8 * 1536, 800, 0.5),
)
_MAPS = (128, 64, 112, 112)
# layer, filters, taps, positions that are summed over: gradients of weights, and fully connected layers
_FEW = (
    ("vgg16 conv3_1 weights", 256, 1152, 9408),
    ("vgg16 conv5_3 weights", 512, 1152, 4704),
    ("resnet18 conv2 weights", 64, 576, 50_176),
    ("resnet18 conv5 weights", 512, 2304, 2352),
    ("vgg16 fc7", 4096, 128, 4096),
)
_LARGE = (64, 64, 224, 224)  # half of what VGG-16 has of them in a batch of 128
_MAX = Pooling("max", (3, 3), (2, 2))
_CONVOLUTION = Convolution((256, 64, 56, 56), 64, (3, 3), padding=(1, 1, 1, 1))


def _dense_cases(gpu: str, kind: str, sizes: Sequence[tuple[str, int, int, int]]) -> list[SamplingCase]:
    return [
        SamplingCase(f"{gpu} {name}", kind, f"{m} x {n} x {k}", partial(product, gpu, m, n, k))
        for name, m, n, k in sizes
    ]


def _cases(gpu: str) -> list[SamplingCase]:
    made = _dense_cases(gpu, "dense product", _DENSE)
    for kernel, kind in (("sgemm_dib_tiled", "sparse, engine"), ("software", "sparse, software")):
        made += [
            SamplingCase(
                f"{gpu} {name} {kind.partition(', ')[2]}",
                kind,
                f"{m} x {n} x {k}, {SHARE_0(zeros)} zeros",
                partial(product, gpu, m, n, k, zeros, kernel),
            )
            for name, m, n, k, zeros in _SPARSE
        ]
    primitives: tuple[tuple[str, str, Callable[[], Primitive], int | None], ...] = (
        (
            "im2col",
            "im2col",
            lambda: Im2colForward(Convolution((1, 64, 448, 448), 64, (3, 3), padding=(1, 1, 1, 1))),
            0,
        ),
        ("implicit convolution", "convolution", lambda: ImplicitForward(_CONVOLUTION), None),
        ("relu", "element-wise", lambda: ActivationForward("relu", _LARGE), 0),
        ("add", "element-wise", lambda: Add(_LARGE), 0),
        ("bias", "element-wise", lambda: BiasForward(_LARGE), 0),
        ("bias backward", "reduction", lambda: BiasBackward(_MAPS), 0),
        ("max pooling", "pooling", lambda: PoolingForward(_MAX, _LARGE), 0),
        ("max pooling backward", "pooling", lambda: PoolingBackward(_MAX, _MAPS), 0),
        ("average pooling", "pooling", lambda: PoolingForward(Pooling("average", (2, 2), (2, 2)), _MAPS), 0),
        ("batch norm", "reduction", lambda: BatchNormTraining(_MAPS), 0),
        ("batch norm backward", "reduction", lambda: BatchNormBackward(_MAPS), 0),
        ("softmax", "reduction", lambda: SoftmaxForward((65_536, 1000)), 0),
        ("lrn", "element-wise", lambda: LrnForward((512, 96, 27, 27)), 0),
    )
    made += [
        SamplingCase(f"{gpu} {name}", kind, name, lambda make=make, number=number: _primitive(make(), gpu, number))  # type: ignore[misc]
        for name, kind, make, number in primitives
    ]
    made += [
        SamplingCase(f"{gpu} {name}", kind, f"{size} work-items", lambda name=name, size=size: _bench(name, size, gpu))  # type: ignore[misc]
        for name, kind, size in (
            ("transpose", "transpose", 8192),
            ("transpose_direct", "transpose", 4096),
            ("sparse_gather", "irregular", 1 << 20),
            ("collatz", "irregular", 1 << 21),
            ("histogram", "irregular", 1 << 21),
            ("vector_add", "element-wise", 1 << 27),
            ("lds_links", "irregular", 1 << 22),
        )
    ]
    return made + _dense_cases(gpu, FEW, _FEW) + uneven_cases(gpu) + address_cases(gpu)


GPUS = ("mi6", "r9nano")
CASES: dict[str, SamplingCase] = {case.name: case for gpu in GPUS for case in _cases(gpu)}


def select_cases(names: list[str]) -> list[SamplingCase]:
    """Return cases by name, or by the begin of names; all, if none is given. Raise UserError for an unknown one."""
    if not names:
        return list(CASES.values())
    selected: dict[str, SamplingCase] = {}
    for name in names:
        some = {key: case for key, case in CASES.items() if key.startswith(name)}
        if not some:
            raise UserError(f"--only {name}: {unknown_name('case', name, CASES)}")
        selected.update(some)
    return list(selected.values())
