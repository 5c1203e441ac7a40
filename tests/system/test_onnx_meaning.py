"""Does a network mean what its ONNX file means, whatever axis 0 is, and does the second reader find a misreading?"""

import importlib
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import build_network, load_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.networks.script import run_network
from gpusim.jobs.running.script import ran
from tests.support import onnx_nodes
from tests.support.onnx_models import Writer
from workloads.networks import onnx_batch
from workloads.networks.onnx_file import OPERATORS, read_onnx

TOLERANCE = 2e-5
# whose tests take seconds to make: `python -m tests.support.onnx_nodes` has them
SLOW = {"AveragePool", "MaxPool"}


def run(path: Path, inputs: Mapping[str, np.ndarray], batch: int | None = None) -> tuple[dict[str, np.ndarray], Any]:
    """Run the file's network without timing; return its outputs and the run's document."""
    network = load_network(path)
    settings = load_settings(opened("mi6", GPU_FOLDER, "gpu"), [])
    wanted = NetworkRunRequest(batch or network.batch or 1, timing=False)
    job = NetworkJob(network, settings, wanted, inputs, True)
    values, _ = ran(job, Reporter(True))
    return dict(job.outputs), values


def saved(w: Writer, folder: Path, *outputs: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(w.model(*outputs), path)
    return path


def values_of(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


def recurrent(w: Writer, operator: str, gates: int, **attributes: Any) -> str:
    features = w.inputs[0].type.tensor_type.shape.dim[2].dim_value
    weights = w.stored(1, gates * 4, features), w.stored(1, gates * 4, 4), w.stored(1, 2 * gates * 4)
    return w.node(operator, "image", *weights, hidden_size=4, **attributes)


def numbers(w: Writer, *values: int) -> str:
    return w.keep(np.array(values, np.int64))


def steps_first_attention(w: Writer) -> str:
    x = w.node("MatMul", "image", w.stored(8, 8))
    t, u = w.node("Transpose", x, perm=[1, 0, 2]), w.node("Transpose", x, perm=[1, 2, 0])
    return w.node("MatMul", w.node("Softmax", w.node("MatMul", t, u), axis=-1), t)


def class_token(w: Writer) -> str:
    """A vision transformer's first layers: the token is repeated for as many images as there are."""
    x = w.node("Reshape", w.conv("image", 3, 8, 2, strides=[2, 2]), numbers(w, 0, 8, -1))
    size = w.node("Gather", w.node("Shape", "image"), w.keep(np.array(0)), axis=0)
    shape = w.node("Concat", w.node("Unsqueeze", size, numbers(w, 0)), numbers(w, 1, 8), axis=0)
    token = w.node("Expand", w.stored(1, 1, 8), shape)
    x = w.node("Concat", token, w.node("Transpose", x, perm=[0, 2, 1]), axis=1)
    return w.node("Reshape", x, numbers(w, -1, 8))  # images and positions in one axis


def heads_beside_images(w: Writer) -> str:
    """PyTorch's attention, whose products count heads and images along one axis."""
    x = w.node("Transpose", "image", perm=[1, 0, 2])
    heads = [
        w.node("Transpose", w.node("Reshape", w.node("MatMul", x, w.stored(8, 8)), numbers(w, 5, 6, 4)), perm=[1, 0, 2])
        for _ in range(3)
    ]
    scores = w.node("MatMul", heads[0], w.node("Transpose", heads[1], perm=[0, 2, 1]))
    mixed = w.node("Transpose", w.node("MatMul", w.node("Softmax", scores), heads[2]), perm=[1, 0, 2])
    return w.node("Transpose", w.node("Reshape", mixed, numbers(w, 5, 3, 8)), perm=[1, 0, 2])


def norm_by_group(w: Writer, scales: int) -> str:
    return w.node("GroupNormalization", "image", w.stored(scales), w.stored(scales), num_groups=2)


def branch(operator: str) -> Any:
    result = helper.make_tensor_value_info(f"of_{operator}", TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node(operator, ["image"], [result.name])], operator, [], [result])


def condition(w: Writer) -> str:
    given = w.keep(np.array(True))
    return w.node("If", w.node("Not", given), then_branch=branch("Exp"), else_branch=branch("Neg"))


ALONE = None  # the file as a whole is what is run
# the shape of the input, the version of the operators, the nodes, and the number of images
CASES: dict[str, tuple[list[Any], int, Callable[[Writer], str], int | None]] = {
    "gru, steps first": ([10, 1, 20], 17, lambda w: recurrent(w, "GRU", 3, linear_before_reset=1), ALONE),
    "lstm, steps first": ([7, 1, 4], 17, lambda w: recurrent(w, "LSTM", 4), ALONE),
    "lstm, steps first, backwards": ([4, 1, 4], 17, lambda w: recurrent(w, "LSTM", 4, direction="reverse"), ALONE),
    "rnn, three sequences": ([5, 3, 4], 17, lambda w: recurrent(w, "RNN", 1), 3),
    "rnn of one step, three sequences": ([1, 3, 4], 17, lambda w: recurrent(w, "RNN", 1), 3),
    "gru, any number of sequences": ([5, "N", 4], 17, lambda w: recurrent(w, "GRU", 3), 3),
    "gru, batch first": ([3, 5, 4], 17, lambda w: recurrent(w, "GRU", 3, layout=1), 3),
    "attention, steps first": ([5, 2, 8], 17, steps_first_attention, 2),
    "softmax along axis 0": ([3, 4], 17, lambda w: w.node("Softmax", "image", axis=0), ALONE),
    "softmax along axis 1": ([3, 4], 17, lambda w: w.node("Softmax", "image", axis=1), 3),
    "softmax of all, before opset 13": ([3, 4, 5], 11, lambda w: w.node("Softmax", "image"), 3),
    "mean along axis 0": ([3, 4, 5], 17, lambda w: w.node("ReduceMean", "image", axes=[0]), 4),
    "length of all": ([3, 4, 5], 17, lambda w: w.node("ReduceL2", "image", keepdims=0), ALONE),
    "two behind one another": ([3, 4], 17, lambda w: w.node("Concat", "image", "image", axis=0), ALONE),
    "turned": ([2, 3, 4], 17, lambda w: w.node("Relu", w.node("Transpose", "image", perm=[1, 0, 2])), 2),
    "turned around": ([2, 3, 4], 17, lambda w: w.node("Transpose", "image"), 2),
    "a value for each image": ([4, 6, 8], 17, lambda w: w.node("Add", "image", w.stored(4, 6, 8)), ALONE),
    "a value that all images have": (
        [4, 6], 17, lambda w: w.node("Mul", "image", w.keep(np.tile(values_of(1, 6), (4, 1)))), 4
    ),
    "images by images": ([4, 6], 17, lambda w: w.node("MatMul", "image", w.node("Transpose", "image")), ALONE),
    "images in the columns": ([6, 4], 17, lambda w: w.node("MatMul", w.stored(3, 6), "image"), ALONE),
    "every second image": (
        [4, 6], 17, lambda w: w.node("Slice", "image", *(numbers(w, k) for k in (0, 4, 0, 2))), ALONE
    ),
    "one image, by indices of two axes": (
        [2, 4, 6], 17, lambda w: w.node("Gather", "image", w.keep(np.array([[1]])), axis=1), 2
    ),
    "a share of the number of images": (
        [4, 6], 17, lambda w: w.node("Div", "image", w.node("Cast", w.node("Shape", "image", end=1), to=1)), ALONE
    ),
    "images and positions in one axis": (["N", 3, 4, 4], 17, class_token, 3),
    "images and positions in one axis, of a fixed number": ([3, 3, 4, 4], 17, class_token, 3),
    "heads beside images": ([3, 5, 8], 17, heads_beside_images, 3),
    "one axis": ([5], 17, lambda w: w.node("Relu", "image"), 5),
    "a view": ([2, 3, 4], 17, lambda w: w.node("Flatten", "image"), 2),
    "a view that is the input": ([2, 3, 4], 17, lambda w: w.node("Dropout", "image"), 2),
    "a view with an axis more": ([2, 3, 4], 17, lambda w: w.node("Unsqueeze", "image", numbers(w, 0)), 2),
    "bounds the wrong way round": (
        [2, 3], 17, lambda w: w.node("Clip", "image", w.keep(np.float32(0.5)), w.keep(np.float32(-0.5))), 2
    ),
    "groups with one scale each": ([2, 4, 3], 18, lambda w: norm_by_group(w, 2), 2),
    "groups with a scale for each channel": ([2, 4, 3], 21, lambda w: norm_by_group(w, 4), 2),
    "a branch that is decided": ([2, 3], 17, condition, 2),
    "convolution of a line": (
        [2, 3, 9], 17,
        lambda w: w.node("Conv", "image", w.stored(4, 3, 3), w.stored(4), strides=[2], pads=[1, 2], dilations=[2]), 2,
    ),
    "convolution of a line, as many as before": (
        [2, 4, 9], 17, lambda w: w.node("Conv", "image", w.stored(4, 2, 4), auto_pad="SAME_LOWER", group=2), 2
    ),
    "transposed convolution of a line": (
        [2, 3, 5], 17, lambda w: w.node("ConvTranspose", "image", w.stored(3, 2, 3), strides=[2], output_padding=[1]), 2
    ),
    "largest values of a line": (
        [2, 3, 9], 17, lambda w: w.node("MaxPool", "image", kernel_shape=[3], strides=[2], ceil_mode=1), 2
    ),
    "means of a line": (
        [2, 3, 9], 17,
        lambda w: w.node("AveragePool", "image", kernel_shape=[4], pads=[1, 2], count_include_pad=1), 2,
    ),
    "mean of a whole line": ([2, 3, 9], 17, lambda w: w.node("GlobalAveragePool", "image"), 2),
    "convolution of a volume": (
        [2, 4, 5, 6, 5], 17,
        lambda w: w.node("Conv", "image", w.stored(6, 2, 2, 3, 2), w.stored(6), strides=[2, 1, 2], dilations=[2, 1, 1],
                         pads=[1, 0, 1, 2, 1, 0], group=2), 2,
    ),
    "convolution of a volume to one plane": (
        [1, 2, 3, 4, 4], 17, lambda w: w.node("Conv", "image", w.stored(3, 2, 3, 1, 1)), 1
    ),
    "largest values of a volume": (
        [2, 3, 5, 6, 5], 17,
        lambda w: w.node("MaxPool", "image", kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=[1, 1, 0, 0, 1, 1],
                         ceil_mode=1), 2,
    ),
    "means of a volume": (
        [2, 3, 5, 6, 5], 17,
        lambda w: w.node("AveragePool", "image", kernel_shape=[2, 3, 2], strides=[1, 2, 1], pads=[1, 1, 0, 0, 1, 1]), 2,
    ),
    "means of a volume, padding counted": (
        [2, 3, 5, 6, 5], 17,
        lambda w: w.node("AveragePool", "image", kernel_shape=[3, 3, 2], auto_pad="SAME_UPPER", count_include_pad=1), 2,
    ),
    "mean of a whole volume": ([2, 3, 2, 3, 2], 17, lambda w: w.node("GlobalAveragePool", "image"), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_network_means_what_its_file_means(name: str, tmp_path: Path) -> None:
    shape, opset, nodes, images = CASES[name]
    w = Writer(shape, opset)
    path = saved(w, tmp_path, nodes(w))
    image = values_of(*[3 if isinstance(size, str) else size for size in shape])
    (found,), document = (lambda outputs, values: (outputs.values(), values))(*run(path, {"image": image}, images))
    assert document["batch"] == (images or 1)
    assert document["file"]["compared_with"] == "onnx's evaluator" and document["file"]["passed"] is True
    if opset >= 13:  # the evaluator has the later Softmax for every version
        (wanted,) = ReferenceEvaluator(str(path)).run(None, {"image": image})
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)
    json.dumps(document["file"], allow_nan=False)


def test_planes_of_a_volume_are_trained_together(tmp_path: Path) -> None:
    w = Writer([1, 2, 4, 3, 3])
    x = w.node("Conv", "image", w.stored(3, 2, 2, 2, 2), w.stored(3), name="volume")
    path = saved(w, tmp_path, w.gemm(w.node("Flatten", x), 36, 4))
    result = run_network(str(path), quiet=True, phase="train", outputs=True)
    assert result["verification"]["passed"] is True
    assert result.outputs["volume.0.weight.gradient"].shape == (3, 4, 2, 2)
    network = load_network(path)
    assert [layer.kind.shared_with for layer in network.layers if layer.kind_name == "convolution"] == [
        "", "volume.0", "volume.0",
    ]  # fmt: skip


def test_the_batch_may_be_another_than_the_file_has(tmp_path: Path) -> None:
    w = Writer([4, 2, 6, 6])
    x = w.node("Reshape", w.node("Relu", w.conv("image", 2, 3, 3)), numbers(w, 4, -1))
    path = saved(w, tmp_path, w.gemm(x, 48, 5))
    image = values_of(6, 2, 6, 6)
    found, document = run(path, {"image": image}, 6)
    assert document["file"]["passed"] is True
    evaluator = ReferenceEvaluator(str(path))
    both = [evaluator.run(None, {"image": part})[0] for part in (image[:4], image[2:])]
    np.testing.assert_allclose(next(iter(found.values())), np.concatenate([both[0], both[1][2:]]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "nodes", "said"),
    [
        (["steps", 1, 4], lambda w: recurrent(w, "GRU", 3), r"\(GRU\) has the batch along axis 1, its input 0 has"),
        (["N", 4], lambda w: w.node("Softmax", "image", axis=0), r"\(Softmax\) computes along axis 0"),
        (["N", 4], lambda w: w.node("ReduceMean", "image", axes=[0]), r"\(ReduceMean\) computes along axis 0"),
        ([10, 4], lambda w: w.node("Softmax", "image", axis=0), r"\(Softmax\) computes along axis 0"),
        (["N", 2, 4], lambda w: w.node("Reshape", "image", numbers(w, 1, 8)), r"makes \[1, 8\] of \[N, 2, 4\], which"),
    ],
)  # fmt: skip
def test_a_batch_along_an_axis_that_is_none_is_refused(
    shape: list[Any], nodes: Callable[[Writer], str], said: str, tmp_path: Path
) -> None:
    w = Writer(shape)
    path = saved(w, tmp_path, nodes(w))
    with pytest.raises(
        UserError, match=f"batch: 7 is not allowed: must be 1, since axis 0 of the inputs is no.*{said}"
    ):
        run(path, {}, 7)
    assert any(
        "axis 0 of the inputs is no batch but an axis like any other" in one for one in load_network(path).remarks
    )


@pytest.mark.parametrize(
    "node",
    [
        lambda w: w.node("Conv", "image", w.stored(3, 3, 3, 3), pads=[1] * 4),
        lambda w: w.node("ConvTranspose", "image", w.stored(3, 3, 3, 3), pads=[1] * 4),
        lambda w: w.node("MaxPool", "image", kernel_shape=[1, 1]),
        lambda w: w.node("GlobalAveragePool", "image"),
        lambda w: w.node("LRN", "image", size=3),
        lambda w: w.norm("image", 3),
        lambda w: w.node("InstanceNormalization", "image", w.stored(3), w.stored(3)),
    ],
)
def test_what_needs_a_batch_says_which_node_has_none(node: Callable[[Writer], str], tmp_path: Path) -> None:
    w = Writer([4, 3, 6, 6])
    x = w.node("Softmax", node(w), axis=0, name="mixing")
    said = r"an input of \[4, 3, 6, 6\]: must be batch.*'mixing' \(Softmax\) computes along axis 0"
    with pytest.raises(UserError, match=said):
        load_network(saved(w, tmp_path, x))


def test_a_misreading_is_found_by_the_second_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Writer([3, 4])
    path = saved(w, tmp_path, w.node("Softmax", "image", axis=0))
    monkeypatch.setattr(onnx_batch, "RULES", {**onnx_batch.RULES, "Softmax": onnx_batch.RULES["Relu"]})
    _, document = run(path, {"image": values_of(3, 4)})
    assert all(row["verification"]["passed"] for row in document["rows"])  # each layer is as it was read
    assert document["verification"]["passed"] is False and document["file"]["passed"] is False


def test_a_misread_shape_is_found_by_the_second_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Writer([3, 4, 5])
    path = saved(w, tmp_path, w.node("Relu", w.node("Transpose", "image", perm=[1, 0, 2])))
    monkeypatch.setattr(onnx_batch, "RULES", {**onnx_batch.RULES, "Transpose": onnx_batch.RULES["Relu"]})
    _, document = run(path, {"image": values_of(3, 4, 5)})
    assert document["file"]["passed"] is False and document["file"]["reason"].endswith("differs from [4, 3, 5]")


def test_what_a_file_has_in_training_mode_is_compared_as_it_is_run(tmp_path: Path) -> None:
    w = Writer([2, 3, 4, 4])
    names = ("scale", "bias", "mean", "variance")
    w.inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in names]
    norm = w.node("BatchNormalization", "image", *names, outputs=3, training_mode=1)
    output = w.node("Dropout", norm, w.keep(np.float32(0.5)), w.keep(np.array(True)))
    values = {name: np.abs(values_of(3)) + 0.5 for name in names}
    network = build_network(read_onnx(w.bytes(output), "of a module", values=values))  # as from PyTorch
    settings = load_settings(opened("mi6", GPU_FOLDER, "gpu"), [])
    found, _ = ran(NetworkJob(network, settings, NetworkRunRequest(2, timing=False)), Reporter(True))
    assert found["file"]["passed"] is True and found["remarks"] == []
    w.initializers += [numpy_helper.from_array(array, name) for name, array in values.items()]
    assert load_network(saved(w, tmp_path, output)).remarks == (
        "BatchNormalization, Dropout in training mode: the run, not the file, decides whether it trains",
    )


def test_runs_without_the_second_reader_say_so(tmp_path: Path) -> None:
    w = Writer([1, 3])
    path = saved(w, tmp_path, w.gemm(w.node("Relu", "image", name="first"), 3, 2))
    for asked, reason in (({"layers": "first"}, "a part of the layers is run"), ({"phase": "train"}, "it trains")):
        document = run_network(str(path), quiet=True, **asked).to_dict()
        assert (document["file"]["compared_with"], document["file"]["reason"]) == ("gpusim's own reading", reason)
    weights = {"tensor1.0.bias": np.zeros(2, np.float32)}
    given = run_network(str(path), quiet=True, inputs=weights).to_dict()["file"]
    assert given["reason"] == "'tensor1.0.bias' is given, not the file's"
    assert "file" not in run_network("lenet", quiet=True, data="synthetic", layers="ip2").to_dict()


def test_values_below_the_normal_numbers_are_no_false_alarm(tmp_path: Path) -> None:
    w = Writer([1, 4])
    path = saved(w, tmp_path, w.node("Reciprocal", "image"), w.node("Sqrt", "image"), w.node("Exp", "image"))
    found, document = run(path, {"image": np.array([[1e-40, 4, 9, 100]], np.float32)})
    assert document["verification"]["passed"] is True and document["file"]["passed"] is True
    assert [array[0, 0] for array in found.values()] == [np.inf, 0.0, 1.0]
    assert next(reversed(found.values()))[0, 3] == np.inf


def test_group_normalization_has_as_many_scales_as_its_version_says(tmp_path: Path) -> None:
    for opset, scales, said in ((18, 4, "2 groups in opset 18"), (21, 2, "4 channels in opset 21")):
        w = Writer([2, 4, 3], opset)
        with pytest.raises(UserError, match=f"must be one for each of {said}"):
            load_network(saved(w, tmp_path, norm_by_group(w, scales)))


def test_an_if_that_is_not_decided_is_refused(tmp_path: Path) -> None:
    w = Writer([2, 3])
    with pytest.raises(UserError, match="operator If is not supported"):
        load_network(saved(w, tmp_path, w.node("If", "image", then_branch=branch("Exp"), else_branch=branch("Neg"))))


@pytest.mark.parametrize("where", ["initializer", "constant", "beside", "numbers"])
def test_a_stored_tensor_that_is_shorter_than_its_shape_is_refused(where: str, tmp_path: Path) -> None:
    w = Writer([2, 3])
    short = onnx.TensorProto(name="short", data_type=TensorProto.FLOAT, dims=[3, 4], raw_data=bytes(40))
    if where == "numbers":
        short = onnx.TensorProto(name="short", data_type=TensorProto.FLOAT, dims=[3, 4], float_data=[1.0] * 10)
    elif where == "beside":
        (tmp_path / "data.bin").write_bytes(bytes(40))
        short = onnx.TensorProto(name="short", data_type=TensorProto.FLOAT, dims=[3, 4], data_location=1)
        short.external_data.add(key="location", value="data.bin")
    name = w.node("Constant", value=short) if where == "constant" else "short"
    w.initializers += [] if where == "constant" else [short]
    path = tmp_path / "model.onnx"
    path.write_bytes(w.bytes(w.node("MatMul", "image", name)))
    with pytest.raises(
        UserError, match=r"stored tensor '\w+' of \[3, 4\], FLOAT: (holds 40 bytes|its data do not fit)"
    ):
        load_network(path)


@pytest.mark.parametrize("values", [{"raw_data": bytes(48)}, {"float_data": [1.0] * 12}])
def test_a_stored_tensor_of_an_unknown_type_is_refused(values: dict[str, Any], tmp_path: Path) -> None:
    w = Writer([2, 3])
    w.initializers.append(onnx.TensorProto(name="odd", data_type=79, dims=[3, 4], **values))
    path = tmp_path / "model.onnx"
    path.write_bytes(w.bytes(w.node("MatMul", "image", "odd")))
    with pytest.raises(UserError, match=r"'odd' of \[3, 4\], 79: 79 is no type of stored values; allowed"):
        load_network(path)


def test_every_operator_that_is_read_has_a_rule_for_the_batch() -> None:
    assert set(onnx_batch.RULES) == set(OPERATORS)


def test_onnx_s_own_tests_are_right_or_refused() -> None:
    cases = list(onnx_nodes.load_cases(sorted(OPERATORS - SLOW)))
    assert len(cases) > 350  # the package's; a seeded part runs here, all by `python -m tests.support.onnx_nodes`
    chosen = random.Random(int(importlib.import_module("onnx").__version__.replace(".", ""))).sample(cases, 60)
    judged = {case.name: onnx_nodes.judge(case) for case in chosen if case.name not in onnx_nodes.RANDOM}
    assert {name: why for name, (verdict, why) in judged.items() if verdict == onnx_nodes.WRONG} == {}
    assert sum(verdict == onnx_nodes.RIGHT for verdict, _ in judged.values()) > 20
    # a refusal names what it is about: the node, an input or an output
    assert all("'" in why for verdict, why in judged.values() if verdict == onnx_nodes.REFUSED)


@pytest.mark.parametrize("asked", [{"engine": "on"}, {"sets": ["weights=float16"]}])
def test_a_run_that_rounds_to_halves_may_differ_by_as_much(asked: dict[str, Any], tmp_path: Path) -> None:
    w = Writer([1, 3, 6, 6])
    x = w.node("Relu", w.conv("image", 3, 4, 3))
    path = saved(w, tmp_path, w.gemm(w.node("Flatten", w.conv(x, 4, 4, 3)), 16, 3))
    file = run_network(str(path), quiet=True, outputs=True, **asked).to_dict()["file"]
    assert file["passed"] is True and 0 < file["max_error"] < 0.1 * file["bound"]


@pytest.mark.parametrize(
    ("shape", "opset", "node"),
    [
        ([2, 6, 4, 4], 17, lambda w: w.node("LRN", "image", size=3, alpha=0.3)),
        ([2, 6, 4, 4], 11, lambda w: w.norm("image", 6)),
        ([2, 3, 5], 17, lambda w: w.node("GlobalMaxPool", "image")),
        ([2, 3, 4], 17, lambda w: w.node("MaxPool", "image", kernel_shape=[3], pads=[1, 0], ceil_mode=1)),
        (
            [2, 3, 6, 6], 17,
            lambda w: w.node("MaxPool", "image", kernel_shape=[3, 1], strides=[1, 2], auto_pad="SAME_UPPER"),
        ),
        (
            [2, 3, 5, 5], 17,
            lambda w: w.node("AveragePool", "image", kernel_shape=[2, 3], strides=[2, 2], pads=[1, 1, 0, 0],
                             ceil_mode=1, count_include_pad=1),
        ),
    ],
)  # fmt: skip
def test_what_the_evaluator_has_wrong_is_no_false_alarm(
    shape: list[int], opset: int, node: Callable[[Writer], str], tmp_path: Path
) -> None:
    w = Writer(shape, opset)
    path = saved(w, tmp_path, node(w))
    model = onnx.load(path)
    for tensor in model.graph.initializer:  # no variance is negative
        tensor.CopyFrom(numpy_helper.from_array(np.abs(numpy_helper.to_array(tensor)) + 0.1, tensor.name))
    onnx.save(model, path)
    _, document = run(path, {"image": values_of(*shape)})
    assert document["verification"]["passed"] is True and document["file"]["passed"] is True
