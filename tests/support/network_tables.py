"""Published sizes of networks, as printed or counted by hand: what the shipped networks are held to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A layer with weights: shapes of an image, its im2col product M × K × N, multiply-accumulates in millions."""

    layer: str
    input: tuple[int, ...]
    output: tuple[int, ...]
    m: int
    k: int
    n: int
    mmacs: str
    weights: int


@dataclass(frozen=True)
class Total:
    """A network: multiply-accumulates of an image, weights without biases and scales, all that is trained."""

    macs: int
    weights: int
    trained: int


def _rows(text: str) -> tuple[Row, ...]:
    rows = []
    for line in text.strip().splitlines():
        layer, read, written, m, k, n, mmacs, weights = line.split()
        shapes = [tuple(map(int, shape.split("×"))) for shape in (read, written)]
        rows.append(Row(layer, *shapes, int(m), int(k), int(n), mmacs, int(weights.replace(",", ""))))
    return tuple(rows)


# DNNMark's and ICPE 2018's: ungrouped, 227 × 227
ALEXNET = _rows("""
conv1 3×227×227 96×55×55 96 363 3025 105.4 34,848
conv2 96×27×27 256×27×27 256 2400 729 447.9 614,400
conv3 256×13×13 384×13×13 384 2304 169 149.5 884,736
conv4 384×13×13 384×13×13 384 3456 169 224.3 1,327,104
conv5 384×13×13 256×13×13 256 3456 169 149.5 884,736
fc6 9216 4096 4096 9216 1 37.7 37,748,736
fc7 4096 4096 4096 4096 1 16.8 16,777,216
fc8 4096 1000 1000 4096 1 4.1 4,096,000
""")
# Simonyan and Zisserman 2015, table 1, configuration D
VGG_16 = _rows("""
conv1_1 3×224×224 64×224×224 64 27 50176 86.7 1,728
conv1_2 64×224×224 64×224×224 64 576 50176 1849.7 36,864
conv2_1 64×112×112 128×112×112 128 576 12544 924.8 73,728
conv2_2 128×112×112 128×112×112 128 1152 12544 1849.7 147,456
conv3_1 128×56×56 256×56×56 256 1152 3136 924.8 294,912
conv3_2 256×56×56 256×56×56 256 2304 3136 1849.7 589,824
conv3_3 256×56×56 256×56×56 256 2304 3136 1849.7 589,824
conv4_1 256×28×28 512×28×28 512 2304 784 924.8 1,179,648
conv4_2 512×28×28 512×28×28 512 4608 784 1849.7 2,359,296
conv4_3 512×28×28 512×28×28 512 4608 784 1849.7 2,359,296
conv5_1 512×14×14 512×14×14 512 4608 196 462.4 2,359,296
conv5_2 512×14×14 512×14×14 512 4608 196 462.4 2,359,296
conv5_3 512×14×14 512×14×14 512 4608 196 462.4 2,359,296
fc6 25088 4096 4096 25088 1 102.8 102,760,448
fc7 4096 4096 4096 4096 1 16.8 16,777,216
fc8 4096 1000 1000 4096 1 4.1 4,096,000
""")
# He et al. 2016, table 1
RESNET_18 = _rows("""
conv1 3×224×224 64×112×112 64 147 12544 118.0 9,408
conv2_1 64×56×56 64×56×56 64 576 3136 115.6 36,864
conv2_2 64×56×56 64×56×56 64 576 3136 115.6 36,864
conv2_3 64×56×56 64×56×56 64 576 3136 115.6 36,864
conv2_4 64×56×56 64×56×56 64 576 3136 115.6 36,864
conv3_1 64×56×56 128×28×28 128 576 784 57.8 73,728
conv3_2 128×28×28 128×28×28 128 1152 784 115.6 147,456
proj3 64×56×56 128×28×28 128 64 784 6.4 8,192
conv3_3 128×28×28 128×28×28 128 1152 784 115.6 147,456
conv3_4 128×28×28 128×28×28 128 1152 784 115.6 147,456
conv4_1 128×28×28 256×14×14 256 1152 196 57.8 294,912
conv4_2 256×14×14 256×14×14 256 2304 196 115.6 589,824
proj4 128×28×28 256×14×14 256 128 196 6.4 32,768
conv4_3 256×14×14 256×14×14 256 2304 196 115.6 589,824
conv4_4 256×14×14 256×14×14 256 2304 196 115.6 589,824
conv5_1 256×14×14 512×7×7 512 2304 49 57.8 1,179,648
conv5_2 512×7×7 512×7×7 512 4608 49 115.6 2,359,296
proj5 256×14×14 512×7×7 512 256 49 6.4 131,072
conv5_3 512×7×7 512×7×7 512 4608 49 115.6 2,359,296
conv5_4 512×7×7 512×7×7 512 4608 49 115.6 2,359,296
fc 512 1000 1000 512 1 0.5 512,000
""")

