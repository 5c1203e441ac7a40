"""From a step of a schedule to primitives over the schedule's tensors.

A step of a layer's own pass becomes the primitives that the layer's kind names; passes that are the same for all kinds,
such as updates, have a function here. The roles of a step are the names of its primitive's operands, except where the
kind says so. A result that the step leaves out, since nothing needs it, is stored into the step's workspace.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from gpusim.base.errors import UserError
from workloads.networks.kind import IterationSettings, LayerPass, Pass, PrimitiveUse
from workloads.networks.schedule import Schedule, Step, classes_of
from workloads.operators.add import Add
from workloads.operators.bias import BiasBackward
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.primitive import Primitive
from workloads.operators.softmax import SoftmaxLossBackward, SoftmaxLossForward
from workloads.shapes import Shape

STREAMS = 1 << 32  # of random numbers


@dataclass(frozen=True)
class StepPrimitive:
    """A primitive of a step."""

    primitive: Primitive
    """Primitive."""
    tensors: Mapping[str, str]
    """Tensor of the schedule for each operand and result that has one."""
    apart: tuple[str, str] | None = None
    """Joined layer that runs as this separate primitive, and the reason; None: no such layer."""


def bind_primitives(
    schedule: Schedule, step: Step, iteration: IterationSettings = IterationSettings()
) -> tuple[StepPrimitive, ...]:
    """Return the primitives of a step, in order.

    Args:
        schedule: Steps of the iteration.
        step: One of its steps.
        iteration: Ways of the iteration.

    Raises:
        UserError: It cannot be computed; the message names the layer.
    """
    common = COMMON.get(step.what)
    try:
        if common is not None:
            uses: tuple[PrimitiveUse, ...] = (PrimitiveUse(common(schedule, step, iteration)),)
        else:
            uses = schedule.network[step.layer].kind.primitives(layer_pass(schedule, step, iteration))
    except UserError as error:
        source, kind = schedule.network.source, schedule.network[step.layer].kind_name
        raise UserError(f"{source}: layer '{step.layer}' ({kind}, {step.what}): {error}") from None
    return tuple(_over_tensors(step, use) for use in uses)


def layer_pass(schedule: Schedule, step: Step, iteration: IterationSettings) -> LayerPass:
    """Return what a layer's kind needs to know of a step to name its primitives."""
    network = schedule.network
    layer = network[step.layer]
    stream = (iteration.number - 1) * len(network.layers) + network.positions[layer.name]
    return LayerPass(
        layer=layer.name,
        stream=stream % STREAMS,
        what=step.what,
        batch=schedule.batch,
        inputs=layer.input_shapes,
        shape=layer.shape,
        reads_input=any(name in network.inputs for name in layer.inputs),
        writes=step.writes.keys(),
        joined=step.joined,
        settings=iteration,
    )


def _over_tensors(step: Step, use: PrimitiveUse) -> StepPrimitive:
    tensors = {}
    for name in use.primitive.takes:
        role = use.roles.get(name, name)
        # a later primitive of the step may take what an earlier one gave
        tensors[name] = step.reads[role] if role in step.reads else step.writes[role]
    for name in use.primitive.gives:
        role = use.roles.get(name, name)
        if role in step.writes:
            tensors[name] = step.writes[role]
    return StepPrimitive(use.primitive, tensors, use.apart)


def explain_dense_step(schedule: Schedule, step: Step, iteration: IterationSettings) -> str:
    """Say why a convolution's step skips no zeros although the iteration should.

    The text is empty if the step does skip them, or is not such a step.

    Args:
        schedule: Steps of the iteration.
        step: One of its steps.
        iteration: Ways of the iteration.
    """
    if step.what not in (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS):
        return ""
    return schedule.network[step.layer].kind.why_dense(layer_pass(schedule, step, iteration))


def explain_separate_launches(schedule: Schedule, step: Step, iteration: IterationSettings) -> dict[str, str]:
    """Say why layers that are joined to a step take launches of their own, by their names.

    Args:
        schedule: Steps of the iteration.
        step: One of its steps.
        iteration: Ways of the iteration.
    """
    if not step.joined:
        return {}
    return dict(part.apart for part in bind_primitives(schedule, step, iteration) if part.apart is not None)


def _by_label(schedule: Schedule, step: Step) -> Shape:
    """Return the shape of the classes' values of every label."""
    shape = schedule.network[step.layer].shape
    classes = classes_of(shape) or 1
    return schedule.batch * prod(shape) // classes, classes


def _update(schedule: Schedule, step: Step, iteration: IterationSettings) -> Primitive:
    shape = schedule.tensors[step.reads["w"]].shape
    if "square" in step.reads:
        return Adam(shape, iteration.number, iteration.rate, decay=iteration.decay)
    return Sgd(shape, iteration.rate, iteration.momentum, iteration.decay)


def _bias_gradient(schedule: Schedule, step: Step, iteration: IterationSettings) -> Primitive:
    layer = schedule.network[step.layer]
    shape = (schedule.batch, *layer.shape)
    return BiasBackward((prod(shape[:-1]), shape[-1]) if getattr(layer.kind, "each", False) else shape)


# passes that are the same for layers of every kind
COMMON: Mapping[Pass, Callable[[Schedule, Step, IterationSettings], Primitive]] = {
    Pass.LOSS: lambda schedule, step, iteration: SoftmaxLossForward(_by_label(schedule, step)),
    Pass.LOSS_GRADIENT: lambda schedule, step, iteration: SoftmaxLossBackward(_by_label(schedule, step)),
    Pass.GRADIENT_SUM: lambda schedule, step, iteration: Add(schedule.tensors[step.writes["y"]].shape, len(step.reads)),
    Pass.UPDATE: _update,
    Pass.BACKWARD_BIAS: _bias_gradient,
}
