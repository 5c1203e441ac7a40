"""Do the layers become the GEMMs that the sources say?"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.shapes import (
    ALEXNET,
    RESNET18,
    SPARTAN_LAYERS,
    VGGNET16,
    ConvolutionShape,
    GemmShape,
    gemm_shape,
    output_size,
    round_up,
)


@pytest.mark.parametrize(
    ("name", "batch", "n"), [("A", 128, 2048), ("B", 256, 4096), ("C", 128, 512), ("C", 256, 1024)]
)
def test_table_6_5(name: str, batch: int, n: int) -> None:
    assert gemm_shape(SPARTAN_LAYERS[name], batch) == GemmShape(512, n, 4608)


def test_alexnet_conv2_has_93312_columns_at_batch_128() -> None:
    assert gemm_shape(ALEXNET[1], 128).n == 93312


@pytest.mark.parametrize("network", [ALEXNET[1:], VGGNET16])
def test_each_layer_takes_the_channels_of_the_one_before(network: tuple[ConvolutionShape, ...]) -> None:
    for before, after in pairwise(network):
        assert before.output_channels == after.input_channels


def test_resnet18_maps_shrink_by_stride() -> None:
    assert len(RESNET18) == 17
    for before, after in pairwise(RESNET18[1:]):
        assert output_size(before) == (after.input_height, after.input_width)
        assert before.output_channels == after.input_channels


@pytest.mark.parametrize(
    ("network", "sizes", "filters", "weights", "macs"),
    [
        # Simonyan and Zisserman 2015, table 1, D: 138 M weights with those of the fully connected layers, 15.3 G MACs
        (
            VGGNET16,
            [*[224] * 2, *[112] * 2, *[56] * 3, *[28] * 3, *[14] * 3],
            [*[64] * 2, *[128] * 2, *[256] * 3, *[512] * 6],
            138_344_128 - 123_633_664,
            15_346_630_656,
        ),
        # He et al. 2016, table 1: 11,166,912 weights of convolutions, three of which are projections; 1.8 G MACs
        (
            RESNET18,
            [112, *[56] * 4, *[28] * 4, *[14] * 4, *[7] * 4],
            [*[64] * 5, *[128] * 4, *[256] * 4, *[512] * 4],
            11_166_912 - 64 * 128 - 128 * 256 - 256 * 512,
            1_794_293_760,
        ),
    ],
)
def test_networks_are_the_published_ones(
    network: tuple[ConvolutionShape, ...], sizes: list[int], filters: list[int], weights: int, macs: int
) -> None:
    assert [output_size(layer) for layer in network] == [(size, size) for size in sizes]
    assert [layer.output_channels for layer in network] == filters
    shapes = [gemm_shape(layer, 1) for layer in network]
    assert sum(shape.m * shape.k for shape in shapes) == weights
    assert sum(shape.m * shape.n * shape.k for shape in shapes) == macs


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_round_up_is_the_least_multiple(value: int, multiple: int) -> None:
    rounded = round_up(value, multiple)
    assert rounded % multiple == 0
    assert value <= rounded < value + multiple


@given(st.integers(1, 999), st.integers(1, 999), st.integers(1, 999))
def test_leading_dimensions_hold_the_matrix(m: int, n: int, k: int) -> None:
    shape = GemmShape(m, n, k)
    assert shape.lda >= m and shape.ldc >= m and shape.ldb >= k and shape.padded_k >= k
    assert shape.lda % 4 == shape.ldc % 4 == shape.padded_k % 16 == 0
    assert shape.ldb % 128 == 64  # an odd number of four-line groups: columns spread over a cache's sets


def test_an_empty_gemm_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        GemmShape(4, 0, 4)
