"""ONNX's recurrent operators (LSTM, GRU, RNN) as layers: a step after another, all with the weights of the first.

The products with the inputs of all steps are one layer; what a step adds is a product with the state before it and the
gates, element by element (ONNX operator schemas, ai.onnx: LSTM, GRU, RNN).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.networks.onnx_node import (
    LayerOutput,
    Node,
    OnnxLayer,
    Parameter,
    ReshapedTensor,
    TensorSource,
    UnsupportedNodeError,
)
from workloads.shapes import Shape

if TYPE_CHECKING:
    Enter = Callable[[str, OnnxLayer], str]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}
# inputs by number
WEIGHTS, RECURRENT, BIASES, LENGTHS, STATE, CELL, PEEPHOLES = range(1, 8)


@dataclass(frozen=True)
class _Cell:
    """One direction of a recurrent node."""

    node: Node
    """Node."""
    operator: str
    """ONNX operator."""
    enter: "Enter"
    """Adds a layer and returns its name."""
    name: str
    """Prefix of its layers' names."""
    direction: int
    """Number of the direction."""
    hidden: int
    """Size of the hidden state."""
    steps: int
    """Number of time steps."""
    resets_after: bool
    """A GRU applies its reset gate after the recurrent product."""
    function: str
    """Activation of the candidate state."""

    def layer(self, what: str, kind: str, *inputs: TensorSource, **values: Any) -> str:
        """Add a layer without parameters."""
        return self.enter(f"{self.name}.{what}", OnnxLayer(kind, values, inputs, None))

    def part(self, what: str, of: str, number: int, count: int = 1) -> str:
        """Take some gates of a layer that has several."""
        return self.layer(
            what, "slice", LayerOutput(of), start=number * self.hidden, end=(number + count) * self.hidden, axis=0
        )

    def product(self, what: str, source: TensorSource, first: int, count: int, owner: str = "") -> str:
        """Add a product with the recurrent weights of `count` gates; owner: the layer whose weights it uses."""
        rows = slice(first * self.hidden, (first + count) * self.hidden)
        return self._product(what, source, RECURRENT, rows, GATES[self.operator] * self.hidden, owner, False)

    def of_inputs(self) -> str:
        """Add the product of all steps' inputs with their weights."""
        features = self.node.shape()[2]
        source = ReshapedTensor(self.node.inputs[0], (self.steps, features))
        return self._product("inputs", source, WEIGHTS, slice(0, GATES[self.operator] * self.hidden), 0, "", True)

    def _product(
        self, what: str, source: TensorSource, number: int, rows: slice, biases_from: int, owner: str, each: bool
    ) -> str:
        node, direction, parameters = self.node, self.direction, dict[str, Parameter]()
        if not owner:
            shape = (rows.stop - rows.start, (node.stored(node.inputs[number]) or ())[2])
            parameters["weight"] = Parameter(node.inputs[number], shape=shape, taken=lambda a: a[direction, rows])
            if node.has(BIASES):
                held = slice(biases_from + rows.start, biases_from + rows.stop)
                parameters["bias"] = Parameter(node.inputs[BIASES], shape=shape[:1], taken=lambda a: a[direction, held])
        values: dict[str, Any] = {"outputs": rows.stop - rows.start, "bias": node.has(BIASES)}
        values |= ({"each": True} if each else {}) | ({"shares": owner} if owner else {})
        return self.enter(f"{self.name}.{what}", OnnxLayer("fully_connected", values, (source,), None, parameters))

    def first(self, number: int, inputs: str) -> str:
        """Return the state before the first step: the node's input of that number, or zeros."""
        what = {STATE: "state", CELL: "cell"}[number]
        if self.node.has(number) and (shape := self.node.computed(self.node.inputs[number])) is not None:
            whole = ReshapedTensor(self.node.inputs[number], (prod(shape),))
            begin = self.direction * self.hidden
            return self.layer(f"first_{what}", "slice", whole, axis=0, start=begin, end=begin + self.hidden)
        some = self.layer(f"no_{what}.some", "slice", LayerOutput(inputs), axis=0, start=0, end=1)
        some = self.layer(f"no_{what}.gates", "reshape", LayerOutput(some), shape=[GATES[self.operator] * self.hidden])
        return self.layer(f"no_{what}", "affine", LayerOutput(self.part(f"no_{what}.gate", some, 0)), factor=0.0)

    def run(self, backwards: bool) -> tuple[list[str], str]:
        """Add all steps and return their states, by step, and the last cell."""
        inputs = self.of_inputs()
        state = self.first(STATE, inputs)
        cell = self.first(CELL, inputs) if self.operator == "LSTM" else ""
        states, owners = [""] * self.steps, dict[str, str]()
        order = range(self.steps - 1, -1, -1) if backwards else range(self.steps)
        for step in order:
            given = self.layer(f"{step}.given", "slice", LayerOutput(inputs), axis=0, start=step, end=step + 1)
            given = self.layer(
                f"{step}.gates", "reshape", LayerOutput(given), shape=[GATES[self.operator] * self.hidden]
            )
            if self.operator == "LSTM":
                state, cell = self._lstm(f"{step}", given, state, cell, owners)
            elif self.operator == "GRU":
                state = self._gru(f"{step}", given, state, owners)
            else:
                added = self.layer(
                    f"{step}.sum",
                    "add",
                    LayerOutput(given),
                    LayerOutput(self._from(step, "hidden", state, 0, 1, owners)),
                )
                state = self.layer(f"{step}.state", self.function, LayerOutput(added))
            states[step] = state
        return states, cell

    def _from(self, step: Any, what: str, state: str, first: int, count: int, owners: dict[str, str]) -> str:
        """Multiply a state with recurrent weights, which are those of the first step."""
        made = self.product(f"{step}.{what}", LayerOutput(state), first, count, owners.get(what, ""))
        owners.setdefault(what, made)
        return made

    def _lstm(self, step: str, given: str, state: str, cell: str, owners: dict[str, str]) -> tuple[str, str]:
        """Gates are in the order input, output, forget, cell."""
        of_state = self._from(step, "hidden", state, 0, 4, owners)
        added = self.layer(f"{step}.sum", "add", LayerOutput(given), LayerOutput(of_state))
        gates = self.layer(f"{step}.sigmoid", "sigmoid", LayerOutput(self.part(f"{step}.three", added, 0, 3)))
        new = self.layer(f"{step}.new", "tanh", LayerOutput(self.part(f"{step}.fourth", added, 3)))
        put, out, kept = (self.part(f"{step}.{what}", gates, k) for k, what in enumerate(("put", "out", "keep")))
        old = self.layer(f"{step}.kept", "multiply", LayerOutput(kept), LayerOutput(cell))
        cell = self.layer(
            f"{step}.cell",
            "add",
            LayerOutput(old),
            LayerOutput(self.layer(f"{step}.added", "multiply", LayerOutput(put), LayerOutput(new))),
        )
        return self.layer(
            f"{step}.state",
            "multiply",
            LayerOutput(out),
            LayerOutput(self.layer(f"{step}.tanh", "tanh", LayerOutput(cell))),
        ), cell

    def _gru(self, step: str, given: str, state: str, owners: dict[str, str]) -> str:
        """Gates are in the order update, reset, new; `resets_after` as PyTorch has it."""
        count = 3 if self.resets_after else 2
        of_state = self._from(step, "hidden", state, 0, count, owners)
        two = self.part(f"{step}.of_state", of_state, 0, 2) if self.resets_after else of_state
        added = self.layer(f"{step}.sum", "add", LayerOutput(self.part(f"{step}.two", given, 0, 2)), LayerOutput(two))
        gates = self.layer(f"{step}.sigmoid", "sigmoid", LayerOutput(added))
        update, reset = (self.part(f"{step}.{what}", gates, k) for k, what in enumerate(("update", "reset")))
        if self.resets_after:
            third = self.part(f"{step}.of_state.third", of_state, 2)
            reset = self.layer(f"{step}.left", "multiply", LayerOutput(reset), LayerOutput(third))
        else:
            left = self.layer(f"{step}.left", "multiply", LayerOutput(reset), LayerOutput(state))
            reset = self._from(step, "candidate", left, 2, 1, owners)
        new = self.layer(
            f"{step}.new.sum", "add", LayerOutput(self.part(f"{step}.third", given, 2)), LayerOutput(reset)
        )
        new = self.layer(f"{step}.new", "tanh", LayerOutput(new))
        change = self.layer(f"{step}.change", "combine", LayerOutput(state), LayerOutput(new), operation="subtract")
        return self.layer(
            f"{step}.state",
            "add",
            LayerOutput(new),
            LayerOutput(self.layer(f"{step}.changed", "multiply", LayerOutput(update), LayerOutput(change))),
        )


