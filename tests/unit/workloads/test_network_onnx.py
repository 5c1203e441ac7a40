"""Do ONNX files become the networks that they are, and is what they have and we have not refused by name and node?"""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.config.network import load_network, network_of
from tests.support.onnx_models import Writer, checked, resnet18, vgg11
from workloads.networks.convolution import Convolution
from workloads.networks.graph import Network
from workloads.networks.normalization import BatchNorm, Lrn
from workloads.networks.onnx_file import described_by_onnx
from workloads.networks.pointwise import Dropout
from workloads.networks.pooling import AveragePool


def read(writer: Writer, *outputs: str) -> Network:
    return network_of(described_by_onnx(writer.bytes(*outputs), "x.onnx"))


@pytest.mark.parametrize(("model", "name"), [(vgg11, "vgg11"), (resnet18, "resnet18")])
def test_networks_are_the_shipped_ones(model: Callable[[], Any], name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(checked(model()), path)
    given, shipped = load_network(path), load_network(name)
    layers = [layer for layer in given.layers if layer.kind_name != "flatten"]

    def sizes(network_layers: Any) -> list:
        found = [(x.kind_name, np.prod(x.shape), x.gemm, dict(x.anatomy.parameters)) for x in network_layers]
        return sorted(found, key=str)  # the projections stand elsewhere in their blocks

    assert sizes(layers) == sizes(shipped.layers)
    assert (given.name, dict(given.inputs), given.batch) == ("graph", {"image": shipped.inputs["input"]}, None)


def test_every_operator_of_the_list_is_read() -> None:
    w = Writer([None, 4, 9, 9])
    x = w.conv("image", 4, 6, 3, group=2, dilations=[2, 2], pads=[1, 0, 2, 3], name="first")
    x = w.node("LRN", w.node("Sigmoid", x), size=3, alpha=0.5, bias=2.0)
    x = w.node("Tanh", w.norm(x, 6))
    x = w.node("Concat", x, w.node("Identity", x), axis=1)
    x = w.node("AveragePool", x, kernel_shape=[3, 2], count_include_pad=1, pads=[1, 0, 1, 1], ceil_mode=1)
    x = w.node("Add", x, w.node("Dropout", x, w.keep(np.array(0.25, np.float32))))
    x = w.node("GlobalMaxPool", x)
    x = w.node("Reshape", x, w.keep(np.array([0, -1])))
    product = w.node("MatMul", x, w.stored(12, 5), name="product")
    x = w.node("Softmax", w.node("Relu", w.node("Add", w.stored(5), product)))
    network = read(w, x)
    kinds = [layer.kind_name for layer in network.layers]
    assert kinds == [
        "convolution",
        "sigmoid",
        "lrn",
        "batch_norm",
        "tanh",
        "bypass",
        "concat",
        "average_pool",
        "dropout",
        "add",
        "max_pool",
        "flatten",
        "fully_connected",
        "relu",
        "softmax",
    ]
    kind = {layer.kind_name: layer.kind for layer in network.layers}
    convolution, lrn, norm, pool, dropout = (
        kind[n] for n in ("convolution", "lrn", "batch_norm", "average_pool", "dropout")
    )
    assert isinstance(convolution, Convolution) and isinstance(lrn, Lrn) and isinstance(norm, BatchNorm)
    assert isinstance(pool, AveragePool) and isinstance(dropout, Dropout)
    assert (convolution.groups, convolution.dilation, convolution.padding) == (2, (2, 2), (1, 0, 2, 3))
    assert (lrn.size, lrn.alpha, lrn.beta, lrn.k) == (3, 0.5, 0.75, 2.0)
    assert (norm.mode, norm.momentum) == ("spatial", 0.1)
    assert (pool.kernel, pool.stride, pool.counts_padding, pool.ceil) == ((3, 2), (1, 1), True, True)
    assert dropout.probability == 0.25
    assert dict(network["product"].anatomy.parameters) == {"weight": (5, 12), "bias": (5,)}
    model = checked(w.model(x))  # ONNX infers the same shapes
    inferred = {
        value.name: tuple(d.dim_value for d in value.type.tensor_type.shape.dim)[1:] for value in model.graph.value_info
    }
    for node in model.graph.node:
        layer = next((one for one in network.layers if one.name in (node.name, node.output[0])), None)
        if layer and node.output[0] in inferred:
            assert layer.shape == inferred[node.output[0]], node.op_type


def test_values_of_parameters_are_the_file_s_in_a_layer_s_layout() -> None:
    w = Writer(["N", 3])
    x = w.node("MatMul", "image", w.stored(3, 5), name="product")
    network = read(w, w.gemm(x, 5, 2))
    assert network.values is not None
    stored = [numpy_helper.to_array(tensor) for tensor in w.initializers]
    np.testing.assert_array_equal(network.values("product", "weight"), stored[0].T)
    np.testing.assert_array_equal(network.values(network.layers[1].name, "weight"), stored[1])
    np.testing.assert_array_equal(network.values(network.layers[1].name, "bias"), stored[2])


def test_weights_may_be_turned_over_before_their_product_as_pytorch_has_it_without_bias() -> None:
    w = Writer(["N", 3])
    stored = w.node("Identity", w.node("Transpose", w.stored(5, 3), perm=[1, 0]))
    network = read(w, w.node("MatMul", "image", stored, name="product"))
    assert dict(network["product"].anatomy.parameters) == {"weight": (5, 3)}
    assert network.values is not None
    array = numpy_helper.to_array(w.initializers[0])
    np.testing.assert_array_equal(network.values("product", "weight"), array)
    w = Writer(["N", 3])
    twice = w.node("Transpose", w.node("Transpose", w.stored(3, 5)))
    assert read(w, w.node("MatMul", "image", twice)).layers[0].shape == (5,)
    w = Writer(["N", 3, 4, 4])
    turned = w.node("Transpose", w.stored(2, 3, 3, 3), perm=[0, 1, 3, 2], name="t")
    with pytest.raises(UserError, match=r"node 't' \(Transpose\): perm = \[0, 1, 3, 2\]: must be \[1, 0\]"):
        read(w, w.node("Conv", "image", turned))


@pytest.mark.parametrize("how", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [2, 3])
def test_padding_that_follows_from_the_size_is_what_onnx_says(how: str, stride: int, kernel: int) -> None:
    w = Writer(["N", 3, 8, 7])
    convolved = w.conv("image", 3, 4, kernel, auto_pad=how, strides=[stride, 1], dilations=[1, 2], name="c")
    last = w.node("MaxPool", convolved, kernel_shape=[2, 3], auto_pad=how, strides=[1, stride])
    flat = w.node("Flatten", last)
    network = read(w, flat)
    inferred = {value.name: value.type.tensor_type.shape.dim for value in checked(w.model(flat)).graph.value_info}
    for name, layer in ((convolved, network.layers[0]), (last, network.layers[1])):
        assert layer.shape == tuple(one.dim_value for one in inferred[name])[1:]
    top, left, bottom, right = network.layers[0].kind.padding
    assert (top <= bottom and left <= right) if how == "SAME_UPPER" else (top >= bottom and left >= right)


def test_a_constant_s_value_is_stored_as_well() -> None:
    w = Writer(["N", 3])
    array = numpy_helper.from_array(np.ones((3, 2), np.float32))
    x = w.node("MatMul", "image", w.node("Constant", value=array))
    assert read(w, x).layers[0].shape == (2,)


def test_nodes_without_names_and_with_equal_names_become_layers_with_names_of_their_own() -> None:
    w = Writer(["N", 3])
    x = w.node("Relu", w.node("Relu", w.node("Relu", "image", name="same"), name="same"))
    assert [layer.name for layer in read(w, x).layers] == ["same", "same.2", "tensor2.0"]


def refused(build: Callable[[Writer], Any], shape: Any = ("N", 3, 8, 8), opset: int = 17) -> str:
    w = Writer(list(shape), opset)
    made = build(w)
    with pytest.raises(UserError) as caught:
        read(w, made if isinstance(made, str) else "image")
    assert len(caught.value.problems) == 1
    return str(caught.value)


BAD: list[tuple[Callable[[Writer], Any], str]] = [
    (
        lambda w: w.node("Einsum", "image", equation="nchw->nc", name="odd"),
        "layer 'odd': node 'odd' (Einsum): operator Einsum is not supported (allowed: Add, AveragePool",
    ),
    (lambda w: w.node("LSTM", "image", name="memory"), "node 'memory' (LSTM): operator LSTM is not supported"),
    (
        lambda w: w.node("Relu", "image", domain="com.acme", name="own"),
        "node 'own' (com.acme.Relu): operator com.acme.Relu is not",
    ),
    (lambda w: w.node("Relu", "nowhere", name="r"), "layer 'r': node 'r' (Relu): input 'nowhere' is neither"),
    (
        lambda w: w.node("Conv", "image", "image", name="c"),
        "node 'c' (Conv): input 1 (weights) is 'image': must be an initializer",
    ),
    (lambda w: w.node("Conv", "image", w.stored(4, 3, 3), name="c"), "input 1 (weights) has 3 axes: must have 4"),
    (
        lambda w: w.conv("image", 3, 4, 3, auto_pad="SAME", name="c"),
        "auto_pad = SAME: must be NOTSET, VALID, SAME_UPPER or SAME_LOWER",
    ),
    (
        lambda w: w.conv("image", 3, 4, 3, kernel_shape=[2, 2], name="c"),
        "kernel_shape = [2, 2]: the weights' is [3, 3]",
    ),
    (
        lambda w: w.conv("image", 4, 4, 3, name="c"),
        "layer 'c': the file's weight is 4×4×3×3; an input of 3×8×8 needs 4×3×3×3",
    ),
    (lambda w: w.conv("image", 3, 4, 9, name="c"), "layer 'c': kernel 9×9 does not fit an input of 3×8×8"),
    (
        lambda w: w.node("MatMul", "image", w.stored(8, 5), name="m"),
        "layer 'm': the file's weight is 5×8; an input of 3×8×8 needs 5×192",
    ),
    (lambda w: w.node("MatMul", "image", "image", name="m"), "input 1 (B) is 'image': must be an initializer"),
    (
        lambda w: w.node("Gemm", w.node("Flatten", "image"), w.stored(192, 5), name="g", alpha=2.0),
        "node 'g' (Gemm): alpha = 2.0: must be 1.0",
    ),
    (
        lambda w: w.node("MaxPool", "image", kernel_shape=[2, 2], dilations=[2, 2], name="p"),
        "dilations = [2, 2]: must be 1",
    ),
    (lambda w: w.node("Softmax", "image", axis=-1, name="s"), "axis = 3: must be 1, the channels"),
    (lambda w: w.node("Concat", "image", "image", axis=2, name="k"), "axis = 2: must be 1, the channels"),
    (lambda w: w.node("Flatten", "image", axis=2, name="f"), "axis = 2: must be 1: the batch stays"),
    (
        lambda w: w.node("Reshape", "image", w.keep(np.array([0, 24, 8])), name="f"),
        "shape = [0, 24, 8]: must be [batch, features]",
    ),
    (
        lambda w: w.node("Add", "image", w.stored(3, 1, 1), name="a"),
        "is an initializer: only the bias of the product before",
    ),
    (
        lambda w: w.node("Relu", "image", name="d" * 3) and w.node("LRN", "image", name="l"),
        "node 'l' (LRN): is damaged: KeyError: 'size'",
    ),
]


@pytest.mark.parametrize(("build", "said"), BAD, ids=lambda value: value[-40:] if isinstance(value, str) else "")
def test_what_no_kind_of_layer_has_is_refused_by_name_and_node(build: Callable[[Writer], Any], said: str) -> None:
    assert said in refused(build)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (
            ("N", 3, "height", 8),
            "axis 2 has the dynamic size 'height': must be from 1 to 65536; only the batch",
        ),
        (("N", 3, 8, None), "input 'image': axis 3 has the dynamic size 'unknown'"),
        (("N", 3, 0, 8), "input 'image': axis 2 has size 0: must be from 1 to 65536"),
        (("N", 3, 8), "input 'image': 3 axes are not allowed: must be batch × channels × rows × columns"),
    ],
)
def test_sizes_that_are_not_known_are_refused(shape: Any, said: str) -> None:
    assert said in refused(lambda w: w.node("Relu", "image"), shape)


