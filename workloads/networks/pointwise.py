"""Layers that treat every value by itself: activation functions and dropout."""

from collections.abc import Sequence
from typing import ClassVar

from gpusim.base.spec import param
from workloads.networks.kind import Anatomy, LayerKind, Pass, PassSpec, Saved
from workloads.networks.tensor import Shape


class Relu(LayerKind):
    """max(0, x), in place as Caffe's networks have it."""

    NEEDS_SIGN_ALONE: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",), in_place=("dy", "dx")),)


class Sigmoid(LayerKind):
    """1 / (1 + e^−x)."""

    OPERATIONS: ClassVar = 4
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class Tanh(LayerKind):
    """Hyperbolic tangent, tanh x."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class Dropout(LayerKind):
    """In training, a share of the values becomes zero and the others grow so that the mean stays; not in inference."""

    KEEPS_SIGN: ClassVar = True
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("mask", "dy"), ("dx",), in_place=("dy", "dx")),)

    probability: float = param(0.5, "share of values that become zero", "Srivastava 2014", ge=0, lt=1)
    seed: int = param(0, "seed of the choice", "DNNMark, core/include/dnn_param.h", ge=0, lt=2**63)

    def anatomy(self, inputs: Sequence[Shape]) -> Anatomy:
        return Anatomy(saved={"mask": Saved(inputs[0], "uint8")})

    def forward(self, training: bool) -> PassSpec | None:
        return PassSpec(Pass.FORWARD, ("x",), ("y", "mask"), in_place=("x", "y")) if training else None
