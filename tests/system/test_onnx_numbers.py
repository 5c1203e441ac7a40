"""Do networks from ONNX files compute what ONNX's own evaluator does, and give the outputs that the file declares?"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from gpusim.base.errors import UserError
from gpusim.config.network import load_network
from gpusim.jobs.networks.script import run_network
from tests.support.onnx_models import Writer

TOLERANCE = 2e-5


def outputs_of(path: Path, image: np.ndarray) -> dict[str, np.ndarray]:
    """Run the file's network on the simulated GPU; its outputs by name."""
    return run_network(str(path), inputs={"image": image}, outputs=True, quiet=True).outputs


def expected(path: Path, image: np.ndarray) -> dict[str, np.ndarray]:
    evaluator = ReferenceEvaluator(str(path))
    return dict(zip(evaluator.output_names, evaluator.run(None, {"image": image}), strict=True))


def odd_pooling(kind: str, **attributes: object) -> Callable[[Writer], list[str]]:
    return lambda w: [w.node(kind, "image", kernel_shape=[3, 2], strides=[2, 2], **attributes)]


MODELS: dict[str, tuple[int, Callable[[Writer], list[str]]]] = {
    "softmax over channels, opset 13": (13, lambda w: [w.node("Softmax", "image", axis=1)]),
    "max pooling, other zeros at the end": (17, odd_pooling("MaxPool", pads=[1, 1, 0, 0])),
    "max pooling, more at the end": (17, odd_pooling("MaxPool", pads=[0, 0, 2, 1])),
    "average pooling without its zeros": (17, odd_pooling("AveragePool", pads=[0, 1, 2, 0])),
    "max pooling, as many outputs as strides": (17, odd_pooling("MaxPool", auto_pad="SAME_UPPER")),
    "an output that another layer reads": (17, lambda w: [x := w.conv("image", 3, 4, 3), w.node("Relu", x)]),
    "one output alone, read by a layer that leads nowhere": (
        17,
        lambda w: [x := w.conv("image", 3, 4, 3), w.node("Relu", x)][:1],
    ),
    "an output that is a view": (17, lambda w: [w.node("Flatten", w.node("Tanh", "image"))]),
}


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_onnx(name: str, tmp_path: Path) -> None:
    opset, nodes = MODELS[name]
    w = Writer([2, 3, 9, 8], opset)
    names = nodes(w)
    path = tmp_path / "model.onnx"
    onnx.save(w.model(*names), path)
    image = np.random.default_rng(1).standard_normal((2, 3, 9, 8)).astype(np.float32)
    found, wanted = outputs_of(path, image), expected(path, image)
    assert list(found) == list(wanted) == names
    for each in names:
        assert found[each].shape == wanted[each].shape
        assert np.abs(found[each] - wanted[each]).max() <= TOLERANCE


@pytest.mark.parametrize("attributes", [{}, {"axis": 1}, {"axis": -3}])
def test_a_softmax_before_opset_13_is_over_all_values_of_an_image(attributes: dict[str, int], tmp_path: Path) -> None:
    # ONNX's evaluator takes channels for every version; the text of opset 11 flattens from the axis on
    w = Writer([2, 3, 4, 5], opset=11)
    name = w.node("Softmax", "image", **attributes)
    path = tmp_path / "model.onnx"
    onnx.save(w.model(name), path)
    image = np.random.default_rng(1).standard_normal((2, 3, 4, 5)).astype(np.float32)
    terms = np.exp(image.astype(np.float64))
    wanted = terms / terms.sum(axis=(1, 2, 3), keepdims=True)
    assert np.abs(outputs_of(path, image)[name] - wanted).max() <= 1e-6


def test_the_batch_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for batch, expected_batch in ((4, 4), ("N", None), (None, None)):
        w = Writer([batch, 3, 9, 8])
        onnx.save(w.model(w.node("Relu", "image")), path)
        assert load_network(path).batch == expected_batch


