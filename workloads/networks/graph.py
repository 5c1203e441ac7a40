"""A network: layers in an order in which each reads only what came before, with the shapes between them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

from gpusim.base.errors import UserError, unknown_name
from workloads.networks.described import LayerDescription, NetworkDescription, NetworkFileMeaning
from workloads.networks.kind import Gemm, LayerKind, LayerTensors, ShapeError
from workloads.networks.tensor import format_shape
from workloads.shapes import Shape

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Layer:
    """A layer in its network; shapes are those of one image."""

    name: str
    """Name of the layer."""
    kind: LayerKind
    """Kind with its parameters."""
    inputs: tuple[str, ...]
    """Names of its inputs."""
    input_shapes: tuple[Shape, ...]
    """Their shapes."""
    shape: Shape
    """Shape of the output."""

    @property
    def kind_name(self) -> str:
        """The name that network files have for this kind."""
        return self.kind.NAME

    @property
    def anatomy(self) -> LayerTensors:
        """The layer's parameters, state and saved tensors."""
        return self.kind.anatomy(self.input_shapes)

    @property
    def gemm(self) -> Gemm | None:
        """The forward pass as matrix products for one image."""
        return self.kind.gemm(self.input_shapes)

    @property
    def operations(self) -> int:
        """Operations of the forward pass for one image."""
        return self.kind.operations(self.input_shapes)


@dataclass(frozen=True)
class Network:
    """A checked network."""

    name: str
    """Name."""
    source: str
    """File, for error messages."""
    inputs: Mapping[str, Shape]
    """Shape of each input for one image, by name."""
    layers: tuple[Layer, ...]
    """Layers in topological order; ties follow the order of the file."""
    graph: nx.DiGraph = field(repr=False, compare=False)
    """Directed graph of layers and inputs."""
    batch: int | None = None
    """Batch size in the file; None: not given."""
    input_gradients: bool = False
    """Training also computes the gradients of the inputs."""
    values: "Callable[[str, str], np.ndarray | None] | None" = field(default=None, repr=False, compare=False)
    """Returns a parameter's values for a layer and a role; None: the file has no values."""
    remarks: tuple[str, ...] = ()
    """Contents of the file without effect."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """Layer of each declared output, by the output's name."""
    files: tuple[Path, ...] = ()
    """Other files with values."""
    meaning: NetworkFileMeaning | None = field(default=None, repr=False, compare=False)
    """What the file computes; None: a file of layers, which has no other meaning."""

    @cached_property
    def named(self) -> Mapping[str, Layer]:
        """The layers by name."""
        return {layer.name: layer for layer in self.layers}

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The number of each layer in topological order, by name."""
        return {layer.name: number for number, layer in enumerate(self.layers)}

    @cached_property
    def numbers_below(self) -> Mapping[str, int]:
        """For each input that holds whole numbers: what they must be less than."""
        found: dict[str, int] = {}
        for layer in self.layers:
            if layer.kind.READS_NUMBERS:
                (name,) = layer.inputs
                found[name] = min(found.get(name, layer.kind.numbers_below), layer.kind.numbers_below)
        return found

    @property
    def forward_alone(self) -> str:
        """Why the network cannot be trained, with its first layer that cannot; empty for one that can."""
        return next((f"layer '{one.name}': {why}" for one in self.layers if (why := one.kind.forward_alone)), "")

    @cached_property
    def readers(self) -> Mapping[str, int]:
        """The number of times that layers read each input and each layer's output, by name."""
        return Counter(name for layer in self.layers for name in layer.inputs)

    def __getitem__(self, name: str) -> Layer:
        """Return the layer called `name`; raise UserError if there is none."""
        if name not in self.named:
            raise UserError(f"{self.source}: {unknown_name('layer', name, self.named)}")
        return self.named[name]

    def shape_of(self, name: str) -> Shape:
        """Return the shape that one image has as the input, or as the output of the layer, called `name`."""
        return self.inputs[name] if name in self.inputs else self[name].shape

    @property
    def outputs(self) -> tuple[Layer, ...]:
        """The layers whose outputs are the network's: as the file declares, or else those that no layer reads."""
        if self.declared:
            return tuple(self.named[name] for name in self.declared.values())
        return tuple(layer for layer in self.layers if not self.graph.out_degree(layer.name))


def build(described: NetworkDescription, kinds: Sequence[LayerKind]) -> Network:
    """Build the network of a description whose layers are of these kinds.

    Args:
        described: The description.
        kinds: Kinds of layers that it may have.

    Raises:
        UserError: A layer is wrong; the message names it.
    """
    where = described.source
    if not described.layers:
        raise UserError(f"{where}: layers: a network has at least one")
    graph = _connected(described)
    order = {layer.name: number for number, layer in enumerate(described.layers)}
    kind_of = {layer.name: kind for layer, kind in zip(described.layers, kinds, strict=True)}
    shapes = dict(described.inputs)
    layers: list[Layer] = []
    for name in nx.lexicographical_topological_sort(graph, key=lambda node: order.get(node, -1)):
        if name in described.inputs:
            continue
        drawn = described.layers[order[name]]
        layer = _shaped(where, drawn, kind_of[name], [shapes[i] for i in drawn.inputs])
        _check_numbers(described, drawn, kind_of)
        _check_written(described, drawn, kind_of[name])
        _check_shared(where, layer, layers)
        shapes[name] = layer.shape
        layers.append(layer)
    return Network(
        name=described.name,
        source=where,
        inputs=described.inputs,
        layers=tuple(layers),
        graph=graph,
        batch=described.batch,
        input_gradients=described.input_gradients,
        values=described.values,
        remarks=described.remarks,
        declared=described.outputs,
        files=described.files,
        meaning=described.meaning,
    )


