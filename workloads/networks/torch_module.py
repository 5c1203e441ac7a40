"""Networks from PyTorch: a function of the user's makes an `nn.Module`, whose ONNX export is read.

PyTorch is imported when there is a module to export, and only then. The module runs once, on an image of zeros, as for
inference, but for batch normalizations and dropouts, which are in training mode so that they stay layers of their own.
"""

import importlib
import io
import os
import sys
import warnings
from typing import Any

from gpusim.base.errors import MissingExtraError, UserError
from workloads.networks.described import NetworkDescription
from workloads.networks.onnx_file import read_onnx, require_onnx
from workloads.shapes import Shape

OPSET = 17  # LRN, Dropout, BatchNormalization and Softmax as `onnx_nodes` reads them


def read_torch(text: str, shape: Shape | None, skip_unsupported: bool = False) -> NetworkDescription:
    """Read the network that `module:function` returns: an `nn.Module`, or one and an example input.

    The working folder is searched first.

    Args:
        text: `module:function`.
        shape: Of an image, needed where the function returns the module alone.
        skip_unsupported: Leave out what no kind of layer has.

    Raises:
        UserError: It cannot be imported, or has layers of no known kind.
    """
    where = f"--torch {text}"
    torch = _require_torch()
    require_onnx()
    made = _called(text, where)
    module, example = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, torch.nn.Module):
        raise UserError(f"{where}: returns {type(module).__name__}: must be an nn.Module, or one and an example input")
    if example is None:
        if shape is None:
            raise UserError(f"{where}: returns a module alone: --input-shape must say what it takes, such as 3,224,224")
        example = torch.zeros((1, *shape))
    return read_torch_module(torch, module, example, where, skip_unsupported)


def read_torch_module(
    torch: Any, module: Any, example: Any, where: str, skip_unsupported: bool = False
) -> NetworkDescription:
    """Read the network of an `nn.Module`, whose parameters stay where they are; raise UserError.

    Args:
        example: An input with a batch of one.
        where: Where it comes from, for errors.
    """
    contents = exported(torch, module, example, where)
    held = dict([*module.named_parameters(), *module.named_buffers()])
    values = {name: tensor.detach().cpu().numpy() for name, tensor in held.items()}
    return read_onnx(contents, where, skip_unsupported, values)


def _require_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingExtraError("--torch (PyTorch)", "torch") from error


def _called(text: str, where: str) -> Any:
    """Call the user's function and return its result; raise UserError where that fails."""
    name, colon, function = text.partition(":")
    if not (colon and name and function.isidentifier()):
        raise UserError(f"{where}: expected module:function, for example models:resnet")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
        if not hasattr(module, function):
            raise UserError(f"{where}: module '{name}' has no function '{function}'")
        made = getattr(module, function)
        if not callable(made):
            raise UserError(f"{where}: '{function}' of module '{name}' is {type(made).__name__}, not a function")
        return made()
    except UserError:
        raise
    except ModuleNotFoundError as error:
        if error.name != name:  # one that the user's imports
            raise UserError(f"{where}: {type(error).__name__}: {error}") from error
        raise UserError(f"{where}: no module '{name}' in {os.getcwd()} or where Python finds modules") from None
    except Exception as error:  # of the user's own code
        raise UserError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())


def exported(torch: Any, module: Any, example: Any, where: str) -> bytes:
    """Export the module as an ONNX file, with a batch of one: sizes that are computed are constants there.

    Parameters are inputs of the graph, by their names: with values a file has at most 2 GiB.
    """
    file = io.BytesIO()
    try:
        module.eval()
        kept = torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd
        for part in module.modules():
            if isinstance(part, kept):
                part.train()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the exporter that keeps layers as they are: that it is the older one
            torch.onnx.export(
                module, (example,), file, opset_version=OPSET, dynamo=False, input_names=["input"],
                do_constant_folding=False, export_params=False, training=torch.onnx.TrainingMode.PRESERVE,
            )  # fmt: skip
    except Exception as error:
        raise UserError(f"{where}: cannot be exported: {type(error).__name__}: {error}") from error
    return file.getvalue()
