"""Is every algorithm of convolution right for windows of any kind, and every matrix kernel for edges of any kind?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.host.untimed import execute
from isa.device_memory import DeviceMemory
from tests.support.operator_contract import compiled_only
from tests.support.rooflines import measure
from workloads.operators.conv_algorithms import ALGORITHMS, algorithm
from workloads.operators.conv_im2col import Im2colForward
from workloads.operators.conv_implicit import (
    ImplicitBackwardData,
    ImplicitBackwardWeights,
    ImplicitForward,
    backward_axes,
)
from workloads.operators.convolution import Convolution
from workloads.operators.fully_connected import FullyConnectedBackwardData, FullyConnectedForward
from workloads.operators.launching import kernel_of
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import build
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import DEPTH, TILES, Split, choose_tile, product, split_sum, sum_parts
from workloads.operators.verify import verify

MEMORY_BYTES = 1 << 24
GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)
LAYOUTS = ("nn", "nt", "tn", "tt")


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    """Windows of any kind, on planes that they fit."""

    def pair(least: int, most: int) -> tuple[int, int]:
        return draw(st.integers(least, most)), draw(st.integers(least, most))

    kernel, stride, dilation = pair(1, 4), pair(1, 4), pair(1, 3)
    padding = (*pair(0, 3), *pair(0, 3))
    sizes = []
    for axis in (0, 1):
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        sizes.append(draw(st.integers(max(1, reach - padding[axis] - padding[axis + 2]), 13)))
    groups = draw(st.sampled_from((1, 1, 2, 3)))
    channels, filters = (groups * draw(st.integers(1, 9)) for _ in range(2))
    shape = (draw(st.integers(1, 4)), channels, *sizes)
    return Convolution(shape, filters, kernel, stride, padding, dilation, groups)


@settings(max_examples=60)
@given(convolutions(), st.sampled_from(sorted(ALGORITHMS)), st.integers(0, 2))
def test_any_windows_give_what_numpy_gives(convolution: Convolution, name: str, number: int) -> None:
    row = algorithm(name, convolution)
    made = (row.forward(convolution, bias=True), row.backward_data(convolution), row.backward_weights(convolution))
    operator = build(made[number], DeviceMemory(MEMORY_BYTES), GPU)
    for output in operator.outputs.values():
        output[...] = np.nan
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    checked = verify(operator)
    assert checked.passed, checked.mismatches
    assert stored == operator.work.stored_bytes


@settings(max_examples=30)
@given(convolutions())
def test_the_reference_is_the_definition(c: Convolution) -> None:
    """Element by element, and the work that is counted beside it."""
    random = np.random.default_rng(1)
    x, weight = random.standard_normal(c.shape), random.standard_normal(c.weight.shape)
    y = np.zeros(c.y.shape)
    pairs = 0
    met_x, met_weights, met_y = set(), set(), set()
    for m, a, b, k, i, j in np.ndindex(c.filters, *c.outputs, c.group_channels, *c.kernel):
        row = a * c.stride[0] - c.padding[0] + i * c.dilation[0]
        column = b * c.stride[1] - c.padding[1] + j * c.dilation[1]
        if 0 <= row < c.shape[2] and 0 <= column < c.shape[3]:
            channel = m // c.group_filters * c.group_channels + k
            y[:, m, a, b] += x[:, channel, row, column] * weight[m, k, i, j]
            pairs += c.shape[0]
            met_x.add((channel, row, column))
            met_weights.add((m, k, i, j))
            met_y.add((m, a, b))
    np.testing.assert_allclose(c.forward(x, weight), y, atol=1e-12)
    assert c.needed_macs == pairs
    assert (c.met_weights, c.met_y) == (len(met_weights), c.shape[0] * len(met_y))
    assert c.met_x == c.shape[0] * len(met_x)


@given(convolutions())
def test_backward_every_row_belongs_to_one_place_between_windows(c: Convolution) -> None:
    """And its taps are those of the windows that it lies in."""
    for axis in (0, 1):
        size, found = c.shape[2 + axis], {}
        for part in backward_axes(c, axis):
            for p in range(part.count):
                taps = set()
                for t in range(part.taps):
                    window = p * part.step + part.first + t * part.tap_step
                    if 0 <= window < c.outputs[axis]:
                        taps.add((window, part.first_weight + t * part.weight_step))
                row = part.first_output + p * part.output_step
                assert row not in found
                found[row] = taps
        windows = range(c.outputs[axis])
        begin = {o: o * c.stride[axis] - c.padding[axis] for o in windows}
        wanted = {
            row: {(o, r) for o in windows for r in range(c.kernel[axis]) if begin[o] + r * c.dilation[axis] == row}
            for row in range(size)
        }
        assert found == wanted


# Matrix products


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: tile.text)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrix_products_of_any_layout_have_edges(layout: str, tile: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.operators.tiles.choose_tile", lambda *_: tile)
    for sizes, parts, add in (((1, 1, 1), 1, True), ((70, 131, 37), 2, False), ((132, 66, 24), 1, True)):
        m, n, k = sizes
        memory, random = DeviceMemory(MEMORY_BYTES), np.random.default_rng(m)
        shapes = ((k, m) if layout[0] == "n" else (m, k), (n, k) if layout[1] == "n" else (k, n))
        a, b = (Tensor.allocate(memory, Operand(shape), "operand") for shape in shapes)
        c = Tensor.allocate(memory, Operand((parts, n, m)), "c")
        total = Tensor.allocate(memory, Operand((n, m)), "total")
        for tensor in (a, b, c):
            tensor.array[...] = random.standard_normal(tensor.shape, np.float32)
        held = c.array.astype(np.float64)
        split = Split(k, -(-k // parts // DEPTH) * DEPTH)
        leading = (a.shape[1], b.shape[1])
        launches = [product(layout, (a, b, c), memory, sizes, leading, GPU, split, add)]
        for launch in (*launches, *sum_parts(c, total, split)):
            execute(launch)
        wide_a, wide_b = a.array.astype(np.float64), b.array.astype(np.float64)
        wanted = (wide_b if layout[1] == "n" else wide_b.T) @ (wide_a if layout[0] == "n" else wide_a.T)
        found = c.array[0] if split.parts == 1 else total.array
        np.testing.assert_allclose(found, wanted + held[0] if add else wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("source", ["sgemm", "conv", "conv_weights"])
def test_no_kernel_spills_and_two_wavefronts_fit_a_simd(source: str) -> None:
    names = {"sgemm": "sgemm_{}_", "conv": "conv_s{}_", "conv_weights": "conv_weights_"}[source]
    for kind in {"sgemm": LAYOUTS, "conv": ("1", "8"), "conv_weights": ("",)}[source]:
        for tile in TILES:
            if source == "conv_weights" and tile.text == "1x1x8":
                continue
            kernel = kernel_of(source, names.format(kind) + tile.text)
            assert kernel.private_segment_bytes == 0
            assert kernel.vgprs <= 128 if tile.rows == 8 else kernel.vgprs <= 84


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 9), st.integers(1, 100_000))
def test_splits_cover_the_sum(columns: int, rows: int, count: int, depth: int) -> None:
    split = split_sum(columns, rows, count, depth)
    assert split.part_depth % DEPTH == 0
    assert (split.parts - 1) * split.part_depth < depth <= split.parts * split.part_depth


def test_results_are_the_same_on_every_gpu() -> None:
    c, gpus = Convolution((4, 8, 12, 12), 128, (3, 3), padding=(1, 1, 1, 1)), (1, 5, 64)
    assert len({choose_tile(576, 128, 1, GpuFacts(units, 1 << 16)).text for units in gpus}) > 1
    for primitive in (ImplicitForward(c), ImplicitBackwardWeights(c), FullyConnectedForward((4, 2000), 70)):
        found = []
        for units in gpus:
            operator = build(primitive, DeviceMemory(MEMORY_BYTES), GpuFacts(units, 1 << 16))
            for launch in operator.launches:
                execute(launch)
            found.append(next(iter(operator.outputs.values())).copy())
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


# How near they come to their bounds, at sizes that are small for that (docs/kernels.md has larger ones)


@compiled_only
@pytest.mark.parametrize(
    ("primitive", "least"),
    [
        (FullyConnectedBackwardData((1024, 1152), 512), 0.6),
        (ImplicitForward(Convolution((8, 64, 24, 24), 128, (3, 3), padding=(1, 1, 1, 1))), 0.55),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_products_keep_the_vector_alu_busy(primitive: ImplicitForward, least: float) -> None:
    assert measure(primitive).shares["valu"] > least


# What cannot be


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Convolution((1, 2, 3), 1, (1, 1)), "x has shape [1, 2, 3]; it must be [N, C, H, W]"),
        (lambda: Convolution((1, 2, 3, 3), 1, (0, 1)), "kernel (0, 1); each must be at least 1"),
        (lambda: Convolution((1, 2, 3, 3), 1, (1, 1), (1, 0)), "stride (1, 0); each must be at least 1"),
        (lambda: Convolution((1, 2, 3, 3), 1, (1, 1), padding=(0, -1, 0, 0)), "padding (0, -1, 0, 0)"),
        (lambda: Convolution((1, 3, 3, 3), 2, (1, 1), groups=2), "3 channels do not divide into 2 groups"),
        (lambda: Convolution((1, 2, 3, 3), 3, (1, 1), groups=2), "3 filters do not divide into 2 groups"),
        (
            lambda: Convolution((1, 2, 3, 9), 1, (3, 3), dilation=(2, 1), padding=(1, 0, 0, 0)),
            "kernel [3, 3] with dilation [2, 1] does not fit planes that are padded to [4, 9]",
        ),
        (lambda: ImplicitForward(Convolution((1 << 12, 64, 128, 128), 1, (1, 1))), "x has 17179869184 bytes"),
        (lambda: ImplicitBackwardData(Convolution((1 << 12, 1, 128, 128), 64, (1, 1))), "dy has 17179869184 bytes"),
        (lambda: Im2colForward(Convolution((1, 4096, 512, 512), 1, (3, 3))), "im2col of an image has"),
        (lambda: algorithm("implict", Convolution((1, 1, 1, 1), 1, (1, 1))), "'implict'; did you mean 'implicit'"),
        (lambda: FullyConnectedForward((3,), 2), "x has shape [3]; it must be [N, values]"),
        (lambda: FullyConnectedForward((3, 2), 0), "0 outputs; allowed are at least 1"),
        (lambda: FullyConnectedForward((3, 1 << 16), 1 << 16), "weight has 17179869184 bytes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: object, part: str) -> None:
    with pytest.raises(UserError) as caught:
        make()  # type: ignore[operator]
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
