"""What a kind of layer answers: its output's shape, its parameters, its work, and what its passes read and write.

A kind is a `Spec`: its fields are the parameters of one layer, checked like every configuration. Shapes are an image's:
the batch is no part of them, since no kind's answer but the number of images depends on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from gpusim.base.spec import Spec
from workloads.networks.tensor import Shape, elements, format_shape


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
    k: int
    n: int
    count: int = 1
    wider: bool = False  # a batch widens N; otherwise it multiplies `count`

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


def weighted_forward(bias: bool) -> PassSpec:
    """Return the forward pass of a layer that has weights, and a bias or none."""
    return PassSpec(Pass.FORWARD, ("x", "weight", "bias") if bias else ("x", "weight"), ("y",))


def weighted_backward(bias: bool) -> tuple[PassSpec, ...]:
    """Return a pass each for the gradients of weights, bias and data."""
    return (
        PassSpec(Pass.BACKWARD_WEIGHTS, ("x", "dy"), ("dweight",)),
        *((PassSpec(Pass.BACKWARD_BIAS, ("dy",), ("dbias",)),) if bias else ()),
        PassSpec(Pass.BACKWARD_DATA, ("weight", "dy"), ("dx",)),
    )


@dataclass(frozen=True)
class LayerTensors:
    """The tensors that a layer holds besides its inputs and its output, by role."""

    parameters: Mapping[str, Shape] = field(default_factory=dict)
    state: Mapping[str, Shape] = field(default_factory=dict)
    saved: Mapping[str, SavedTensor] = field(default_factory=dict)


class LayerKind(Spec):
    """Base of every kind; `inputs` are the shapes of what the layer reads, in order."""

    # fewest and most inputs; None: any number
    ARITY: ClassVar[tuple[int, int | None]] = (1, 1)
    # the gradient of each input is that of the output: no backward pass
    SHARES_GRADIENT: ClassVar[bool] = False
    # of its output, the backward pass needs to know where that is positive, and only where `dy` is not zero
    NEEDS_SIGN_ALONE: ClassVar[bool] = False
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
