"""What a HIP program launches, kept instead of timed: run again later, in the same device memory, as often as one
likes.

Launches may depend on what others computed and on what the host wrote between them. So they can be executed while they
are kept; what the host has written since the launch before is then found by comparison and kept as well. Nothing that
the program frees is given to another use. An event that the program records begins it: nothing before is kept.
"""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO

import numpy as np

from gpusim.base.launch_selector import ProgramLine
from gpusim.base.progress import Reporter
from gpusim.jobs.hip.launching import LaunchOptions, ProgramLaunches
from gpusim.jobs.hip.session import Session
from gpusim.jobs.hip.supervisor import HostProgram, run_program
from gpusim.model.core.gpu_spec import GpuSpec
from isa.device_memory import VIRTUAL_BASE, Allocation, DeviceMemory
from isa.launch import Launch
from isa.object.bundle import code_objects
from isa.object.code_object import Kernel, load_kernels


@dataclass(frozen=True, eq=False)
class HostWrite:
    """Bytes that the host wrote to device memory between two launches."""

    memory: DeviceMemory
    """Device memory."""
    address: int
    """Address of the first byte."""
    content: np.ndarray
    """uint8 [bytes]: the bytes."""

    def again(self) -> None:
        """Write the bytes again."""
        at = self.address - VIRTUAL_BASE
        self.memory.image[at : at + len(self.content)] = self.content


@dataclass
class ProgramRecording:
    """Recorded launches of a program."""

    code_of_exit: int = 0
    """Exit code of the program."""
    memory: DeviceMemory | None = None
    """Device memory; None: nothing was recorded."""
    steps: list[Launch | HostWrite] = field(default_factory=list)
    """Launches and the host's writes between them, in order."""
    before: list[HostWrite] = field(default_factory=list)
    """Contents of the allocations before the first launch after each was created."""
    allocations: list[Allocation] = field(default_factory=list)
    """Allocations of the program, oldest first."""
    code: list[bytes] = field(default_factory=list)
    """Loaded code objects."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches without the host's writes."""
        return tuple(step for step in self.steps if isinstance(step, Launch))

    def begin(self) -> None:
        """Restore device memory as it was before the first launch."""
        for held in self.before:
            held.again()

    def with_code(self, changed: Callable[[bytes, list[Kernel]], bytes]) -> None:
        """Replace the code of the launches by what `changed` makes of each code object and its launched kernels."""
        names = {launch.kernel.name for launch in self.launches}
        ready: dict[str, Kernel] = {}
        for data in self.code:
            (image,) = code_objects(BytesIO(data))
            kernels = load_kernels(image)
            mine = [kernels[name] for name in sorted(names & set(kernels) - set(ready))]
            if mine:
                others = load_kernels(changed(image, mine))
                ready |= {kernel.name: others[kernel.name] for kernel in mine}
        self.steps = [
            replace(step, kernel=ready.get(step.kernel.name, step.kernel)) if isinstance(step, Launch) else step
            for step in self.steps
        ]


class _RecordingSession(Session):
    """A session that keeps the launches of one process."""

    def __init__(
        self,
        connection: socket.socket,
        file: int,
        gpu: GpuSpec,
        reporter: Reporter,
        recording: ProgramRecording,
        execute: bool,
    ) -> None:
        super().__init__(connection, file, LaunchOptions(gpu, timing=False), ProgramLaunches(), reporter, lambda: False)
        self._recording, self._executes = recording, execute
        self._held: dict[int, np.ndarray] = {}  # by address, what allocations held after the last launch
        recording.memory = self._memory

    def _allocate(self, size: int, kind: int, rest: bytes) -> bytes:
        answer = super()._allocate(size, kind, rest)
        self._recording.allocations = list(self._allocations.values())
        return answer

    def _free(self, address: int, _: bytes) -> None:
        """Free nothing: a launch that is run again must find the memory where it was."""

    def _load(self, data: bytes) -> bytes:
        self._recording.code.append(data)
        return super()._load(data)

    def _record(self, event: int, stream: int, rest: bytes) -> None:
        super()._record(event, stream, rest)
        self._recording.steps.clear()
        self._recording.before.clear()
        self._held.clear()

    def _run(self, launch: Launch, stream: int, line: ProgramLine | None) -> None:
        if self._executes:
            self._note_writes()
        self._recording.steps.append(launch)
        if self._executes:
            super()._run(launch, stream, line)
            self._held = {address: view.copy() for address, view in self._views().items()}

    def _views(self) -> Mapping[int, np.ndarray]:
        return {address: self._memory.view(held) for address, held in self._allocations.items()}

    def _note_writes(self) -> None:
        for address, view in self._views().items():
            held = self._held.get(address)
            if held is None:
                self._recording.before.append(HostWrite(self._memory, address, view.copy()))
            elif (changed := np.flatnonzero(view != held)).size:
                first, last = int(changed[0]), int(changed[-1])
                content = view[first : last + 1].copy()
                self._recording.steps.append(HostWrite(self._memory, address + first, content))


def record(program: HostProgram, gpu: GpuSpec, reporter: Reporter, execute: bool) -> ProgramRecording:
    """Run a program of one process to its end and keep what it launches.

    Args:
        program: the program.
        gpu: the GPU.
        reporter: notified of progress.
        execute: execute its launches, in order; otherwise they are only kept.

    Returns:
        The launches.

    Raises:
        ProgramError: the program failed.
        HipBuildError: the runtime library cannot be built.
    """
    recording = ProgramRecording()

    def sessions() -> Callable[[socket.socket, int], Session]:
        return lambda connection, file: _RecordingSession(connection, file, gpu, reporter, recording, execute)

    recording.code_of_exit = run_program(program, reporter, sessions, lambda: False)
    return recording
