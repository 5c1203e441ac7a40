"""Do the stages of a circulant layer hold, and hand on, what its operators' launches read and write?"""

from math import prod

import pytest

from isa.device_memory import DeviceMemory
from tests.unit.workloads.test_primitives import GPU
from workloads.circulant import BASELINE, FLOWS, STAGES, compute_passed_bytes, stage_bytes, stage_of
from workloads.operators.block_circulant import (
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.primitive import build

KINDS = (BlockCirculantForward, BlockCirculantBackwardWeights, BlockCirculantBackwardData)
SHAPE = (5, 85), 70, 16


@pytest.mark.parametrize("flow", FLOWS)
def test_launches_go_from_stage_to_stage(flow: str) -> None:
    for kind in KINDS:
        made = build(kind(*SHAPE, flow), DeviceMemory(1 << 22), GPU).launches
        places = [STAGES.index(stage_of(one.kernel.name)) for one in made]
        first = 1 if kind is BlockCirculantBackwardData and flow != BASELINE else 0  # its frequencies are there
        assert places == sorted(places) and set(places) == set(range(first, 3)), kind


@pytest.mark.parametrize("flow", FLOWS)
def test_what_is_handed_on_are_the_operators_arrays(flow: str) -> None:
    passes = [kind(*SHAPE, flow) for kind in KINDS]
    if flow == BASELINE:
        made = [o.size_bytes for one in passes for n, o in one.workspace.items() if n.endswith("_transform")]
        back = [one.workspace["products"].size_bytes for one in passes]
    else:
        made = [o.size_bytes for one in passes for n, o in one.gives.items() if n.endswith("_transform")]
        back = [one.workspace["sums"].size_bytes for one in passes]
    frequencies, values = compute_passed_bytes(passes[0].blocks, flow)
    assert sorted(frequencies) == sorted(made) and list(values) == back


def test_stages_hold_what_they_read_and_write() -> None:
    # five vectors of 85 values in 6 blocks, 70 results in 5; 9 frequencies of 8 bytes of a block
    blocks = BlockCirculantForward(*SHAPE, "fused").blocks
    values, weights = 4 * 5 * (85 + 70), 4 * prod((5, 6, 16))
    x, w, dy, sums = 72 * 5 * 6, 72 * 5 * 6, 72 * 5 * 5, 72 * 5 * 6
    assert stage_bytes(blocks, "fused") == (values + weights + x + w, x + w + dy + sums, values + weights + sums)
    first, second, third = stage_bytes(blocks, "baseline")
    products, apart = 72 * 5 * 5 * 6, 4 * 16 * 5 * 5 * 6
    reordered = 4 * 16 * 5 * 6
    assert first == values + weights + reordered + max(x, w) + dy
    assert second == products + max(x + w, dy + x, dy + w) and third == values + weights + products + apart
