"""What a kind of layer is: its output's shape, its parameters, its work, its passes, and the primitives of each pass.

A kind is a `Spec`: its fields are the parameters of one layer, checked like every configuration. Shapes are those of
one image, without the batch. A pass in an iteration (`LayerPass`) has the batch and becomes primitives
(workloads.operators), which have the launches and the reference.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from gpusim.base.spec import Spec
from workloads.networks.onnx_node import Node, OnnxLayer
from workloads.networks.tensor import elements, format_shape
from workloads.operators.attention import DEFAULT_ATTENTION
from workloads.operators.conv_algorithms import DEFAULT_ALGORITHM
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.optimizer import Sgd
from workloads.operators.primitive import OperatorError, Primitive
from workloads.operators.tiles import Multiplier
from workloads.shapes import Shape


class ShapeError(ValueError):
    """A layer cannot take inputs of these shapes; the message does not name the layer."""


class Pass(StrEnum):
    """The purpose of a step in its layer."""

    FORWARD = "forward"
    LOSS = "loss"
    LOSS_GRADIENT = "loss_gradient"
    BACKWARD_DATA = "backward_data"
    BACKWARD_WEIGHTS = "backward_weights"
    BACKWARD_BIAS = "backward_bias"
    BACKWARD = "backward"  # all gradients of the layer at once
    GRADIENT_SUM = "gradient_sum"  # of an output that several layers read
    UPDATE = "update"


@dataclass(frozen=True)
class Gemm:
    """Products C (M × N) = A (M × K) · B (K × N), `count` of them; a batch makes either more of them, or wider ones."""

    m: int
    """Rows of A and C."""
    k: int
    """Columns of A, rows of B."""
    n: int
    """Columns of B and C."""
    count: int = 1
    """Number of products."""
    wider: bool = False
    """A batch makes them wider; False: more of them."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all products."""
        return self.m * self.k * self.n * self.count

    def over(self, batch: int) -> "Gemm":
        """Return the products for a batch, given those for one image."""
        return replace(self, n=self.n * batch) if self.wider else replace(self, count=self.count * batch)


@dataclass(frozen=True)
class SavedTensor:
    """A tensor that the forward pass of training saves for the backward pass."""

    shape: Shape
    """Shape, for one image if `per_image`."""
    dtype: str = "float32"
    """Type of the elements."""
    per_image: bool = True
    """Each image has its own."""


@dataclass(frozen=True)
class PassSpec:
    """A pass by the roles of what it reads and writes.

    Roles: `x` (`x0`, `x1`, ... for several inputs) and `y`; `dx` and `dy`, their gradients; parameters, state and saved
    tensors by name, with `d` before a parameter's name for its gradient.
    """

    what: Pass
    """Pass."""
    reads: tuple[str, ...]
    """Roles of the tensors read."""
    writes: tuple[str, ...]
    """Roles of the tensors written."""
    in_place: tuple[str, str] | None = None
    """(read, written): two roles whose tensors may share memory; None: none."""


@dataclass(frozen=True)
class IterationSettings:
    """The choices for an iteration that decide the primitives of its passes."""

    number: int = 1
    """Number of the iteration, from 1."""
    rate: float = Sgd.rate
    """Learning rate of updates."""
    momentum: float = Sgd.momentum
    """Momentum of updates by SGD."""
    decay: float = Sgd.decay
    """Weight decay of updates."""
    convolution: str = DEFAULT_ALGORITHM
    """Convolution algorithm for layers that it supports."""
    sparse_convolution: str | None = None
    """Algorithm of forward passes over activation maps where it supports them; None: dense."""
    sparse_gradients: bool = False
    """Also compute the weights' gradients with the sparse algorithm, where it supports them."""
    convolution_buffer_bytes: int = BUFFER_BYTES
    """Buffer of algorithms that work on chunks of images, in bytes."""
    attention: str = DEFAULT_ATTENTION
    """Algorithm of the forward pass of attention."""
    chosen: Mapping[tuple[str, Pass], str] = field(default_factory=dict)
    """Algorithms by layer and pass, in place of `convolution` or `attention`."""
    multiplier: Multiplier | None = None
    """Kernels of matrix products; None: ours."""


