"""The networks that `gpusim capture` trains (needs PyTorch: import this module only where it is used).

VGGNet-11, ResNet-10, CifarNet, `resnet18cifar` and the seven layers of `cifar7` are for CIFAR-10; AlexNet, VGG-16,
ResNet-18 and MobileNet V2 take images of 224 x 224.

Convolutions are numbered from one in module names, as in the networks' own papers.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import nn

from gpusim.lab.capture.capture import CaptureError, CirculantWeights
from gpusim.lab.capture.circulant_modules import replace_by_circulant
from workloads.shapes import ALEXNET, VGGNET16, ConvolutionShape

CLASSES = 10
# Output channels of VGGNet-11's eight convolutions; "pool" is a 2x2 max-pool (Simonyan and Zisserman 2015, table 1, A).
_VGGNET_11 = (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool")
# Output channels and first stride of ResNet-10's four residual blocks, each of two 3x3 convolutions.
_RESNET_10 = ((64, 1), (128, 2), (256, 2), (512, 2))
# MobileNet V2's stages, as in sim_configs/networks/mobilenet_v2.yaml: channels, expanded channels of the blocks that
# change them and of those that keep them, the first stride, blocks (Sandler et al. 2018, table 2).
_MOBILENET_V2 = (
    (24, 96, 144, 2, 2), (32, 144, 192, 2, 3), (64, 192, 384, 2, 4), (96, 384, 576, 1, 3), (160, 576, 960, 2, 3),
    (320, 960, 0, 1, 1),
)  # fmt: skip
_CLASSIFIER_WIDTH = 512
_WIDE_CLASSIFIER = 4096
_DROPOUT = 0.5


def build(model: str, classes: int = CLASSES, circulant: CirculantWeights | None = None) -> nn.Module:
    """Build a network by name, initialised from PyTorch's current seed.

    Input float32 [images, 3, side, side], output [images, classes] (no softmax: the loss applies it); side: 32 for
    networks on CIFAR-10, which have ten classes, 224 for those on photographs. circulant: weights of a
    network on CIFAR-10; None: dense ones.
    """
    small: dict[str, Callable[[], nn.Module]] = {
        "vggnet11": vggnet_11,
        "resnet10": resnet_10,
        "cifarnet": cifarnet,
        "cifar7": cifar_7,
        "resnet18cifar": resnet_18_cifar,
    }
    large = {"alexnet": alexnet, "vgg16": vgg_16, "resnet18": resnet_18, "mobilenet_v2": mobilenet_v2}
    network = small[model]() if model in small else large[model](classes)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    if model in large:  # many classes: answers near zero at first, or the first steps are far too long
        nn.init.normal_(list(network.children())[-1].weight, std=0.01)
    if circulant is not None and not replace_by_circulant(
        network, circulant.block, circulant.adjacent, convolutions=circulant.layers == "all"
    ):
        raise CaptureError(
            f"circulant blocks of {circulant.block} in {model}: no layer of '{circulant.layers}' but the first and "
            "the last has whole blocks"
        )
    return network


def vggnet_11() -> nn.Module:
    """Build eight 3x3 convolutions, five max-pools, three fully connected layers (Dong 2020, table 2.2, column A).

    No batch normalisation: Dong 2020's network has none. The classifier is 512 wide instead of 4096, because the last
    pool leaves one pixel of 512 channels here instead of 7x7.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, convolution, pool = 3, 0, 0
    for step in _VGGNET_11:
        if isinstance(step, int):
            convolution += 1
            layers[f"conv{convolution}"] = nn.Conv2d(channels, step, 3, padding=1)
            layers[f"relu{convolution}"] = nn.ReLU()
            channels = step
        else:
            pool += 1
            layers[f"pool{pool}"] = nn.MaxPool2d(2)
    return nn.Sequential(layers | _classifier(channels, _CLASSIFIER_WIDTH, CLASSES))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch normalisation and a shortcut (He et al. 2016, figure 2)."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False), nn.BatchNorm2d(channels_out)
            )

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Map [images, channels_in, h, w] to [images, channels_out, h / stride, w / stride]."""
        inner = torch.relu(self.norm1(self.conv1(maps)))
        return torch.relu(self.norm2(self.conv2(inner)) + self.shortcut(maps))


def resnet_10() -> nn.Module:
    """Build a stem, four residual blocks of two convolutions each, one fully connected layer: ten layers with weights.

    The CIFAR stem is a 3x3 convolution without a pool, so that block 4 works on 4x4 maps.
    """
    return _residual(_RESNET_10)


def resnet_18_cifar() -> nn.Module:
    """Build a stem as ResNet-10's, eight residual blocks, one fully connected layer: eighteen layers with weights."""
    return _residual([step for channels, stride in _RESNET_10 for step in ((channels, stride), (channels, 1))])


