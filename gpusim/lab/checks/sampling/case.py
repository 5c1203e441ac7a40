"""What a case of the suite is."""

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch
from spartan.engine_spec import EngineSpec


@dataclass(frozen=True)
class SamplingLaunch:
    """A launch with its data in device memory."""

    launch: Launch
    """Launch."""
    gpu: GpuSpec
    """GPU."""
    engine: EngineSpec | None = None
    """Engine that serves the launch; None: no engine."""
    before: tuple[Launch, ...] = ()
    """Launches that produce its data."""


@dataclass(frozen=True)
class SamplingCase:
    """A launch of the suite."""

    name: str
    """Name."""
    kind: str
    """Class of launches that it represents."""
    what: str
    """Description."""
    make: Callable[[], SamplingLaunch]
    """Puts the launch into device memory."""
    seed: int | None = None
    """Seed of a generated launch."""
    instructions: int = 0
    """Wavefront instructions, about; 0: not known."""
