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
    ConvLayer,
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
def test_each_layer_takes_the_channels_of_the_one_before(network: tuple[ConvLayer, ...]) -> None:
    for before, after in pairwise(network):
        assert before.output_channels == after.input_channels


def test_resnet18_maps_shrink_by_stride() -> None:
    assert len(RESNET18) == 17
    for before, after in pairwise(RESNET18[1:]):
        assert output_size(before) == (after.input_height, after.input_width)
        assert before.output_channels == after.input_channels


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