def unrolled(node: Node, operator: str, name: str, enter: "Enter") -> list[tuple[str, Shape]]:
    """Add a recurrent node's layers and return those of its outputs, with the shapes that these have in the file.

    Raise UnsupportedNodeError before anything is added.
    """
    steps, hidden, directions, function, resets_after = _checked(node, operator)
    ran, cells = [], []
    reverse = node.text("direction", "forward") == "reverse"
    for direction in range(directions):
        part = name if directions == 1 else f"{name}.{('forward', 'backward')[direction]}"
        cell = _Cell(
            node=node,
            operator=operator,
            enter=enter,
            name=part,
            direction=direction,
            hidden=hidden,
            steps=steps,
            resets_after=resets_after,
            function=function,
        )
        states, last_cell = cell.run(reverse or direction == 1)
        ran.append((cell, states))
        cells.append(last_cell)

    def joined(what: str, layers: Sequence[str], axis: int, shape: Sequence[int]) -> str:
        whole = [
            enter(f"{name}.{what}", OnnxLayer("reshape", {"shape": list(shape)}, (LayerOutput(one),), None))
            for one in layers
        ]
        if len(whole) == 1:
            return whole[0]
        return enter(f"{name}.{what}s", OnnxLayer("concat", {"axis": axis}, tuple(map(LayerOutput, whole)), None))

    sequences = [joined("step", states, 0, (1, 1, hidden)) for _, states in ran]
    whole = sequences[0]
    if directions > 1:
        whole = enter(f"{name}.directions", OnnxLayer("concat", {"axis": 1}, tuple(map(LayerOutput, sequences)), None))
    last = [states[0 if reverse or k == 1 else -1] for k, (_, states) in enumerate(ran)]
    # the values of an image are in the same order wherever the batch stands
    batch_first = bool(node.attributes.get("layout", 0))
    state = (1, directions, hidden) if batch_first else (directions, 1, hidden)
    sequence = (1, steps, directions, hidden) if batch_first else (steps, directions, 1, hidden)
    outputs: list[tuple[str, Shape]] = [(whole, sequence)]
    if len(node.outputs) > 1 and node.outputs[1]:
        outputs.append((joined("last", last, 0, (1, 1, hidden)), state))
    if len(node.outputs) > 2 and node.outputs[2]:
        while len(outputs) < 2:
            outputs.append(("", ()))
        outputs.append((joined("last_cell", cells, 0, (1, 1, hidden)), state))
    return outputs


