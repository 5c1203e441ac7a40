"""Is every algorithm of convolution right for windows of any kind, and every matrix kernel for edges of any kind?"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docs._site.rooflines import ForwardByTiles, measure
from gpusim.base.errors import UserError
from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from tests.support.daily import given_daily, parametrize_daily
from tests.support.operator_contract import compiled_only
from tests.support.primitives import passes
from workloads.operators.conv_algorithms import ALGORITHMS, algorithm
from workloads.operators.conv_buffer import MAX_BYTES, chunk_images, chunks
from workloads.operators.conv_direct import FILTERS, DirectForward
from workloads.operators.conv_im2col import Im2colForward
from workloads.operators.conv_im2col_chunked import Im2colChunkedBackwardWeights, Im2colChunkedForward
from workloads.operators.conv_implicit import (
    ImplicitBackwardData,
    ImplicitBackwardWeights,
    ImplicitForward,
    backward_axes,
)
from workloads.operators.conv_passes import ConvolutionForward, ConvolutionPass
from workloads.operators.conv_winograd import WinogradBackwardData, WinogradBackwardWeights, WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.few_rows import OUTPUTS, product_of_few_rows
from workloads.operators.fully_connected import FullyConnectedBackwardData, FullyConnectedForward
from workloads.operators.launching import kernel_of
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import build
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import (
    CHANNEL,
    DEPTH,
    LINE_TILES,
    TILES,
    DepthSplit,
    choose_tile,
    product,
    split_product,
    split_sum,
    sum_parts,
)
from workloads.operators.verify import verify
from workloads.operators.winograd import SIZES, Filtering

MEMORY_BYTES = 1 << 24
GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)
LAYOUTS = ("nn", "nt", "tn", "tt")
TRANSFORMS = ("filters", "windows", "results", "gradients", "weights")
PADDED = {"kernel": (3, 3), "padding": (1, 1, 1, 1)}


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


@st.composite
def small_filters(draw: st.DrawFn) -> Convolution:
    """Windows that Winograd's filtering takes: planes that tiles do not fill, one image or several, any channels."""
    padding = draw(st.tuples(*[st.integers(0, 2)] * 4))
    least = [max(1, 3 - padding[axis] - padding[axis + 2]) for axis in (0, 1)]
    sizes = [draw(st.integers(lowest, 15)) for lowest in least]
    groups = draw(st.sampled_from((1, 1, 2)))
    channels, filters = (groups * draw(st.integers(1, 9)) for _ in range(2))
    return Convolution((draw(st.integers(1, 5)), channels, *sizes), filters, (3, 3), padding=padding, groups=groups)


@given_daily(15, 100, st.one_of(convolutions(), small_filters()), st.integers(1, 1 << 17), st.integers(0, 2), st.data())
def test_any_windows_give_what_numpy_gives(
    convolution: Convolution, buffer_bytes: int, number: int, data: st.DataObject
) -> None:
    row = data.draw(st.sampled_from([row for row in ALGORITHMS.values() if not row.refuses(convolution)]))
    primitive = passes(row.within(buffer_bytes), convolution, bias=True)[number]
    operator = build(primitive, DeviceMemory(MEMORY_BYTES), GPU)
    for output in operator.outputs.values():
        output[...] = np.nan
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    checked = verify(operator)
    assert checked.passed, checked.mismatches
    assert stored == operator.work.stored_bytes


@given_daily(10, 30, convolutions())
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