@dataclass(frozen=True)
class PrimitiveUse:
    """A primitive with the names of its operands and results in the layer."""

    primitive: Primitive
    """Primitive."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role of each operand or result whose own name differs from it."""
    apart: tuple[str, str] | None = None
    """Joined layer that runs as this separate primitive, and the reason; None: no such layer."""


@dataclass(frozen=True, kw_only=True)
class LayerPass:
    """A pass of a layer in an iteration: all that decides its primitives."""

    layer: str
    """Name of the layer."""
    stream: int
    """Number of its stream of random numbers, another one in each iteration."""
    what: Pass
    """Pass."""
    batch: int
    """Images."""
    inputs: tuple[Shape, ...]
    """Shapes of the layer's inputs for one image."""
    shape: Shape
    """Shape of the layer's output for one image."""
    reads_input: bool
    """The layer reads an input of the network, which is no activation map."""
    writes: Collection[str]
    """Roles of the results that are needed."""
    joined: tuple[str, ...]
    """Layers whose work of the same pass it also does: a ReLU, then a pooling."""
    settings: IterationSettings
    """Choices for the iteration."""

    @property
    def is_forward(self) -> bool:
        """Whether this is the forward pass."""
        return self.what is Pass.FORWARD

    @property
    def input_shape(self) -> Shape:
        """The shape of the layer's first input, including the batch."""
        return (self.batch, *self.inputs[0])

    @property
    def output_shape(self) -> Shape:
        """The shape of the layer's output, including the batch."""
        return (self.batch, *self.shape)

    def saves(self, role: str) -> bool:
        """Tell whether the forward pass saves the tensor with this role for a backward pass."""
        return not self.is_forward or role in self.writes

    def choose(self, default: str) -> str:
        """Return the name of the algorithm that was chosen for this pass; `default` without a choice."""
        return self.settings.chosen.get((self.layer, self.what), default)


@dataclass(frozen=True)
class LayerTensors:
    """The tensors that a layer holds besides its inputs and its output, by role."""

    parameters: Mapping[str, Shape] = field(default_factory=dict)
    """Shapes of trained tensors by role."""
    state: Mapping[str, Shape] = field(default_factory=dict)
    """Shapes of tensors that are updated but not trained."""
    saved: Mapping[str, SavedTensor] = field(default_factory=dict)
    """Tensors that the forward pass leaves for the backward pass."""


