"""Does a network of PyTorch's come in by its ONNX export, and is what cannot be refused clearly?

PyTorch is not among the tools that the tests need: a module of the same name stands for it, whose export writes what
PyTorch 2.11 wrote of such a module. The last test asks PyTorch itself, where it is installed.
"""

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.cli.main import invoke
from gpusim.config.network import build_network, load_torch
from tests.support.onnx_models import Writer
from workloads.networks.torch_module import read_torch


class Module:
    """Stands for nn.Module."""

    def __init__(self, *parts: "Module") -> None:
        self.training, self.parts = True, parts
        self.held: dict[str, np.ndarray] = {}

    def train(self) -> None:
        self.training = True

    def eval(self) -> None:
        for part in self.modules():
            part.training = False

    def modules(self) -> "list[Module]":
        return [self, *self.parts]

    def named_parameters(self) -> "list[tuple[str, Held]]":
        return [(name, Held(array)) for name, array in self.held.items()]

    def named_buffers(self) -> "list[tuple[str, Held]]":
        return []


class Held:
    """Stands for a tensor on a device."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def detach(self) -> "Held":
        return self

    cpu = detach

    def numpy(self) -> np.ndarray:
        return self.array


class Norm(Module):
    """Stands for a batch normalization."""


class Dropout(Module):
    """Stands for a dropout."""


def exported(module: Module, inputs: tuple, file: Any, **options: Any) -> None:
    """Stands for torch.onnx.export: batch normalization with three outputs as in training, all else as at inference."""
    assert [part.training for part in module.modules()] == [isinstance(p, Norm | Dropout) for p in module.modules()]
    assert options["training"] == "PRESERVE" and not options["do_constant_folding"] and not options["export_params"]
    w = Writer(list(inputs[0]))
    channels, rows, columns = inputs[0][1:]
    x = w.conv("image", channels, 4, 3, name="/conv/Conv")
    x = w.node("BatchNormalization", x, *(w.stored(4) for _ in range(4)), outputs=3, training_mode=1, momentum=0.9)
    x = w.node("Flatten", w.node("Relu", x))
    output = w.gemm(x, 4 * (rows - 2) * (columns - 2), 5)
    module.held = {one.name: numpy_helper.to_array(one) for one in w.initializers}
    for name, array in module.held.items():  # parameters are inputs without values
        w.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape))
    w.initializers.clear()
    file.write(w.bytes(output))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.ModuleType:
    fake: Any = types.ModuleType("torch")
    modules = types.SimpleNamespace(
        batchnorm=types.SimpleNamespace(_BatchNorm=Norm), dropout=types.SimpleNamespace(_DropoutNd=Dropout)
    )
    fake.nn = types.SimpleNamespace(Module=Module, modules=modules)
    fake.zeros = lambda shape: shape
    fake.onnx = types.SimpleNamespace(export=exported, TrainingMode=types.SimpleNamespace(PRESERVE="PRESERVE"))
    fake.made = {
        "module": Module(Norm(), Module(), Dropout()),
        "both": (Module(), (1, 3, 6, 6)),
        "number": 3,
        "odd": Module(),
    }
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.chdir(tmp_path)
    text = "import torch\n" + "".join(f"def {name}(): return torch.made['{name}']\n" for name in fake.made)
    Path("nets_of_mine.py").write_text(text + "def broken(): raise RuntimeError('no weights')\nnothing = 3\n")
    yield fake
    sys.modules.pop("nets_of_mine", None)


@pytest.mark.parametrize(("function", "shape"), [("module", (3, 6, 6)), ("both", None)])
def test_a_module_becomes_a_network(torch: Any, function: str, shape: Any) -> None:
    network = build_network(read_torch(f"nets_of_mine:{function}", shape))
    assert [layer.kind_name for layer in network.layers] == [
        "convolution", "batch_norm", "relu", "flatten", "fully_connected"
    ]  # fmt: skip
    assert network.outputs[0].shape == (5,)
    assert str(Path.cwd()) not in sys.path


def test_the_command_takes_it_in_place_of_a_file(torch: Any, capsys: pytest.CaptureFixture) -> None:
    assert invoke(["layers", "--torch", "nets_of_mine:module", "--input-shape", "3, 6,6", "--phase", "train"]) == 0
    assert "/conv/Conv\tconvolution\t4×4×4" in capsys.readouterr().out


def refused_export(*_: Any, **__: Any) -> None:
    raise RuntimeError("operator\nx")


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("nets_of_mine", None, "--torch nets_of_mine: expected module:function, for example models:resnet"),
        (":f", None, "expected module:function"),
        (
            "nets_of_mine:module",
            None,
            "returns a module alone: --input-shape must say what it takes, such as 3,224,224",
        ),
        ("nets_of_mine:nobody", None, "module 'nets_of_mine' has no function 'nobody'"),
        ("nets_of_mine:nothing", None, "'nothing' of module 'nets_of_mine' is int, not a function"),
        ("nets_of_mine:number", None, "returns int: must be an nn.Module"),
        ("nets_of_mine:broken", None, "RuntimeError: no weights"),
        ("no_such_module_here:f", None, "no module 'no_such_module_here' in /"),
        ("nets_of_mine:module", "3,x", "--input-shape 3,x: expected channels,rows,columns"),
        ("nets_of_mine:module", "3,0", "--input-shape: input: [3, 0] is not allowed"),
        ("nets_of_mine:module", "3,2,2", "layer '/conv/Conv': kernel 3×3 does not fit"),
    ],
)
def test_mistakes_are_one_line(torch: Any, text: str, shape: str | None, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load_torch(text, shape)
    assert said in str(caught.value) and len(caught.value.problems) == 1


def test_what_cannot_be_exported_is_said(torch: Any) -> None:
    torch.onnx.export = refused_export
    with pytest.raises(UserError, match=r"nets_of_mine:module: cannot be exported: RuntimeError: operator x"):
        load_torch("nets_of_mine:module", "3,6,6")


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="needs the extra 'torch'"):
        load_torch("x:y", None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one of NETWORK and --torch"),
        (["alexnet", "--torch", "a:b"], "one of NETWORK and --torch"),
        (["alexnet", "--input-shape", "3,4,4"], "--input-shape: belongs to --torch"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], said: str, capfd: pytest.CaptureFixture) -> None:
    assert invoke(["layers", *arguments]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_s_own_export_of_resnet_10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusim.config.network import load_network

    monkeypatch.chdir(tmp_path)
    Path("nets_of_torch.py").write_text("from gpusim.lab.capture.models import resnet_10\n")
    given, shipped = load_torch("nets_of_torch:resnet_10", "3,32,32"), load_network("resnet10")
    products = [layer.gemm for layer in given.layers if layer.gemm]
    assert sorted(products, key=str) == sorted((x.gemm for x in shipped.layers if x.gemm), key=str)
