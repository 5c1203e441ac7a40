"""Are the operands what they claim to be: sparsity, reproducibility, im2col?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from tests.support.daily import given_daily
from workloads.data.map_patterns import resampled_maps, synthetic_maps
from workloads.data.operands import SyntheticOperands, captured_operands, resampled_operands, synthetic_map_operands
from workloads.data.patterns import (
    CHANNEL_LAST,
    PatternError,
    fill_im2col,
    fill_synthetic,
    fill_weights,
    im2col_non_zeros,
    sparsity_of,
    zero_lines_of,
)
from workloads.shapes import ConvolutionShape, GemmShape, gemm_shape, output_size


def naive_im2col(maps: np.ndarray, layer: ConvolutionShape, leading_dimension: int) -> np.ndarray:
    height, width = output_size(layer)
    columns = []
    for image in range(maps.shape[0]):
        for y in range(height):
            for x in range(width):
                column = np.zeros(leading_dimension, np.float32)
                row = 0
                for channel in range(layer.input_channels):
                    for i in range(layer.filter_size):
                        for j in range(layer.filter_size):
                            source = (y * layer.stride + i - layer.padding, x * layer.stride + j - layer.padding)
                            if 0 <= source[0] < layer.input_height and 0 <= source[1] < layer.input_width:
                                column[row] = maps[image, channel, *source]
                            row += 1
                columns.append(column)
    return np.array(columns)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_im2col_equals_the_definition(
    images: int, channels: int, height: int, width: int, size: int, stride: int, padding: int
) -> None:
    layer = ConvolutionShape("layer", channels, 4, height, width, size, stride, padding)
    if min(output_size(layer)) < 1:
        return
    shape = gemm_shape(layer, images)
    maps = np.random.default_rng(1).standard_normal((images, channels, height, width)).astype(np.float32)
    storage = np.zeros((shape.n, shape.ldb), np.float32)
    fill_im2col(storage, maps, layer)
    assert np.array_equal(storage, naive_im2col(maps, layer, shape.ldb))
    maps[maps < 0] = 0.0
    fill_im2col(storage, maps, layer)
    held, elements = im2col_non_zeros(maps, layer)
    assert 1.0 - held / elements == pytest.approx(sparsity_of(storage, shape.k))
    by_channel = storage[:, : shape.k].reshape(shape.n, channels, size * size)
    last = np.zeros_like(storage)
    fill_im2col(last, maps, layer, CHANNEL_LAST)
    assert np.array_equal(last[:, : shape.k].reshape(shape.n, size * size, channels), by_channel.transpose(0, 2, 1))
    assert not last[:, shape.k :].any()


def test_gemm_of_im2col_is_the_convolution() -> None:
    layer = ConvolutionShape("layer", 3, 5, 6, 7)
    random = np.random.default_rng(2)
    maps = random.standard_normal((2, 3, 6, 7)).astype(np.float32)
    weights = random.standard_normal((5, 3, 3, 3)).astype(np.float32)
    shape = gemm_shape(layer, 2)
    storage = np.zeros((shape.n, shape.ldb), np.float32)
    fill_im2col(storage, maps, layer)
    product = storage[:, : shape.k] @ weights.reshape(5, -1).T
    padded = np.pad(maps, ((0, 0), (0, 0), (1, 1), (1, 1)))
    pixel = np.einsum("cij,fcij->f", padded[1, :, 2:5, 4:7], weights)
    assert np.allclose(product[1 * 42 + 2 * 7 + 4], pixel, atol=1e-5)


def test_maps_of_another_shape_are_refused_with_both_shapes() -> None:
    layer = ConvolutionShape("layer B", 512, 512, 4, 4)
    with pytest.raises(PatternError, match=r"'layer B'.*\[images, 512, 4, 4\].*\[1, 512, 4, 5\]"):
        fill_im2col(np.zeros((16, 4608), np.float32), np.zeros((1, 512, 4, 5), np.float32), layer)
    with pytest.raises(PatternError, match="does not fit"):
        fill_im2col(np.zeros((15, 4608), np.float32), np.zeros((1, 512, 4, 4), np.float32), layer)


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.7, 1.0])
def test_synthetic_sparsity(sparsity: float) -> None:
    shape = GemmShape(4, 200, 500)
    storage = np.zeros((shape.n, shape.ldb), np.float32)
    fill_synthetic(storage, shape, sparsity, 7)
    # five standard deviations of a binomial of 100 000
    assert abs(sparsity_of(storage, shape.k) - sparsity) <= 5 * np.sqrt(sparsity * (1 - sparsity) / 1e5)
    assert not storage[:, shape.k :].any() and storage.min() >= 0


@pytest.mark.parametrize(("window", "sparsity"), [(4, 0.5), (8, 0.25), (3, 1.0)])
def test_each_window_of_rows_has_as_many_zeros(window: int, sparsity: float) -> None:
    shape = GemmShape(1, 40, 5 * window + 1)
    b = np.ones((shape.n, shape.ldb), np.float32)
    SyntheticOperands(sparsity, 3, window=window).columns(shape)(b)
    zeros = b[:, : 5 * window].reshape(-1, window) == 0
    assert (zeros.sum(axis=1) == sparsity * window).all() and zeros.any(axis=0).all()
    assert sparsity == 1 or not zeros.all(axis=0).any()


def test_sparsity_outside_0_to_1_is_refused() -> None:
    with pytest.raises(PatternError, match=r"sparsity 0.3: of 4 rows it is no whole number"):
        SyntheticOperands(0.3, 1, window=4).columns(GemmShape(1, 1, 4))
    with pytest.raises(PatternError, match="0 to 1"):
        fill_synthetic(np.zeros((1, 64), np.float32), GemmShape(1, 1, 1), 1.5, 0)


def test_data_depends_on_the_seed_alone() -> None:
    shape = GemmShape(6, 9, 70)

    def make(seed: int) -> tuple[np.ndarray, np.ndarray]:
        a, b = np.zeros((shape.padded_k, shape.lda), np.float32), np.zeros((shape.n, shape.ldb), np.float32)
        fill_weights(a, shape, seed)
        fill_synthetic(b, shape, 0.5, seed)
        return a, b

    first, again, other = make(3), make(3), make(4)
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    assert not any(np.array_equal(x, y) for x, y in zip(first, other, strict=True))


def test_weights_have_he_variance_and_zero_padding() -> None:
    shape = GemmShape(301, 1, 250)
    a = np.zeros((shape.padded_k, shape.lda), np.float32)
    fill_weights(a, shape, 1)
    assert np.isclose(a[:250, :301].var(), 2 / 250, rtol=0.05)
    assert not a[250:].any() and not a[:, 301:].any()


LAYER = ConvolutionShape("layer", 6, 4, 8, 8)


def test_zeros_drawn_on_maps_are_those_of_the_maps_and_padding_adds_to_the_matrix() -> None:
    maps = np.stack([*synthetic_maps(LAYER, 20, 0.7, 3)])
    assert maps.shape == (20, 6, 8, 8) and 1 - np.count_nonzero(maps) / maps.size == pytest.approx(0.7, abs=0.01)
    # of 3 x 3 windows on 8 x 8 maps, (3 * 8 - 2)^2 of (3 * 8)^2 elements lie inside
    expected = 1 - 0.3 * (22 / 24) ** 2
    assert synthetic_map_operands(LAYER, 20, 0.7, 3).zeros(gemm_shape(LAYER, 20)) == pytest.approx(expected, abs=0.01)
    assert np.array_equal(maps, np.stack([*synthetic_maps(LAYER, 20, 0.7, 3)])) and (maps >= 0).all()
    for sparsity in (-0.1, 1.1, float("nan")):
        with pytest.raises(PatternError, match="allowed are 0 to 1"):
            synthetic_maps(LAYER, 1, sparsity, 3)


BLOCKS = st.tuples(st.integers(1, 40), st.integers(1, 9))


@settings(max_examples=30, deadline=None)
@given(BLOCKS, st.integers(1, 100), st.integers(1, 20), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 99))
def test_all_of_a_block_of_the_matrix_is_zero_or_none(
    block: tuple[int, int], k: int, n: int, sparsity: float, seed: int
) -> None:
    shape = GemmShape(1, n, k)
    storage = np.full((n, shape.ldb), -1.0, np.float32)
    fill_synthetic(storage, shape, sparsity, seed, block)
    check_blocks(storage[:, :k].T == 0, block, sparsity)
    assert (storage[:, k:] == -1).all()


@settings(max_examples=30, deadline=None)
@given(BLOCKS, st.integers(1, 9), st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 99))
def test_all_of_a_block_of_a_map_is_zero_or_none(
    block: tuple[int, int], height: int, width: int, sparsity: float, seed: int
) -> None:
    layer = ConvolutionShape("layer", 3, 4, height, width, 1)
    for maps in synthetic_maps(layer, 2, sparsity, seed, block):
        for one in maps:
            check_blocks(one == 0, block, sparsity)


def check_blocks(zero: np.ndarray, block: tuple[int, int], sparsity: float) -> None:
    for row in range(0, zero.shape[0], block[0]):
        for column in range(0, zero.shape[1], block[1]):
            part = zero[row : row + block[0], column : column + block[1]]
            assert part.all() or not part.any()
    if sparsity in (0.0, 1.0):
        assert (zero == bool(sparsity)).all()


def test_blocks_are_as_often_zero_as_elements_and_of_one_element_are_the_elements() -> None:
    shape = GemmShape(1, 400, 1600)
    found = []
    for block in ((1, 1), (16, 1), (4, 4)):
        storage = np.zeros((shape.n, shape.ldb), np.float32)
        fill_synthetic(storage, shape, 0.7, 3, block)
        assert sparsity_of(storage, shape.k) == pytest.approx(0.7, abs=0.01)
        found.append(storage)
    plain = np.zeros((shape.n, shape.ldb), np.float32)
    fill_synthetic(plain, shape, 0.7, 3)
    assert np.array_equal(plain, found[0])
    assert [zero_lines_of(each, shape.k) for each in found] == pytest.approx([0.7**16, 0.7, 0.7**4], abs=0.01)
    assert np.array_equal([*synthetic_maps(LAYER, 3, 0.7, 3)], [*synthetic_maps(LAYER, 3, 0.7, 3, (1, 1))])


def captured_maps(images: int) -> np.ndarray:
    """Channels of different sparsity, the lower rows sparser, zeros in blocks of 2 x 2, and whole maps of zeros."""
    random = np.random.default_rng(5)
    rates = np.linspace(0.2, 0.9, 6)[None, :, None, None] + np.array([0.0, 0.0, 0.05, 0.1])[None, None, :, None]
    zero = (random.random((images, 6, 4, 4)) < rates).repeat(2, axis=2).repeat(2, axis=3)
    zero |= random.random((images, 6, 1, 1)) < 0.15
    return np.where(zero, 0, random.random((images, 6, 8, 8)) + 0.1).astype(np.float32)


def statistics(maps: np.ndarray) -> np.ndarray:
    """Zero shares of channels, of rows, of 2 x 2 blocks and of whole maps."""
    zero = maps == 0
    blocks = zero.reshape(len(maps), 6, 4, 2, 4, 2).all(axis=(3, 5))  # [images, channels, 4, 4]
    whole = zero.all(axis=(2, 3)).mean(axis=0)
    return np.concatenate([zero.mean(axis=(0, 2, 3)), zero.mean(axis=(0, 1, 3)), blocks.mean(axis=(0, 2, 3)), whole])


def test_resampled_maps_keep_what_channels_rows_and_blocks_have() -> None:
    captured = captured_maps(200)
    more = np.stack([*resampled_maps(captured, 1000, 7)])
    assert more.shape == (1000, 6, 8, 8)
    np.testing.assert_allclose(statistics(more), statistics(captured), atol=0.03)
    uniform = np.stack([*synthetic_maps(LAYER, 1000, float((captured == 0).mean()), 7)])
    assert np.abs(statistics(uniform) - statistics(captured)).max() > 0.2
    assert len(np.unique(more.reshape(1000, -1), axis=0)) == 1000
    assert np.array_equal(more, [*resampled_maps(captured, 1000, 7)])


def test_a_batch_larger_than_the_capture_is_resampled_or_refused() -> None:
    layer = ConvolutionShape("layer C", 512, 512, 2, 2)
    with pytest.raises(UserError, match=r"needs 300 images, found 256; workload.data=resampled draws any number"):
        captured_operands(layer, 300, "layerC.npz", 1).zeros(gemm_shape(layer, 300))
    resampled = resampled_operands(layer, 300, "layerC.npz", 1).zeros(gemm_shape(layer, 300))
    assert resampled == pytest.approx(
        captured_operands(layer, 256, "layerC.npz", 1).zeros(gemm_shape(layer, 256)), abs=0.01
    )
    with pytest.raises(UserError, match=r"\[512, 4, 4\], found \[512, 2, 2\]"):
        resampled_operands(ConvolutionShape("B", 512, 512, 4, 4), 1, "layerC.npz", 1).zeros(gemm_shape(layer, 1))


@given_daily(
    16,
    100,
    kind=st.sampled_from(["matrix", "maps", "captured", "resampled"]),
    images=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    seed=st.integers(0, 9),
)
def test_columns_in_parts_are_those_of_the_whole(kind: str, images: list[int], seed: int) -> None:
    layer = ConvolutionShape("C", 512, 8, 2, 2) if kind in ("captured", "resampled") else LAYER
    batch = sum(images)
    shape = gemm_shape(layer, batch)
    data = {
        "matrix": lambda: SyntheticOperands(0.5, seed, (3, 4)),
        "maps": lambda: synthetic_map_operands(layer, batch, 0.5, seed, block=(1, 3)),
        "captured": lambda: captured_operands(layer, batch, "layerC.npz", seed),
        "resampled": lambda: resampled_operands(layer, batch, "layerC.npz", seed),
    }[kind]()
    whole, parts = (np.zeros((shape.n, shape.ldb), np.float32) for _ in range(2))
    data.columns(shape)(whole)
    write, first = data.columns(shape), 0
    for count in images:
        columns = count * shape.n // batch
        write(parts[first : first + columns])
        first += columns
    assert np.array_equal(parts, whole) and whole.any()
    if kind != "matrix":
        assert data.zeros(shape) == pytest.approx(sparsity_of(whole, shape.k), abs=1e-12)