def test_inputs_of_different_batches_are_no_batch(tmp_path: Path) -> None:
    w = Writer([4, 3, 9, 8])
    w.inputs.append(onnx.helper.make_tensor_value_info("second", onnx.TensorProto.FLOAT, [2, 3, 9, 8]))
    onnx.save(w.model(w.node("Add", "image", "second")), tmp_path / "model.onnx")
    with pytest.raises(UserError, match=r"sizes do not fit.* no batch: input 'second' has size 2 along it, another"):
        load_network(tmp_path / "model.onnx")


def test_an_output_that_no_layer_makes_is_refused(tmp_path: Path) -> None:
    w = Writer([4, 3, 9, 8])
    w.node("MaxPool", "image", kernel_shape=[2, 2], outputs=2)
    onnx.save(w.model("tensor0.0", "tensor0.1"), tmp_path / "model.onnx")
    with pytest.raises(UserError, match=r"output 'tensor0.1' is read, or is the network's: only the first may be"):
        load_network(tmp_path / "model.onnx")
    onnx.save(w.model("tensor0.0", "nothing"), tmp_path / "model.onnx")
    with pytest.raises(UserError, match="output 'nothing': no layer has it as its first output"):
        load_network(tmp_path / "model.onnx")


def test_an_output_may_be_an_input(tmp_path: Path) -> None:
    w = Writer([4, 3, 9, 8])
    onnx.save(w.model(w.node("Relu", "image"), "image"), tmp_path / "model.onnx")
    image = np.random.default_rng(1).standard_normal((4, 3, 9, 8)).astype(np.float32)
    np.testing.assert_array_equal(outputs_of(tmp_path / "model.onnx", image)["image"], image)


def external(tmp_path: Path, location: str = "weights.bin") -> Path:
    """Write a network whose weights are in a file beside it."""
    w = Writer([2, 3, 9, 8])
    model = w.model(w.conv("image", 3, 4, 3))
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    if location != "weights.bin":
        for tensor in model.graph.initializer:
            tensor.external_data[0].value = location
        (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


def test_weights_beside_the_file_are_read_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = external(tmp_path)
    (tmp_path / "weights.bin").write_bytes(bytes(4096))  # of that name in the working folder: not these
    monkeypatch.chdir(tmp_path)
    image = np.random.default_rng(1).standard_normal((2, 3, 9, 8)).astype(np.float32)
    found, wanted = outputs_of(path, image), expected(path, image)
    assert all(np.abs(found[name] - wanted[name]).max() <= TOLERANCE for name in wanted)
    assert load_network(path).files == (path.parent / "weights.bin",)


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname", ""])
def test_weights_elsewhere_are_refused(location: str, tmp_path: Path) -> None:
    path = external(tmp_path, location)
    with pytest.raises(UserError, match=r"initializer 'stored0': .* must be a file beside or below the network's"):
        load_network(path)


def test_weights_that_are_missing_are_made_up_and_said(tmp_path: Path) -> None:
    path = external(tmp_path)
    (path.parent / "weights.bin").unlink()
    network = load_network(path)
    assert network.remarks == (
        "weights without values (data in weights.bin: no such file): 'stored0', 'stored1': made up",
    )
    assert network.files == () and [layer.kind_name for layer in network.layers] == ["convolution"]
    found = outputs_of(path, np.ones((2, 3, 9, 8), np.float32))
    assert all(np.abs(array).max() > 0.1 for array in found.values())


def test_weights_that_a_file_has_as_inputs_are_made_up(tmp_path: Path) -> None:
    w = Writer([2, 3, 9, 8])
    w.inputs.append(onnx.helper.make_tensor_value_info("weights", onnx.TensorProto.FLOAT, [4, 3, 3, 3]))
    onnx.save(w.model(w.node("Conv", "image", "weights")), tmp_path / "model.onnx")
    network = load_network(tmp_path / "model.onnx")
    assert list(network.inputs) == ["image"] and network.remarks == ("weights without values: 'weights': made up",)
    w = Writer([2, 3, 9, 8])
    w.inputs.append(onnx.helper.make_tensor_value_info("slope", onnx.TensorProto.FLOAT, [2]))
    norm = w.node("BatchNormalization", "image", *["slope"] * 4)
    onnx.save(w.model(w.node("Add", norm, "slope")), tmp_path / "model.onnx")
    with pytest.raises(UserError, match="slope"):
        load_network(tmp_path / "model.onnx")
