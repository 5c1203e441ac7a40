"""ONNX files: their nodes become layers, their initializers give the shapes and values of parameters.

Axis 0 of the inputs is the batch where every node carries it through (`onnx_batch`), or axis 1 of a sequence; the file
is then read with a batch of one. Otherwise the file as a whole is what is read. What follows from constants and shapes
alone is computed. Nodes that no kind of layer has are collected, with their share of the work; if the user wants so,
they are left out, and what they would give is made up.
The package `onnx` is imported when there is a file to read, and only then.
"""

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.base.formats import PERCENT
from workloads.networks.described import (
    MAX_INPUT,
    MAX_LAYERS,
    MOST_INPUT_AXES,
    FileTensor,
    LayerDescription,
    NetworkDescription,
    NetworkFileMeaning,
)
from workloads.networks.kind import ShapeError
from workloads.networks.kinds import KINDS
from workloads.networks.onnx_batch import (
    ANY_NUMBER,
    BatchAxisError,
    BatchedNode,
    CarriedBatch,
    carry_batch,
    with_images,
)
from workloads.networks.onnx_evaluator import FileEvaluator
from workloads.networks.onnx_node import (
    Attributes,
    InputAlias,
    LayerOutput,
    Node,
    OnnxLayer,
    Parameter,
    ReshapedTensor,
    StoredValues,
    TensorSource,
    UnsupportedNodeError,
    image_shape,
)
from workloads.networks.onnx_nodes import READERS
from workloads.networks.onnx_patterns import PatternFinder
from workloads.networks.onnx_recurrent import GATES, unrolled
from workloads.networks.onnx_stored import StoredTensors, attributes_of, external_file, type_name
from workloads.networks.onnx_volumes import convolved_volume, is_volume
from workloads.networks.tensor import elements
from workloads.shapes import Shape

OPERATORS = frozenset({*READERS, *GATES})
# operators all of whose inputs but the first are weights
WEIGHTED = (
    "Conv", "ConvTranspose", "Gemm", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
    "GroupNormalization",
)  # fmt: skip
NAMED_AT_MOST = 4  # nodes of an operator, in a message
SEQUENCE_BATCH = 1  # axis of the batch where inputs are steps × batch × features, as PyTorch has sequences


