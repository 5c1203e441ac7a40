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
from onnx.reference import ReferenceEvaluator

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.config.network import build_network, load_network
from tests.support.daily import parametrize_daily
from tests.support.network_numbers import Machine
from tests.support.onnx_models import Writer, checked, resnet18, vgg11
from workloads.networks.convolution import ConvolutionLayer
from workloads.networks.figures import layer_figures
from workloads.networks.graph import Network
from workloads.networks.memory import plan
from workloads.networks.normalization import BatchNorm, Lrn
from workloads.networks.onnx_file import read_onnx
from workloads.networks.pointwise import Dropout
from workloads.networks.pooling import AveragePool
from workloads.networks.schedule import inference
from workloads.networks.tensor import TensorRole


def read(writer: Writer, *outputs: str) -> Network:
    return build_network(read_onnx(writer.bytes(*outputs), "x.onnx"))


@parametrize_daily("model, name", [(vgg11, "vgg11"), (resnet18, "resnet18")], (0,), ids=["vgg11", "resnet18"])
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
    assert isinstance(convolution, ConvolutionLayer) and isinstance(lrn, Lrn) and isinstance(norm, BatchNorm)
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
    turned = w.node("Transpose", w.stored(2, 3, 3, 2), perm=[0, 1, 3, 2], name="t")
    network = read(w, w.node("Conv", "image", turned, name="c"))
    np.testing.assert_array_equal(
        network.values("c", "weight"), numpy_helper.to_array(w.initializers[0]).swapaxes(2, 3)
    )


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
        "layer 'odd': node 'odd' (Einsum): equation = nchw->nc: must be a product of matrices, such as",
    ),
    (
        lambda w: w.node("Elu", w.node("Relu", "image"), name="odd"),
        "layer 'odd': node 'odd' (Elu): operator Elu is not supported (allowed: Add, AveragePool",
    ),
    (lambda w: w.node("Relu", w.node("Elu", "image")), "it is 50.0 % of the network's operations, --skip-unsupported"),
    (
        lambda w: w.node("LSTM", "image", name="memory"),
        "node 'memory' (LSTM): an input of [1, 3, 8, 8]: must be steps × batch",
    ),
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
        lambda w: w.node("MatMul", "image", w.stored(9, 5), name="m"),
        "layer 'm': the file's weight is 5×9; an input of 3×8×8 needs 5×8",
    ),
    (
        lambda w: w.node("Gemm", "image", w.stored(192, 5), name="g"),
        "node 'g' (Gemm): A has 4 axes: must have 2",
    ),
    (lambda w: w.node("Pow", "image", w.keep(np.array(1.5)), name="p"), "exponent = [1.5]: must be one of 0.5, 1, 2"),
    (
        lambda w: w.node("MaxPool", "image", kernel_shape=[2, 2], dilations=[2, 2], name="p"),
        "dilations = [2, 2]: must be 1",
    ),
    (lambda w: w.node("Softmax", "image", axis=4, name="s"), "axis = 4: must be from -4 to 3"),
    (lambda w: w.node("Pad", "image", w.keep(np.array([0, 0, -1, 0] * 2)), name="k"), "must not be negative"),
    (lambda w: w.node("Pad", "image", w.keep(np.arange(8)), mode="edge", name="k"), "mode = edge: must be constant"),
    (lambda w: w.node("Gather", "image", w.keep(np.array([0, 2, 1])), axis=1, name="f"), "must go on evenly"),
    (lambda w: w.node("Gather", "image", w.keep(np.array([3])), axis=1), "an index = 3: must be from -3 to 2"),
    (lambda w: w.node("Cast", "image", to=TensorProto.INT64, name="c"), "to = 7: of a layer's output must be one of"),
    (
        lambda w: w.node("Add", "image", w.stored(8), axis=2, broadcast=1, name="a"),
        "node 'a' (Add): attribute axis = 2: must be left out",
    ),
    (lambda w: w.node("Relu", "image", threshold=1.5, name="r"), "attribute threshold = 1.5: must be left out"),
    (
        lambda w: w.node("Einsum", w.node("Flatten", w.stored(8)), "image", equation="i,ij->j", name="e"),
        "equation = i,ij->j: must be a product of matrices",
    ),
    (
        lambda w: w.node("Reshape", "image", w.keep(np.array([0, 24, 9])), name="f"),
        "shape = [0, 24, 9] of an input of [1, 3, 8, 8]: must have as many values",
    ),
    (
        lambda w: w.node("Add", "image", w.stored(4, 1, 1), name="a"),
        "inputs of [1, 3, 8, 8] and [4, 1, 1]: sizes do not fit",
    ),
    (
        lambda w: w.node("Relu", "image", name="d" * 3) and w.node("LRN", "image", name="l"),
        "node 'l' (LRN): is damaged: Required attribute 'size' is missing.",
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
        (("N", 3, 8, 8, 8, 8), "input 'image': 6 axes are not allowed: must be 1 to 5, as batch × channels × rows"),
    ],
)
def test_sizes_that_are_not_known_are_refused(shape: Any, said: str) -> None:
    assert said in refused(lambda w: w.node("Relu", "image"), shape)


