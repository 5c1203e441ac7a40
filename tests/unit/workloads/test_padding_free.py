"""Does a padding-free convolution multiply nothing else, and is nothing faster than the best dense way at no zeros?"""

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from tests.support.daily import given_daily, parametrize_daily
from tests.unit.workloads.test_convolution import convolutions
from workloads.operators.conv_algorithms import ALGORITHMS, SPARSE_WEIGHTS, algorithm
from workloads.operators.conv_padding_free import (
    MOST_TAPS,
    PaddingFreeBackwardData,
    PaddingFreeForward,
    inside_axes,
)
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import Primitive, build

SAME = (1, 1, 1, 1)
# layers C and B of Dong 2020, table 6.5, with as many images as a test has time for
LAYER_C = Convolution((16, 512, 2, 2), 512, (3, 3), padding=SAME)
LAYERS = [LAYER_C, *(Convolution((4, 512, size, size), 512, (3, 3), padding=SAME) for size in (2, 4))]
BAR = 0.03  # how far a run's time moves where nothing moves that matters: layer C at batch 32, at most


SMALL_GPU = GpuSpec(shader_arrays=1)  # on which a smaller layer breaks the law without im2col's sums in parts
SMALL_LAYER = Convolution((16, 128, 2, 2), 128, (3, 3), padding=SAME)


def _seeded(seed: int) -> Convolution:
    random = np.random.default_rng([54, seed])
    size, channels, filters = (int(random.integers(low, high)) for low, high in ((2, 4), (1, 4), (1, 4)))
    return Convolution((16, 64 * channels, size, size), 64 * filters, (3, 3), padding=SAME)


def _cycles(primitive: Primitive, gpu: GpuSpec) -> int:
    """Simulate a pass over values of which none is zero."""
    draw = np.random.default_rng(1)
    taken = {
        name: draw.uniform(0.5, 1.0, operand.shape).astype(np.float32)
        for name, operand in primitive.takes.items()
        if name in ("x", "dy")
    }
    operator = build(primitive, DeviceMemory(1 << 28), gpu_facts(gpu), taken)
    return sum(simulate(one, gpu, EngineSpec() if one.regions else None).cycles for one in operator.launches)


def _name(value: GpuSpec | Convolution) -> str:
    return f"{value.cus} compute units" if isinstance(value, GpuSpec) else str(value)


@given_daily(40, 100, convolutions())
def test_parts_have_each_pair_inside_once_and_no_other(c: Convolution) -> None:
    for primitive, size in ((PaddingFreeForward(c), c.outputs), (PaddingFreeBackwardData(c), c.shape[2:])):
        parts = primitive.parts
        assert sum(part.rows.count * part.columns.count for part in parts) == size[0] * size[1]
        results = c.shape[0] * c.groups * parts[0].filters
        assert results * sum(p.rows.count * p.columns.count * p.depth for p in parts) == c.needed_macs


@given_daily(40, 100, convolutions())
def test_a_part_meets_nothing_outside(c: Convolution) -> None:
    for primitive, size in ((PaddingFreeForward(c), c.shape[2:]), (PaddingFreeBackwardData(c), c.outputs)):
        for part in primitive.parts:
            for axis, extent in zip((part.rows, part.columns), size, strict=True):
                for tap in range(axis.taps):
                    first = axis.first + tap * axis.tap_step
                    assert 0 <= first <= first + (axis.count - 1) * axis.step < extent
                assert inside_axes(axis, extent) == [axis] or not axis.taps


@pytest.mark.compiled_tier
@parametrize_daily(
    "gpu, c",
    [(SMALL_GPU, SMALL_LAYER), *((GpuSpec(), c) for c in (_seeded(0), _seeded(1), *LAYERS))],
    (0,),
    ids=_name,
)
def test_at_no_zeros_nothing_is_faster_than_the_best_dense_way(gpu: GpuSpec, c: Convolution) -> None:
    """What skips zeros then has nothing to skip but padding, which a dense way need not multiply either.

    Of many ways those are asked that are the fastest here. Without the padding-free one layer C breaks the law, and
    without im2col's with sums in parts both layers do, with four images.
    """
    names = ("winograd_2x2", "padding_free", "im2col_chunked")
    dense = min(_cycles(ALGORITHMS[name].forward(c), gpu) for name in names)
    for name in ("registers", "fused", "padding_free", "software_padding_free"):
        assert _cycles(ALGORITHMS[f"ellpack_dib_{name}"].forward(c), gpu) > (1 - BAR) * dense, name


@pytest.mark.compiled_tier
@parametrize_daily(
    "gpu, c",
    [(SMALL_GPU, SMALL_LAYER), *((GpuSpec(), c) for c in (_seeded(0), _seeded(1), LAYER_C))],
    (0,),
    ids=_name,
)
def test_at_no_zeros_no_gradient_of_weights_is_faster_than_the_best_dense_way(gpu: GpuSpec, c: Convolution) -> None:
    dense = min(_cycles(ALGORITHMS[name].backward_weights(c), gpu) for name in ("padding_free", "implicit"))
    sparse = [made for made in SPARSE_WEIGHTS if not made.refuses(c)]
    assert sparse
    for made in sparse:
        assert _cycles(made(c), gpu) > (1 - BAR) * dense, made.algorithm


def test_larger_filters_are_refused_with_the_reason() -> None:
    c = Convolution((1, 1, 40, 40), 1, (24, 24))
    with pytest.raises(UserError, match=f"'padding_free': 576 taps; allowed are at most {MOST_TAPS}"):
        algorithm("padding_free", c)
