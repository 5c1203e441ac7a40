"""Tensors that an ONNX file has stored, and what follows from them alone.

What a node gives whose inputs are all stored is computed, by the package's reference operators, and then stored too.
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from workloads.networks.onnx_node import UnsupportedNodeError
from workloads.networks.tensor import elements
from workloads.shapes import Shape

MOST_FOLDED = 1 << 26  # elements of a tensor that follows from others
# a stored float tensor that these give is the same parameter under another shape
VIEWS = ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Cast", "Transpose")
PACKED = ((2, "INT2"), (4, "INT4"), (4, "FLOAT4"), (6, "FLOAT6"))  # bits of a value, by a part of the type's name


def external_file(tensor: Any) -> str | None:
    """Return the file beside the network's that holds the tensor's data; None if the network's file holds them."""
    if tensor.data_location != tensor.EXTERNAL:
        return None
    return next((entry.value for entry in tensor.external_data if entry.key == "location"), "")


def type_name(onnx: Any, number: int) -> str:
    """Return the name of an element's type, or its number where the package has no such type."""
    known = {n: name for name, n in onnx.TensorProto.DataType.items()}
    return str(known.get(number, number))


def attributes_of(onnx: Any, node: Any) -> dict[str, Any]:
    """Return a node's attributes by name."""
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