def test_the_axis_of_a_softmax_that_says_none_is_that_of_the_file_s_version() -> None:
    new, old = Writer(["N", 3, 8, 8]), Writer(["N", 3, 8, 8], opset=11)
    assert read(new, new.node("Softmax", "image")).layers[0].kind.axis == 2
    assert read(old, old.node("Softmax", "image")).layers[0].kind.over == "all"


def computed(network: Network, image: np.ndarray) -> np.ndarray:
    """The network's output by NumPy in FP64, over the file's values."""
    schedule = inference(network, len(image))
    given = {next(iter(network.inputs)): image}
    for name, tensor in schedule.tensors.items():
        if tensor.role in (TensorRole.PARAMETER, TensorRole.STATE):
            given[name] = network.values(tensor.layer, name.removeprefix(f"{tensor.layer}."))
    machine = Machine(plan(schedule), given).run()
    return machine.array(schedule.outputs[network.outputs[0].name])


def by_onnx(writer: Writer, output: str, image: np.ndarray) -> np.ndarray:
    """The same by the package's own evaluator, image by image."""
    evaluator = ReferenceEvaluator(writer.model(output))
    return np.concatenate([evaluator.run(None, {"image": one[None]})[0] for one in image])


def gemm(w: Writer, x: str, bias: tuple[int, ...], **attributes: Any) -> str:
    return w.node("Gemm", x, w.stored(12, 12), w.stored(*bias), **attributes)


def gathered_rows(w: Writer) -> str:
    x = w.node("Reshape", "image", w.keep(np.array([0, 3, 8])))
    x = w.node("Gather", x, w.keep(np.array([2, 1, 0])), axis=1)
    first = w.node("Gather", x, w.keep(np.array(1)), axis=1)
    return w.node("Sub", x, w.node("Unsqueeze", first, w.keep(np.array([1]))))


def attention(w: Writer) -> str:
    """As PyTorch's multi-head attention has it: positions before the batch, heads next to it."""
    x = w.node("Transpose", w.node("Reshape", "image", w.keep(np.array([1, 6, 4]))), perm=[1, 0, 2])
    token = w.node("Expand", w.stored(1, 1, 4), w.keep(np.array([1, 1, 4])))
    x = w.node("Concat", token, x, axis=0)
    heads = [
        w.node("Transpose", w.node("Reshape", w.node("MatMul", x, w.stored(4, 4)), w.keep(np.array([7, 2, 2]))),
               perm=[1, 0, 2])
        for _ in range(3)
    ]  # fmt: skip
    scores = w.node("MatMul", heads[0], w.node("Transpose", heads[1], perm=[0, 2, 1]))
    scores = w.node("Add", w.node("Div", scores, w.keep(np.array(1.4, np.float32))), w.stored(7, 7))
    mixed = w.node("MatMul", w.node("Softmax", scores, axis=-1), heads[2])
    mixed = w.node("Reshape", w.node("Transpose", mixed, perm=[1, 0, 2]), w.keep(np.array([7, 4])))
    mixed = w.node("Gemm", mixed, w.stored(4, 4), w.stored(4), transB=1)
    mixed = w.node("Transpose", w.node("Reshape", mixed, w.keep(np.array([7, 1, 4]))), perm=[1, 0, 2])
    return w.node("LayerNormalization", mixed, w.stored(4), w.stored(4), axis=-1)


