"""The tensors of an iteration in one device memory, at the offsets of its memory plan.

Host memory is taken by what is touched alone, so that addresses, pages and channels are those of the whole network.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.formats import GROUPED_1
from gpusim.base.host_memory import returnable
from gpusim.model.core.gpu_spec import GpuSpec
from isa.device_memory import VIRTUAL_BASE, Allocation, DeviceMemory
from workloads.networks.binding import StepPrimitive, bind_primitives
from workloads.networks.kind import IterationSettings
from workloads.networks.memory import ALIGNMENT, MemoryPlan, plan
from workloads.networks.schedule import Schedule, Step
from workloads.networks.tensor import TensorRole
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import OperatorError, TensorOperator, place
from workloads.operators.tensor import Operand, Tensor
from workloads.shapes import round_up

OVERHEAD_BYTES = 3 << 20  # beside the plan: guards of the allocation, and the code of all shipped kernels (1.7 MB)
ROLE_DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "uint32": np.dtype(np.uint32),
    "uint8": np.dtype(np.uint8),
}


def network_plan(schedule: Schedule, iteration: IterationSettings = IterationSettings()) -> MemoryPlan:
    """Return the memory plan with the workspace that the operators need.

    Args:
        schedule: Steps of the iteration.
        iteration: Ways of the iteration.

    Raises:
        UserError: An operator cannot be computed.
    """

    def workspace(schedule: Schedule, step: Step) -> int:
        return max(_scratch_bytes(part) for part in bind_primitives(schedule, step, iteration))

    return plan(schedule, workspace)


def fits(planned: MemoryPlan, gpu: GpuSpec) -> bool:
    """Tell whether the GPU's memory holds the plan."""
    return planned.bytes <= (gpu.memory_mib << 20) - OVERHEAD_BYTES


def check_memory_capacity(planned: MemoryPlan, gpu: GpuSpec, with_batch: Callable[[int], MemoryPlan]) -> None:
    """Raise UserError where the GPU's memory does not hold the plan: where, how much, and which batch would fit.

    Args:
        planned: Memory plan of the iteration.
        gpu: The GPU.
        with_batch: Makes the plan for another batch.
    """
    if fits(planned, gpu):
        return
    space = (gpu.memory_mib << 20) - OVERHEAD_BYTES
    schedule = planned.schedule
    most, too_many = 0, schedule.batch
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if with_batch(middle).bytes <= space else (most, middle)
    step = schedule.steps[planned.peak]
    raise UserError(
        f"{schedule.network.source}: layer '{step.layer}' ({step.what}): {GROUPED_1(planned.bytes / (1 << 20))} MiB"
        f" of memory with batch {schedule.batch}; {gpu.name} has {gpu.memory_mib} MiB (gpu.memory_mib):"
        f" {f'a batch of {most} fits' if most else 'no batch fits'}"
    )


