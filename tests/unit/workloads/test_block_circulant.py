"""Do block-circulant layers multiply by the matrix that their blocks stand for, in the grids of the source?"""

import numpy as np
import pytest

from gpusim.jobs.host.command_processor import execute
from gpusim.jobs.networks.locality import locality
from isa.device_memory import DeviceMemory
from tests.unit.workloads.test_primitives import GPU, executed
from workloads.circulant import BLOCKS, DATA, FLOWS, FORWARD, LANES, WEIGHTS, CirculantBlocks, CirculantProduct
from workloads.operators.block_circulant import (
    BlockCirculant,
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.circulant import inverse, o1_size, reuse, transform
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import OperatorError, build
from workloads.operators.tensor import Operand, Tensor

LAYER_A = {block: CirculantBlocks(128, 8192, 4096, block) for block in BLOCKS}


def dense(weight: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The matrix, element by element: W[i k + r, j k + c] = w[i, j][(r - c) mod k]."""
    block = weight.shape[2]
    row, column = np.mgrid[:rows, :columns]
    return weight[row // block, column // block, (row - column) % block].astype(np.float64)


@pytest.mark.parametrize("block", BLOCKS)
def test_transforms_are_those_of_numpy_and_back(block: int) -> None:
    rows, width = 3, 2 * block + 5
    blocks = CirculantBlocks(rows, width, block, block)
    memory = DeviceMemory(1 << 20)
    x, back = (Tensor.allocate(memory, Operand((rows, width)), name) for name in ("x", "back"))
    y = Tensor.allocate(memory, Operand((rows, 3, blocks.bins, 2)), "y")
    x.array[...] = np.random.default_rng(1).standard_normal(x.shape)
    execute(transform(blocks, x, y, rows, 3, width))
    filled = np.pad(x.array.astype(np.float64), ((0, 0), (0, 3 * block - width))).reshape(rows, 3, block)
    wanted = np.fft.rfft(filled)
    found = y.array[..., 0] + 1j * y.array[..., 1]
    assert np.abs(found - wanted).max() < 3e-6 * np.sqrt(block)
    assert not y.array[..., [0, -1], 1].any(), "of real values the first and the last frequency are real"
    execute(inverse(blocks, y, back, rows, 3, width))
    assert np.abs(back.array - x.array).max() < 2e-6


@pytest.mark.parametrize("flow", FLOWS)
def test_a_layer_and_its_gradients_are_products_with_the_matrix(flow: str) -> None:
    # for the fused kernel, rows of frequencies that lie apart, and sums over eight places at a time and some more
    shape, outputs, block = (11, 125), 150, 16
    forward, _ = executed(BlockCirculantForward(shape, outputs, block, flow))
    x, weight = forward.inputs["x"].astype(np.float64), forward.inputs["weight"]
    matrix, dy = dense(weight, outputs, shape[1]), np.random.default_rng(2).standard_normal((11, outputs))
    np.testing.assert_allclose(forward.outputs["y"], x @ matrix.T, atol=1e-4)
    held = {**forward.inputs, **forward.outputs, "dy": dy.astype(np.float32)}
    by_weights = BlockCirculantBackwardWeights(shape, outputs, block, flow)
    weights, _ = executed(by_weights, **{name: held[name] for name in by_weights.takes})
    held |= weights.outputs
    by_data = BlockCirculantBackwardData(shape, outputs, block, flow)
    data, _ = executed(by_data, **{name: held[name] for name in by_data.takes})
    np.testing.assert_allclose(data.outputs["dx"], dy @ matrix, atol=1e-4)
    gradient, wanted = dy.T @ x, np.zeros(weight.shape)
    for (row, column), value in np.ndenumerate(gradient):
        wanted[row // block, column // block, (row - column) % block] += value
    np.testing.assert_allclose(weights.outputs["dweight"], wanted, atol=3e-4)


# Grids: table 7.2, algorithms 6, 7 and 9, at layer A of table 7.3


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("product", [FORWARD, WEIGHTS, DATA])
def test_a_workgroup_has_as_many_work_items_as_the_source_says(block: int, product: CirculantProduct) -> None:
    blocks = LAYER_A[block]
    share = reuse(blocks, product, "source")
    assert share == 1024 // block
    assert blocks.bins * share == 512 + 1024 // block
    assert o1_size(blocks, product, "source") == ((32, 32) if block < 32 else (block, 1024 // block))


@pytest.mark.parametrize("block", BLOCKS)
def test_lanes_for_wavefronts_leave_fewest_without_work(block: int) -> None:
    blocks = LAYER_A[block]
    places = blocks.sizes["i"]

    def idle(share: int) -> float:
        groups = -(-places // share)
        return groups * 64 * -(-blocks.bins * share // 64) - places * blocks.bins

    chosen = reuse(blocks, FORWARD, "wavefront")
    assert blocks.bins * chosen <= 1024
    assert idle(chosen) == min(idle(share) for share in range(1, min(places, 1024 // blocks.bins) + 1))
    assert o1_size(blocks, FORWARD, "wavefront") == (64, 16)


def launched(kind: type[BlockCirculant], flow: str, block: int = 32, lanes: str = "source") -> dict[str, tuple]:
    """Workgroups and work-items by kernel, of a layer of 96 x 320 values and a batch of 7: p = 3, q = 10."""
    operator = build(kind((7, 320), 96, block, flow, lanes), DeviceMemory(1 << 24), GPU)
    return {one.kernel.name: (one.workgroups, one.local_size) for one in operator.launches}


def test_each_flow_has_its_launches_in_its_grids() -> None:
    forward, weights, data = BlockCirculantForward, BlockCirculantBackwardWeights, BlockCirculantBackwardData
    found = launched(forward, "baseline")
    assert found["circulant_multiply"] == ((10, 3, 7), (17, 1, 1))
    assert found["circulant_sum_values"] == ((3, 7, 1), (32, 1, 1))
    assert "circulant_reorder" in launched(weights, "baseline") and "circulant_reorder" in launched(data, "baseline")
    for flow in FLOWS[1:]:
        assert not any("reorder" in name for kind in (weights, data) for name in launched(kind, flow))
    assert launched(weights, "optimised")["circulant_multiply_conjugate"] == ((10, 3, 7), (17, 1, 1))
    # O1: N = 32, DR = 32, or as many as there are
    assert launched(forward, "o1")["circulant_multiply_o1"] == ((-(-10 * 17 // 32), 1, 7), (32, 3, 1))
    assert launched(weights, "o1")["circulant_multiply_o1_conjugate"] == ((-(-7 * 17 // 32), 1, 3), (32, 10, 1))
    assert launched(data, "o1")["circulant_multiply_o1_conjugate"] == ((-(-3 * 17 // 32), 1, 7), (32, 10, 1))
    assert launched(forward, "o2")["circulant_multiply_o2"] == ((10, 1, 7), (17, 3, 1))
    assert launched(weights, "o2_sum")["circulant_multiply_o2_conjugate"] == ((7, 1, 3), (17, 10, 1))
    assert launched(data, "o2_sum")["circulant_sum"] == ((10, 7, 1), (17, 1, 1))
    assert launched(forward, "fused")["circulant_fused"] == ((1, 1, 7), (17, 3, 1))
    assert launched(weights, "fused")["circulant_fused_conjugate"] == ((1, 1, 3), (17, 10, 1))
    assert launched(data, "fused")["circulant_fused_conjugate"] == ((1, 1, 7), (17, 10, 1))


def test_what_cannot_be_is_refused_in_one_line() -> None:
    for make, part in (
        (lambda: BlockCirculantForward((3, 70), 90, 48), "block 48 is not allowed: must be 16, 32 or 64"),
        (
            lambda: BlockCirculantForward((3, 70), 40, 64),
            "block 64 is larger than its matrix of 40 × 70 values: allowed are 16, 32",
        ),
        (lambda: BlockCirculantForward((3, 70), 4, 16), "no block is as small as it"),
        (lambda: BlockCirculantForward((3, 70), 90, 16, "fuse"), "flow: unknown value 'fuse'; did you mean 'fused'"),
        (lambda: BlockCirculantForward((3, 70), 90, 16, lanes="warp"), f"allowed: {', '.join(LANES)}"),
        (
            lambda: build(BlockCirculantForward((3, 1024), 1024, 16), DeviceMemory(1 << 24), GpuFacts(36, 1 << 13)),
            "a workgroup of 576 work-items needs 9216 bytes of LDS; a compute unit has 8192: allowed are baseline",
        ),
    ):
        with pytest.raises(OperatorError) as caught:
            make()
        assert part in str(caught.value) and "\n" not in str(caught.value)


# Reuse and distance: what traces show is what the mappings say


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("kind", "product"),
    [
        (BlockCirculantForward, FORWARD),
        (BlockCirculantBackwardWeights, WEIGHTS),
        (BlockCirculantBackwardData, DATA),
    ],
)
def test_traces_show_reuse_and_distances_of_the_mappings(
    kind: type[BlockCirculant], product: CirculantProduct, block: int
) -> None:
    shape, outputs = (8, 64 * block), 64 * block  # p = q = 64, n = 8
    measured = {}
    for flow in ("baseline", "o1", "o2", "o2_sum", "fused"):
        operator = build(kind(shape, outputs, block, flow), DeviceMemory(1 << 28), GPU)
        (launch,) = [one for one in operator.launches if "multiply" in one.kernel.name or "fused" in one.kernel.name]
        measured[flow] = locality(launch, operator.primitive.value_bytes(launch.kernel.name))
    blocks = operator.primitive.blocks
    bins, summed = blocks.bins, product.summed
    sizes, share = blocks.sizes, reuse(blocks, product, "source")

    def lines(values: float, work_items: int) -> object:
        """Values for each work-item, as far as lines tell."""
        return pytest.approx(values / work_items, abs=8 / work_items)

    # table 7.2: a pair of blocks, side by side, nothing shared
    assert (measured["baseline"].data_reuse, measured["baseline"].write_distance) == (1, lines(bins, bins))
    assert measured["baseline"].read_distance == lines(bins, bins)
    # (7.5): rows of the other array are as far apart as the summed index is long
    size, o1_share = o1_size(blocks, product, "source")
    assert measured["o1"].data_reuse == o1_share
    assert measured["o1"].read_distance == lines((o1_share - 1) * sizes[summed] * bins + size, size * o1_share)
    # (7.6): the other array is read in one piece; what is stored for the sums lies apart, which is O2's drawback
    for flow in ("o2", "o2_sum"):
        assert measured[flow].data_reuse == share
        assert measured[flow].read_distance == lines(bins * share, bins * share)
    assert measured["o2_sum"].write_distance == lines(((share - 1) * sizes[summed] + 1) * bins, bins * share)
    # algorithm 9: as O2, of all places that are added up
    assert measured["fused"].data_reuse == share
    assert measured["fused"].write_distance == lines(bins * share, bins * share)
