"""ONNX files: their nodes become layers, their initializers give the shapes and values of parameters.

The package `onnx` is imported when there is a file to read, and only then.
"""

import importlib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gpusim.base.errors import MissingExtraError, UserError
from workloads.networks.described import MAX_INPUT, MAX_LAYERS, Described, DescribedLayer
from workloads.networks.kinds import KINDS
from workloads.networks.onnx_nodes import READERS, Made, Node, Unsupported
from workloads.networks.tensor import Shape


def require_onnx() -> Any:
    """Import the package `onnx`; raise MissingExtraError if it is not installed."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtraError("reading an ONNX file (onnx)", "onnx") from error


def described_by_onnx(contents: bytes, source: str) -> Described:
    """Read the network of a file; raise UserError that names the node and its operator, or MissingExtraError."""
    onnx = require_onnx()
    try:
        model = onnx.load_model_from_string(contents)
    except Exception as error:  # protobuf's own, of which there are several
        raise UserError(f"{source}: is not an ONNX file: {str(error).splitlines()[0]}") from None
    damaged = _no_text(model)
    if damaged is not None:
        raise UserError(f"{source}: is a damaged ONNX file: {damaged!r} is not UTF-8")
    if not model.graph.node:
        raise UserError(f"{source}: is not an ONNX file, or one without any node")
    return _Reading(model, source, onnx).described()


def _no_text(message: Any) -> bytes | None:
    """Return a string of the message, or of one within it, that is not UTF-8 (protobuf gives it as bytes); None if all
    are.
    """
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            strings = [value] if isinstance(value, str | bytes) else value
            wrong = next((text for text in strings if isinstance(text, bytes)), None)
        elif field.type == field.TYPE_MESSAGE:
            within = map(_no_text, [value] if hasattr(value, "ListFields") else value)
            wrong = next((text for text in within if text is not None), None)
        else:
            continue
        if wrong is not None:
            return wrong
    return None


def _external(tensor: Any) -> str | None:
    """Return the file beside the network's that holds the tensor's data; None if the network's file holds them."""
    if tensor.data_location != tensor.EXTERNAL:
        return None
    return next((entry.value for entry in tensor.external_data if entry.key == "location"), "")