def number(w: Writer, value: float) -> str:
    return w.keep(np.array(value, np.float32))


def gelu(w: Writer, x: str) -> str:
    erf = w.node("Erf", w.node("Div", x, number(w, 2**0.5)))
    return w.node("Mul", w.node("Mul", x, w.node("Add", erf, number(w, 1.0))), number(w, 0.5))


def shuffled(w: Writer) -> str:
    x = w.node("Reshape", w.conv("image", 2, 4, 1), w.keep(np.array([-1, 2, 2, 3, 4])))
    x = w.node("Reshape", w.node("Transpose", x, perm=[0, 2, 1, 3, 4]), w.keep(np.array([-1, 4, 3, 4])))
    w.nodes.append(helper.make_node("Split", [x], ["left", "right"], axis=1))
    return w.node("Concat", "right", "left", axis=1)


def sized(w: Writer) -> str:
    """x.view(x.size(0), -1), as exported with a batch that is dynamic."""
    first = w.node("Gather", w.node("Shape", "image"), w.keep(np.array(0)), axis=0)
    axes = w.keep(np.array([0]))
    shape = w.node("Concat", w.node("Unsqueeze", first, axes), w.keep(np.array([-1])), axis=0)
    return w.gemm(w.node("Reshape", w.node("Relu", "image"), shape), 24, 5)


def sequence(w: Writer) -> str:
    """Six steps of four features."""
    return w.node("Reshape", "image", w.keep(np.array([6, 1, 4])))


def recurrent(w: Writer, operator: str, gates: int, **attributes: Any) -> str:
    weights = w.stored(1, gates * 3, 4), w.stored(1, gates * 3, 3), w.stored(1, 2 * gates * 3)
    return w.node(operator, sequence(w), *weights, hidden_size=3, **attributes)


def further_outputs(w: Writer) -> str:
    """The last state and the last cell, from a first state that is given and one that is zero."""
    x = sequence(w)
    first = w.node("Reshape", w.node("Slice", x, *[w.keep(np.array([k])) for k in (0, 3, 2)]),
                   w.keep(np.array([6, 1, 3])))  # fmt: skip
    first = w.node("Slice", first, *[w.keep(np.array([k])) for k in (1, 2, 0)])
    zeros = w.keep(np.zeros((1, 1, 3), np.float32))
    w.nodes.append(helper.make_node(
        "LSTM", [x, w.stored(1, 12, 4), w.stored(1, 12, 3), "", "", first, zeros], ["", "last", "cell"], hidden_size=3
    ))  # fmt: skip
    return w.node("Add", "last", "cell")


