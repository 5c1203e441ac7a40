"""The memory of an iteration: what lives from which step to which, what shares memory, and where it lies.

What is there before the iteration and after it (parameters, the optimizer's moments) lives throughout. Everything else
lives from the step that writes it to the last that reads it; an output of the network, until the end. A layer works in
place where its kind says so and nothing reads its input later, as ReLU and dropout do in Caffe's networks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpusim.base.errors import UserError
from workloads.networks.schedule import Schedule, Step
from workloads.networks.tensor import ScheduleTensor, TensorRole, elements
from workloads.shapes import round_up

ALIGNMENT = 256  # bytes; what hipMalloc and clBuffers of AMD's run-times keep
MOST_BYTES = 1 << 44  # of a tensor: 16 TiB; offsets of thousands of them fit 64 bits
THROUGHOUT = (TensorRole.PARAMETER, TensorRole.STATE)
Workspace = Callable[[Schedule, Step], int]  # bytes that a step needs beside its tensors


@dataclass(frozen=True)
class Buffer:
    """Memory that several tensors use one after another."""

    tensors: tuple[str, ...]
    """Names of the tensors."""
    bytes: int
    """Size in bytes."""
    first: int
    """First step that uses it."""
    last: int
    """Last step that uses it."""
    layer: str
    """Layer of its earliest tensor, to which the buffer counts."""
    role: TensorRole
    """Role of its tensors."""
    offset: int = 0
    """Offset from the start of the plan in bytes."""


@dataclass(frozen=True)
class MemoryPlan:
    """Memory offsets of all buffers of a schedule."""

    schedule: Schedule
    """Schedule."""
    buffers: tuple[Buffer, ...]
    """Buffers."""
    bytes: int
    """Size up to the last byte in use."""

    @cached_property
    def buffer_of(self) -> Mapping[str, Buffer]:
        """The buffer of each tensor, views included, and of the workspace of each step by the step's name."""
        found = {name: buffer for buffer in self.buffers for name in buffer.tensors}
        return found | {view: found[self.schedule.get_memory_tensor(view)] for view in self.schedule.views}

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        """The bytes in use in each step."""
        changes = [0] * (len(self.schedule.steps) + 1)
        for buffer in self.buffers:
            changes[buffer.first] += buffer.bytes
            changes[buffer.last + 1] -= buffer.bytes
        total, live = 0, []
        for change in changes[:-1]:
            total += change
            live.append(total)
        return tuple(live)

    @property
    def peak(self) -> int:
        """The step in which most bytes are in use: no placement can do with fewer than these."""
        return max(range(len(self.live_bytes)), key=self.live_bytes.__getitem__)


def im2col_per_image(schedule: Schedule, step: Step) -> int:
    """Return the workspace in bytes of layers that work image by image, as Caffe does with a GEMM library."""
    layer = schedule.network[step.layer]
    return 4 * elements(layer.kind.workspace(step.what, layer.input_shapes, schedule.batch, schedule.training))


def no_workspace(schedule: Schedule, step: Step) -> int:
    """Return 0, for algorithms that need no workspace, such as implicit GEMM.

    Args:
        schedule: Steps of the iteration.
        step: One of its steps.
    """
    return 0


def plan(schedule: Schedule, workspace: Workspace = im2col_per_image) -> MemoryPlan:
    """Place the buffers of an iteration: the largest first, each into the smallest gap that holds it.

    Args:
        schedule: Steps of the iteration.
        workspace: Returns the workspace of a step in bytes.

    Raises:
        UserError: A tensor is larger than the limit `MOST_BYTES`.
    """
    buffers = [*_of_tensors(schedule), *_of_workspace(schedule, workspace)]
    for buffer in buffers:
        if buffer.bytes > MOST_BYTES:
            raise UserError(
                f"{schedule.network.source}: layer '{buffer.layer}': {buffer.tensors[0]} has {buffer.bytes} bytes with"
                f" batch {schedule.batch}; allowed are at most {MOST_BYTES}"
            )
    placed = _placed(buffers)
    order = sorted(placed, key=lambda b: (b.first, b.last, b.tensors))
    return MemoryPlan(schedule, tuple(order), max((b.offset + b.bytes for b in order), default=0))


