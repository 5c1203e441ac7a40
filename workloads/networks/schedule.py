"""The steps of an iteration: inference, or training's forward pass, loss, backward passes and update.

A step is what becomes one operator: a layer, a pass, and for every role the tensor that takes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gpusim.base.errors import UserError
from workloads.networks.described import MAX_BATCH
from workloads.networks.graph import Layer, Network
from workloads.networks.kind import Pass, PassSpec
from workloads.networks.tensor import ScheduleTensor, TensorRole, elements, format_shape
from workloads.shapes import Shape


class Loss(StrEnum):
    """The source of the gradient of the network's output."""

    CROSS_ENTROPY = "cross_entropy"  # of labels; a softmax that ends the network is part of it
    GIVEN = "given"  # from outside, as DNNMark has it


class Update(StrEnum):
    """The use of the parameters' gradients."""

    SGD = "sgd"  # with momentum
    ADAM = "adam"
    NONE = "none"  # nothing, as in ICPE 2018


# of each parameter, by the role that the update gives it, beside the parameter `w` and its gradient `dw`
MOMENTS: Mapping[Update, tuple[str, ...]] = {Update.SGD: ("velocity",), Update.ADAM: ("mean", "square")}


@dataclass(frozen=True)
class Step:
    """The work of one operator.

    A forward step may join a ReLU, whose output is a view of `y`, and the pooling after it, which gives `pooled` and in
    training `places`; `y` is then needed in training only. A backward step to the data may join a ReLU: `dx` is the
    gradient of its input, and `mask`, its output, is read.
    """

    layer: str
    """Name of the layer."""
    what: Pass
    """Pass."""
    reads: Mapping[str, str]
    """Tensors read, by role."""
    writes: Mapping[str, str]
    """Tensors written, by role."""
    in_place: tuple[str, str] | None = None
    """(read, written): roles that may share memory; None: none."""
    parameter: str = ""
    """Parameter that an update changes; empty for other passes."""
    joined: tuple[str, ...] = ()
    """Layers whose work of the same pass it also does."""

    @property
    def name(self) -> str:
        """The step's name, such as 'conv2.backward_data' or 'conv2.update.weight'."""
        return ".".join(filter(None, (self.layer, self.what, self.parameter)))


@dataclass(frozen=True)
class Schedule:
    """The steps of an iteration in order."""

    network: Network
    """Network."""
    batch: int
    """Batch size in images."""
    training: bool
    """Training; otherwise inference."""
    tensors: Mapping[str, ScheduleTensor]
    """Tensors by name."""
    outputs: Mapping[str, str]
    """Tensor of each input and of each layer's output, by the name of input or layer."""
    steps: tuple[Step, ...]
    """Steps."""
    views: Mapping[str, str] = field(default_factory=dict)
    """For each tensor that shares another's memory in another shape, that other tensor."""
    apart: Mapping[tuple[str, Pass], str] = field(default_factory=dict)
    """Reason why a pass was not joined to another layer's, by layer and pass."""

    def get_memory_tensor(self, name: str) -> str:
        """Return the tensor whose memory the tensor `name` uses: itself, unless it is a view."""
        while name in self.views:
            name = self.views[name]
        return name


def classes_of(shape: Shape) -> int | None:
    """Return the classes of an output with a value for each, of an image or of every position; None for others."""
    if elements(shape) == shape[0]:
        return shape[0]
    return shape[1] if len(shape) == 2 else None


def inference(network: Network, batch: int, fusion: bool = False) -> Schedule:
    """List the steps of one forward pass over a batch.

    Args:
        network: The network.
        batch: Images in a batch.
        fusion: A ReLU is part of the step of the layer before it, where no other layer reads that one's output.

    Raises:
        UserError: The batch is not allowed.
    """
    drawn = _ScheduleBuilder(network, batch, training=False, fusion=fusion)
    drawn.forward()
    return drawn.schedule()


