"""What a case of the suite is."""

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch
from spartan.engine_spec import EngineSpec


@dataclass(frozen=True)
class SamplingLaunch:
    """A launch with its data in device memory, and the engine that serves it. before: launches that make its data."""

    launch: Launch
    gpu: GpuSpec
    engine: EngineSpec | None = None
    before: tuple[Launch, ...] = ()


@dataclass(frozen=True)
class SamplingCase:
    """A launch of the suite. kind: what it is an example of; what: its description; make: puts it into device
    memory.
    """

    name: str
    kind: str
    what: str
    make: Callable[[], SamplingLaunch]
