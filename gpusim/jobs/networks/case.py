"""A step of a schedule as the rows of `binding` see it, and what they make of it: primitives with their tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config.network_run import AUTO, DEFAULT_ALGORITHM, DEFAULT_ATTENTION, NetworkSettings, TrainingSpec
from gpusim.jobs.networks.library import library_multiplier
from workloads.networks.graph import Layer
from workloads.networks.kind import Pass
from workloads.networks.schedule import Schedule, Step
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.primitive import Primitive
from workloads.operators.tensor import Shape
from workloads.operators.tiles import Multiplier


@dataclass(frozen=True)
class StepPrimitive:
    """A primitive of a step."""

    primitive: Primitive
    """Primitive."""
    tensors: Mapping[str, str]
    """Tensor of the schedule for each operand and result that has one."""
    apart: tuple[str, str] | None = None
    """Joined layer that runs as this separate primitive, and the reason; None: no such layer."""


@dataclass(frozen=True)
class IterationSettings:
    """Inputs to a step's primitives besides the schedule."""

    number: int = 1
    """Number of the iteration, from 1."""
    training: TrainingSpec = field(default_factory=TrainingSpec)
    """Update of the parameters."""
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

    @classmethod
    def under(
        cls,
        settings: NetworkSettings,
        number: int = 1,
        sparse: bool = False,
        chosen: Mapping[tuple[str, Pass], str] | None = None,
    ) -> "IterationSettings":
        """Make an iteration from the settings. sparse: skip zeros of activation maps; chosen: by
        `gpusim.jobs.networks.choice`.
        """
        skipping = settings.sparse_convolution if sparse else None
        usual = DEFAULT_ALGORITHM if settings.convolution == AUTO else settings.convolution
        buffer, gradients = settings.convolution_buffer_bytes, settings.sparse_gradients
        multiplier = library_multiplier(settings.products, settings.gpu)
        attention = DEFAULT_ATTENTION if settings.attention == AUTO else settings.attention
        return cls(
            number=number,
            training=settings.training,
            convolution=usual,
            sparse_convolution=skipping,
            sparse_gradients=gradients,
            convolution_buffer_bytes=buffer,
            attention=attention,
            chosen=chosen or {},
            multiplier=multiplier,
        )


@dataclass(frozen=True)
class StepContext:
    """A step in its schedule: the argument of every row."""

    schedule: Schedule
    step: Step
    iteration: IterationSettings

    @property
    def layer(self) -> Layer:
        """The layer to which the step belongs."""
        return self.schedule.network[self.step.layer]

    @property
    def kind(self) -> Any:
        """The layer's kind, with its values."""
        return self.layer.kind

    def shape(self, role: str) -> Shape:
        """Return the shape of the tensor with a role, including the batch."""
        step = self.step
        return self.schedule.tensors[step.reads[role] if role in step.reads else step.writes[role]].shape

    @property
    def input_shape(self) -> Shape:
        """The shape of the layer's first input, including the batch."""
        return (self.schedule.batch, *self.layer.input_shapes[0])

    @property
    def output_shape(self) -> Shape:
        """The shape of the layer's output, including the batch."""
        return (self.schedule.batch, *self.layer.shape)

    def refuse(self, problem: str) -> UserError:
        """Return the error that says what is not possible in this step."""
        source = self.schedule.network.source
        return UserError(f"{source}: layer '{self.step.layer}' ({self.layer.kind_name}, {self.step.what}): {problem}")


@dataclass(frozen=True)
class PrimitiveUse:
    """A primitive with the names of its operands and results in the layer."""

    primitive: Primitive
    """Primitive."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role of each operand or result whose own name differs from it."""
    apart: tuple[str, str] | None = None
    """Joined layer that runs as this separate primitive, and the reason; None: no such layer."""


Row = Callable[[StepContext], PrimitiveUse | tuple[PrimitiveUse, ...]]
