"""Are the operands what they claim to be: sparsity, reproducibility, im2col?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.data.patterns import PatternError, fill_im2col, fill_synthetic, fill_weights, sparsity_of
from workloads.shapes import ConvLayer, GemmShape, gemm_shape, output_size


def naive_im2col(maps: np.ndarray, layer: ConvLayer, leading_dimension: int) -> np.ndarray:
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
    layer = ConvLayer("layer", channels, 4, height, width, size, stride, padding)
    if min(output_size(layer)) < 1:
        return
    shape = gemm_shape(layer, images)
    maps = np.random.default_rng(1).standard_normal((images, channels, height, width)).astype(np.float32)
    storage = np.zeros((shape.n, shape.ldb), np.float32)
    fill_im2col(storage, maps, layer)
    assert np.array_equal(storage, naive_im2col(maps, layer, shape.ldb))


def test_gemm_of_im2col_is_the_convolution() -> None:
    layer = ConvLayer("layer", 3, 5, 6, 7)
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
    layer = ConvLayer("layer B", 512, 512, 4, 4)
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


def test_sparsity_outside_0_to_1_is_refused() -> None:
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
