"""What a case of the suite is."""

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.core.gpu_spec import GpuSpec
from isa.launch import Launch
from spartan.engine_spec import EngineSpec


@dataclass(frozen=True)
class Prepared:
    """A launch with its data in device memory, and the engine that serves it.

    before: launches that make its data; moved_bytes: that it reads and stores, about, where it may have a family.
    """

    launch: Launch
    gpu: GpuSpec
    engine: EngineSpec | None = None
    before: tuple[Launch, ...] = ()
    moved_bytes: float = 0.0


@dataclass(frozen=True)
class Case:
    """A launch of the suite. kind: what it is an example of; what: its description; make: puts it into device
    memory; example: the same of a launch that it may be estimated from, if there is one.
    """

    name: str
    kind: str
    what: str
    make: Callable[[], Prepared]
    example: Callable[[], Prepared] | None = None