class StoredTensors:
    """The stored tensors of a file, by name.

    Args:
        values: Values of inputs of the graph that are stored.

    Attributes:
        same: A stored tensor under another name, with whether it is transposed.
        dependent: Values with all images of those that depend on the number of images.
        absent: Shapes of those whose values are not there.
    """

    def __init__(self, model: Any, source: str, onnx: Any, values: Mapping[str, np.ndarray]) -> None:
        self.model, self.source, self.onnx, self.folder = model, source, onnx, Path(source).parent
        self.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.folded = dict(values)
        self.floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)
        self.trained = {name for name, tensor in self.initializers.items() if tensor.data_type in self.floats}
        self.trained |= {name for name, array in values.items() if array.dtype.kind == "f"}
        self.same: dict[str, tuple[str, bool]] = {}
        self.dependent: dict[str, np.ndarray] = {}
        self.absent: dict[str, Shape] = {}
        self.absent_files: set[str] = set()

    def check(self) -> None:
        """Note initializers whose file is not there; raise UserError for one that does not hold its values, or whose
        file is not beside or below the network's.
        """
        self._check_external()
        for name, tensor in self.initializers.items():
            self.check_length(name, tensor)

    def shape(self, name: str) -> Shape | None:
        """Return the shape of a stored tensor; None for a name that no stored tensor has."""
        stored, transposed = self.same.get(name, (name, False))
        if stored in self.folded:
            shape = self.folded[stored].shape
        elif stored in self.absent:
            shape = self.absent[stored]
        elif stored in self.initializers:
            shape = tuple(self.initializers[stored].dims)
        else:
            return None
        return shape[::-1] if transposed else shape

    def array(self, name: str) -> np.ndarray:
        """Return the values of a stored tensor."""
        stored, transposed = self.same.get(name, (name, False))
        array = self.folded.get(stored)
        if stored in self.absent:
            raise UnsupportedNodeError(f"the values of '{stored}' are needed, and are not there")
        if array is None:
            array = self.values_of(stored, self.initializers[stored])
        return array.T if transposed else array

    def number(self, name: str) -> float | None:
        """Return the value of a stored tensor of one element, also of a Constant node; None for other tensors."""
        if name not in self.initializers and name not in self.folded:
            node = next(
                (one for one in self.model.graph.node if name in one.output and one.op_type == "Constant"), None
            )
            if node is None:
                return None
            try:
                tensor = self.constant(attributes_of(self.onnx, node))
            except UnsupportedNodeError:
                return None
            array = self.values_of(name, tensor)
        elif elements(self.shape(name) or ()) != 1 or name in self.absent:
            return None
        else:
            array = self.array(name)
        return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fiu" else None

    def keep(self, name: str, array: np.ndarray, with_all: np.ndarray) -> None:
        """Keep a constant; with_all: its value with all images."""
        self.folded[name] = array
        if not np.array_equal(array, with_all):
            self.dependent[name] = with_all

    def fold(self, proto: Any, operator: str) -> None:
        """Compute a node whose inputs are all stored."""
        from onnx.reference import ReferenceEvaluator

        helper = self.onnx.helper
        if any(attribute.HasField("g") for attribute in proto.attribute):
            raise UnsupportedNodeError(f"operator {operator} has a graph of its own, which is not read")
        names = [name for name in proto.input if name]
        feeds = {name: self.array(name) for name in names}
        none = [helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(names)]
        results = [helper.make_empty_tensor_value_info(name) for name in proto.output if name]
        graph = helper.make_graph([proto], "one", none, results)
        model = helper.make_model(graph, opset_imports=list(self.model.opset_import))
        with_all = {name: self.dependent.get(name, array) for name, array in feeds.items()}
        try:
            arrays = ReferenceEvaluator(model).run(None, feeds)
            depends = any(name in self.dependent for name in names)
            arrays_with_all = ReferenceEvaluator(model).run(None, with_all) if depends else arrays
        except Exception as error:  # of the package's many functions
            first = str(error).splitlines()[0] if str(error) else ""
            raise UnsupportedNodeError(f"cannot be computed from constants: {type(error).__name__}: {first}") from None
        named = [name for name in proto.output if name]
        for output, array, whole in zip(named, arrays, arrays_with_all, strict=True):
            array = np.asarray(array)
            if array.size > MOST_FOLDED:
                raise UnsupportedNodeError(f"gives {array.size} constant values: at most {MOST_FOLDED}")
            self.keep(output, array, np.asarray(whole))
            first = proto.input[0] if proto.input else ""
            if operator in VIEWS and first in self.trained and array.size == feeds[first].size:
                self.trained.add(output)

    def constant(self, attributes: Mapping[str, Any]) -> Any:
        """Return the tensor of a Constant node."""
        if "value" in attributes:
            if not isinstance(attributes["value"], self.onnx.TensorProto):
                raise UnsupportedNodeError("value: must be a tensor")
            self.check_length("value", attributes["value"])
            return attributes["value"]
        plain = [
            v for name, v in attributes.items() if name in ("value_int", "value_ints", "value_float", "value_floats")
        ]
        if not plain:
            raise UnsupportedNodeError("holds no numbers: must have value, value_int(s) or value_float(s)")
        return self.onnx.numpy_helper.from_array(np.array(plain[0]))

    def _place(self, name: str, tensor: Any) -> str:
        kind = type_name(self.onnx, tensor.data_type)
        return f"{self.source}: stored tensor '{name}' of {list(tensor.dims)}, {kind}"

    def values_of(self, name: str, tensor: Any) -> np.ndarray:
        """Return the values of the file's tensor; raise UserError where it does not hold as many as its shape."""
        self._check_type(name, tensor)
        try:
            return np.asarray(self.onnx.numpy_helper.to_array(tensor, str(self.folder)))
        except (ValueError, TypeError) as error:
            raise UserError(f"{self._place(name, tensor)}: its data do not fit its shape and type: {error}") from None

    def _check_type(self, name: str, tensor: Any) -> None:
        """Raise UserError for a type of which no values can be read."""
        try:
            self.onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        except KeyError:
            raise UserError(
                f"{self._place(name, tensor)}: {tensor.data_type} is no type of stored values; allowed are those of "
                "TensorProto, 1 (FLOAT) among them"
            ) from None

    def check_length(self, name: str, tensor: Any) -> None:
        """Raise UserError where a stored tensor does not hold as many values as its shape has."""
        if name in self.absent:
            return
        self._check_type(name, tensor)
        place = external_file(tensor)
        if place is None and not tensor.HasField("raw_data"):
            self.values_of(name, tensor)
            return
        kind = type_name(self.onnx, tensor.data_type)
        packed = next((bits for bits, text in PACKED if text in kind), 0)
        bits = packed or 8 * self.onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        needed = -(-bits * prod(tensor.dims) // 8)
        if place is None:
            size, where = len(tensor.raw_data), ""
        else:
            told = {entry.key: entry.value for entry in tensor.external_data}
            rest = max(0, (self.folder / place).stat().st_size - int(told.get("offset", 0)))
            size, where = min(int(told.get("length", needed)), rest), f" in '{place}'"
        if size < needed or (place is None and size > needed):
            raise UserError(f"{self._place(name, tensor)}: holds {size} bytes{where}; its shape needs {needed}")

    def _check_external(self) -> None:
        """Note initializers whose file is not there; raise UserError where that is not beside or below this one."""
        for name, tensor in self.initializers.items():
            place = external_file(tensor)
            if place is None:
                continue
            where = f"{self.source}: initializer '{name}': its data are in '{place}'"
            if not place or PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
                raise UserError(f"{where}: must be a file beside or below the network's")
            if not (self.folder / place).is_file():
                self.absent[name] = tuple(tensor.dims)
                self.absent_files.add(place)
