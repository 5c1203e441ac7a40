"""The second reader of an ONNX file: the package's own evaluator, which shares no code with `onnx_file`.

It says what a file's outputs are. A network that was read wrongly is then found out, which a comparison of each layer
with NumPy cannot do: that has the layers from the same reading.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workloads.networks.onnx_definitions import corrected_operators

# largest difference, as a share of the output's largest value, by the file's shortest floating-point type: sums of a
# network of hundreds of layers in another order stay below the first; everything is computed in FP32, so that a file's
# rounding to shorter types is missing
TOLERANCES = {"FLOAT": 1e-3, "FLOAT16": 3e-2, "BFLOAT16": 0.25}


class NotEvaluatedError(Exception):
    """The evaluator does not evaluate the file; the message is its own."""


class FileEvaluator:
    """Evaluates a file for inference. values: of inputs that are stored tensors, by name.

    The model is changed where it says how it trains, and its weights are not copied: they may be gigabytes.
    """

    def __init__(self, model: Any, folder: Path, values: Mapping[str, np.ndarray]) -> None:
        self.model, self.folder, self.values = model, folder, values

    @property
    def tolerance(self) -> float:
        """The largest difference that rounding explains, as a share of an output's largest value."""
        types = {name: number for name, number in self._onnx.TensorProto.DataType.items() if name in TOLERANCES}
        graph = self.model.graph
        used = {tensor.data_type for tensor in graph.initializer}
        used |= {a.i for node in graph.node if node.op_type == "Cast" for a in node.attribute if a.name == "to"}
        return max(TOLERANCES[name] for name, number in types.items() if number in used or name == "FLOAT")

    def evaluate(self, batches: Iterable[Mapping[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        """Yield the outputs of each batch by name; raise NotEvaluatedError.

        batches: arrays by name, in the file's shapes; those that are missing are read by no layer.
        """
        graph, feeds = self.model.graph, dict(self.values)
        kinds = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        for value in graph.input:
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            feeds.setdefault(value.name, np.zeros(shape, np.float32))
        for value in graph.initializer:
            feeds.pop(value.name, None)
        names, evaluator = [output.name for output in graph.output], None
        for inputs in batches:
            try:
                for name, array in inputs.items():
                    feeds[name] = array.astype(self._onnx.helper.tensor_dtype_to_np_dtype(kinds[name]))
                evaluator = evaluator or self._evaluator()
                with np.errstate(all="ignore"):
                    found = evaluator.run(names, feeds)
            except Exception as error:  # of the package's many operators
                message = str(error).splitlines()[0] if str(error) else ""
                raise NotEvaluatedError(f"{type(error).__name__}: {message}") from None
            yield {name: np.asarray(array) for name, array in zip(names, found, strict=True)}

    @property
    def _onnx(self) -> Any:
        return importlib.import_module("onnx")

    def _evaluator(self) -> Any:
        onnx, reference, model = self._onnx, importlib.import_module("onnx.reference"), self.model
        if any(tensor.data_location == tensor.EXTERNAL for tensor in model.graph.initializer):
            onnx.external_data_helper.load_external_data_for_model(model, str(self.folder))
        opset = max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=1)
        _for_inference(model.graph)
        for node in model.graph.node:  # the evaluator has the default of later versions
            if opset < 13 and node.op_type == "Softmax" and not any(one.name == "axis" for one in node.attribute):
                node.attribute.append(onnx.helper.make_attribute("axis", 1))
        return reference.ReferenceEvaluator(model, new_ops=list(corrected_operators(opset)))


def _for_inference(graph: Any) -> None:
    """Change the nodes that a file has in training mode to what they are in inference, which is what is run."""
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            kept = [one for one in node.attribute if one.name != "training_mode"]
            if len(kept) < len(node.attribute):
                del node.attribute[:]
                node.attribute.extend(kept)
                del node.output[1:]
        elif node.op_type == "Dropout" and len(node.input) > 2:
            del node.input[2:]
