"""What may watch a launch cycle by cycle: the interface through which a timeline is drawn."""

from collections.abc import Sequence
from typing import Protocol

from gpusim.base.jit import Machine
from gpusim.model.core.gpu_spec import GpuSpec
from isa.encoding.instruction import Instruction


class LaunchRecording(Protocol):
    """One launch that is being watched: it advances the machine itself, so that it can stop where it wants to look."""

    def advance(self, limit: int) -> int:
        """Run the machine to cycle `limit`; returns what `run_cycles` returns."""

    def finish(self) -> None:
        """Finish the recording, as the launch has ended."""


class Watcher(Protocol):
    """Watches launches, one after another."""

    def attach(self, m: Machine, kernel: str, gpu: GpuSpec, instructions: Sequence[Instruction]) -> LaunchRecording:
        """Begin to watch the machine `m`, which is about to run `kernel`."""
