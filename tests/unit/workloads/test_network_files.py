"""Do network files say what they mean, and does every mistake get a line with layer, value and what is allowed?"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.config.network import load_network
from tests.support.small_networks import layer
from workloads.networks.convolution import ConvolutionLayer
from workloads.networks.graph import Network
from workloads.networks.normalization import BatchNorm, Lrn
from workloads.networks.pooling import AveragePool, MaxPool

DNNMARK = Path(__file__).parents[2] / "data" / "networks"

CONV = {"name": "conv1", "kind": "convolution", "filters": 4, "kernel": 3}


def with_layers(*layers: dict[str, Any], shape: Any = (3, 8, 8)) -> dict[str, Any]:
    return {"input": list(shape) if isinstance(shape, tuple) else shape, "layers": list(layers)}


def test_a_layer_reads_the_one_before_where_it_names_none() -> None:
    network = load_network(
        with_layers(
            CONV,
            {"name": "relu1", "kind": "relu"},
            {"name": "skip", "kind": "convolution", "inputs": "input", "filters": 4, "kernel": 3},
            {"name": "sum", "kind": "add", "inputs": ["relu1", "skip"]},
        )
    )
    assert [layer.inputs for layer in network.layers] == [("input",), ("conv1",), ("input",), ("relu1", "skip")]
    assert network.shape_of("input") == (3, 8, 8)
    assert network.shape_of("sum") == (4, 6, 6)
    assert [layer.name for layer in network.outputs] == ["sum"]


def test_layers_come_in_an_order_in_which_they_can_run_and_else_in_the_file_s() -> None:
    late = [
        {"name": "c", "kind": "relu", "inputs": "b"},
        {"name": "d", "kind": "relu", "inputs": "input"},
        {"name": "b", "kind": "relu", "inputs": "a"},
        {"name": "a", "kind": "relu", "inputs": "input"},
    ]
    assert [layer.name for layer in load_network(with_layers(*late)).layers] == ["d", "a", "b", "c"]


def test_a_network_with_two_inputs() -> None:
    both = {"name": "sum", "kind": "add", "inputs": ["x", "y"]}
    network = load_network(with_layers(both, shape={"x": [4], "y": [4]}))
    assert dict(network.inputs) == {"x": (4,), "y": (4,)}


def test_a_file_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("input: [3, 8, 8]\nbatch: 7\nlayers: [{name: c, kind: convolution, filters: 2, kernel: [3, 1]}]\n")
    network = load_network(path)
    assert (network.name, network.source, network.batch) == ("mine", str(path), 7)
    assert network["c"].shape == (2, 6, 8)
    assert load_network("alexnet") == load_network("alexnet.yaml")


BLOCK = {
    "unit": [
        layer("conv", "convolution", filters="$wide", kernel=3, padding=1),
        layer("add", "add", ["conv", "before"]),
    ]
}


def test_a_block_is_its_layers_as_often_as_is_said() -> None:
    entry = {"name": "res", "block": "unit", "times": 2, "wide": 2}
    network = load_network({"input": [2, 4, 4], "blocks": BLOCK, "layers": [entry, layer("relu", "relu")]})
    convolution = {"filters": 2, "kernel": 3, "padding": 1}
    expected = [
        layer("res1_conv", "convolution", ["input"], **convolution),
        layer("res1_add", "add", ["res1_conv", "input"]),
        layer("res2_conv", "convolution", ["res1_add"], **convolution),
        layer("res2_add", "add", ["res2_conv", "res1_add"]),
        layer("relu", "relu", ["res2_add"]),
    ]
    by_hand = load_network({"input": [2, 4, 4], "layers": expected})
    assert network.layers == by_hand.layers
    elsewhere = {"name": "b", "block": "unit", "inputs": "a", "wide": 2}
    layers = [layer("a", "relu"), layer("c", "relu"), elsewhere]
    found = load_network({"input": [2, 4, 4], "blocks": BLOCK, "layers": layers})
    assert (found["b_conv"].inputs, found["b_add"].inputs) == (("a",), ("b_conv", "a"))


def _blocked(entry: dict[str, Any], blocks: Any = None) -> dict[str, Any]:
    return {"input": [2, 4, 4], "blocks": blocks or BLOCK, "layers": [entry]}


BAD: list[tuple[dict[str, Any], str]] = [
    (
        _blocked({"name": "r", "block": "unut", "wide": 1}),
        "layer 'r': block: unknown block 'unut'; did you mean 'unit'",
    ),
    (_blocked({"name": "r", "block": "unit"}), "layer 'r': wide: is required by block 'unit' but missing"),
    (_blocked({"name": "r", "block": "unit", "wid": 1}), "unknown value of block unit 'wid'; did you mean 'wide'"),
    (_blocked({"name": "r", "block": "unit", "wide": 1, "times": 0}), "times: 0 is not allowed: a whole number from 1"),
    (_blocked({"name": "r", "block": "unit", "kind": "relu", "wide": 1}), "which has kind; only one is allowed"),
    (_blocked({"block": "unit", "wide": 1}), "layers: an entry with block: unit: name: must be text"),
    (_blocked(layer("r", "relu")), "blocks.unit: no entry of layers names it"),
    (_blocked(layer("r", "relu"), {"a": []}), "blocks.a: must be a list of layers, each with name and kind"),
    (_blocked(layer("r", "relu"), {"a": [{"kind": "relu"}]}), "blocks.a: number 1: name: is required but missing"),
    (_blocked(layer("r", "relu"), {"a": [layer("x", "relu")] * 2}), "blocks.a: 'x' is the name of two layers"),
    (_blocked(layer("r", "relu"), {"a": [{"name": "x", "block": "a"}]}), "a block within a block is not possible"),
    (
        with_layers({**CONV, "stride": 0}),
        "layer 'conv1': stride: '0' is not allowed: must be a whole number from 1 to 4096",
    ),
    (with_layers({**CONV, "kernal": 3}), "layer 'conv1': kernal: unknown key; did you mean 'kernel'?"),
    (with_layers({**CONV, "kernel": 9}), "layer 'conv1': kernel 9×9 does not fit an input of 3×8×8 with padding 0"),
    (with_layers({**CONV, "filters": 0}), "layer 'conv1': filters: 0 is not allowed: must be at least 1"),
    (with_layers({**CONV, "padding": [1, 2, 3]}), r"\[top, left, bottom, right\]"),
    (
        with_layers({**CONV, "kind": "convolutoin"}),
        "layer 'conv1': kind: unknown kind 'convolutoin'; did you mean 'conv",
    ),
    (with_layers({"name": "x"}), r"layer 'x': kind: is required but missing \(allowed: convolution, "),
    (with_layers({"kind": "relu"}), "layers: number 1: name: is required but missing"),
    (with_layers({"name": 3, "kind": "relu"}), "layers: number 1: name: 3 is not allowed: must be text"),
    (with_layers(CONV, CONV), "layer 'conv1': another layer has this name"),
    (with_layers({"name": "input", "kind": "relu"}), "layer 'input': the network's input has this name"),
    (
        with_layers(CONV, {"name": "r", "kind": "relu", "inputs": "conv2"}),
        "layer 'r': inputs: unknown layer 'conv2'; did you mean 'conv1'",
    ),
    (with_layers({"name": "r", "kind": "relu", "inputs": 3}), "layer 'r': inputs: must be the name of a layer"),
    (with_layers(CONV, {"name": "r", "kind": "relu", "inputs": []}), "layer 'r': has 0 inputs; relu takes 1"),
    (with_layers({"name": "r", "kind": "relu", "inputs": ["input", "input"]}), "layer 'r': has 2 inputs; relu takes 1"),
    (with_layers({"name": "s", "kind": "add"}), "layer 's': has 1 inputs; add takes at least 2"),
    (
        with_layers({"name": "a", "kind": "relu", "inputs": "b"}, {"name": "b", "kind": "relu", "inputs": "a"}),
        "layer 'a': reads its own output",
    ),
    (with_layers({"name": "a", "kind": "relu", "inputs": "a"}), "layer 'a': reads its own output"),
    (
        with_layers(CONV, {"name": "s", "kind": "add", "inputs": ["input", "conv1"]}),
        "layer 's': inputs of shapes 3×8×8, 4×6×6: all must",
    ),
    (with_layers(), "layers: a network has at least one"),
    (
        with_layers(CONV, shape=[3, 8, 8, 8, 8]),
        r"input: \[3, 8, 8, 8, 8\] is not allowed: must be 1 to 4 sizes, as \[channels, rows, columns\]",
    ),
    (with_layers(CONV, shape=[0, 8, 8]), "each from 1 to 65536"),
    (with_layers(CONV, shape=[1.5, 8, 8]), "is not allowed"),
    (with_layers(CONV, shape="x"), "input: x is not allowed"),
    (with_layers(CONV, shape={}), "input: a network needs at least one"),
    (with_layers(CONV, shape={"a": [3, 8, 8], "b": [3]}), "input 'b': no layer reads it"),
    ({"layers": [CONV]}, "input: is required but missing"),
    ({"input": [3, 8, 8], "layers": CONV}, "layers: .* must be a list"),
    ({"input": [3, 8, 8], "layers": ["conv"]}, "must be a mapping"),
    ({**with_layers(CONV), "batch": 0}, "batch: 0 is not allowed: must be at least 1"),
    ({**with_layers(CONV), "phase": 0}, "phase: unknown key"),
    ({"cus_per_array": 4}, r"is a GPU, not a network: use gpusim show"),
    (with_layers({"name": "p", "kind": "max_pool"}), "layer 'p': kernel is required but missing, or whole: true"),
    (
        with_layers({"name": "d", "kind": "dropout", "probability": 1}),
        "layer 'd': probability: 1 is not allowed: must be less than 1",
    ),
    (
        with_layers({"name": "a", "kind": "fully_connected", "outputs": 3, "shares": "b"}),
        "layer 'a': shares: 'b' must be the name of a layer before it",
    ),
    (
        with_layers(
            {"name": "a", "kind": "fully_connected", "outputs": 3},
            {"name": "b", "kind": "fully_connected", "outputs": 3, "shares": "a"},
        ),
        "layer 'b': shares: 'a' has the parameters weight 3×192, bias 3; it needs weight 3×3, bias 3",
    ),
    (with_layers({"name": "n", "kind": "batch_norm", "mode": "spatail"}), "layer 'n': mode: .*did you mean 'spatial'"),
]


@pytest.mark.parametrize(("data", "said"), BAD, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_a_mistake_is_one_line_that_names_it(data: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        load_network(data)
    assert len(caught.value.problems) == 1


def dnnmark(text: str, tmp_path: Path, name: str = "x.dnnmark") -> Network:
    path = tmp_path / name
    path.write_text(text)
    return load_network(path)


CONVOLUTION = "[DNNMark]\nrun_mode=standalone\n\n[Convolution]\nname=conv1\nn=100\nc=3\nh=256\nw=256\n"


def test_listing_1_is_the_convolution_benchmark(tmp_path: Path) -> None:
    text = CONVOLUTION + (
        "previous_layer=null\nconv_mode=cross_correlation\nnum_output=32\nkernel_size=5\npad=2\nstride=1\n"
        "conv_fwd_pref=fastest\nconv_bwd_filter_pref=fastest\nconv_bwd_data_pref=fastest\n"
    )
    network = dnnmark(text, tmp_path)
    layer = network["conv1"]
    assert layer.shape == (32, 256, 256)
    assert layer.gemm is not None
    assert network.batch == 100
    assert layer.gemm.macs * 100 == pytest.approx(15.73e9, rel=1e-3)
    assert network.input_gradients
    assert "conv_bwd_data_pref" in network.remarks[0]
    own = {**CONV, "filters": 32, "kernel": 5, "padding": 2, "bias": False}
    assert load_network(with_layers(own, shape=(3, 256, 256)))["conv1"].kind == layer.kind


def test_listing_2_is_a_chain_and_its_names_are_only_names(tmp_path: Path) -> None:
    text = (
        "[DNNMark]\nrun_mode=composed\n[Convolution]\nname=conv1\nn=1\nc=3\nh=32\nw=32\nprevious_layer=null\n"
        "num_output=32\nkernel_size=5\npad=2\nstride=1\n[Pooling]\nname=pool1\nprevious_layer=conv1\npool_mode=max\n"
        "kernel_size=3\npad=0\nstride=2\n[FullyConnected]\nname=relu1\nprevious_layer=pool1\nnum_output=32\n"
    )
    network = dnnmark(text, tmp_path)
    assert [(layer.name, layer.kind_name, layer.shape) for layer in network.layers] == [
        ("conv1", "convolution", (32, 32, 32)),
        ("pool1", "max_pool", (32, 15, 15)),
        ("relu1", "fully_connected", (32,)),
    ]
    assert not network.input_gradients


def test_what_a_section_leaves_out_has_dnnmark_s_defaults(tmp_path: Path) -> None:
    data = "n=2\nc=4\nh=8\nw=8\n"
    sections = (
        "Convolution",
        "Pooling",
        "LRN",
        "Activation",
        "FullyConnected",
        "Softmax",
        "BatchNorm",
        "Dropout",
        "Bypass",
    )
    text = "[DNNMark]\nrun_mode=standalone\n" + "".join(f"# one\n[{name}]\nname={name}\n{data}" for name in sections)
    network = dnnmark(text, tmp_path)
    kinds = {layer.name: layer.kind for layer in network.layers}
    convolution, pool, lrn, norm = (kinds[n] for n in ("Convolution", "Pooling", "LRN", "BatchNorm"))
    assert isinstance(convolution, ConvolutionLayer) and isinstance(pool, MaxPool)
    assert (convolution.filters, convolution.kernel, convolution.padding, convolution.propagation) == (
        32,
        (5, 5),
        (2,) * 4,
        True,
    )
    assert (pool.kernel, pool.stride, pool.ceil) == ((3, 3), (2, 2), False)
    assert isinstance(lrn, Lrn) and (lrn.size, lrn.alpha, lrn.beta, lrn.k) == (5, 1e-4, 0.75, 2.0)
    assert isinstance(norm, BatchNorm) and (norm.mode, norm.momentum, norm.epsilon) == ("per_activation", 1.0, 1e-5)
    assert network["FullyConnected"].shape == (4096,)
    assert [network[n].kind_name for n in ("Activation", "Softmax", "Dropout", "Bypass")] == [
        "relu",
        "softmax",
        "dropout",
        "bypass",
    ]
    assert len(network.inputs) == len(network.outputs) == len(sections)


def test_rows_and_columns_may_differ_and_averages_count_padding_or_not(tmp_path: Path) -> None:
    text = (
        CONVOLUTION + "kernel_size=5\nkernel_size_w=3\npad_h=1\nstride_w=2\n[Pooling]\nname=p\nn=100\nc=1\nh=9\nw=9\n"
    )
    network = dnnmark(text + "pool_mode=avg_include_padding\npad=1\n", tmp_path)
    convolution, pool = network["conv1"].kind, network["p"].kind
    assert isinstance(convolution, ConvolutionLayer) and isinstance(pool, AveragePool)
    assert (convolution.kernel, convolution.stride, convolution.padding) == ((5, 3), (1, 2), (1, 2, 1, 2))
    assert pool.counts_padding


@pytest.mark.parametrize("name", ["alexnet", "vgg16"])
def test_networks_in_dnnmark_s_language_are_the_shipped_ones(name: str) -> None:
    given, shipped = load_network(DNNMARK / f"{name}.dnnmark"), load_network(name)
    kept = [layer for layer in shipped.layers if layer.kind_name != "dropout"]  # DNNMark's VGG-16 has none
    assert [layer.kind_name for layer in given.layers] == [layer.kind_name for layer in kept]
    for one, other in zip(given.layers, kept, strict=True):
        assert (one.input_shapes, one.shape, one.gemm) == (other.input_shapes, other.shape, other.gemm), one.name
    assert given["conv1" if name == "alexnet" else "conv1_1"].kind.propagates == (name != "alexnet")


def test_vgg_for_cifar_with_batch_norm_and_dropout_in_dnnmark_s_language() -> None:
    network = load_network(DNNMARK / "vgg_cifar.dnnmark")
    assert (network.batch, dict(network.inputs)) == (100, {"data": (3, 32, 32)})
    kinds = [layer.kind_name for layer in network.layers]
    assert [kinds.count(kind) for kind in ("convolution", "batch_norm", "max_pool")] == [13, 14, 5]
    assert network.outputs[0].shape == (100,)
    assert {layer.kind.mode for layer in network.layers if isinstance(layer.kind, BatchNorm)} == {"per_activation"}


BAD_DNNMARK = [
    ("[Convolution]\nname=a\n", r"\[DNNMark\]: run_mode is required but missing \(allowed: standalone, composed\)"),
    ("[DNNMark]\nrun_mode=compose\n", "run_mode: unknown value 'compose'; did you mean 'composed'"),
    (
        "[DNNMark]\nrun_mode=composed\n[Convolutoin]\n",
        r"x.dnnmark:3: unknown section 'Convolutoin'; did you mean 'Convolution'",
    ),
    (
        "[DNNMark]\nrun_mode=composed\n[BCMFullyConnect]\n",
        "unknown section 'BCMFullyConnect'; did you mean 'BCMFullyConnected'",
    ),
    ("[DNNMark]\nrun_mode=composed\n", "layers: a network has at least one"),
    ("run_mode=composed\n", "x.dnnmark:1: .*expected"),
    (
        CONVOLUTION + "kernel=3\n",
        r"x.dnnmark:10: \[Convolution\]: unknown keyword 'kernel'; did you mean 'kernel_size'",
    ),
    (CONVOLUTION + "kernel_size\n", "x.dnnmark:10: 'kernel_size': expected"),
    (CONVOLUTION + "kernel_size=x\n", "layer 'conv1': kernel_size: 'x' is not allowed: must be a whole number"),
    (CONVOLUTION + "kernel_size=0\n", r"layer 'conv1': kernel: '\[0, 0\]' is not allowed"),
    (CONVOLUTION + "n=3\n", "n is given twice"),
    (
        CONVOLUTION + "conv_mode=transpose\n",
        "layer 'conv1': conv_mode: unknown value 'transpose'; allowed: convolution, cross",
    ),
    (CONVOLUTION + "conv_fwd_pref=slow\n", "conv_fwd_pref: unknown value 'slow'"),
    (CONVOLUTION.replace("n=100", "n=0"), "layer 'conv1': n: 0 is not allowed: must be from 1 to 65536"),
    (CONVOLUTION.replace("h=256\n", ""), "layer 'conv1': h is required but missing"),
    (
        CONVOLUTION + "[Pooling]\nname=p\nn=2\nc=3\nh=8\nw=8\n",
        "n: 100 of 'conv1', 2 of 'p': the batch must be the same",
    ),
    (
        CONVOLUTION.replace("standalone", "composed") + "[Pooling]\nname=p\nprevious_layer=conv2\n",
        "layer 'p': inputs: unknown layer 'conv2'",
    ),
    (CONVOLUTION + "kernel_size=400\n", "layer 'conv1': kernel 400×400 does not fit an input of 3×256×256"),
    (
        "[DNNMark]\nrun_mode=standalone\n[Softmax]\nname=s\nn=1\nc=3\nh=1\nw=1\nsoftmax_algo=log\n",
        "softmax_algo: unknown value 'log'",
    ),
    (
        "[DNNMark]\nrun_mode=standalone\n[LRN]\nname=s\nn=1\nc=3\nh=1\nw=1\nalpha=much\n",
        "layer 's': alpha: 'much' is not allowed: must be a number",
    ),
]


@pytest.mark.parametrize(("text", "said"), BAD_DNNMARK, ids=lambda value: value[-40:])
def test_a_mistake_in_dnnmark_s_language_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said) as caught:
        dnnmark(text, tmp_path)
    assert len(caught.value.problems) == 1


def test_a_file_s_language_is_told_by_its_contents_where_its_name_does_not_tell(tmp_path: Path) -> None:
    assert dnnmark("# mine\n\n" + CONVOLUTION, tmp_path, "x.cfg").batch == 100
    (tmp_path / "y").write_text("input: [4]\nlayers: [{name: r, kind: relu}]\n")
    assert load_network(tmp_path / "y")["r"].shape == (4,)
    (tmp_path / "z").write_bytes(b"\x08\x07\0\xff" * 4)
    with pytest.raises(UserError, match=r"is not an ONNX file|needs the extra 'onnx'"):
        load_network(tmp_path / "z")
    (tmp_path / "k").write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(UserError, match="is a code object"):
        load_network(tmp_path / "k")


def listed(tmp_path: Path, text: str) -> Network:
    path = tmp_path / "products.csv"
    path.write_text(text, encoding="utf-8")
    return load_network(str(path))


def test_a_list_of_products_has_a_layer_for_each(tmp_path: Path) -> None:
    """SCALE-Sim's lines end with a comma."""
    network = listed(tmp_path, "Layer name, M, N, K,\nqkv, 128, 2304, 768,\n\nlast one, 3, 5, 7\n")
    assert [(one.name, one.shape, one.gemm.macs if one.gemm else 0) for one in network.layers] == [
        ("qkv", (128, 2304), 128 * 2304 * 768),
        ("last one", (3, 5), 3 * 5 * 7),
    ]
    assert network.inputs == {"qkv.input": (128, 768), "last one.input": (3, 7)}