def training(
    network: Network, batch: int, loss: Loss | None = None, update: Update = Update.SGD, fusion: bool = False
) -> Schedule:
    """List the steps of one training iteration.

    Args:
        network: The network.
        batch: Images in a batch.
        loss: None stands for cross-entropy, or for a given gradient where layers are looked at alone.
        update: How parameters are updated.
        fusion: As for `inference`, in the forward pass: in the backward pass the ReLU's step reads from its output
            where it passes on.

    Raises:
        UserError: The batch is not allowed, or the network cannot be trained.
    """
    if network.forward_alone:
        raise UserError(f"{network.source}: {network.forward_alone}: it runs forward alone (--phase inference)")
    drawn = _ScheduleBuilder(network, batch, training=True, fusion=fusion)
    drawn.forward()
    drawn.loss(loss or (Loss.GIVEN if network.input_gradients else Loss.CROSS_ENTROPY))
    drawn.backward()
    drawn.update(update)
    return drawn.schedule()


class _ScheduleBuilder:
    """Builds a schedule step by step."""

    def __init__(self, network: Network, batch: int, training: bool, fusion: bool) -> None:
        if not 1 <= batch <= MAX_BATCH:
            raise UserError(f"{network.source}: batch: {batch} is not allowed: must be from 1 to {MAX_BATCH}")
        if network.meaning is not None and network.meaning.single and batch != 1:
            raise UserError(
                f"{network.source}: batch: {batch} is not allowed: must be 1, since axis 0 of the inputs is no batch:"
                f" {network.meaning.single}"
            )
        self.network, self.batch, self.training = network, batch, training
        self.tensors: dict[str, ScheduleTensor] = {}
        self.steps: list[Step] = []
        self.views: dict[str, str] = {}
        self.apart: dict[tuple[str, Pass], str] = {}
        # by a layer's name, the ReLU and the pooling that are joined to its forward pass, the ReLU to its backward pass
        self.joined = self._joined() if fusion else {}
        self.pooled = self._pooled() if fusion else {}
        self.masked = self._masked() if fusion and training else {}
        # by a layer's name, the others that use its parameters
        self.users: dict[str, list[str]] = {}
        for layer in network.layers:
            if layer.kind.shared_with:
                self.users.setdefault(layer.kind.shared_with, []).append(layer.name)
        # gradients of a layer's output, one from each layer that reads it
        self.parts: dict[str, list[str]] = {layer.name: [] for layer in network.layers}
        # tensors by the roles that only the layer knows
        self.own: dict[str, dict[str, str]] = {}
        self.outputs: dict[str, str] = {}
        for name, shape in network.inputs.items():
            dtype = "uint32" if name in network.numbers_below else "float32"
            self.outputs[name] = self._new(name, (batch, *shape), TensorRole.INPUT, name, dtype)

    def schedule(self) -> Schedule:
        """Return the schedule of the steps so far."""
        steps = tuple(self.steps)
        return Schedule(
            network=self.network,
            batch=self.batch,
            training=self.training,
            tensors=self.tensors,
            outputs=self.outputs,
            steps=steps,
            views=self.views,
            apart=self.apart,
        )

    def forward(self) -> None:
        """Add the forward pass of every layer."""
        for layer in self.network.layers:
            anatomy = layer.anatomy
            own = self.own[layer.name] = {}
            for role, shape in anatomy.parameters.items():
                dtype = layer.kind.dtype_of(role)
                own[role] = self._new(f"{layer.name}.{role}", shape, TensorRole.PARAMETER, layer.name, dtype)
            for role in layer.kind.shared(layer.input_shapes):
                own[role] = self.own[layer.kind.shared_with][role]
            for role, shape in anatomy.state.items():
                own[role] = self._new(f"{layer.name}.{role}", shape, TensorRole.STATE, layer.name)
            spec = layer.kind.forward(self.training)
            if layer.name in self.joined.values():
                spec = None  # the step of the layer before does its work
            own["y"] = self._new(f"{layer.name}.output", (self.batch, *layer.shape), TensorRole.ACTIVATION, layer.name)
            own.update(_numbered("x", [self.outputs[name] for name in layer.inputs]))
            self.outputs[layer.name] = own["y"]
            if spec is None:
                self.views[own["y"]] = own["x"]
                continue
            if layer.kind.WRITES_INPUT:
                self.views[own["y"]] = own["x0"]
            for role, saved in anatomy.saved.items() if self.training else ():
                shape = (self.batch, *saved.shape) if saved.per_image else saved.shape
                own[role] = self._new(f"{layer.name}.{role}", shape, TensorRole.SAVED, layer.name, saved.dtype)
            if layer.name in self.pooled.values():
                self._join_pooling(layer, own)
            else:
                self._step(layer, spec, own, tuple(filter(None, [self.joined.get(layer.name)])))

    def _masked(self) -> dict[str, str]:
        """Return the ReLU that is joined to the backward pass of the layer after it; note why others are not."""
        network, masked = self.network, dict[str, str]()
        for layer in network.layers:
            if not layer.kind.IS_RELU:
                continue
            readers = [one for one in network.layers if layer.name in one.inputs]
            if len(readers) != 1 or layer.name in network.declared.values():
                why = "its gradient comes from several layers" if len(readers) > 1 else "its gradient is the loss's"
            elif not readers[0].kind.JOINS_RELU:
                why = f"its gradient comes from {readers[0].kind_name}, whose kernels end with no mask"
            else:
                masked[readers[0].name] = layer.name
                continue
            self.apart[layer.name, Pass.BACKWARD_DATA] = why
        return masked

    def _joined(self) -> dict[str, str]:
        """Return the ReLU that is joined to a layer, by that layer's name; note why others are not."""
        network, joined = self.network, dict[str, str]()
        for layer in network.layers:
            if not layer.kind.IS_RELU:
                continue
            before = network.named.get(layer.inputs[0])
            if before is None or not before.kind.JOINS_RELU:
                after = "the network's input" if before is None else before.kind_name
                self.apart[layer.name, Pass.FORWARD] = f"after {after}, whose kernels end with no ReLU"
            elif network.readers[before.name] > 1 or before.name in network.declared.values():
                self.apart[layer.name, Pass.FORWARD] = f"what {before.name} gives is needed without it too"
            else:
                joined[before.name] = layer.name
        return joined

    def _pooled(self) -> dict[str, str]:
        """Return the pooling that is joined after a ReLU, by the name of the layer before that; note why others are
        not.
        """
        network, pooled = self.network, dict[str, str]()
        before = {relu: name for name, relu in self.joined.items()}
        for layer in network.layers:
            why = layer.kind.why_after_relu_apart()
            if why is None or (relu := layer.inputs[0]) not in before:
                continue
            if not why and (network.readers[relu] > 1 or relu in network.declared.values()):
                why = f"what {relu} gives is needed without it too"
            if why:
                self.apart[layer.name, Pass.FORWARD] = why
            else:
                pooled[before[relu]] = layer.name
        return pooled

    def _join_pooling(self, layer: Layer, own: Mapping[str, str]) -> None:
        """Let the step of the layer before the ReLU give the results of pooling too."""
        name = next(name for name, pooling in self.pooled.items() if pooling == layer.name)
        number = next(n for n, step in enumerate(self.steps) if step.layer == name)
        step, places = self.steps[number], {"places": own["places"]} if "places" in own else {}
        writes = {**step.writes, "pooled": own["y"], **places}
        self.steps[number] = replace(step, writes=writes, joined=(*step.joined, layer.name))

    def loss(self, loss: Loss) -> None:
        """Add the step that makes the gradients of the network's outputs, or their tensors where they are given."""
        outputs = self.network.outputs
        if loss is Loss.GIVEN:
            for layer in outputs:
                name = f"{layer.name}.output.gradient"
                self.parts[layer.name].append(self._new(name, (self.batch, *layer.shape), TensorRole.INPUT, layer.name))
            return
        layer = outputs[0]
        if len(outputs) > 1 or classes_of(layer.shape) is None:
            names = ", ".join(f"'{one.name}' ({format_shape(one.shape)})" for one in outputs)
            raise UserError(
                f"{self.network.source}: layer {names}: training by cross-entropy needs one output, a value a class, of"
                " an image or of every position"
            )
        positions = (self.batch,) if elements(layer.shape) == layer.shape[0] else (self.batch, layer.shape[0])
        labels = self._new("labels", positions, TensorRole.INPUT, "labels", "uint32")
        mean = self._new("loss", (1,), TensorRole.LOSS, layer.name)
        each = self._new("losses", positions, TensorRole.LOSS, layer.name)
        output = self.outputs[layer.name]
        fused = (
            layer.kind.ends_with_softmax(layer.shape, classes_of(layer.shape)) and not self.network.readers[layer.name]
        )
        if fused:
            probabilities, target = output, layer.inputs[0]
            logits = self.own[layer.name]["x"]
            self.steps = [step for step in self.steps if step.layer != layer.name]  # its forward pass is the loss's
        else:
            probabilities = self._new(
                f"{layer.name}.probabilities", (self.batch, *layer.shape), TensorRole.SAVED, layer.name
            )
            target, logits = layer.name, output
        writes = {"y": probabilities, "losses": each, "loss": mean}
        self._add(layer, Pass.LOSS, {"x": logits, "labels": labels}, writes)
        if not self._wanted()[target]:
            return
        gradient = self._gradient_name(target, layer.name if fused else "loss")
        shape = self.network.shape_of(target)
        dx = self._new(gradient, (self.batch, *shape), TensorRole.GRADIENT, target)
        self._add(layer, Pass.LOSS_GRADIENT, {"y": probabilities, "labels": labels}, {"dx": dx})
        self._contribute(target, dx)

    def backward(self) -> None:
        """Add the backward passes of every layer, from the last layer to the first."""
        wanted = self._wanted()
        for layer in reversed(self.network.layers):
            parts = self.parts[layer.name]
            if not parts or not wanted[layer.name]:
                continue
            dy = parts[0]
            if len(parts) > 1:
                name = f"{layer.name}.output.gradient"
                dy = self._new(name, (self.batch, *layer.shape), TensorRole.GRADIENT, layer.name)
                self._add(layer, Pass.GRADIENT_SUM, _numbered("x", parts), {"y": dy})
            own = self.own[layer.name] | {"dy": dy, "y": self._seen_output(layer)}
            through = [wanted[name] and layer.kind.propagates for name in layer.inputs]
            if layer.kind.SHARES_GRADIENT or layer.name in self.masked.values():
                self._share(layer, dy, through)
                continue
            for role, shape in {**layer.anatomy.parameters, **layer.kind.shared(layer.input_shapes)}.items():
                name = f"{layer.kind.shared_with or layer.name}.{role}.gradient"
                if (layer.kind.shared_with or layer.name) in self.users:  # one part of several
                    own[f"d{role}"] = self._new(f"{name}.{layer.name}", shape, TensorRole.GRADIENT, layer.name)
                else:
                    own[f"d{role}"] = self._new(name, shape, TensorRole.PARAMETER_GRADIENT, layer.name)
            self.own[layer.name] = own
            made = [self._gradient(layer, number) if needed else "" for number, needed in enumerate(through)]
            own.update({role: name for role, name in _numbered("dx", made).items() if name})
            for spec in layer.kind.backward():
                relu = self.masked.get(layer.name) if spec.what is Pass.BACKWARD_DATA else None
                if relu:
                    own, spec = {**own, "mask": own["x"]}, replace(spec, reads=(*spec.reads, "mask"))
                if any(role in own for role in _spread(spec.writes, len(made))):
                    self._step(layer, spec, own, (relu,) if relu else ())
            for name, gradient in zip(layer.inputs, made, strict=True):
                if gradient:
                    self._contribute(name, gradient)
        self._sum_shared()

    def _sum_shared(self) -> None:
        """Add up the gradients of parameters that several layers use."""
        for owner, users in self.users.items():
            layer = self.network[owner]
            for role, shape in layer.anatomy.parameters.items():
                parts = [self.own[name][f"d{role}"] for name in (owner, *users) if f"d{role}" in self.own[name]]
                if not parts:
                    continue
                whole = self._new(f"{owner}.{role}.gradient", shape, TensorRole.PARAMETER_GRADIENT, owner)
                if len(parts) > 1:
                    self._add(layer, Pass.GRADIENT_SUM, _numbered("x", parts), {"y": whole}, parameter=role)
                else:
                    self.views[whole] = parts[0]
                self.own[owner][f"d{role}"] = whole

    def update(self, update: Update) -> None:
        """Add an update for every parameter that has a gradient, in the order of the layers."""
        if update is Update.NONE:
            return
        for layer in self.network.layers:
            own = self.own[layer.name]
            for role, shape in layer.anatomy.parameters.items():
                if f"d{role}" not in own:
                    continue  # no gradient came through to the layer
                kept = {"w": own[role]}
                for moment in MOMENTS[update]:
                    kept[moment] = self._new(f"{layer.name}.{role}.{moment}", shape, TensorRole.STATE, layer.name)
                self._add(layer, Pass.UPDATE, {**kept, "dw": own[f"d{role}"]}, kept, parameter=role)

    def _wanted(self) -> dict[str, bool]:
        """Tell for each input and each layer's output whether its gradient is needed."""
        wanted = dict.fromkeys(self.network.inputs, self.network.input_gradients)
        for layer in self.network.layers:
            passes = layer.kind.propagates and any(wanted[name] for name in layer.inputs)
            wanted[layer.name] = bool(layer.anatomy.parameters) or bool(layer.kind.shared_with) or passes
        return wanted

    def _seen_output(self, layer: Layer) -> str:
        """Return the tensor that a layer's backward pass reads as its output.

        After a ReLU, a dropout's output tells as well where the gradient passes, so that it may take the place of the
        ReLU's.
        """
        readers = list(self.network.graph.successors(layer.name))
        if layer.kind.NEEDS_SIGN_ALONE and len(readers) == 1 and self.network[readers[0]].kind.KEEPS_SIGN:
            return self.outputs[readers[0]]
        return self.outputs[layer.name]

    def _share(self, layer: Layer, dy: str, through: list[bool]) -> None:
        """Pass the output's gradient on as that of each input, as a view where the shapes differ."""
        for name, needed in zip(layer.inputs, through, strict=True):
            if not needed:
                continue
            shape = self.network.shape_of(name)
            if (self.batch, *shape) != self.tensors[dy].shape:
                view = self._gradient_name(name, layer.name)
                self.views[self._new(view, (self.batch, *shape), TensorRole.GRADIENT, name)] = dy
                self._contribute(name, view)
            else:
                self._contribute(name, dy)

    def _contribute(self, name: str, gradient: str) -> None:
        if name in self.parts:  # the gradient of the network's input is a result
            self.parts[name].append(gradient)

    def _gradient(self, layer: Layer, number: int) -> str:
        name = layer.inputs[number]
        reader = layer.name if layer.inputs.count(name) == 1 else f"{layer.name}.{number}"
        shape = (self.batch, *self.network.shape_of(name))
        return self._new(self._gradient_name(name, reader), shape, TensorRole.GRADIENT, name)

    def _gradient_name(self, name: str, reader: str) -> str:
        """Return the name of an output's gradient, or of `reader`'s part of it where several layers read the output."""
        whole = f"{self.outputs[name]}.gradient"
        return whole if self.network.readers[name] <= 1 else f"{whole}.{reader}"

    def _step(self, layer: Layer, spec: PassSpec, own: Mapping[str, str], joined: tuple[str, ...] = ()) -> None:
        """Add a step of the layer's kind; tensors that it would write and nothing needs are left out."""
        count = len(layer.inputs)
        reads = {role: own[role] for role in _spread(spec.reads, count)}
        writes = {role: own[role] for role in _spread(spec.writes, count) if role in own}
        self._add(layer, spec.what, reads, writes, spec.in_place, joined=joined)

    def _add(
        self, layer: Layer, what: Pass, reads: Mapping[str, str], writes: Mapping[str, str],
        in_place: tuple[str, str] | None = None, parameter: str = "", joined: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.steps.append(
            Step(
                layer=layer.name,
                what=what,
                reads=reads,
                writes=writes,
                in_place=in_place,
                parameter=parameter,
                joined=joined,
            )
        )

    def _new(self, name: str, shape: Shape, role: TensorRole, layer: str, dtype: str = "float32") -> str:
        """Add a tensor and return its name, with a number after it where another tensor has that name already."""
        free, number = name, 2
        while free in self.tensors:
            free, number = f"{name}.{number}", number + 1
        self.tensors[free] = ScheduleTensor(free, shape, role, layer, dtype)
        return free


def _numbered(role: str, names: list[str]) -> dict[str, str]:
    """Return {'x': name} for one name, {'x0': ..., 'x1': ...} for several."""
    return {role: names[0]} if len(names) == 1 else {f"{role}{i}": name for i, name in enumerate(names)}


def _spread(roles: tuple[str, ...], count: int) -> list[str]:
    """Return the roles of a pass of a layer with `count` inputs, with 'x*' replaced by a role for each input."""
    out: list[str] = []
    for role in roles:
        out += _numbered(role[:-1], [role] * count) if role.endswith("*") else [role]
    return out