def require_onnx() -> Any:
    """Import the package `onnx`; raise MissingExtraError if it is not installed."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtraError("reading an ONNX file (onnx)", "onnx") from error


def read_onnx(
    contents: bytes, source: str, skip_unsupported: bool = False, values: Mapping[str, np.ndarray] | None = None
) -> NetworkDescription:
    """Read the network of a file.

    Args:
        contents: The file's bytes.
        source: Where it comes from, for errors.
        skip_unsupported: Leave these nodes out.
        values: Values of inputs of the graph that are stored tensors, by name.

    Raises:
        UserError: Nodes are not supported; the message names all of them.
        MissingExtraError: The package `onnx` is not installed.
    """
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
    values = values or {}
    reasons: list[str] = []
    for axis in (0, SEQUENCE_BATCH):
        try:
            return _GraphReader(model, source, onnx, skip_unsupported, values, axis).described()
        except BatchAxisError as error:
            reasons.append(str(error))
    try:
        return _GraphReader(model, source, onnx, skip_unsupported, values, None, why_whole=reasons[0]).described()
    except UserError as error:
        first, *others = error.problems
        raise UserError(f"{first}; axis 0 of the inputs is no batch: {reasons[0]}", *others) from None


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


@dataclass(frozen=True)
class _UnsupportedNode:
    """An unsupported node."""

    layer: str
    """Name of its layer."""
    node: str
    """Name of the node."""
    operator: str
    """ONNX operator."""
    reason: str
    """Reason why it is not supported."""
    operations: int
    """Estimated operations for one image."""


class _GraphReader:
    """Reads the layers of a graph. Shapes are those of the file with a batch of one.

    None: no axis is the batch, for the reason `why_whole`, and shapes are the file's.

    Args:
        batch_axis: The axis of the inputs to take for the batch; BatchAxisError is raised where that is not one.

    Attributes:
        at: The layer or input of each computed tensor, of which it is the output.
        images: Their number in the file, 0 where no axis is followed.
        axes: Axis of the images of each computed tensor.
    """

    def __init__(
        self, model: Any, source: str, onnx: Any, skip: bool, values: Mapping[str, np.ndarray],
        batch_axis: int | None = 0, why_whole: str = "",
    ) -> None:  # fmt: skip
        self.source, self.onnx, self.model, self.graph, self.skip = source, onnx, model, model.graph, skip
        self.batch_axis, self.why_whole, self.values = batch_axis, why_whole, values
        self.images, self.axes = 0, dict[str, int]()
        self.opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
        self.folder, self.batch = Path(source).parent, None
        self.stored = StoredTensors(model, source, onnx, values)
        # how many read each tensor, those who want the network's outputs included
        self.readers = Counter(name for node in self.graph.node for name in node.input)
        self.readers.update(output.name for output in self.graph.output)
        self.at: dict[str, str] = {}
        self.shapes: dict[str, Shape] = {}
        self.layers: list[LayerDescription] = []
        self.image_shapes: dict[str, Shape] = {}  # of inputs and layers
        self.names: set[str] = set()
        self.parameters: dict[tuple[str, str], tuple[Parameter, Shape]] = {}
        self.inputs: dict[str, Shape] = {}
        self.missing: list[_UnsupportedNode] = []
        self.unread, self.unknown = 0, set[str]()  # tensors of a shape that is not known, nodes that read them
        self.inferred: dict[str, Shape] | None = None

    def described(self) -> NetworkDescription:
        """Read all nodes and return the network."""
        self.stored.check()
        self._weights_among_inputs()
        self.inputs = self._inputs()
        patterns = PatternFinder(self.graph.node, [output.name for output in self.graph.output], self.stored.number)
        formulas = patterns.formulas()
        inner = {name for _, _, taken in formulas.values() for name in taken} - set(formulas)
        for node in self.graph.node:
            if node.output and node.output[0] in inner:
                continue
            formula = formulas.get(node.output[0]) if node.output else None
            self._read(node, formula)
        remarks = (*self._judged(), *self._made_up_weights(), *self._reading_remarks())
        if len(self.layers) > MAX_LAYERS:
            raise UserError(f"{self.source}: {len(self.layers)} layers; a network has at most {MAX_LAYERS}")
        outputs = self._outputs()
        used = {name for layer in self.layers for name in layer.inputs}
        inputs = {name: shape for name, shape in self.inputs.items() if name in used} or self.inputs
        name = self.graph.name or self.source.replace("\\", "/").rpartition("/")[2].removesuffix(".onnx")
        places = {
            place for place in map(external_file, self.stored.initializers.values()) if place
        } - self.stored.absent_files
        files = tuple(sorted(self.folder / place for place in places))
        return NetworkDescription(
            name,
            self.source,
            inputs,
            tuple(self.layers),
            self.batch,
            values=self._value,
            remarks=remarks,
            outputs=outputs,
            files=files,
            meaning=self._meaning(inputs, outputs),
        )

    def _meaning(self, inputs: Mapping[str, Shape], outputs: Mapping[str, str]) -> NetworkFileMeaning:
        """Return what the file's inputs and outputs are, and its second reader."""
        why_not = "parts of it are left out" if self.missing else "weights have no values" if self.stored.absent else ""
        return NetworkFileMeaning(
            inputs={name: self._file_tensor(name) for name in inputs if name in self.shapes},
            outputs={name: self._file_tensor(name) for name in outputs},
            images=self.images if self.images and self.batch else 0 if self.images else 1,
            single=self.why_whole,
            evaluator=None if why_not else FileEvaluator(self.model, self.folder, self.values),
            why_not_evaluated=why_not,
        )

    def _file_tensor(self, name: str) -> FileTensor:
        shape = self.shapes[name]
        axis = self.axes.get(name) if self.images else 0 if shape[:1] == (1,) and not self.why_whole else None
        return FileTensor(shape, axis)

    def _judged(self) -> tuple[str, ...]:
        """Return what was left out, for people; raise UserError with all of it where it must not be."""
        if not self.missing:
            return ()
        known = sum(self._operations(layer) for layer in self.layers)
        whole = known + sum(missing.operations for missing in self.missing)
        share = sum(missing.operations for missing in self.missing) / max(whole, 1)
        if not self.skip and len(self.missing) == 1 and not self.unread:
            missing = self.missing[0]
            raise UserError(
                f"{self.source}: layer '{missing.layer}': node '{missing.node}' ({missing.operator}):"
                f" {missing.reason}; it is"
                f" {_percent(share)} of the network's operations, --skip-unsupported leaves it out"
            )
        lines = [
            f"{len(self.missing)} of {len(self.graph.node)} nodes are not supported, {_percent(share)} of the network's"
            f" operations"
            + (
                f"; {self.unread} further nodes read what they give, of a shape that is not known"
                if self.unread
                else ""
            )
        ]
        groups: dict[tuple[str, str], list[_UnsupportedNode]] = {}
        for missing in self.missing:
            groups.setdefault((missing.operator, missing.reason), []).append(missing)
        for (operator, said), nodes in groups.items():
            names = ", ".join(f"'{missing.node}'" for missing in nodes[:NAMED_AT_MOST])
            more = f" and {len(nodes) - NAMED_AT_MOST} more" if len(nodes) > NAMED_AT_MOST else ""
            part = sum(missing.operations for missing in nodes) / max(whole, 1)
            count = f"{len(nodes)} nodes" if len(nodes) > 1 else "node"
            lines.append(f"{operator}, {count} {names}{more}, {_percent(part)}: {said}")
        if not self.skip:
            first = f"{self.source}: {lines[0]}; --skip-unsupported leaves them out"
            raise UserError(first, *(f"{self.source}: {line}" for line in lines[1:]))
        if self.unread:
            raise UserError(f"{self.source}: {lines[0]}: nothing can be put in their place")
        return (f"left out: {lines[0]}; what they would give is made up", *(f"left out: {line}" for line in lines[1:]))

    def _made_up_weights(self) -> tuple[str, ...]:
        """Say which parameters have no values in the file."""
        used = {parameter.name for parameter, _ in self.parameters.values()}
        absent = [
            name for name in self.stored.absent if name in {self.stored.same.get(one, (one, False))[0] for one in used}
        ]
        if not absent:
            return ()
        where = (
            f" (data in {', '.join(sorted(self.stored.absent_files))}: no such file)"
            if self.stored.absent_files
            else ""
        )
        names = ", ".join(f"'{name}'" for name in absent[:NAMED_AT_MOST])
        more = f" and {len(absent) - NAMED_AT_MOST} more" if len(absent) > NAMED_AT_MOST else ""
        return (f"weights without values{where}: {names}{more}: made up",)

    def _reading_remarks(self) -> tuple[str, ...]:
        """Say what of the file is read otherwise than a reader may expect."""
        remarks = []
        if self.why_whole:
            remarks.append(f"axis 0 of the inputs is no batch but an axis like any other: {self.why_whole}")
        trains = sorted({node.op_type for node in self.graph.node if self._trains(node)})
        if trains and not self.values:
            remarks.append(f"{', '.join(trains)} in training mode: the run, not the file, decides whether it trains")
        return tuple(remarks)

    def _trains(self, node: Any) -> bool:
        """Tell whether a node is in training mode."""
        if node.op_type == "BatchNormalization":
            return bool(attributes_of(self.onnx, node).get("training_mode", 0))
        if node.op_type == "Dropout" and len(node.input) > 2 and self.stored.shape(node.input[2]) is not None:
            return bool(self.stored.array(node.input[2]))
        return False

    def _operations(self, layer: LayerDescription) -> int:
        shapes = [self.image_shapes[name] for name in layer.inputs]
        return KINDS[layer.kind].model_validate(layer.values).operations(shapes)

    def _outputs(self) -> dict[str, str]:
        """Return the layer of each declared output, by the output's name; raise UserError where no layer makes it."""
        for output in self.graph.output:  # one that is an input, maybe in another shape
            if (name := self.at.get(output.name)) in self.inputs:
                shape = self.image_shapes[name]
                self.at[output.name] = self._add(output.name, "reshape", (name,), {"shape": list(shape)})
        made = {layer.name for layer in self.layers}
        declared = {output.name: self.at.get(output.name) for output in self.graph.output}
        if self.missing:  # an output that was left out is none
            return {name: layer for name, layer in declared.items() if layer in made}
        for name, layer in declared.items():
            if layer not in made:
                raise UserError(f"{self.source}: output '{name}': no layer has it as its first output")
        return {name: layer for name, layer in declared.items() if layer is not None}

    def _weights_among_inputs(self) -> None:
        """Note inputs of the graph that only ever are weights: files are written without values, too."""
        places: dict[str, set[bool]] = {}
        for node in self.graph.node:
            for number, name in enumerate(node.input):
                places.setdefault(name, set()).add(node.op_type in WEIGHTED and number > 0)
        for value in self.graph.input:
            kind = value.type.tensor_type
            sizes = tuple(dim.dim_value for dim in kind.shape.dim)
            whole = kind.elem_type == self.onnx.TensorProto.FLOAT and sizes and min(sizes) > 0
            known = value.name in self.stored.initializers or value.name in self.stored.folded
            if not known and places.get(value.name) == {True} and whole:
                self.stored.absent[value.name] = sizes
                self.stored.trained.add(value.name)

    def _inputs(self) -> dict[str, Shape]:
        inputs = {}
        whole = (self.onnx.TensorProto.INT64, self.onnx.TensorProto.INT32)
        for value in self.graph.input:
            if (
                value.name in self.stored.initializers
                or value.name in self.stored.absent
                or value.name in self.stored.folded
            ):
                continue
            where = f"{self.source}: input '{value.name}'"
            kind = value.type.tensor_type
            if kind.elem_type != self.onnx.TensorProto.FLOAT and not (
                kind.elem_type in whole and self._chooses(value.name)
            ):
                raise UserError(
                    f"{where}: type {type_name(self.onnx, kind.elem_type)} is not allowed: must be FLOAT, or whole"
                    " numbers that choose rows of a table (Gather)"
                )
            if not 1 <= len(kind.shape.dim) <= MOST_INPUT_AXES + 1:
                raise UserError(
                    f"{where}: {len(kind.shape.dim)} axes are not allowed: must be 1 to {MOST_INPUT_AXES + 1}, as batch"
                    " × channels × rows × columns, or batch × features"
                )
            shape = self._input_shape(where, kind.shape.dim)
            self.at[value.name], self.shapes[value.name] = value.name, shape
            self.image_shapes[value.name] = inputs[value.name] = image_shape(shape)
            self.names.add(value.name)
        if self.batch != 1 and self.batch_axis is not None:
            self.images = self.batch or ANY_NUMBER
            self.axes = dict.fromkeys(inputs, self.batch_axis)
        if not inputs:
            raise UserError(f"{self.source}: the graph has no input")
        return inputs

    def _input_shape(self, where: str, dims: Any) -> Shape:
        """Return the shape of an input with a batch of one, and note its batch; raise BatchAxisError where it has no
        such axis, or UserError for sizes that are not known.
        """
        followed, place = self.batch_axis, where.removeprefix(f"{self.source}: ")
        if followed is not None and (len(dims) <= followed or (followed == SEQUENCE_BATCH and len(dims) != 3)):
            raise BatchAxisError(f"{place} has {len(dims)} axes")
        sizes = [dim.dim_value for dim in dims]
        for axis, dim in enumerate(dims):
            is_open = not dim.dim_value and not (axis and dim.HasField("dim_value"))
            if axis == followed or (axis == 0 and followed is None and is_open):
                continue
            if not 1 <= dim.dim_value <= MAX_INPUT:
                size = dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else "unknown")
                if followed is not None and is_open:
                    raise BatchAxisError(f"{place} has a dynamic size along axis {axis}, too")
                raise UserError(
                    f"{where}: axis {axis} has the dynamic size '{size}': must be from 1 to {MAX_INPUT}; only the"
                    " batch may be dynamic, --batch gives it"
                    if not dim.HasField("dim_value")
                    else f"{where}: axis {axis} has size {size}: must be from 1 to {MAX_INPUT}"
                )
        if followed is None:
            return (sizes[0] or 1, *sizes[1:])
        batch = sizes[followed] or None  # 0, or none: dynamic
        if None not in (batch, self.batch) and batch != self.batch:
            raise BatchAxisError(f"{place} has size {batch} along it, another input {self.batch}")
        if batch == 1 and followed:
            raise BatchAxisError(f"{place} has size 1 along it")
        self.batch = batch or self.batch
        return (*sizes[:followed], 1, *sizes[followed + 1 :])

    def _chooses(self, name: str) -> bool:
        """Tell whether all that reads an input takes rows of a table by it."""
        nodes = [node for node in self.graph.node if name in node.input]
        return all(
            (node.op_type == "Gather" and list(node.input)[1:] == [name]) or node.op_type == "Shape" for node in nodes
        )

    def _read(self, proto: Any, formula: tuple[str, str, set[str]] | None) -> None:
        """Make layers of a node, or note what it says of other tensors; raise UserError for a damaged one."""
        operator = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
        name = self._free(proto.name or (proto.output[0] if proto.output else operator))
        try:
            self._note(proto, operator, name, formula)
        except UnsupportedNodeError as error:
            if any(one in self.unknown for one in proto.input):
                self.unread += 1
                self.unknown.update(proto.output)
                return
            self.missing.append(_UnsupportedNode(name, proto.name or name, operator, str(error), self._guessed(proto)))
            self._made_up(proto)
        except (ValueError, KeyError, TypeError, IndexError, ArithmeticError, AttributeError):
            if problem := self._schema_problem(proto):
                raise UserError(
                    f"{self.source}: layer '{name}': node '{proto.name or name}' ({operator}): is damaged: {problem}"
                ) from None
            raise

    def _schema_problem(self, proto: Any) -> str:
        """Describe how a node differs from what ONNX defines of its operator; empty where it does not."""
        checker = self.onnx.checker
        context = checker.C.CheckerContext()
        context.ir_version = self.model.ir_version
        context.opset_imports = {one.domain: one.version for one in self.model.opset_import}
        try:
            checker.check_node(proto, context)
        except checker.ValidationError as error:
            return str(error).splitlines()[0]
        return ""

    def _shapes_by_onnx(self) -> dict[str, Shape]:
        """Return the shapes that the package infers of tensors, with a batch of one, where it can."""
        if self.inferred is None:
            copy = self.onnx.ModelProto()
            copy.CopyFrom(self.model)
            for value in copy.graph.input:
                if value.name in self.inputs:
                    for dim, size in zip(value.type.tensor_type.shape.dim, self.shapes[value.name], strict=True):
                        dim.dim_value = size
            try:
                graph = self.onnx.shape_inference.infer_shapes(copy, data_prop=True).graph
            except Exception:  # of the package, on what it does not know
                graph = copy.graph
            self.inferred = {}
            for value in (*graph.value_info, *graph.output):
                sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
                if value.type.tensor_type.HasField("shape") and sizes and min(sizes) > 0:
                    self.inferred[value.name] = tuple(sizes)
        return self.inferred

    def _known_shape(self, name: str) -> Shape | None:
        """Return the shape of any tensor as far as it is known."""
        found = self.shapes.get(name) or self.stored.shape(name)
        return found if found is not None else self._shapes_by_onnx().get(name)

    def _guessed(self, proto: Any) -> int:
        """Return the operations of a node that is not supported: of what multiplies with stored tensors as many as its
        products have, else one for each value that it gives, or reads where that is not known.
        """
        weights = sum(
            elements(self.stored.shape(name) or ()) for name in proto.input if len(self.stored.shape(name) or ()) > 1
        )
        result = self._known_shape(proto.output[0]) if proto.output else None
        given = self._known_shape(proto.input[0]) if proto.input else None
        if weights and proto.op_type == "ConvTranspose" and given:
            return 2 * weights * elements(given[2:])
        if weights and proto.op_type == "Conv" and result:
            return 2 * weights * elements(result[2:])
        if weights and proto.op_type in ("LSTM", "GRU", "RNN") and given:
            return 2 * weights * given[0]  # a step of the sequence after another
        return elements(result or given or ())

    def _made_up(self, proto: Any) -> None:
        """Put inputs of the network in the place of what a node would give."""
        for name in proto.output:
            if not self.readers[name]:
                continue
            shape = self._shapes_by_onnx().get(name)
            if shape is None:
                self.unknown.add(name)
                continue
            free = self._free(name)
            self.names.add(free)
            self.inputs[free] = image_shape(shape)
            self.at[name], self.shapes[name], self.image_shapes[free] = free, shape, image_shape(shape)
            if self.images:
                self.axes[name] = self.batch_axis or 0

    def _note(self, proto: Any, operator: str, name: str, formula: tuple[str, str, set[str]] | None) -> None:
        attributes = attributes_of(self.onnx, proto)
        inputs, outputs = tuple(proto.input), tuple(proto.output)
        if operator == "Constant":
            self.stored.initializers[outputs[0]] = self.stored.constant(attributes)
            return
        if operator in ("Identity", "Transpose") and self.stored.shape(inputs[0]) is not None:
            turned = operator == "Transpose"
            if not turned or (
                len(self.stored.shape(inputs[0]) or ()) == 2 and list(attributes.get("perm", [1, 0])) == [1, 0]
            ):
                stored, transposed = self.stored.same.get(inputs[0], (inputs[0], False))
                self.stored.same[outputs[0]] = stored, transposed != turned
                if inputs[0] in self.stored.trained:
                    self.stored.trained.add(outputs[0])
                return
        if operator in ("Shape", "Size") and inputs[0] in self.shapes:
            taken = slice(attributes.get("start", 0), attributes.get("end"))
            shapes = [self.shapes[inputs[0]]]
            if self.images:
                shapes.append(with_images(shapes[0], self.axes[inputs[0]], self.images))
            values = [
                np.array(shape[taken] if operator == "Shape" else prod(shape[taken]), np.int64) for shape in shapes
            ]
            self.stored.keep(outputs[0], values[0], values[-1])
            return
        if operator == "If" and self.stored.shape(inputs[0]) is not None:
            self._take_branch(proto, attributes)
            return
        if all(not each or self.stored.shape(each) is not None for each in inputs) and proto.domain in ("", "ai.onnx"):
            self.stored.fold(proto, operator)
            return
        if formula is not None:
            made: OnnxLayer | InputAlias = OnnxLayer(formula[0].lower(), {}, (formula[1],), self.shapes[formula[1]])
            self._finish(name, outputs[0], made)
            if self.images:
                self.axes[outputs[0]] = self.axes[formula[1]]
            return
        if operator not in OPERATORS:
            raise UnsupportedNodeError(
                f"operator {operator} is not supported (allowed: {', '.join(sorted(OPERATORS))})"
            )
        node = Node(
            operator=operator,
            inputs=inputs,
            outputs=outputs,
            attributes=Attributes(attributes),
            opset=self.opset,
            stored=self.stored.shape,
            array=self.stored.array,
            computed=self.shapes.get,
            trained=self.stored.trained.__contains__,
        )
        node, carried = self._carried(node, name)
        if operator in GATES:
            if self.batch_axis == 0 and not self.images and len(node.shape()) == 3 and node.shape()[1] > 1:
                raise BatchAxisError(f"node '{name}' ({operator}) takes axis 1 for the batch")
            made_of = unrolled(node, operator, name, self._enter)
            for output, (layer, shape) in zip(outputs, made_of, strict=False):
                self.at[output], self.shapes[output] = layer, shape
            self._note_axes(outputs, carried)
            return
        if operator == "Conv" and is_volume(node):
            self.at[outputs[0]], self.shapes[outputs[0]] = convolved_volume(node, name, self._enter)
            self._note_axes(outputs, carried)
            return
        if self._adds_bias(operator, node):
            self._note_axes(outputs, carried)
            return
        read = READERS[operator](node)
        if ignored := node.attributes.ignored():
            raise UnsupportedNodeError(f"attribute {ignored[0]} = {attributes[ignored[0]]}: must be left out")
        several = read if isinstance(read, tuple) else (read,)
        further = [each for each in outputs[len(several) :] if self.readers[each]]
        if further and operator not in ("BatchNormalization", "Dropout"):
            raise UnsupportedNodeError(f"output '{further[0]}' is read, or is the network's: only the first may be")
        for output, each in zip(outputs, several, strict=False):
            if self.readers[output] or len(several) == 1:
                self._finish(name, output, each)
        self._note_axes(outputs, carried)

    def _note_axes(self, outputs: Sequence[str], carried: CarriedBatch | None) -> None:
        if carried is not None:
            self.axes |= {output: carried.axis(number) for number, output in enumerate(outputs)}

    def _carried(self, node: Node, name: str) -> tuple[Node, CarriedBatch | None]:
        """Return the node with its constants for a batch of one, and where its outputs have the images; raise
        BatchAxisError where it mixes them.
        """
        if not self.images or self.axes.keys().isdisjoint(node.inputs):
            return node, None
        # what the rule looks at is not thereby read
        twin = replace(node, attributes=Attributes(node.attributes.values_by_name))
        try:
            carried = carry_batch(BatchedNode(twin, self.images, self.axes, self.stored.dependent))
        except BatchAxisError as error:
            raise BatchAxisError(f"node '{name}' ({node.operator}) {error}") from None
        inputs = [*node.inputs, *[""] * (max(carried.constants, default=-1) + 1 - len(node.inputs))]
        for number, array in carried.constants.items():
            constant = f"{node.outputs[0]}.{number}.of_an_image"
            self.stored.folded[constant] = array
            if inputs[number] in self.stored.trained:
                self.stored.trained.add(constant)
            inputs[number] = constant
        return replace(node, inputs=tuple(inputs)), carried

    def _take_branch(self, proto: Any, attributes: Mapping[str, Any]) -> None:
        """Read the nodes of the branch of an `If` that its condition, which is stored, chooses."""
        condition = self.stored.array(proto.input[0])
        if proto.input[0] in self.stored.dependent or condition.size != 1:
            raise UnsupportedNodeError("its condition must be one value that does not depend on the batch")
        branch = attributes["then_branch" if condition.reshape(-1)[0] else "else_branch"]
        self.stored.initializers |= {tensor.name: tensor for tensor in branch.initializer}
        for tensor in branch.initializer:
            self.stored.check_length(tensor.name, tensor)
            if tensor.data_type in self.stored.floats:
                self.stored.trained.add(tensor.name)
        self.readers.update(name for node in branch.node for name in node.input)
        self.readers.update(output.name for output in branch.output)
        for node in branch.node:
            self._read(node, None)
        for output, inner in zip(proto.output, (one.name for one in branch.output), strict=True):
            if self.stored.shape(inner) is not None:
                self.stored.same[output] = self.stored.same.get(inner, (inner, False))
            elif inner in self.at:
                self.at[output], self.shapes[output] = self.at[inner], self.shapes[inner]
                if self.images:
                    self.axes[output] = self.axes[inner]
            else:
                self.unknown.add(output)

    def _finish(self, name: str, output: str, made: OnnxLayer | InputAlias) -> None:
        """Enter what a node gives: a tensor of a layer, or one that is there already."""
        if isinstance(made, InputAlias):
            self.at[output], self.shapes[output] = self.at[made.name], made.shape
            return
        layer = self._enter(name, made)
        shape = (1, *self.image_shapes[layer]) if made.shape is None else made.shape
        shape = (*shape[:2], *shape[3:]) if made.shape is None and made.is_line else shape
        wanted = image_shape(shape)
        if wanted != self.image_shapes[layer]:
            kind, values = ("flatten", {}) if len(wanted) == 1 else ("reshape", {"shape": list(wanted)})
            layer = self._add(f"{name}.shape", kind, (layer,), values)
        self.at[output], self.shapes[output] = layer, shape

    def _enter(self, name: str, made: OnnxLayer) -> str:
        """Add a layer with those that it is made of, and return its name."""
        inputs = tuple(self._source(name, number, one) for number, one in enumerate(made.inputs))
        expects = {}
        free = self._free(name)
        for role, parameter in made.parameters.items():
            shape = self.stored.shape(parameter.name) or ()
            shape = parameter.shape or (shape[::-1] if parameter.transposed else shape)
            expects[role] = shape
            self.parameters[free, role] = parameter, shape
        return self._add(free, made.kind, inputs, made.values, expects)

    def _source(self, name: str, number: int, source: TensorSource) -> str:
        """Return the layer or input that a source is, added if need be."""
        if isinstance(source, LayerOutput):
            return source.layer
        if isinstance(source, OnnxLayer):
            layer = self._enter(f"{name}.{source.kind}", source)
            wanted = self.image_shapes[layer] if source.shape is None else image_shape(source.shape)
            if wanted != self.image_shapes[layer]:
                layer = self._add(f"{name}.shape", "reshape", (layer,), {"shape": list(wanted)})
            return layer
        if isinstance(source, StoredValues):
            free = self._free(f"{name}.{source.name}")
            parameter = Parameter(source.name, shape=source.shape)
            self.parameters[free, "weight"] = parameter, source.shape
            return self._add(free, "stored", (), {"shape": list(source.shape)}, {"weight": source.shape})
        tensor, shape = (source.name, source.shape) if isinstance(source, ReshapedTensor) else (source, None)
        if tensor not in self.at:
            raise UnsupportedNodeError(f"input '{tensor}' is neither an input of the network nor another node's output")
        layer = self.at[tensor]
        if shape is None or shape == self.image_shapes[layer]:
            return layer
        return self._add(f"{name}.x{number}", "reshape", (layer,), {"shape": list(shape)})

    def _add(
        self, name: str, kind: str, inputs: tuple[str, ...], values: Mapping[str, Any],
        expects: Mapping[str, Shape] | None = None,
    ) -> str:  # fmt: skip
        """Add a layer and return its name; raise UnsupportedNodeError for inputs or values that its kind does not
        take."""
        name = self._free(name)
        try:
            shape = KINDS[kind].model_validate(values).output([self.image_shapes[one] for one in inputs])
        except ShapeError as error:
            raise UserError(f"{self.source}: layer '{name}': {error}") from None
        except ValidationError as error:
            first = error.errors()[0]
            value = ".".join(map(str, first["loc"]))
            raise UserError(f"{self.source}: layer '{name}': {value}: {first['msg']}") from None
        self.names.add(name)
        self.layers.append(LayerDescription(name, kind, inputs, values, expects or {}))
        self.image_shapes[name] = shape
        return name

    def _adds_bias(self, operator: str, node: Node) -> bool:
        """Add a node's bias to the product before it, where the node does only that; tell whether it was so."""
        if operator != "Add" or len(node.inputs) != 2 or node.attributes.ignored():
            return False
        constant = [one for one in node.inputs if self.stored.shape(one) is not None]
        others = [one for one in node.inputs if one in self.at]
        last = self.layers[-1] if self.layers else None
        if len(constant) != 1 or len(others) != 1 or last is None or self.at[others[0]] != last.name:
            return False
        shape, before = self.stored.shape(constant[0]), self.shapes[others[0]]
        whole = constant[0] in self.stored.trained and self.readers[others[0]] == 1 and last.kind == "fully_connected"
        if not whole or last.values["bias"] or shape != (last.values["outputs"],) or before[-1] != shape[0]:
            return False
        self.layers[-1] = LayerDescription(
            last.name, last.kind, last.inputs, {**last.values, "bias": True}, {**last.expects, "bias": shape}
        )
        self.parameters[last.name, "bias"] = Parameter(constant[0]), shape
        self.at[node.outputs[0]], self.shapes[node.outputs[0]] = last.name, before
        return True

    def _free(self, name: str) -> str:
        """Return `name`, with a number after it if a layer has that name already: nodes need no name, and may share
        one.
        """
        free, number = name, 2
        while free in self.names:
            free, number = f"{name}.{number}", number + 1
        return free

    def _value(self, layer: str, role: str) -> np.ndarray | None:
        """Return the values of a layer's parameter; None where the file has none."""
        parameter, shape = self.parameters[layer, role]
        if self.stored.same.get(parameter.name, (parameter.name, False))[0] in self.stored.absent:
            return None
        array = self.stored.array(parameter.name)
        array = array if parameter.taken is None else parameter.taken(array)
        array = array.T if parameter.transposed else array
        if parameter.factor != 1.0:
            array = array * np.float32(parameter.factor)
        if array.size == prod(shape):
            return array.reshape(shape)
        return np.broadcast_to(array.reshape(array.shape[max(0, array.ndim - len(shape)) :]), shape)


def _percent(share: float) -> str:
    return PERCENT(share)