def _checked(node: Node, operator: str) -> tuple[int, int, int, str, bool]:
    """Return steps, size of the state, directions, the function of an RNN, and whether a GRU resets after its product;
    raise UnsupportedNodeError for what the layers do not do.
    """
    shape = node.shape()
    batch_first = bool(node.attributes.get("layout", 0))
    if len(shape) != 3 or shape[0 if batch_first else 1] != 1:
        axes = "batch × steps × features" if batch_first else "steps × batch × features"
        raise UnsupportedNodeError(f"an input of {list(shape)}: must be {axes}, with a batch of 1")
    steps = shape[1 if batch_first else 0]
    direction = node.text("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise UnsupportedNodeError(f"direction = {direction}: must be forward, reverse or bidirectional")
    directions, gates = 2 if direction == "bidirectional" else 1, GATES[operator]
    _, weights = node.parameter(WEIGHTS, "W", 3)
    _, recurrent = node.parameter(RECURRENT, "R", 3)
    hidden = int(node.attributes.get("hidden_size", recurrent[2]))
    if weights != (directions, gates * hidden, shape[2]) or recurrent != (directions, gates * hidden, hidden):
        raise UnsupportedNodeError(
            f"W of {list(weights)}, R of {list(recurrent)}: must be {[directions, gates * hidden, shape[2]]} and"
            f" {[directions, gates * hidden, hidden]}"
        )
    if node.has(BIASES) and node.parameter(BIASES, "B", 2)[1] != (directions, 2 * gates * hidden):
        raise UnsupportedNodeError(
            f"B of {list(node.stored(node.inputs[BIASES]) or ())}: must be {[directions, 2 * gates * hidden]}"
        )
    if node.has(LENGTHS) and not (node.values(LENGTHS, "sequence_lens") == steps).all():
        raise UnsupportedNodeError(f"sequence_lens: must be {steps}, or left out")
    for number in (STATE, CELL):
        name = node.inputs[number] if node.has(number) else ""
        if name and node.stored(name) is not None and np.any(node.array(name)):
            raise UnsupportedNodeError(
                f"input {number} holds a first state that is not zero: must be zeros, or a layer's output"
            )
    if node.has(PEEPHOLES) and np.any(node.values(PEEPHOLES, "P")):
        raise UnsupportedNodeError("P: peepholes are not there: must be left out")
    if node.attributes.get("input_forget", 0):
        raise UnsupportedNodeError("input_forget = 1: must be 0")
    usual = FUNCTIONS[operator] * directions
    functions = [one.decode() if isinstance(one, bytes) else one for one in node.attributes.get("activations", usual)]
    functions = [one.lower() for one in functions]
    function = functions[0]
    plain = operator == "RNN" and function in ("tanh", "relu") and functions == [function] * directions
    if functions != usual and not plain:
        raise UnsupportedNodeError(f"activations = {functions}: must be {usual}")
    resets_after = bool(node.attributes.get("linear_before_reset", 0))
    if ignored := node.attributes.ignored():
        raise UnsupportedNodeError(f"attribute {ignored[0]} = {node.attributes[ignored[0]]}: must be left out")
    return steps, hidden, directions, function, resets_after