def _of_tensors(schedule: Schedule) -> list[Buffer]:
    first, last = _uses(schedule)
    position = schedule.network.positions
    shared = _in_place(schedule, first, last)
    members: dict[str, list[ScheduleTensor]] = {}
    for name, tensor in schedule.tensors.items():
        if name not in schedule.views and name in last:
            members.setdefault(_root(shared, name), []).append(tensor)
    buffers = []
    for root, tensors in members.items():
        names = sorted((t.name for t in tensors), key=lambda name: first[name])
        owner = min((t.layer for t in tensors), key=lambda layer: position.get(layer, -1))
        size = round_up(max(t.bytes for t in tensors), ALIGNMENT)
        begin, end = min(first[n] for n in names), max(last[n] for n in names)
        buffers.append(Buffer(tuple(names), size, begin, end, owner, schedule.tensors[root].role))
    return buffers


def _uses(schedule: Schedule) -> tuple[dict[str, int], dict[str, int]]:
    """Return the first and the last step that uses each tensor; use of a view counts for the tensor that it shows.

    Tensors that no step uses are left out, except inputs.
    """
    end = len(schedule.steps) - 1
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, step in enumerate(schedule.steps):
        for name in (*step.reads.values(), *step.writes.values()):
            name = schedule.get_memory_tensor(name)
            first.setdefault(name, number)
            last[name] = number
    for name, tensor in schedule.tensors.items():
        if tensor.role in THROUGHOUT and name in first:
            first[name], last[name] = 0, end
        elif tensor.role is TensorRole.INPUT:
            first[name], last[name] = 0, last.get(name, 0)
    read = {schedule.get_memory_tensor(name) for step in schedule.steps for name in step.reads.values()}
    outputs = {schedule.get_memory_tensor(schedule.outputs[layer.name]) for layer in schedule.network.outputs}
    for name in first:
        result = name not in read and schedule.tensors[name].role is not TensorRole.SAVED
        if result or (name in outputs and not schedule.training):
            last[name] = end
    return first, last


def _in_place(schedule: Schedule, first: Mapping[str, int], last: Mapping[str, int]) -> dict[str, str]:
    """Return, for each tensor that takes over the memory of another one, that other one."""
    shared: dict[str, str] = {}
    for number, step in enumerate(schedule.steps):
        if step.in_place is None or step.in_place[1] not in step.writes:
            continue
        read, written = schedule.get_memory_tensor(step.reads[step.in_place[0]]), step.writes[step.in_place[1]]
        source = schedule.tensors[read]
        done = last[read] == number and first[written] == number
        if (
            done
            and source.role not in (*THROUGHOUT, TensorRole.INPUT)
            and source.bytes == schedule.tensors[written].bytes
        ):
            shared[written] = read
    return shared


def _root(shared: Mapping[str, str], name: str) -> str:
    while name in shared:
        name = shared[name]
    return name


def _of_workspace(schedule: Schedule, workspace: Workspace) -> list[Buffer]:
    buffers = []
    for number, step in enumerate(schedule.steps):
        size = workspace(schedule, step)
        if size:
            name = f"{step.name}.workspace"
            buffers.append(Buffer((name,), round_up(size, ALIGNMENT), number, number, step.layer, TensorRole.WORKSPACE))
    return buffers


def _placed(buffers: Sequence[Buffer]) -> list[Buffer]:
    """Return the buffers with their offsets; two that are in use at the same time do not overlap."""
    ordered = sorted(buffers, key=lambda b: (-b.bytes, b.first, b.tensors))
    first, last, size = (np.array([getattr(b, name) for b in ordered], np.int64) for name in ("first", "last", "bytes"))
    offset = np.zeros_like(size)
    for number in range(len(ordered)):
        meets = np.flatnonzero((first[:number] <= last[number]) & (last[:number] >= first[number]))
        taken = meets[np.argsort(offset[meets], kind="stable")]
        ends = np.maximum.accumulate(np.concatenate(([0], offset[taken] + size[taken])))
        gaps = offset[taken] - ends[:-1]
        wide = np.flatnonzero(gaps >= size[number])
        offset[number] = ends[wide[np.argmin(gaps[wide])]] if len(wide) else ends[-1]
    return [replace(buffer, offset=int(place)) for buffer, place in zip(ordered, offset, strict=True)]