def test_the_axis_of_a_softmax_that_says_none_is_that_of_the_file_s_version() -> None:
    assert "axis = 3: must be 1" in refused(lambda w: w.node("Softmax", "image"))
    old = Writer(["N", 3, 8, 8], opset=11)
    assert read(old, old.node("Softmax", "image")).layers[0].kind_name == "softmax"


def test_a_second_output_that_is_read_is_refused() -> None:
    def build(w: Writer) -> str:
        w.node("MaxPool", "image", kernel_shape=[2, 2], outputs=2, name="p")
        return w.node("Relu", "tensor0.1")

    assert "node 'p' (MaxPool): output 'tensor0.1' is read by another node" in refused(build)


def test_integers_are_refused() -> None:
    w = Writer(["N", 3])
    w.inputs = [helper.make_tensor_value_info("image", TensorProto.INT64, ["N", 3])]
    with pytest.raises(UserError, match="input 'image': type INT64 is not allowed: must be FLOAT"):
        read(w, w.node("Relu", "image"))


@pytest.mark.parametrize("data", [b"", b"\0", b"not a model", b"\x08\x07" * 9])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match=r"x\.onnx: is not an ONNX file"):
        described_by_onnx(data, "x.onnx")


@pytest.mark.parametrize("name", [b"tensor0", b"Relu", b"image"])
def test_a_name_that_is_no_text_is_refused(name: bytes) -> None:
    w = Writer(["N", 3])
    data = w.bytes(w.node("Relu", "image")).replace(name, b"\x8e" + name[1:])
    with pytest.raises(UserError, match=r"x\.onnx: is a damaged ONNX file: b'\\x8e.+' is not UTF-8"):
        described_by_onnx(data, "x.onnx")


def test_a_damaged_file_is_refused_or_read() -> None:
    """Never anything else than a user's error."""
    w = Writer(["N", 3, 8, 8])
    data = w.bytes(w.gemm(w.node("Flatten", w.conv("image", 3, 2, 3)), 72, 4))
    random = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        with contextlib.suppress(UserError):
            network_of(described_by_onnx(bytes(damaged), "x.onnx"))


def test_a_tensor_that_is_its_own_copy_ends_no_worse_than_any_other() -> None:
    w = Writer(["N", 3])
    name = w.stored(3, 2)
    w.nodes.append(helper.make_node("Identity", [name], [name]))
    assert read(w, w.node("MatMul", "image", name)).layers[0].shape == (2,)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match="needs the extra 'onnx'"):
        described_by_onnx(b"", "x.onnx")
