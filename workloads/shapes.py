"""Convolutional layers as GEMMs, and the tables of layers that the experiments use."""

from collections.abc import Mapping
from dataclasses import dataclass

Shape = tuple[int, ...]  # sizes along the axes, the fastest last


@dataclass(frozen=True)
class ConvolutionShape:
    """A convolutional layer's forward pass: square filters of `filter_size`, maps of rows by columns."""

    name: str
    """Name of the layer."""
    input_channels: int
    """Channels of the maps."""
    output_channels: int
    """Filters."""
    input_height: int
    """Rows of a map."""
    input_width: int
    """Columns of a map."""
    filter_size: int = 3
    """Side of a filter."""
    stride: int = 1
    """Step of the window."""
    padding: int = 1
    """Zeros at each border."""


@dataclass(frozen=True)
class GemmShape:
    """C = A·B: A of M x K weights, B of K x N activations (im2col), C of M x N outputs; all column-major.

    Leading dimensions are padded to what every kernel can work with: rows of C to 4 (a load of 16 bytes), rows of A to
    an odd multiple of 16 (a cache line), rows of B to an odd multiple of 64 (a wavefront's sparse load covers four
    compacted lines of one column). With even multiples (M = 512, K = 4608) neighbouring columns would fall into a few
    sets of a cache.
    """

    m: int
    """Rows of A and C."""
    n: int
    """Columns of B and C."""
    k: int
    """Columns of A, rows of B."""

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1:
            raise ValueError(f"GEMM of M={self.m}, N={self.n}, K={self.k}: each must be at least 1")

    @property
    def lda(self) -> int:
        """Elements between columns of A."""
        return 16 * (-(-self.m // 16) | 1)

    @property
    def ldb(self) -> int:
        """Elements between columns of B."""
        return 64 * (-(-self.k // 64) | 1)

    @property
    def ldc(self) -> int:
        """Elements between columns of C."""
        return round_up(self.m, 4)

    @property
    def padded_k(self) -> int:
        """Columns of A that are stored; those from K on are zero."""
        return round_up(self.k, 16)


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple of `multiple` that is at least `value`.

    Args:
        value: The value.
        multiple: The multiple.
    """
    return -(-value // multiple) * multiple


def output_size(layer: ConvolutionShape) -> tuple[int, int]:
    """Return the rows and columns of an output feature map."""
    height, width = (
        (size + 2 * layer.padding - layer.filter_size) // layer.stride + 1
        for size in (layer.input_height, layer.input_width)
    )
    return height, width


def gemm_shape(layer: ConvolutionShape, batch: int) -> GemmShape:
    """Return the GEMM of the layer's forward pass over `batch` images: B has a column for each image's output pixel.

    Args:
        layer: Shape of the layer.
        batch: Images in a batch.
    """
    height, width = output_size(layer)
    return GemmShape(layer.output_channels, batch * height * width, layer.input_channels * layer.filter_size**2)


# Dong 2020, table 6.5 and its text; convolutions of VGGNet-11 counted from 0, as the filter sizes require.
SPARTAN_LAYERS: Mapping[str, ConvolutionShape] = {
    "A": ConvolutionShape("ResNet-10 block 4 conv 2", 512, 512, 4, 4),
    "B": ConvolutionShape("VGGNet-11 conv 5", 512, 512, 4, 4),
    "C": ConvolutionShape("VGGNet-11 conv 7", 512, 512, 2, 2),
}

# Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014): ImageNet, 224 x 224 images.
ALEXNET: tuple[ConvolutionShape, ...] = (
    ConvolutionShape("AlexNet conv1", 3, 64, 224, 224, filter_size=11, stride=4, padding=2),
    ConvolutionShape("AlexNet conv2", 64, 192, 27, 27, filter_size=5, padding=2),
    ConvolutionShape("AlexNet conv3", 192, 384, 13, 13),
    ConvolutionShape("AlexNet conv4", 384, 256, 13, 13),
    ConvolutionShape("AlexNet conv5", 256, 256, 13, 13),
)


def _vgg16() -> tuple[ConvolutionShape, ...]:
    """Build the layers of Simonyan and Zisserman 2015, table 1, configuration D."""
    layers, channels, number = [], 3, 0
    for size, filters, repeats in ((224, 64, 2), (112, 128, 2), (56, 256, 3), (28, 512, 3), (14, 512, 3)):
        for _ in range(repeats):
            number += 1
            layers.append(ConvolutionShape(f"VGGNet-16 conv{number}", channels, filters, size, size))
            channels = filters
    return tuple(layers)


def _resnet18() -> tuple[ConvolutionShape, ...]:
    """Build the layers of He et al. 2016, table 1, 18 layers, without projections; names are conv<block>_<layer>."""
    layers = [ConvolutionShape("ResNet-18 conv1", 3, 64, 224, 224, filter_size=7, stride=2, padding=3)]
    channels, size = 64, 56
    for block, filters in ((2, 64), (3, 128), (4, 256), (5, 512)):
        for number in range(1, 5):
            stride = 2 if number == 1 and block > 2 else 1
            layers.append(
                ConvolutionShape(f"ResNet-18 conv{block}_{number}", channels, filters, size, size, stride=stride)
            )
            channels, size = filters, size // stride
    return tuple(layers)


VGGNET16 = _vgg16()
RESNET18 = _resnet18()