def _residual(blocks: Sequence[tuple[int, int]]) -> nn.Module:
    """Build a residual network on images of 32 x 32. blocks: output channels and first stride of each."""
    channels = blocks[0][0]
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    layers["conv1"] = nn.Conv2d(3, channels, 3, padding=1, bias=False)
    layers["norm1"] = nn.BatchNorm2d(channels)
    layers["relu1"] = nn.ReLU()
    for number, (channels_out, stride) in enumerate(blocks, start=1):
        layers[f"block{number}"] = ResidualBlock(channels, channels_out, stride)
        channels = channels_out
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(channels, CLASSES)
    return nn.Sequential(layers)


def cifarnet() -> nn.Module:
    """Build Caffe's quick network for CIFAR-10, three 5x5 convolutions, two fully connected layers.

    Its pools round up; average pools count no padding, as PyTorch's do.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 3
    for number, filters in enumerate((32, 32, 64), start=1):
        layers[f"conv{number}"] = nn.Conv2d(channels, filters, 5, padding=2)
        if number == 1:
            layers["pool1"] = nn.MaxPool2d(3, 2, ceil_mode=True)
        layers[f"relu{number}"] = nn.ReLU()
        if number > 1:
            layers[f"pool{number}"] = nn.AvgPool2d(3, 2, ceil_mode=True)
        channels = filters
    layers |= {"flatten": nn.Flatten(), "ip1": nn.Linear(64 * 4 * 4, 64), "ip2": nn.Linear(64, CLASSES)}
    return nn.Sequential(layers)


def cifar_7() -> nn.Module:
    """Build four 3x3 convolutions and three fully connected layers, for Dong 2020's figure 7.12, which names no sizes.

    There is no dropout, which dense weights do not need here (77.9 % of test images right without it, 76.9 % with) and
    which costs circulant ones, a 16th of the weights or fewer, 5 to 8 points.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 3
    for number, filters in enumerate((64, 64, 128, 128), start=1):
        layers[f"conv{number}"] = nn.Conv2d(channels, filters, 3, padding=1)
        layers[f"relu{number}"] = nn.ReLU()
        if number in (2, 4):
            layers[f"pool{number // 2}"] = nn.MaxPool2d(2)
        channels = filters
    inputs = channels * 8 * 8
    layers["flatten"] = nn.Flatten()
    for number in (1, 2):
        layers[f"fc{number}"] = nn.Linear(inputs, _CLASSIFIER_WIDTH)
        layers[f"fc{number}_relu"] = nn.ReLU()
        inputs = _CLASSIFIER_WIDTH
    layers["fc3"] = nn.Linear(inputs, CLASSES)
    return nn.Sequential(layers)


def alexnet(classes: int) -> nn.Module:
    """Build five convolutions as in `workloads.shapes.ALEXNET`, three max-pools, three fully connected layers."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, layer in enumerate(ALEXNET, start=1):
        layers |= _convolution(number, layer)
        if number in (1, 2, 5):
            layers[f"pool{number}"] = nn.MaxPool2d(3, 2)
    return nn.Sequential(layers | _classifier(256 * 6 * 6, _WIDE_CLASSIFIER, classes))


def vgg_16(classes: int) -> nn.Module:
    """Build thirteen convolutions as in `workloads.shapes.VGGNET16`, five max-pools, three fully connected layers."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, layer in enumerate(VGGNET16, start=1):
        layers |= _convolution(number, layer)
        if number in (2, 4, 7, 10, 13):
            layers[f"pool{number}"] = nn.MaxPool2d(2)
    return nn.Sequential(layers | _classifier(512 * 7 * 7, _WIDE_CLASSIFIER, classes))