# what exporters write, each over [N, 2, 3, 4]
GRAPHS: dict[str, Callable[[Writer], str]] = {
    "sized": sized,
    "attention": attention,
    "gathered": gathered_rows,
    "shuffled": shuffled,
    "gelu": lambda w: gelu(w, w.conv("image", 2, 3, 1)),
    "lstm": lambda w: recurrent(w, "LSTM", 4),
    "gru": lambda w: recurrent(w, "GRU", 3),
    "gru_of_pytorch": lambda w: recurrent(w, "GRU", 3, linear_before_reset=1),
    "rnn": lambda w: recurrent(w, "RNN", 1),
    "last_state_and_cell": further_outputs,
    "upwards": lambda w: w.node("ConvTranspose", w.node("ConvTranspose", "image", w.stored(2, 3, 2, 3), w.stored(3),
        strides=[2, 3], pads=[0, 1, 1, 0], output_padding=[1, 2]), w.stored(3, 2, 2, 2), group=1, dilations=[2, 1]),
    "silu": lambda w: w.node("Mul", "image", w.node("Sigmoid", "image")),
    "gated": lambda w: w.node("Mul", "image", w.node("Sigmoid", w.node("GlobalAveragePool", "image"))),
    "functions": lambda w: w.node("LeakyRelu", w.node("HardSwish", w.node("HardSigmoid", w.node("Exp", w.node(
        "Clip", w.node("Neg", "image"), number(w, -0.5), number(w, 0.75))))), alpha=0.3),
    "powers": lambda w: w.node("Sqrt", w.node("Add", w.node("Pow", "image", number(w, 2.0)), number(w, 1.5))),
    "numbers": lambda w: w.node("Sub", number(w, 1.0), w.node(
        "Div", w.node("Mul", "image", number(w, 3.0)), number(w, -0.5))),
    "over": lambda w: w.node("Div", number(w, 2.0), w.node("Exp", "image")),
    "divided": lambda w: w.node("Div", w.stored(2, 1, 1), w.node("Exp", "image")),
    "sums": lambda w: w.node("Sum", "image", w.node("Relu", "image"), w.node("Tanh", "image")),
    "means": lambda w: w.node("Sub", "image", w.node("ReduceMean", "image", axes=[1, 3])),
    "summed": lambda w: w.node("Add", "image", w.node("ReduceSum", "image", w.keep(np.zeros(0, np.int64)))),
    "not_summed": lambda w: w.node("Relu", w.node("ReduceSum", "image", noop_with_empty_axes=1)),
    "cast": lambda w: w.node("Cast", w.node("Relu", "image"), to=TensorProto.FLOAT),
    "lengths": lambda w: w.node("Div", "image", w.node("ReduceL2", "image", axes=[-1])),
    "padded": lambda w: w.node("Pad", "image", w.keep(np.array([0, 0, 1, 0, 0, 1, 0, 2])), number(w, 0.5)),
    "sliced": lambda w: w.node("Slice", "image", w.keep(np.array([3, 1])), w.keep(np.array([-9, 3])),
                               w.keep(np.array([3, 2])), w.keep(np.array([-2, 1]))),
    "grouped": lambda w: w.node("InstanceNormalization", "image", w.stored(2), w.stored(2)),
    "turned": lambda w: w.node("Softmax", w.node("Transpose", "image", perm=[0, 2, 3, 1]), axis=2),
    "gemm": lambda w: gemm(w, w.node("Reshape", "image", w.keep(np.array([2, 12]))), (12,), alpha=0.5, beta=-2.0),
    "gemm_number": lambda w: gemm(w, w.node("Reshape", "image", w.keep(np.array([2, 12]))), (1, 1)),
    "gemm_columns": lambda w: gemm(w, w.node("Reshape", "image", w.keep(np.array([2, 12]))), (2, 1), beta=3.0,
                                   transB=1),
    "gemm_turned": lambda w: gemm(w, w.node("Reshape", "image", w.keep(np.array([12, 2]))), (), transA=1, alpha=2.0),
    "gemm_both": lambda w: w.node("Gemm", *[w.node("Reshape", "image", w.keep(np.array([4, 6])))] * 2,
                                  w.stored(4, 4), transB=1, alpha=0.5),
    "squeezed": lambda w: w.node("Squeeze", w.node("MaxPool", "image", kernel_shape=[3, 1]), w.keep(np.array([2]))),
    "products": lambda w: w.node("MatMul", w.stored(2, 3), "image"),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_what_exporters_write_gives_what_onnx_gives(name: str) -> None:
    w = Writer([1, 2, 3, 4])
    output = GRAPHS[name](w)
    image = np.random.default_rng(5).standard_normal((1, 2, 3, 4), np.float32)
    wanted = by_onnx(w, output, image)
    np.testing.assert_allclose(computed(read(w, output), image).reshape(wanted.shape), wanted, rtol=2e-5, atol=1e-5)


def lstm(x: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The states of ONNX's LSTM, by its equations."""
    size = r.shape[1]
    h = c = np.zeros(size)
    found = []
    for one in x:
        put, out, keep, new = np.split(w @ one + r @ h + b[: 4 * size] + b[4 * size :], 4)
        put, out, keep = (1 / (1 + np.exp(-gate)) for gate in (put, out, keep))
        c = keep * c + put * np.tanh(new)
        h = out * np.tanh(c)
        found.append(h)
    return np.stack(found)


@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_a_recurrent_layer_that_goes_backwards_begins_with_the_last_step(direction: str) -> None:
    w, count = Writer([1, 2, 3, 4]), 1 + (direction == "bidirectional")
    names = w.stored(count, 12, 4), w.stored(count, 12, 3), w.stored(count, 24)
    output = w.node("LSTM", sequence(w), *names, hidden_size=3, direction=direction)
    image = np.random.default_rng(5).standard_normal((1, 2, 3, 4), np.float32)
    arrays = [numpy_helper.to_array(one) for one in w.initializers if one.name in names]
    x = image.reshape(6, 4)
    wanted = [lstm(x[::-1], *(a[-1] for a in arrays))[::-1]]
    if count == 2:
        wanted.insert(0, lstm(x, *(a[0] for a in arrays)))
    found = computed(read(w, output), image).reshape(6, count, 3)
    np.testing.assert_allclose(found, np.stack(wanted, axis=1), rtol=1e-5, atol=1e-6)


def test_a_recurrent_layer_has_its_weights_once() -> None:
    w = Writer([1, 2, 3, 4])
    network = read(w, recurrent(w, "GRU", 3, linear_before_reset=1))
    figures = layer_figures(plan(inference(network, 1)))
    assert sum(one.parameters + one.biases for one in figures) == 9 * 4 + 9 * 3 + 18
    assert sum(layer.kind.shared_with != "" for layer in network.layers) == 5


def test_formulas_become_the_functions_that_they_are() -> None:
    w = Writer([1, 2, 3, 4])
    x = w.node("Mul", "image", w.node("Sigmoid", "image"))
    assert [layer.kind_name for layer in read(w, gelu(w, x)).layers] == ["silu", "gelu"]
    w = Writer([1, 2, 3, 4])
    gate = w.node("Sigmoid", "image")  # read twice: the formula's parts are needed too
    x = w.node("Add", w.node("Mul", "image", gate), gate)
    assert [layer.kind_name for layer in read(w, x).layers] == ["sigmoid", "multiply", "add"]


def test_whole_numbers_choose_rows_of_a_table() -> None:
    w = Writer(["N", 5])
    w.inputs = [helper.make_tensor_value_info("image", TensorProto.INT64, ["N", 5])]
    network = read(w, w.node("Gather", w.stored(9, 4), "image"))
    assert (network.layers[0].kind_name, network.layers[0].shape) == ("embedding", (5, 4))
    assert network.numbers_below == {"image": 9}
    found = computed(network, np.array([[0, 8, 3, 3, 1]]))
    np.testing.assert_array_equal(found[0], numpy_helper.to_array(w.initializers[0])[[0, 8, 3, 3, 1]])


def several_missing(w: Writer) -> str:
    x = w.node("Elu", w.conv("image", 2, 4, 3, pads=[1] * 4), name="first")
    up = w.node("ConvTranspose", x, w.stored(4, 2, 2, 2), strides=[2, 2], auto_pad="SAME_UPPER", name="up")
    x = w.node("Elu", up, name="second")
    return w.gemm(w.node("Flatten", x), 96, 5)


def test_all_that_is_not_supported_is_said_at_once_and_left_out_on_demand() -> None:
    w = Writer(["N", 2, 3, 4])
    output = several_missing(w)
    with pytest.raises(UserError) as caught:
        read(w, output)
    first, elu, up = caught.value.problems
    # of 1728 + 48 + 768 + 96 + 960 operations
    assert "3 of 6 nodes are not supported, 25.3 % of the network's operations; --skip-unsupported" in first
    assert "Elu, 2 nodes 'first', 'second', 4.0 %: operator Elu is not supported" in elu
    assert "ConvTranspose, node 'up', 21.3 %: auto_pad = SAME_UPPER: must be" in up
    network = build_network(read_onnx(w.bytes(output), "x.onnx", skip_unsupported=True))
    assert [layer.kind_name for layer in network.layers] == ["convolution", "flatten", "fully_connected"]
    assert [shape for name, shape in network.inputs.items() if name != "image"] == [(2, 6, 8)]
    assert "left out: 3 of 6 nodes are not supported, 25.3 %" in network.remarks[0] and "made up" in network.remarks[0]


def test_nodes_after_what_has_no_known_shape_are_counted() -> None:
    w = Writer([1, 2, 3, 4])
    x = w.node("Relu", w.node("Tanh", w.node("Unknown", "image", name="odd")))
    with pytest.raises(UserError, match="2 further nodes read what they give, of a shape that is not known"):
        read(w, x)
    with pytest.raises(UserError, match="nothing can be put in their place"):
        read_onnx(w.bytes(x), "x.onnx", skip_unsupported=True)


def test_a_second_output_that_is_read_is_refused() -> None:
    def build(w: Writer) -> str:
        w.node("MaxPool", "image", kernel_shape=[2, 2], outputs=2, name="p")
        return w.node("Relu", "tensor0.1")

    assert "node 'p' (MaxPool): output 'tensor0.1' is read, or is the network's" in refused(build)


def test_integers_are_refused() -> None:
    w = Writer(["N", 3])
    w.inputs = [helper.make_tensor_value_info("image", TensorProto.INT64, ["N", 3])]
    with pytest.raises(UserError, match="input 'image': type INT64 is not allowed: must be FLOAT"):
        read(w, w.node("Relu", "image"))


@pytest.mark.parametrize("data", [b"", b"\0", b"not a model", b"\x08\x07" * 9])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match=r"x\.onnx: is not an ONNX file"):
        read_onnx(data, "x.onnx")


@pytest.mark.parametrize("name", [b"tensor0", b"Relu", b"image"])
def test_a_name_that_is_no_text_is_refused(name: bytes) -> None:
    w = Writer(["N", 3])
    data = w.bytes(w.node("Relu", "image")).replace(name, b"\x8e" + name[1:])
    with pytest.raises(UserError, match=r"x\.onnx: is a damaged ONNX file: b'\\x8e.+' is not UTF-8"):
        read_onnx(data, "x.onnx")


@pytest.mark.parametrize("draws", [100, pytest.param(300, marks=pytest.mark.nightly)])
def test_a_damaged_file_is_refused_or_read(draws: int) -> None:
    """Never anything else than a user's error."""
    w = Writer(["N", 3, 8, 8])
    data = w.bytes(w.gemm(w.node("Flatten", w.conv("image", 3, 2, 3)), 72, 4))
    random = np.random.default_rng(3)
    for _ in range(draws):
        damaged = bytearray(data)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        with contextlib.suppress(UserError):
            build_network(read_onnx(bytes(damaged), "x.onnx"))


def test_a_tensor_that_is_its_own_copy_ends_no_worse_than_any_other() -> None:
    w = Writer(["N", 3])
    name = w.stored(3, 2)
    w.nodes.append(helper.make_node("Identity", [name], [name]))
    assert read(w, w.node("MatMul", "image", name)).layers[0].shape == (2,)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match="needs the extra 'onnx'"):
        read_onnx(b"", "x.onnx")
