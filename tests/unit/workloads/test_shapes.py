"""Have the published networks' shapes the sizes that are published, and GEMMs the paddings that kernels need?"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvolutionShape, GemmShape, gemm_shape, output_size


def weights(layers: Sequence[ConvolutionShape]) -> int:
    return sum(one.input_channels * one.output_channels * one.filter_size**2 for one in layers)


def macs(layers: Sequence[ConvolutionShape]) -> int:
    shapes = [gemm_shape(one, 1) for one in layers]
    return sum(shape.m * shape.n * shape.k for shape in shapes)


@pytest.mark.parametrize(
    ("layers", "count", "parameters", "products"),
    [
        # what torchvision's models have, without biases, normalisation, projections and fully connected layers: vgg16
        # 138,357,544 parameters, of which 123,642,856 + 4,224 are those; resnet18 11,689,512, 513,000 + 9,600 + 172,032
        (VGGNET16, 13, 14_710_464, 15_346_630_656),
        (RESNET18, 17, 10_994_880, 1_794_293_760),
        (ALEXNET, 5, 2_468_544, 655_566_528),
    ],
)
def test_published_networks_have_their_published_sizes(
    layers: Sequence[ConvolutionShape], count: int, parameters: int, products: int
) -> None:
    assert (len(layers), weights(layers), macs(layers)) == (count, parameters, products)
    assert len({one.name for one in layers}) == count
    for one, following in pairwise(layers):
        assert following.input_channels == one.output_channels
        assert following.input_height in (output_size(one)[0], output_size(one)[0] // 2)  # after pooling


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 63, 64, 65, 512, 4608])
def test_leading_dimensions_are_odd_multiples_of_what_kernels_load(size: int) -> None:
    shape = GemmShape(size, 1, size)
    assert shape.lda >= size and shape.lda % 32 == 16 and shape.lda - size < 32
    assert shape.ldb >= size and shape.ldb % 128 == 64 and shape.ldb - size < 128
    assert shape.ldc % 4 == 0 and 0 <= shape.ldc - size < 4
    assert shape.padded_k % 16 == 0 and 0 <= shape.padded_k - size < 16


def test_an_empty_product_is_refused() -> None:
    for size in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="each must be at least 1"):
            GemmShape(*size)