class _Reading:
    """Reads the layers of a graph. `at` gives, for each tensor, the layer or the input that it is the output of."""

    def __init__(self, model: Any, source: str, onnx: Any) -> None:
        self.source, self.onnx, self.graph = source, onnx, model.graph
        self.opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self.folder, self.batch = Path(source).parent, None
        # how many read each tensor, those who want the network's outputs included
        self.readers = Counter(name for node in self.graph.node for name in node.input)
        self.readers.update(output.name for output in self.graph.output)
        self.at: dict[str, str] = {}
        self.ranks: dict[str, int] = {}
        self.shapes: dict[str, Shape] = {}  # of an image, as far as they follow
        self.same: dict[str, tuple[str, bool]] = {}  # a stored tensor under another name: that one, whether transposed
        self.layers: list[DescribedLayer] = []
        self.names: set[str] = set()
        self.stored: dict[tuple[str, str], tuple[str, bool]] = {}  # initializer, whether it is transposed

    def described(self) -> Described:
        """Read all nodes and return the network."""
        self._check_external()
        inputs = self._inputs()
        for node in self.graph.node:
            self._read(node)
        if len(self.layers) > MAX_LAYERS:
            raise UserError(f"{self.source}: {len(self.layers)} layers; a network has at most {MAX_LAYERS}")
        used = {name for layer in self.layers for name in layer.inputs}
        inputs = {name: shape for name, shape in inputs.items() if name in used} or inputs
        name = self.graph.name or self.source.replace("\\", "/").rpartition("/")[2].removesuffix(".onnx")
        files = tuple(sorted({self.folder / place for place in map(_external, self.initializers.values()) if place}))
        return Described(
            name,
            self.source,
            inputs,
            tuple(self.layers),
            self.batch,
            values=self._value,
            outputs=self._outputs(),
            files=files,
        )

    def _outputs(self) -> dict[str, str]:
        """Return the layer of each declared output, by the output's name; raise UserError where no layer makes it."""
        made = {layer.name for layer in self.layers}
        for output in self.graph.output:
            if self.at.get(output.name) not in made:
                raise UserError(f"{self.source}: output '{output.name}': no layer has it as its first output")
        return {output.name: self.at[output.name] for output in self.graph.output}

    def _check_external(self) -> None:
        """Raise UserError where a file beside this one that holds an initializer is missing or lies elsewhere."""
        for name, tensor in self.initializers.items():
            place = _external(tensor)
            if place is None:
                continue
            where = f"{self.source}: initializer '{name}': its data are in '{place}'"
            if not place or PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
                raise UserError(f"{where}: must be a file beside or below the network's")
            if not (self.folder / place).is_file():
                raise UserError(f"{where}: no such file in {self.folder}")

    def _inputs(self) -> dict[str, Shape]:
        inputs = {}
        for value in self.graph.input:
            if value.name in self.initializers:
                continue
            where = f"{self.source}: input '{value.name}'"
            kind = value.type.tensor_type
            if kind.elem_type != self.onnx.TensorProto.FLOAT:
                raise UserError(f"{where}: type {self._type_name(kind.elem_type)} is not allowed: must be FLOAT")
            if len(kind.shape.dim) not in (2, 4):
                raise UserError(
                    f"{where}: {len(kind.shape.dim)} axes are not allowed: must be batch × channels × rows × columns,"
                    " or batch × features"
                )
            for axis, dim in enumerate(kind.shape.dim):
                if axis and not 1 <= dim.dim_value <= MAX_INPUT:
                    size = dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else "unknown")
                    raise UserError(
                        f"{where}: axis {axis} has the dynamic size '{size}': must be from 1 to {MAX_INPUT}; only the"
                        " batch (axis 0) may be dynamic, --batch gives it"
                        if not dim.HasField("dim_value")
                        else f"{where}: axis {axis} has size {size}: must be from 1 to {MAX_INPUT}"
                    )
            batch = kind.shape.dim[0].dim_value or None  # 0, or none: dynamic
            if None not in (batch, self.batch) and batch != self.batch:
                raise UserError(f"{where}: axis 0 has size {batch}, another input's {self.batch}: must be one batch")
            self.batch = batch or self.batch
            inputs[value.name] = tuple(dim.dim_value for dim in kind.shape.dim[1:])
            self.at[value.name], self.ranks[value.name] = value.name, len(kind.shape.dim)
            self.shapes[value.name] = inputs[value.name]
            self.names.add(value.name)
        if not inputs:
            raise UserError(f"{self.source}: the graph has no input")
        return inputs

    def _type_name(self, number: int) -> str:
        known = {n: name for name, n in self.onnx.TensorProto.DataType.items()}
        return str(known.get(number, number))

    def _read(self, proto: Any) -> None:
        """Make a layer of a node, or note what the node says of other tensors; raise UserError."""
        operator = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
        name = self._free(proto.name or (proto.output[0] if proto.output else operator))
        try:
            self._note(proto, operator, name)
        except Unsupported as error:
            said = str(error)
        except (ValueError, KeyError, TypeError, IndexError, ArithmeticError, AttributeError) as error:
            said = f"is damaged: {type(error).__name__}: {error}"
        else:
            return
        raise UserError(f"{self.source}: layer '{name}': node '{proto.name or name}' ({operator}): {said}")

    def _note(self, proto: Any, operator: str, name: str) -> None:
        attributes = {a.name: self.onnx.helper.get_attribute_value(a) for a in proto.attribute}
        if operator == "Constant":
            self.initializers[proto.output[0]] = self._constant(attributes)
            return
        if operator in ("Identity", "Transpose") and self._shape(proto.input[0]) is not None:
            if operator == "Transpose" and list(attributes.get("perm", [1, 0])) != [1, 0]:
                raise Unsupported(f"perm = {attributes['perm']}: must be [1, 0], a matrix")
            name, transposed = self.same.get(proto.input[0], (proto.input[0], False))
            self.same[proto.output[0]] = name, transposed != (operator == "Transpose")
            return
        if operator not in READERS:
            raise Unsupported(f"operator {operator} is not supported (allowed: {', '.join(sorted(READERS))})")
        ranks = [self.ranks.get(one) for one in proto.input]
        inputs, outputs = tuple(proto.input), tuple(proto.output)
        shape = self.shapes.get(inputs[0]) if inputs else None
        node = Node(inputs, outputs, attributes, self.opset, self._shape, self._array, ranks, shape)
        if not self._adds_bias(operator, node):
            self._enter(name, node, READERS[operator](node))

    def _enter(self, name: str, node: Node, made: Made) -> None:
        """Add the layer of a node; raise Unsupported where its inputs or outputs allow none."""
        unknown = [one for one in made.inputs if one not in self.at]
        if unknown:
            raise Unsupported(f"input '{unknown[0]}' is neither an input of the network nor another node's output")
        further = [one for one in node.outputs[1:] if self.readers[one]]
        if further and made.kind != "batch_norm":
            raise Unsupported(f"output '{further[0]}' is read by another node: only the first may be")
        expects = {}
        for role, (initializer, transposed) in made.parameters.items():
            shape = self._shape(initializer) or ()
            expects[role] = shape[::-1] if transposed else shape
            self.stored[name, role] = initializer, transposed
        read = tuple(self.at[one] for one in made.inputs)
        self.names.add(name)
        self.layers.append(DescribedLayer(name, made.kind, read, made.values, expects))
        self.at[node.outputs[0]], self.ranks[node.outputs[0]] = name, made.rank
        with suppress(ValueError, KeyError):  # what is wrong is said when the description is checked
            self.shapes[node.outputs[0]] = (
                KINDS[made.kind].model_validate(made.values).output([self.shapes[one] for one in made.inputs])
            )

    def _adds_bias(self, operator: str, node: Node) -> bool:
        """Add a node's bias to the product before it, where the node does only that; tell whether it was so."""
        if operator != "Add" or len(node.inputs) != 2:
            return False
        constant = [one for one in node.inputs if self._shape(one) is not None]
        others = [one for one in node.inputs if one in self.at]
        last = self.layers[-1] if self.layers else None
        if len(constant) != 1 or len(others) != 1 or last is None or self.at[others[0]] != last.name:
            return False
        readers = self.readers[others[0]]
        shape = self._shape(constant[0])
        if last.kind != "fully_connected" or last.values["bias"] or readers != 1 or shape != (last.values["outputs"],):
            return False
        self.layers[-1] = DescribedLayer(
            last.name, last.kind, last.inputs, {**last.values, "bias": True}, {**last.expects, "bias": shape}
        )
        self.stored[last.name, "bias"] = constant[0], False
        self.at[node.outputs[0]], self.ranks[node.outputs[0]] = last.name, 2
        return True

    def _constant(self, attributes: Mapping[str, Any]) -> Any:
        """Return the tensor of a Constant node."""
        if "value" in attributes:
            return attributes["value"]
        plain = [
            v for name, v in attributes.items() if name in ("value_int", "value_ints", "value_float", "value_floats")
        ]
        if not plain:
            raise Unsupported("holds no numbers: must have value, value_int(s) or value_float(s)")
        return self.onnx.numpy_helper.from_array(np.array(plain[0]))

    def _free(self, name: str) -> str:
        """Return `name`, with a number after it if a layer has that name already: nodes need no name, and may share
        one.
        """
        free, number = name, 2
        while free in self.names:
            free, number = f"{name}.{number}", number + 1
        return free

    def _shape(self, name: str) -> Shape | None:
        """Return the shape of a stored tensor; None for a name that no stored tensor has."""
        stored, transposed = self.same.get(name, (name, False))
        tensor = self.initializers.get(stored)
        if tensor is None:
            return None
        return tuple(tensor.dims)[::-1] if transposed else tuple(tensor.dims)

    def _array(self, name: str) -> np.ndarray:
        """Return the values of a stored tensor."""
        stored, transposed = self.same.get(name, (name, False))
        array: np.ndarray = self.onnx.numpy_helper.to_array(self.initializers[stored], str(self.folder))
        return array.T if transposed else array

    def _value(self, layer: str, role: str) -> np.ndarray:
        """Return the values of a layer's parameter."""
        initializer, transposed = self.stored[layer, role]
        array = self._array(initializer)
        return array.T if transposed else array
