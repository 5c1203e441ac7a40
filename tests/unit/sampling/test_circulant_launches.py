"""Are launches of circulant layers sampled for what their kernels are: alike workgroups, and long loops that no barrier
cuts?"""

from functools import partial
from typing import Any

import numpy as np
import pytest

from gpusim.config.gpu import load_gpu
from gpusim.model.core.sampled import ITERATIONS
from gpusim.model.core.simulator import simulate
from gpusim.model.sampling.sampler import sampled
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupInstructions
from isa.device_memory import DeviceMemory
from isa.execution.counting import executed_blocks
from isa.execution.emulator import run_functional
from isa.launch import Launch
from tests.unit.workloads.test_primitives import GPU
from workloads.circulant import FLOWS
from workloads.operators.block_circulant import (
    BlockCirculant,
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.primitive import build

pytestmark = pytest.mark.compiled_tier
MI6 = load_gpu("mi6")


def launches(primitive: BlockCirculant) -> list[Launch]:
    return list(build(primitive, DeviceMemory(1 << 25), GPU).launches)


def of_all_passes() -> list[Launch]:
    found: dict[str, Launch] = {}
    for flow in FLOWS:
        for kind in (BlockCirculantForward, BlockCirculantBackwardWeights, BlockCirculantBackwardData):
            for one in launches(kind((5, 85), 70, 16, flow)):
                found.setdefault(one.kernel.name, one)
    return list(found.values())


@pytest.mark.parametrize("one", of_all_passes(), ids=lambda one: one.kernel.name)
def test_what_each_workgroup_executes_is_known_whatever_tells_them_apart(one: Launch) -> None:
    counts = executed_blocks(one).sum(axis=1)
    alone = [run_functional(one, workgroups=range(k, k + 1)).wavefront_instructions for k in range(len(counts))]
    assert counts.tolist() == alone


def test_workgroups_that_nothing_tells_apart_have_no_array() -> None:
    of_forward = launches(BlockCirculantForward((5, 80), 64, 16, "baseline"))
    (one,) = [one for one in of_forward if "multiply" in one.kernel.name]
    counts = executed_blocks(one)
    assert counts.strides[0] == 0 and len(counts) == 5 * 5 * 4
    work = WorkgroupInstructions(counts)
    assert work.total == run_functional(one).wavefront_instructions == work.each.sum()
    assert work.of(range(3, 10)) == 7 * work.each[0] and len(work.strata(8)) == 1


@pytest.mark.parametrize(("flow", "kernel"), [("fused", "circulant_fused_conjugate"), ("o2_sum", "circulant_sum")])
def test_a_gradient_s_long_loops_are_passed_over_within_the_bar(flow: str, kernel: str) -> None:
    made: Any = BlockCirculantBackwardWeights((3200, 384), 384, 64, flow)
    memory = DeviceMemory(1 << 28)
    operator = build(made, memory, GPU)
    (one,) = [one for one in operator.launches if one.kernel.name == kernel]
    run = partial(simulate, one, MI6)
    whole = run()
    found = sampled(lambda steerer: run(steerer=steerer), SamplingSpec(error=0.05))
    held = found.sampling
    assert held is not None and held.method == ITERATIONS and held.fraction < 0.8, held
    assert abs(found.cycles - whole.cycles) <= held.half_width("kernel", "cycles") < 0.1 * whole.cycles
    assert np.isclose(found.kernel.wavefront_instructions, whole.kernel.wavefront_instructions)