@dataclass(frozen=True)
class Storage:
    """The device memory of a memory plan."""

    plan: MemoryPlan
    """Memory plan."""
    memory: DeviceMemory
    """Device memory."""
    whole: Allocation
    """Allocation that contains all buffers."""
    has_memory: bool = True
    """The allocation has memory; False: it has addresses only."""

    @classmethod
    def allocate(cls, planned: MemoryPlan, gpu: GpuSpec, beside_bytes: int = 0) -> "Storage":
        """Allocate zeroed memory; raises DeviceMemoryError where the GPU's memory is too small (see
        `check_memory_capacity`).

        beside_bytes: that it has in addition to the GPU's, as for the code of many kernels.
        """
        # what lies above the plan is never reached; a host may not even promise a large GPU's memory
        needed = round_up(planned.bytes, ALIGNMENT) + OVERHEAD_BYTES
        size = min(gpu.memory_mib << 20, needed) + beside_bytes
        memory = DeviceMemory(size, *returnable(size), architecture=gpu.architecture)
        return cls(planned, memory, memory.allocate(max(planned.bytes, ALIGNMENT), "the network"))

    @classmethod
    def allocate_addresses(cls, planned: MemoryPlan) -> "Storage":
        """Return addresses alone, without memory: launches over them can be inspected, but not run."""
        nowhere = Allocation("the network", VIRTUAL_BASE + ALIGNMENT, planned.bytes)
        return cls(planned, DeviceMemory(ALIGNMENT), nowhere, has_memory=False)

    def array(self, name: str) -> np.ndarray:
        """Return a tensor of the schedule, as a view."""
        tensor = self.plan.schedule.tensors[name]
        return self._tensor(name, Operand(tensor.shape, ROLE_DTYPES[tensor.dtype])).array

    def operators(self, step: Step, gpu: GpuFacts, iteration: IterationSettings) -> tuple[TensorOperator, ...]:
        """Make the operators of a step, over its tensors; raises UserError that names the layer."""
        schedule, made = self.plan.schedule, []
        for part in bind_primitives(schedule, step, iteration):
            operands = {**part.primitive.takes, **part.primitive.gives}
            tensors = {name: self._tensor(part.tensors[name], operands[name]) for name in part.tensors}
            at = self.whole.address + self._scratch_offset(step)
            for name, operand in _scratch(part).items():
                tensors[name] = Tensor(self.memory, at, operand.shape, operand.dtype)
                at += round_up(operand.size_bytes, ALIGNMENT)
            try:
                made.append(place(part.primitive, tensors, gpu))
            except OperatorError as error:
                where = f"{schedule.network.source}: layer '{step.layer}' ({step.what})"
                raise UserError(*(f"{where}: {problem}" for problem in error.problems)) from None
        return tuple(made)

    def _scratch_offset(self, step: Step) -> int:
        if not self.has_memory:  # the plan may be one without the operators' workspace
            return round_up(self.plan.bytes, ALIGNMENT)
        buffer = self.plan.buffer_of.get(f"{step.name}.workspace")
        return buffer.offset if buffer else 0

    def _tensor(self, name: str, operand: Operand) -> Tensor:
        """Return a tensor with the shape that its operator gives it."""
        held = self.plan.schedule.tensors[name]
        if (held.elements, ROLE_DTYPES[held.dtype]) != (operand.size, operand.dtype):
            raise UserError(f"tensor '{name}' of {held.shape}, {held.dtype}: the operator needs {operand.shape}")
        address = self.whole.address + self.plan.buffer_of[name].offset
        return Tensor(self.memory, address, operand.shape, operand.dtype)


def launch_counts(planned: MemoryPlan, gpu: GpuFacts) -> Callable[[Step], int | None]:
    """Return a function that counts the kernels that a step launches; None for a step that no operator computes.

    Args:
        planned: Memory plan of the iteration.
        gpu: Facts of the GPU.
    """
    storage = Storage.allocate_addresses(planned)

    def count(step: Step) -> int | None:
        try:
            return sum(len(operator.launches) for operator in storage.operators(step, gpu, IterationSettings()))
        except UserError:
            return None

    return count


def _scratch(part: StepPrimitive) -> dict[str, Operand]:
    """Return the operands that need memory in the workspace: the primitive's own, and results that nothing needs."""
    unused = {name: operand for name, operand in part.primitive.gives.items() if name not in part.tensors}
    return {**part.primitive.workspace, **unused}


def _scratch_bytes(part: StepPrimitive) -> int:
    return sum(round_up(operand.size_bytes, ALIGNMENT) for operand in _scratch(part).values())


def written_results(schedule: Schedule) -> set[str]:
    """Return the tensors that a user may ask for: outputs of the network, the loss, gradients of parameters and of
    inputs.
    """
    roles = (TensorRole.LOSS, TensorRole.PARAMETER_GRADIENT)
    found = {name for name, tensor in schedule.tensors.items() if tensor.role in roles}
    found |= {schedule.get_memory_tensor(schedule.outputs[layer.name]) for layer in schedule.network.outputs}
    gradients = {f"{schedule.outputs[name]}.gradient" for name in schedule.network.inputs}
    return found | (gradients & set(schedule.tensors))