def test_products_have_weights_of_a_type(tmp_path: Path) -> None:
    text = "Layer name, M, N, K, Weights\na, 1, 8, 16, float16\nb, 1, 8, 16,\nc, 1, 8, 16\nd, 1, 8, 16, Float32\n"
    layers = listed(tmp_path, text).layers
    types = [layer.kind.weights for layer in layers]  # type: ignore[attr-defined]
    assert types == ["float16", "float32", "float32", "float32"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: 'nothing': must be the header 'Layer name, M, N, K'"),
        ("Layer name, IFMAP Height\n", "line 1: 'Layer name, IFMAP Height': must be the header"),
        ("Layer name, M, N, K\n", "0 products; a network has 1 to"),
        ("Layer name, M, N, K\na, 1, 2\n", "line 2: has 3 values: must be a name, M, N and K"),
        ("Layer name, M, N, K\na, 1, 2, 3\na, 1, 2, 3\n", "line 3: 'a' is the name of an earlier line, too"),
        ("Layer name, M, N, K\na, 1, 2.5, 3\n", "line 2: N = '2.5': must be a whole number from 1 to 65536"),
        ("Layer name, M, N, K\na, 0, 2, 3\n", "line 2: M = '0': must be"),
        (
            "Layer name, M, N, K, Weights\na, 1, 2, 3, int8\n",
            "line 2: Weights = 'int8': must be one of float32, float16",
        ),
    ],
)
def test_a_mistake_in_a_list_of_products_names_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        listed(tmp_path, text)
    assert said in str(caught.value)
