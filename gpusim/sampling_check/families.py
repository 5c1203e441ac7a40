"""Launches beside another one of their kernel: some of its family, to be estimated from it, some that are not."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from gpusim.config.gpu import load_gpu
from gpusim.running.operators import gpu_facts
from gpusim.sampling_check.case import Case, Prepared
from gpusim.sampling_check.few import product
from gpusim.sampling_check.uneven import looped
from isa.device_memory import DeviceMemory
from workloads.operators.activation import ActivationForward
from workloads.operators.bias import BiasForward
from workloads.operators.conv_winograd import WinogradBackwardWeights, WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.pooling import Pooling, PoolingForward
from workloads.operators.primitive import Primitive, build

FAMILY = "family"  # the kind of all these cases
_CHUNK_BYTES = 128 << 20  # of windows and products: 18 of the 35 images below, then 17
_Make = Callable[[str], Prepared]


def _launch(gpu: str, make: Callable[[], Primitive], number: int) -> Prepared:
    """Prepare a primitive's launch of that number, negative: from the end, over random operands."""
    spec, primitive = load_gpu(gpu), make()
    operator = build(primitive, DeviceMemory(spec.memory_mib << 20), gpu_facts(spec), seed=1)
    moved_bytes = (primitive.work.read_bytes + primitive.work.stored_bytes) / len(operator.launches)
    return Prepared(operator.launches[number], spec, moved_bytes=moved_bytes)


def _of(make: Callable[[], Primitive], number: int = 0) -> _Make:
    return lambda gpu: _launch(gpu, make, number)


def _product(m: int, n: int, k: int) -> _Make:
    return lambda gpu: replace(product(gpu, m, n, k, "sgemm_4x4"), moved_bytes=4.0 * (m * k + k * n + m * n))


def _flat() -> np.ndarray:
    return np.full(_LOOPED, 24)


def _ramp() -> np.ndarray:
    return 12 + np.arange(_LOOPED) * 24 // _LOOPED


_LOOPED = 8192  # workgroups


def _looped(work: Callable[[], np.ndarray]) -> _Make:
    return lambda gpu: replace(looped(gpu, work), moved_bytes=4.0 * 256 * _LOOPED)


_CONVOLUTION = Convolution((35, 128, 56, 56), 128, (3, 3), padding=(1, 1, 1, 1))
_FORWARD = partial(WinogradForward, _CONVOLUTION, size=4, buffer_bytes=_CHUNK_BYTES)
_WEIGHTS = partial(WinogradBackwardWeights, _CONVOLUTION, size=4, buffer_bytes=_CHUNK_BYTES)


def _maps(kind: Callable[[tuple[int, int, int, int]], Primitive], images: int) -> _Make:
    return _of(lambda: kind((images, 64, 112, 112)))


_relu = partial(ActivationForward, "relu")
_max = partial(PoolingForward, Pooling("max", (2, 2), (2, 2)))

# name, of the example, the launch itself
_FAMILIES: tuple[tuple[str, _Make, _Make], ...] = (
    ("windows of fewer images", _of(_FORWARD, 1), _of(_FORWARD, -3)),
    ("products of fewer images", _of(_FORWARD, 2), _of(_FORWARD, -2)),
    ("results of fewer images", _of(_FORWARD, 3), _of(_FORWARD, -1)),
    ("first products of gradients", _of(_WEIGHTS, 5), _of(_WEIGHTS, 2)),
    ("gradients of fewer images", _of(_WEIGHTS, 1), _of(_WEIGHTS, 4)),
    ("product of fewer columns", _product(192, 38_400, 144), _product(192, 25_600, 144)),
    ("product of more columns", _product(192, 25_600, 144), _product(192, 38_400, 144)),
    ("product of fewer rows", _product(192, 38_400, 144), _product(160, 38_400, 144)),
    ("relu of fewer images", _maps(_relu, 16), _maps(_relu, 9)),
    ("relu of more images", _maps(_relu, 9), _maps(_relu, 16)),
    ("bias of fewer images", _maps(BiasForward, 16), _maps(BiasForward, 9)),
    ("max pooling of fewer images", _maps(_max, 16), _maps(_max, 9)),
    # to be refused: what holds in L2, rows that lie a power of two apart, another sum, work that varies
    ("relu within L2", _maps(_relu, 16), _maps(_relu, 1)),
    ("product with a pitch of 2^15", _product(192, 38_400, 144), _product(192, 32_768, 144)),
    ("product of a longer sum", _product(192, 25_600, 144), _product(192, 25_600, 192)),
    ("ramp beside even work", _looped(_flat), _looped(_ramp)),
)


def family_cases(gpu: str) -> list[Case]:
    """Return the cases for a GPU."""
    return [
        Case(f"{gpu} family: {name}", FAMILY, "beside another launch", partial(make, gpu), partial(example, gpu))
        for name, example, make in _FAMILIES
    ]