@given_daily(40, 100, convolutions())
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
        split = DepthSplit(k, -(-k // parts // DEPTH) * DEPTH)
        leading = (a.shape[1], b.shape[1])
        launches = [product(layout, (a, b, c), memory, sizes, leading, GPU, split, add)]
        for launch in (*launches, *sum_parts(c, total, split)):
            execute(launch)
        wide_a, wide_b = a.array.astype(np.float64), b.array.astype(np.float64)
        wanted = (wide_b if layout[1] == "n" else wide_b.T) @ (wide_a if layout[0] == "n" else wide_a.T)
        found = c.array[0] if split.parts == 1 else total.array
        np.testing.assert_allclose(found, wanted + held[0] if add else wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tile", LINE_TILES, ids=lambda tile: tile.text)
def test_products_by_lines_have_edges(tile: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of less than a line, of quads that no line's end divides, in few parts and in many; more between rows."""
    monkeypatch.setattr("workloads.operators.tiles.choose_tile", lambda *_: tile)
    for (m, n, k), parts, more, add in (
        ((1, 1, 4), 1, 0, True), ((70, 131, 36), 2, 8, False), ((132, 66, 80), 1, 4, True),
        ((64, 3, 172), 3, 0, False), ((66, 5, 276), 5, 0, False),
    ):  # fmt: skip
        memory, random = DeviceMemory(MEMORY_BYTES), np.random.default_rng(m)
        a, b = (Tensor.allocate(memory, Operand((rows, k + more)), "operand") for rows in (m, n))
        c = Tensor.allocate(memory, Operand((parts, n, m)), "c")
        total = Tensor.allocate(memory, Operand((n, m)), "total")
        for tensor in (a, b, c):
            tensor.array[...] = random.standard_normal(tensor.shape, np.float32)
        held = c.array.astype(np.float64)
        split = DepthSplit(k, -(-k // parts)).by_lines
        assert split.parts == parts
        made = product("tn", (a, b, c), memory, (m, n, k), (k + more, k + more), GPU, split, add)
        assert made.kernel.name.startswith("sgemm_lines")
        for launch in (made, *sum_parts(c, total, split)):
            execute(launch)
        wanted = b.array[:, :k].astype(np.float64) @ a.array[:, :k].astype(np.float64).T
        found = c.array[0] if parts == 1 else total.array
        np.testing.assert_allclose(found, wanted + held[0] if add else wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("depth", "leading", "part"), [(37, 40, 48), (36, 37, 48), (40, 40, 24)])
def test_rows_that_quads_do_not_fill_are_not_read_by_lines(depth: int, leading: int, part: int) -> None:
    tensor = Tensor.allocate(DeviceMemory(MEMORY_BYTES), Operand((8, leading)), "operand")
    made = product("tn", (tensor,) * 3, tensor.memory, (8, 8, depth), (leading, leading), GPU, DepthSplit(depth, part))
    assert made.kernel.name.startswith("sgemm_tn")


@pytest.mark.parametrize(
    ("rows", "depth", "kernel"),
    [
        *((1, 128, "few_rows_1_quads"), (2, 130, "few_rows_2_values"), (3, 256, "few_rows_4_quads")),
        *((8, 129, "few_rows_8_values"), (9, 256, "sgemm_lines"), (8, 124, "sgemm_lines"), (1, 127, "sgemm_tn")),
    ],
)
def test_few_rows_with_long_sums_have_a_kernel_of_their_own(rows: int, depth: int, kernel: str) -> None:
    operator = build(FullyConnectedForward((rows, depth), 3), DeviceMemory(MEMORY_BYTES), GPU)
    assert operator.launches[0].kernel.name.startswith(kernel)
    assert len(operator.launches) == 1 or "few_rows" not in kernel


def test_more_rows_are_refused() -> None:
    tensor = Tensor.allocate(DeviceMemory(MEMORY_BYTES), Operand((9, 128)), "operand")
    with pytest.raises(ValueError, match="9 rows; allowed are at most 8"):
        product_of_few_rows((tensor,) * 3, None, tensor.memory, (9, 9, 128), (128, 128))


@compiled_only
@pytest.mark.parametrize(("rows", "outputs", "depth"), [(1, 500, 1024), (8, 500, 1024), (8, 10, 4096)])
def test_few_rows_are_faster_than_by_tiles(rows: int, outputs: int, depth: int) -> None:
    few, tiles = (measure(made((rows, depth), outputs)).cycles for made in (FullyConnectedForward, ForwardByTiles))
    assert few < tiles


def test_products_by_lines_leave_no_register_in_memory() -> None:
    for source, tile in itertools.product(("sgemm_lines", "sgemm_lines_half"), LINE_TILES):
        kernel = kernel_of(source, f"{source}_{tile.text}")
        assert kernel.private_segment_bytes == 0
        assert kernel.vgprs <= 128 if tile.rows == 8 else kernel.vgprs <= 84


@pytest.mark.parametrize("source", ["sgemm", "sgemm_batched", "conv", "conv_weights"])
def test_no_kernel_spills_and_two_wavefronts_fit_a_simd(source: str) -> None:
    names = {"sgemm_batched": "sgemm_batched_{}_", "sgemm": "sgemm_{}_", "conv": "conv_s{}_"}
    name = names.get(source, "conv_weights_")
    kinds = {"sgemm_batched": LAYOUTS[:3], "sgemm": LAYOUTS, "conv": ("1", "8")}
    for kind in kinds.get(source, ("",)):
        for tile in TILES:
            if source == "conv_weights" and tile.text == "1x1x8":
                continue
            kernel = kernel_of(source, name.format(kind) + tile.text)
            assert kernel.private_segment_bytes == 0
            assert kernel.vgprs <= 128 if tile.rows == 8 else kernel.vgprs <= 84


@pytest.mark.parametrize(
    ("source", "kernel", "most"),
    [
        *(("winograd", f"winograd_{kind}_{size}", 64) for size in SIZES for kind in TRANSFORMS),
        *(("conv_direct", f"conv_direct_{filters}", 64) for filters in FILTERS),
        *(("few_rows", f"few_rows_{rows}_{kind}", 64) for rows in OUTPUTS for kind in ("quads", "values")),
        *(("few_rows_half", f"few_rows_{rows}_halves", 64 if rows < 8 else 84) for rows in OUTPUTS),
    ],
)
def test_four_wavefronts_of_kernels_without_tiles_fit_a_simd(source: str, kernel: str, most: int) -> None:
    held = kernel_of(source, kernel)
    assert (held.private_segment_bytes, held.vgprs <= most) == (0, True)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 9), st.integers(1, 100_000))
@example(32, 512, 1, 4608)  # of 256 steps, four channels
def test_splits_cover_the_sum(columns: int, rows: int, count: int, depth: int) -> None:
    split = split_sum(columns, rows, count, depth)
    assert split.part_depth % DEPTH == 0
    assert (split.parts - 1) * split.part_depth < depth <= split.parts * split.part_depth
    apart = split.by_channels
    assert apart.parts == 1 or apart.part_depth % (2 * CHANNEL), "parts begin in all channels"
    assert (apart.parts - 1) * apart.part_depth < depth <= apart.parts * apart.part_depth


def test_results_are_the_same_on_every_gpu() -> None:
    c, gpus = Convolution((4, 8, 12, 12), 128, (3, 3), padding=(1, 1, 1, 1)), (1, 5, 64)
    assert len({choose_tile(576, 128, 1, GpuFacts(units, 1 << 16)).text for units in gpus}) > 1
    filtered = (WinogradForward(c, size=4), WinogradBackwardWeights(c))
    chunked = (Im2colChunkedForward(replace(c, shape=(1, 64, 12, 12))), Im2colChunkedBackwardWeights(c))
    assert chunked[0].split.parts > 1
    for primitive in (
        *(ImplicitForward(c), ImplicitBackwardWeights(c), FullyConnectedForward((9, 2000), 70)),
        FullyConnectedForward((4, 2000), 70),
        *(*filtered, *chunked),
    ):
        found = []
        for units in gpus:
            operator = build(primitive, DeviceMemory(MEMORY_BYTES), GpuFacts(units, 1 << 16))
            for launch in operator.launches:
                execute(launch)
            found.append(next(iter(operator.outputs.values())).copy())
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


# Chunks of images


@given(st.integers(1, 300), st.integers(1, 100), st.integers(1, 3000), st.integers(1, 1 << 26))
def test_chunks_fill_the_buffer_and_are_alike(images: int, image_bytes: int, buffer_bytes: int, largest: int) -> None:
    chunk = chunk_images(images, image_bytes, buffer_bytes, largest)
    found = chunks(images, chunk)
    assert [first for first, _ in found] == list(range(0, images, chunk))
    assert sum(count for _, count in found) == images
    assert chunk == 1 or chunk * image_bytes <= buffer_bytes
    assert chunk * largest <= MAX_BYTES
    most = max(1, min(buffer_bytes // image_bytes, MAX_BYTES // largest))
    assert len(found) == -(-images // most), "no more chunks than the buffer needs"


@pytest.mark.parametrize("name", sorted(name for name, row in ALGORITHMS.items() if row.resized))
def test_results_do_not_depend_on_the_buffer(name: str) -> None:
    """But for sums over images."""
    c = Convolution((5, 64, 9, 7), 256, **PADDED)
    split = split_product(c.positions, c.filters, c.depth).by_channels
    assert 1 < Im2colChunkedForward(c).split.parts < split.parts, "an image by itself has others"
    for number in (0, 1):
        found, launched = [], []
        for buffer_bytes in (1, 1 << 30):
            primitive = passes(ALGORITHMS[name].within(buffer_bytes), c, bias=True)[number]
            operator = build(primitive, DeviceMemory(MEMORY_BYTES), GPU)
            stored = sum(execute(launch).store_bytes for launch in operator.launches)
            assert stored == operator.work.stored_bytes
            launched.append(len(operator.launches))
            found.append(next(iter(operator.outputs.values())).copy())
        np.testing.assert_array_equal(*found)
        assert launched[0] - launched[1] == 4 * 3, "of four more chunks"


# Winograd's filtering


@pytest.mark.parametrize("size", SIZES)
def test_the_matrices_filter(size: int) -> None:
    f, random = Filtering(size), np.random.default_rng(size)
    d, g, e = (random.standard_normal((n, n)) for n in (size + 2, 3, size))
    seen = [[d[i : i + 3, j : j + 3] for j in range(size)] for i in range(size)]
    y = [[(window * g).sum() for window in line] for line in seen]
    np.testing.assert_allclose(f.results(f.filters(g) * f.windows(d)), y, atol=1e-12)
    dg = [[(d[i : i + size, j : j + size] * e).sum() for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(f.weights(f.gradients(e) * f.windows(d)), dg, atol=1e-12)


def test_the_matrices_of_4x4_are_the_published_ones() -> None:
    """Lavin and Gray 2015, section 4.3."""
    f = Filtering(4)
    windows = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0]]
    windows += [[0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]]
    np.testing.assert_array_equal(f.windows.matrix, windows)
    filters = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
    np.testing.assert_allclose(f.filters.matrix, filters, rtol=1e-15)
    results = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
    np.testing.assert_array_equal(f.results.matrix, results)


def test_fewer_multiply_accumulates_are_told_from_those_of_the_definition() -> None:
    c = Convolution((8, 64, 56, 56), 64, **PADDED)
    assert {p.macs for size in SIZES for p in _winograd(c, size)} == {8 * 56 * 56 * 64 * 64 * 9}
    assert {p.needed_macs for p in _winograd(c, 2)} == {c.macs * 4 // 9}  # 16 products for 4 x 9
    assert {p.needed_macs for p in _winograd(c, 4)} == {c.macs // 4}  # 36 for 16 x 9
    uneven = Convolution((1, 2, 5, 9), 3, (3, 3))  # 3 x 7 results: a row of two tiles of 4 x 4
    assert WinogradForward(uneven, size=4).needed_macs == 36 * 2 * 2 * 3
    assert WinogradForward(Convolution((1, 2, 3, 3), 3, (3, 3)), size=4).needed_macs == 9 * 2 * 3


def _winograd(c: Convolution, size: int) -> tuple[ConvolutionPass, ...]:
    return WinogradForward(c, size=size), WinogradBackwardData(c, size=size), WinogradBackwardWeights(c, size=size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("channels", "left_out"), [(32, slice(7, 8)), (256, slice(None))])
def test_a_tap_that_is_left_out_is_beyond_the_bound(size: int, channels: int, left_out: slice) -> None:
    """Of one of 32 channels, and of all of 256: in most results."""
    c, random = Convolution((1, channels, 12, 12), 2, **PADDED), np.random.default_rng(1)
    x, weight = (random.standard_normal(shape).astype(np.float32) for shape in (c.shape, c.weight.shape))
    dy = random.standard_normal(c.y.shape).astype(np.float32)
    wrong = weight.copy()
    wrong[:, left_out, 1, 2] = 0
    for primitive, inputs in (
        (WinogradForward(c, size=size), {"x": x}),
        (WinogradBackwardData(c, size=size), {"dy": dy}),
    ):
        ((name, value),) = primitive.reference({**inputs, "weight": weight}).items()
        off = primitive.reference({**inputs, "weight": wrong})[name].value
        seen = np.abs(off - value.value) > value.bound
        most = seen[:, left_out] if name == "dx" else seen
        assert most.mean() > 0.8
    value = WinogradBackwardWeights(c, size=size).reference({"x": x, "dy": dy})["dweight"]
    missing = dy.copy()
    missing[:, :, 5, 6] = 0  # a window
    off = WinogradBackwardWeights(c, size=size).reference({"x": x, "dy": missing})["dweight"].value
    assert (np.abs(off - value.value) > value.bound).mean() > 0.8


def test_numbers_of_any_size_are_within_the_bound() -> None:
    """What cancels in the transforms, and what underflows there."""
    c, random = Convolution((1, 3, 9, 9), 2, **PADDED), np.random.default_rng(2)
    for scale in (1e-38, 1e-19, 1e15):
        x, weight = (
            scale * (1 + 1e-3 * random.standard_normal(s)).astype(np.float32) for s in (c.shape, c.weight.shape)
        )
        for size in SIZES:
            operator = build(WinogradForward(c, size=size), DeviceMemory(MEMORY_BYTES), GPU, {"x": x, "weight": weight})
            for launch in operator.launches:
                execute(launch)
            checked = verify(operator)
            assert checked.passed, checked.mismatches


# How near they come to their bounds, at sizes that are small for that (docs/results/kernels.md has larger ones)


@compiled_only
@pytest.mark.parametrize(
    ("primitive", "least"),
    [
        (FullyConnectedBackwardData((1024, 1152), 512), 0.45),  # rows of 2 KiB: on MI6 a column lies in one channel
        (ImplicitForward(Convolution((8, 64, 24, 24), 128, (3, 3), padding=(1, 1, 1, 1))), 0.55),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_products_keep_the_vector_alu_busy(primitive: ImplicitForward, least: float) -> None:
    assert measure(primitive).shares["valu"] > least


@compiled_only
@parametrize_daily(
    "name, convolution, ratio",
    [
        ("winograd_2x2", Convolution((2, 64, 28, 28), 64, **PADDED), 1.0),
        ("winograd_4x4", Convolution((2, 64, 28, 28), 64, **PADDED), 1.0),
        ("direct", Convolution((2, 16, 28, 28), 16, **PADDED, groups=16), 2.5),
    ],
    (1, 2),
)
def test_it_is_faster_than_the_implicit_product(name: str, convolution: Convolution, ratio: float) -> None:
    implicit = measure(ImplicitForward(convolution)).cycles
    assert implicit > ratio * measure(algorithm(name, convolution).forward(convolution)).cycles


class CountedProducts:
    """A library that launches nothing, and counts how often it is asked for a product."""

    def __init__(self) -> None:
        self.asked = 0

    def launches(self, *_: object) -> tuple[()]:
        self.asked += 1
        return ()


@pytest.mark.parametrize(("images", "products"), [(0, 12), (1, 12), (3, 4)])
def test_products_are_those_that_a_library_is_asked_for_one_by_one(images: int, products: int) -> None:
    """images: of a chunk; 0: an image at a time, without chunks."""
    c, library = Convolution((3, 8, 6, 6), 8, **PADDED, groups=4), CountedProducts()
    forward: ConvolutionForward = Im2colForward(c, by=library)
    if images:
        buffer = images * 4 * (c.groups * c.depth + c.filters) * c.positions
        forward = Im2colChunkedForward(c, buffer_bytes=buffer, by=library)
        assert Im2colChunkedForward(c, buffer_bytes=buffer).products == 1, "ours are of all groups at once"
    for primitive in (forward, *forward.gradients()):
        library.asked = 0
        build(primitive, DeviceMemory(MEMORY_BYTES), GPU)
        assert primitive.products == library.asked == products


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
        (
            lambda: WinogradForward(Convolution((1, 1, 9, 9), 1, (3, 3), (2, 1))),
            "stride [2, 1], dilation [1, 1]; allowed",
        ),
        (
            lambda: WinogradForward(Convolution((1, 1, 9, 9), 1, (5, 3))),
            "a kernel of [3, 3] with stride and dilation 1",
        ),
        (lambda: WinogradBackwardData(Convolution((1, 1, 9, 9), 1, (3, 3), padding=(0, 3, 0, 0))), "at most 2"),
        (lambda: WinogradForward(Convolution((1, 1, 9, 9), 1, (3, 3)), size=3), "tiles of 3; allowed are 2, 4"),
        (lambda: WinogradForward(Convolution((1, 1024, 512, 512), 1, (3, 3))), "the windows of an image have more"),
        (lambda: algorithm("direct", Convolution((1, 5, 9, 9), 7, (3, 3))), "'direct': 5 channels a group; allowed"),
        (lambda: DirectForward(Convolution((1, 3, 9, 9), 64, (7, 7))), "64 filters a group, a multiple of 64, of 147"),
        (lambda: Im2colChunkedForward(Convolution((1, 4096, 512, 512), 1, (3, 3))), "im2col of an image has"),
        (lambda: FullyConnectedForward((3,), 2), "x has shape [3]; it must be [N, values]"),
        (
            lambda: FullyConnectedForward((3, 12), 2, half=True),
            "weights of float16, 12 values an image; allowed are multiples of 8",
        ),
        (lambda: FullyConnectedForward((3, 2), 0), "0 outputs; allowed are at least 1"),
        (lambda: FullyConnectedForward((3, 1 << 16), 1 << 16), "weight has 17179869184 bytes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: object, part: str) -> None:
    with pytest.raises(UserError) as caught:
        make()  # type: ignore[operator]
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