# trained: as PyTorch counts torchvision's models and gpusim's own of gpusim/lab/capture/models.py, and Caffe its own;
# of the others by hand
TOTALS = {
    "alexnet": Total(1_135_256_096, 62_367_776, 62_367_776),
    "alexnet-caffe": Total(724_406_816, 60_954_656, 60_965_224),
    "alexnet-owt": Total(714_188_480, 61_090_496, 61_100_840),
    "vgg11": Total(153_293_824, 9_747_136, 9_750_922),
    "vgg16": Total(15_470_264_320, 138_344_128, 138_357_544),
    "resnet10": Total(253_432_832, 4_897_472, 4_903_242),
    "resnet18": Total(1_814_073_344, 11_678_912, 11_689_512),
    "resnet18-cifar": Total(555_422_720, 11_164_352, 11_173_962),
    "lenet": Total(2_293_000, 430_500, 431_080),
    "cifarnet": Total(12_354_176, 145_376, 145_578),
}

# trained values as PyTorch counts torchvision's models, of GoogLeNet as Keras's copy of Caffe's has them without the
# heads; multiply-accumulates in 10^9 as printed: of residual networks in He et al. 2016, table 1, who cut off
# (3.858, 11.28), of the others by torchvision's documentation, in which GoogLeNet has 1.5
PUBLISHED: dict[str, tuple[int, str]] = {
    "vgg11-imagenet": (132_863_336, "7.61"),
    "vgg13": (133_047_848, "11.31"),
    "vgg19": (143_667_240, "19.63"),
    "resnet34": (21_797_672, "3.6"),
    "resnet50": (25_557_032, "3.8"),
    "resnet101": (44_549_160, "7.6"),
    "resnet152": (60_192_808, "11.3"),
    "googlenet": (6_998_552, "1.5"),
    "mobilenet_v2": (3_504_872, "0.3"),
}

# Dong 2020, tables 2.1 to 2.3: layers by kind. Residual units of type A have two convolutions, of type B three; a
# network has one convolution besides, and where a unit changes the shape, a projection that the table leaves out
LAYER_COUNTS: dict[str, dict[str, int]] = {
    "alexnet": {"convolution": 5, "fully_connected": 3, "max_pool": 3, "lrn": 2, "softmax": 1},
    **{
        name: {"convolution": count, "fully_connected": 3, "max_pool": 5, "softmax": 1}
        for name, count in (("vgg11-imagenet", 8), ("vgg13", 10), ("vgg16", 13), ("vgg19", 16))
    },
}
RESIDUAL_UNITS: dict[str, tuple[int, int, int]] = {  # units, convolutions of a unit, projections
    "resnet18": (8, 2, 3),
    "resnet34": (16, 2, 3),
    "resnet50": (16, 3, 4),
    "resnet101": (33, 3, 4),
    "resnet152": (50, 3, 4),
}

# ICPE 2018, table 1 (Dong 2020, table 5.1): what is printed, in which unit, and what the layers' sizes give
_K, _M = 1_000, 1_000_000
ICPE_TABLE_1: dict[str, tuple[int, int, int]] = {
    "conv1": (210, _M, 210_830_400),
    "relu1": (290, _K, 290_400),
    "lrn1": (4, _M, 4_065_600),
    "pool1": (630, _K, 629_856),
    "conv2": (896, _M, 895_795_200),
    "relu2": (186, _K, 186_624),
    "lrn2": (3, _M, 2_612_736),
    "pool2": (389, _K, 389_376),
    "conv3": (299, _M, 299_040_768),
    "relu3": (65, _K, 64_896),
    "conv4": (448, _M, 448_561_152),
    "relu4": (65, _K, 64_896),
    "conv5": (299, _M, 299_040_768),
    "relu5": (43, _K, 43_264),
    "pool5": (83, _K, 82_944),
    "fc6": (75, _M, 75_497_472),
    "relu6": (4, _K, 4_096),
    "fc7": (33, _M, 33_554_432),
    "relu7": (4, _K, 4_096),
    "fc8": (8, _M, 8_192_000),
    "softmax": (1, _M, 1_000_000),
}