def resnet_18(classes: int) -> nn.Module:
    """Build a stem, four stages of two residual blocks, one fully connected layer (`workloads.shapes.RESNET18`)."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    layers["conv1"] = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
    layers["norm1"] = nn.BatchNorm2d(64)
    layers["relu1"] = nn.ReLU()
    layers["pool1"] = nn.MaxPool2d(3, 2, padding=1)
    channels = 64
    for stage, channels_out in ((2, 64), (3, 128), (4, 256), (5, 512)):
        for number in (1, 2):
            stride = 2 if number == 1 and stage > 2 else 1
            layers[f"stage{stage}_{number}"] = ResidualBlock(channels, channels_out, stride)
            channels = channels_out
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(channels, classes)
    return nn.Sequential(layers)


class ExpandedBlock(nn.Module):
    """A depth-wise convolution between two of 1 x 1, the last without ReLU (Sandler et al. 2018, figure 4)."""

    def __init__(self, channels_in: int, wide: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.expand = nn.Conv2d(channels_in, wide, 1, bias=False)
        self.norm_expand = nn.BatchNorm2d(wide)
        self.depthwise = nn.Conv2d(wide, wide, 3, stride=stride, padding=1, groups=wide, bias=False)
        self.norm_depthwise = nn.BatchNorm2d(wide)
        self.project = nn.Conv2d(wide, channels_out, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels_out)
        self.adds = stride == 1 and channels_in == channels_out

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Map [images, channels_in, h, w] to [images, channels_out, h / stride, w / stride]."""
        inner = nn.functional.relu6(self.norm_expand(self.expand(maps)))
        inner = self.norm(self.project(nn.functional.relu6(self.norm_depthwise(self.depthwise(inner)))))
        return inner + maps if self.adds else inner


def mobilenet_v2(classes: int) -> nn.Module:
    """Build MobileNet V2 of width 1; modules have the names of the shipped network's layers."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()

    def add(name: str, number: str, made: nn.Conv2d, rectified: bool = True) -> None:
        layers.update({f"{name}{number}": made, f"bn_{name}{number}": nn.BatchNorm2d(made.out_channels)})
        layers.update({f"relu_{name}{number}": nn.ReLU6()} if rectified else {})

    add("conv", "1", nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False))
    add("depthwise", "1", nn.Conv2d(32, 32, 3, padding=1, groups=32, bias=False))
    add("project", "1", nn.Conv2d(32, 16, 1, bias=False), rectified=False)
    channels = 16
    for stage, (narrow, changing, keeping, stride, blocks) in enumerate(_MOBILENET_V2, start=2):
        layers[f"stage{stage}a"] = ExpandedBlock(channels, changing, narrow, stride)
        for number in range(1, blocks):
            layers[f"stage{stage}b{number if blocks > 2 else ''}"] = ExpandedBlock(narrow, keeping, narrow, 1)
        channels = narrow
    add("conv", "_last", nn.Conv2d(channels, 1280, 1, bias=False))
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "drop": nn.Dropout(0.2)}
    layers["fc"] = nn.Linear(1280, classes)
    return nn.Sequential(layers)


def _convolution(number: int, layer: ConvolutionShape) -> OrderedDict[str, nn.Module]:
    made = nn.Conv2d(
        layer.input_channels, layer.output_channels, layer.filter_size, stride=layer.stride, padding=layer.padding
    )
    return OrderedDict([(f"conv{number}", made), (f"relu{number}", nn.ReLU())])


def _classifier(inputs: int, width: int, classes: int) -> OrderedDict[str, nn.Module]:
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    for number in (1, 2):
        layers[f"fc{number}"] = nn.Linear(inputs, width)
        layers[f"fc{number}_relu"] = nn.ReLU()
        layers[f"fc{number}_dropout"] = nn.Dropout(_DROPOUT)
        inputs = width
    layers["fc3"] = nn.Linear(inputs, classes)
    return layers