class LayerKind(Spec):
    """Base of every kind; `inputs` are the shapes of what the layer reads, in order."""

    # the name that network files have for the kind
    NAME: ClassVar[str]
    # the operators of ONNX that are this kind, which `from_onnx` reads
    ONNX: ClassVar[Sequence[str]] = ()
    # for each of its values that is a number there: the operator's attribute, and that one's default
    ONNX_NUMBERS: ClassVar[Mapping[str, tuple[str, float]]] = {}
    # algorithms for its passes among which a run chooses, the default first; empty: there is one
    ALGORITHMS: ClassVar[Sequence[str]] = ()
    # fewest and most inputs; None: any number
    ARITY: ClassVar[tuple[int, int | None]] = (1, 1)
    # the gradient of each input is that of the output: no backward pass
    SHARES_GRADIENT: ClassVar[bool] = False
    # of its output, the backward pass needs to know where that is positive, and only where `dy` is not zero
    NEEDS_SIGN_ALONE: ClassVar[bool] = False
    # it is the ReLU that other layers' kernels may end with
    IS_RELU: ClassVar[bool] = False
    # a ReLU may be the last step of its forward pass, and that ReLU's mask the last of its backward pass to the data
    JOINS_RELU: ClassVar[bool] = False
    # the output is positive where the input is, or else the gradient of the input is zero
    KEEPS_SIGN: ClassVar[bool] = False
    # its input is the network's own, of whole numbers below `numbers_below`
    READS_NUMBERS: ClassVar[bool] = False
    # the output is the first input, one of the network's, in the same memory, into which it writes
    WRITES_INPUT: ClassVar[bool] = False
    # of an element of the output, where the forward pass is no matrix product
    OPERATIONS: ClassVar[int] = 1
    # the passes, where they depend neither on the layer's values nor on whether it is trained
    FORWARD: ClassVar[PassSpec] = PassSpec(Pass.FORWARD, ("x",), ("y",))
    BACKWARD: ClassVar[tuple[PassSpec, ...]] = ()

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        """Return the layer of a node with one of the operators `ONNX`; raises UnsupportedNodeError."""
        values = {name: node.number(*given) for name, given in cls.ONNX_NUMBERS.items()}
        return OnnxLayer(cls.NAME, values, node.inputs[:1], node.shape())

    @property
    def propagates(self) -> bool:
        """Whether layers before this one get a gradient."""
        return True

    @property
    def forward_alone(self) -> str:
        """Why the layer has no gradients and cannot be in a network that is trained; empty for one that can."""
        return "it writes into the network's input" if self.WRITES_INPUT else ""

    @property
    def numbers_below(self) -> int:
        """What the whole numbers that it reads must be less than; 0 for a kind that reads none."""
        return 0

    def dtype_of(self, role: str) -> str:
        """Return the type of the elements of the parameter with this role."""
        return "float32"

    @property
    def shared_with(self) -> str:
        """The layer whose parameters it uses; empty for one with parameters of its own, or none."""
        return ""

    def shared(self, inputs: Sequence[Shape]) -> Mapping[str, Shape]:
        """Return the parameters of that other layer that it uses, which `anatomy` does not have."""
        return {}

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape; raise ShapeError for inputs that the kind cannot take."""
        return inputs[0]

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        """Return the layer's parameters, state and saved tensors."""
        return LayerTensors()

    def gemm(self, inputs: Sequence[Shape]) -> Gemm | None:
        """Return the forward pass as matrix products for one image; None for kinds that compute no products."""
        return None

    def operations(self, inputs: Sequence[Shape]) -> int:
        """Count arithmetic and logical operations of one image's forward pass, as ICPE 2018's table 1 counts them."""
        gemm = self.gemm(inputs)
        return 2 * gemm.macs if gemm else self.OPERATIONS * elements(self.output(inputs))

    def forward(self, training: bool) -> PassSpec | None:
        """Return the forward pass; None if the output is the input, so that nothing is computed."""
        return self.FORWARD

    def backward(self) -> tuple[PassSpec, ...]:
        """Return the passes that compute gradients; gradients not needed, and passes without others, are left out."""
        return self.BACKWARD

    def why_after_relu_apart(self) -> str | None:
        """Return why the layer is no part of the step of a joined ReLU before it; '' where it can be one, None for
        kinds that never are.
        """
        return None

    def ends_with_softmax(self, shape: Shape, classes: int | None) -> bool:
        """Tell whether the output of this shape is a softmax over so many classes, which the loss then computes."""
        return False

    def operator(self, layer: LayerPass) -> Primitive:
        """Return the primitive of the forward pass, whose own `backward_passes` compute the gradients."""
        raise OperatorError("there is no operator for it")

    def roles(self, layer: LayerPass) -> Mapping[str, str]:
        """Return the layer's role of each operand of `operator` with another name; gradients follow."""
        return {}

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        """Return the primitives of a pass, in order; raises UserError if it cannot be computed."""
        forward, roles = self.operator(layer), self.roles(layer)
        roles = {**roles, **{f"d{name}": f"d{role}" for name, role in roles.items()}}
        made = (forward,) if layer.is_forward else forward.backward_passes()
        return tuple(PrimitiveUse(primitive, roles) for primitive in made)

    def why_dense(self, layer: LayerPass) -> str:
        """Say why a pass skips no zeros although the iteration should; '' where it does, or has no such algorithm."""
        return ""

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        """Return the shape of the workspace that a pass needs, of an image's where it works image by image; (0,) if it
        needs none.
        """
        return (0,)

    def fan_in(self, weight: Shape) -> int:
        """Return the inputs that an output is a weighted sum of. weight: the shape of the parameter of that name."""
        return elements(weight[1:])

    def check_one_shape(self, inputs: Sequence[Shape]) -> None:
        """Raise ShapeError unless all inputs have the same shape."""
        if len(set(inputs)) > 1:
            raise ShapeError(f"inputs of shapes {', '.join(map(format_shape, inputs))}: all must have the same shape")
