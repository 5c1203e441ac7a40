"""Runs microbenchmark kernels on a GPU's model, each launch by the full simulator; and what one yields.

That is single figures, which published ones may stand beside, and curves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpusim.base.progress import Progress, Reporter
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from gpusim.model.core.warm import WarmCaches
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from workloads.operators.launching import kernel_of
from workloads.toolchain.build import MICROBENCH_DIR

T = TypeVar("T")
LANES = 64
GROUP_WAVES = 4  # wavefronts of a workgroup that gives each SIMD of a compute unit one
LINE_BYTES = 64
MEMORY_MIB = 8192


class Bench:
    """A GPU to measure. `one_cu` is the same machine with a single compute unit, for what happens inside of one.

    stop: asked a few times a second; True ends the measurement with KeyboardInterrupt.
    """

    def __init__(self, gpu: GpuSpec, reporter: Reporter, stop: Callable[[], bool] = lambda: False) -> None:
        self.gpu = gpu
        self.one_cu = gpu.model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
        self.launches = 0
        self._reporter = reporter
        self._stop = stop
        self._cycles = 0
        self._instructions = 0
        self._facts: list[RunFacts] = []

    def taken(self) -> tuple[RunFacts, int]:
        """Return the facts of all launches since the last time as one, and how many they were."""
        facts, self._facts = self._facts, []
        return combined(facts), len(facts)

    def memory(self) -> DeviceMemory:
        """Return an empty device memory of the GPU's size, or of as much as measurements take at most."""
        return DeviceMemory(min(self.gpu.memory_mib, MEMORY_MIB) << 20, architecture=self.gpu.architecture)

    def each(self, title: str, items: Iterable[T]) -> Iterator[T]:
        """Yield the items in turn, with progress reported under `title`."""
        todo = list(items)
        with self._reporter.following(title, "points") as update:
            for done, item in enumerate(todo):
                update(Progress(self._cycles, done, len(todo), self._instructions))
                yield item

    def longer(self, run: Callable[[int], RunFacts], few: int, many: int) -> int:
        """Return the cycles by which `run(many)` takes longer than `run(few)`, which runs first."""
        before = run(few).cycles
        return run(many).cycles - before

    def run(
        self,
        kernel: tuple[str, str],
        memory: DeviceMemory,
        kernarg: bytes,
        workgroups: int,
        waves: int = GROUP_WAVES,
        gpu: GpuSpec | None = None,
        dynamic_lds_bytes: int = 0,
        warm: WarmCaches | None = None,
    ) -> RunFacts:
        """Simulate one launch.

        Args:
            kernel: Source and name.
            waves: Wavefronts of a workgroup.
            gpu: Another machine than the whole.
        """
        local = LANES * waves
        launch = Launch(
            kernel_of(*kernel, MICROBENCH_DIR, memory.architecture),
            memory,
            kernarg,
            (local * workgroups, 1, 1),
            (local, 1, 1),
            dynamic_lds_bytes=dynamic_lds_bytes,
        )
        facts = simulate(launch, gpu or self.gpu, observer=lambda _: not self._stop(), warm=warm)
        if facts.partial or self._stop():
            raise KeyboardInterrupt
        self.launches += 1
        self._facts.append(facts)
        self._cycles += facts.cycles
        self._instructions += facts.kernel.wavefront_instructions
        return facts


@dataclass(frozen=True)
class MicrobenchReading:
    """A measured value."""

    name: str
    """Key of published values, such as 'latency.l1'."""
    what: str
    """One-line description."""
    value: float
    """Value."""
    unit: str
    """Unit."""


@dataclass(frozen=True)
class Curve:
    """Measured points (x, y) of one quantity."""

    name: str
    """Name."""
    group: str
    """Name of the chart panel and axes that curves share."""
    x: str
    """Title of the x axis with its unit."""
    y: str
    """Title of the y axis with its unit."""
    points: tuple[tuple[float, float], ...]
    """Pairs (x, y)."""


@dataclass
class MicrobenchResults:
    """Figures and curves in the order in which they were measured."""

    figures: list[MicrobenchReading] = field(default_factory=list)
    """Single figures."""
    curves: list[Curve] = field(default_factory=list)
    """Curves."""

    def add(self, name: str, what: str, value: float, unit: str) -> None:
        """Note a figure."""
        self.figures.append(MicrobenchReading(name, what, float(value), unit))

    def add_curve(self, name: str, group: str, axes: tuple[str, str], points: Sequence[tuple[float, float]]) -> None:
        """Note a curve; axes: what x and y are, with their units."""
        self.curves.append(Curve(name, group, *axes, tuple((float(x), float(y)) for x, y in points)))
