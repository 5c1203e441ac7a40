"""From a step of a schedule to primitives: one row for each kind of layer and pass (`products`, `operators`).

The roles of a step are the names of its primitive's operands; a row says so where they are not. A step may need several
primitives, run one after another. A result that the step leaves out, since nothing needs it, is stored into the step's
workspace.
"""

import math
from collections.abc import Mapping

from gpusim.base.errors import UserError
from gpusim.jobs.networks.case import IterationSettings, PrimitiveUse, Row, StepContext, StepPrimitive
from gpusim.jobs.networks.operators import OPERATORS
from gpusim.jobs.networks.products import PRODUCTS, build_convolution, explain_dense_pass
from workloads.networks.kind import Pass
from workloads.networks.schedule import Schedule, Step, classes_of
from workloads.operators.add import Add
from workloads.operators.bias import BiasBackward
from workloads.operators.conv_algorithms import ALGORITHMS
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.softmax import SoftmaxLossBackward, SoftmaxLossForward
from workloads.operators.tensor import Shape


def bind_primitives(
    schedule: Schedule, step: Step, iteration: IterationSettings = IterationSettings()
) -> tuple[StepPrimitive, ...]:
    """Return the primitives of a step, in order; raises UserError that names the layer if it cannot be computed."""
    case = StepContext(schedule, step, iteration)
    row = COMMON.get(step.what) or KINDS.get((case.layer.kind_name, step.what))
    if row is None:
        raise case.refuse("there is no operator for it")
    try:
        uses = row(case)
    except UserError as error:
        if str(error).startswith(schedule.network.source):
            raise
        raise case.refuse(str(error)) from None
    return tuple(_part(case, use) for use in (uses if isinstance(uses, tuple) else (uses,)))


def _part(case: StepContext, use: PrimitiveUse) -> StepPrimitive:
    held = {}
    for name in use.primitive.takes:
        role = use.roles.get(name, name)
        # a later primitive of the step may take what an earlier one gave
        held[name] = case.step.reads[role] if role in case.step.reads else case.step.writes[role]
    for name in use.primitive.gives:
        role = use.roles.get(name, name)
        if role in case.step.writes:
            held[name] = case.step.writes[role]
    return StepPrimitive(use.primitive, held, use.apart)


def explain_dense_step(schedule: Schedule, step: Step, iteration: IterationSettings) -> str:
    """Say why a convolution's step skips no zeros although the iteration should.

    The text is empty if the step does skip them, or is not such a step.
    """
    case = StepContext(schedule, step, iteration)
    passes = (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS)
    if iteration.sparse_convolution is None or step.what not in passes or case.layer.kind_name != "convolution":
        return ""
    return explain_dense_pass(case, ALGORITHMS[iteration.sparse_convolution], build_convolution(case))


def explain_separate_launches(schedule: Schedule, step: Step, iteration: IterationSettings) -> dict[str, str]:
    """Say why layers that are joined to a step take launches of their own, by their names."""
    if not step.joined:
        return {}
    return dict(part.apart for part in bind_primitives(schedule, step, iteration) if part.apart is not None)


def _by_label(case: StepContext) -> Shape:
    """Return the shape of the classes' values of every label."""
    classes = classes_of(case.layer.shape) or 1
    return case.schedule.batch * math.prod(case.layer.shape) // classes, classes


def _loss(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(SoftmaxLossForward(_by_label(case)))


def _loss_gradient(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(SoftmaxLossBackward(_by_label(case)))


def _gradient_sum(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(Add(case.shape("y"), len(case.step.reads)))


def _update(case: StepContext) -> PrimitiveUse:
    shape, wanted = case.shape("w"), case.iteration.training
    if "square" in case.step.reads:
        return PrimitiveUse(Adam(shape, case.iteration.number, wanted.rate, decay=wanted.decay))
    return PrimitiveUse(Sgd(shape, wanted.rate, wanted.momentum, wanted.decay))


def _bias_gradient(case: StepContext) -> PrimitiveUse:
    shape = case.output_shape
    return PrimitiveUse(
        BiasBackward((math.prod(shape[:-1]), shape[-1]) if getattr(case.kind, "each", False) else shape)
    )


# passes that are the same for layers of every kind
COMMON: Mapping[Pass, Row] = {
    Pass.LOSS: _loss,
    Pass.LOSS_GRADIENT: _loss_gradient,
    Pass.GRADIENT_SUM: _gradient_sum,
    Pass.UPDATE: _update,
    Pass.BACKWARD_BIAS: _bias_gradient,
}
_PASSES = (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS, Pass.BACKWARD)
KINDS: Mapping[tuple[str, Pass], Row] = {
    (kind, what): row for kind, row in {**PRODUCTS, **OPERATORS}.items() for what in _PASSES
}