def _connected(described: NetworkDescription) -> nx.DiGraph:
    """Build the graph of inputs and layers, with an edge from each to those that read it (no loops)."""
    where, graph = described.source, nx.DiGraph()
    graph.add_nodes_from(described.inputs)
    for layer in described.layers:
        if layer.name in graph:
            other = "the network's input" if layer.name in described.inputs else "another layer"
            raise UserError(f"{where}: layer '{layer.name}': {other} has this name; each needs its own")
        graph.add_node(layer.name)
    for layer in described.layers:
        for name in layer.inputs:
            if name not in graph:
                raise UserError(f"{where}: layer '{layer.name}': inputs: {unknown_name('layer', name, graph)}")
            graph.add_edge(name, layer.name)
    if not nx.is_directed_acyclic_graph(graph):
        ring = [edge[0] for edge in nx.find_cycle(graph)]
        raise UserError(
            f"{where}: layer '{ring[0]}': reads its own output ({' → '.join([*ring, ring[0]])}): a layer may read only"
            " layers that do not need it"
        )
    for name in described.inputs:
        if not graph.out_degree(name):
            raise UserError(f"{where}: input '{name}': no layer reads it")
    return graph


def _check_numbers(described: NetworkDescription, drawn: LayerDescription, kind_of: Mapping[str, LayerKind]) -> None:
    """Raise UserError where a layer that takes whole numbers reads others, or another one reads whole numbers."""
    where = f"{described.source}: layer '{drawn.name}'"
    if kind_of[drawn.name].READS_NUMBERS:
        if drawn.inputs[0] not in described.inputs:
            raise UserError(f"{where}: reads '{drawn.inputs[0]}': must be an input of the network, of whole numbers")
        return
    whole = {one.inputs[0]: one.name for one in described.layers if kind_of[one.name].READS_NUMBERS and one.inputs}
    for name in drawn.inputs:
        if name in whole:
            raise UserError(
                f"{where}: reads '{name}', which holds whole numbers since layer '{whole[name]}' takes such"
            )


def _check_written(described: NetworkDescription, drawn: LayerDescription, kind: LayerKind) -> None:
    """Raise UserError where a layer that writes into an input has one that is not the network's, or not its alone."""
    if not kind.WRITES_INPUT:
        return
    name = drawn.inputs[0]
    if name not in described.inputs or sum(layer.inputs.count(name) for layer in described.layers) > 1:
        raise UserError(
            f"{described.source}: layer '{drawn.name}': writes into '{name}': must be an input of the network that no"
            " other layer reads"
        )


def _check_shared(where: str, layer: Layer, before: Sequence[Layer]) -> None:
    """Raise UserError unless the layer whose parameters this one uses came before, with parameters of these shapes."""
    name = layer.kind.shared_with
    if not name:
        return
    owner = {one.name: one for one in before}.get(name)
    if owner is None:
        raise UserError(f"{where}: layer '{layer.name}': shares: '{name}' must be the name of a layer before it")
    wanted, held = dict(layer.kind.shared(layer.input_shapes)), dict(owner.anatomy.parameters)
    if wanted != held or type(owner.kind) is not type(layer.kind):
        said = ", ".join(f"{role} {format_shape(shape)}" for role, shape in held.items()) or "none of its own"
        raise UserError(
            f"{where}: layer '{layer.name}': shares: '{name}' has the parameters {said}; it needs"
            f" {', '.join(f'{role} {format_shape(shape)}' for role, shape in wanted.items())}"
        )
    for role in wanted:
        mine, others = layer.kind.dtype_of(role), owner.kind.dtype_of(role)
        if mine != others:
            raise UserError(
                f"{where}: layer '{layer.name}': shares: '{name}' has a {role} of {others}; it needs {mine}"
            )


def _shaped(where: str, drawn: LayerDescription, kind: LayerKind, inputs: Sequence[Shape]) -> Layer:
    """Build the layer with its shapes; raise UserError where its kind cannot take inputs of these shapes."""
    least, most = kind.ARITY
    if len(inputs) < least or (most is not None and len(inputs) > most):
        allowed = f"{least}" if least == most else f"at least {least}"
        raise UserError(f"{where}: layer '{drawn.name}': has {len(inputs)} inputs; {drawn.kind} takes {allowed}")
    try:
        shape = kind.output(inputs)
    except ShapeError as error:
        raise UserError(f"{where}: layer '{drawn.name}': {error}") from None
    layer = Layer(drawn.name, kind, drawn.inputs, tuple(inputs), shape)
    for role, expected in drawn.expects.items():
        found = layer.anatomy.parameters.get(role) or layer.anatomy.state[role]
        if found != expected:
            raise UserError(
                f"{where}: layer '{drawn.name}': the file's {role} is {format_shape(expected)}; an input of"
                f" {' and '.join(map(format_shape, inputs)) or 'nothing'} needs {format_shape(found)}"
            )
    return layer
