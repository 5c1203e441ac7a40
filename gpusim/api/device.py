"""A simulated GPU for scripts and notebooks: memory, code objects, launches.

gpu = gpusim.Device("r9nano")
module = gpu.load("kernels.hsaco")
a, c = gpu.array(host_a), gpu.zeros((256, 256), np.float32)
result = gpu.launch(module["scale"], global_size=(256, 256), local_size=(16, 16), args=[a, c, np.int32(256)])
c.numpy(); result.kernel.cycles
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

import numpy as np

from gpusim.api.device_array import DeviceArray
from gpusim.api.launch_result import LaunchResult
from gpusim.api.module import KernelFunction, Module
from gpusim.base.errors import UserError
from gpusim.base.host_memory import peak_memory_mb
from gpusim.base.progress import Progress, Reporter
from gpusim.config.gpu import load_gpu
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.simulator import simulate
from gpusim.core.warm import WarmCaches
from gpusim.host.queue import Command, run_queue
from gpusim.jit import cache_dir, is_compiled
from gpusim.results.record import RunRecord
from gpusim.timeline.timeline import Timeline
from isa.device_memory import DeviceMemory
from isa.execution.emulator import FunctionalResult, run_functional
from isa.grid import Grid, Size, grid
from isa.kernarg import Kernarg, pack
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch
from isa.object.code_object import Kernel

Observer = Callable[[Progress], bool]


class LaunchError(UserError):
    """A launch that asks for what cannot be."""


class Device:
    """One GPU: its memory, which launches share, and its caches.

    gpu: a configuration's path, the name of a shipped one ('r9nano', 'mi6') or a GpuSpec; timing: False executes
    kernels without the timing model, for results alone; quiet: tell neither of compilation nor of progress (on
    standard error); sets: `path=value` texts applied to the configuration. Raises UserError.
    """

    def __init__(
        self, gpu: str | Path | GpuSpec, *, timing: bool = True, quiet: bool = False, sets: Sequence[str] = ()
    ) -> None:
        if isinstance(gpu, GpuSpec):
            if sets:
                raise UserError("sets belong to a configuration file; change a GpuSpec by model_copy")
            self.gpu = gpu
        else:
            self.gpu = load_gpu(str(gpu), sets)
        self.timing = timing
        self.memory = DeviceMemory(self.gpu.memory_mib << 20)
        self._reporter = Reporter(quiet, sys.stderr)
        self._warm = WarmCaches()
        self._arrays = 0
        self._told: WeakSet[KernelFunction] = WeakSet()  # kernels whose missing wait states were told

    def __repr__(self) -> str:
        held = sum(a.size_bytes for a in self.memory.allocations)
        timing = "" if self.timing else ", functional only"
        return f"<device {self.gpu.name}: {self.gpu.cus} compute units, {held} bytes of memory in use{timing}>"

    def load(self, source: str | Path | bytes) -> Module:
        """A code object from a file or from memory; raises CodeObjectError."""
        return Module(source, self._announce_compilation)

    def array(self, host: Any, *, name: str = "", read_only: bool = False) -> DeviceArray:
        """A copy of `host` in device memory. name: told in errors; read_only: a kernel that writes to it faults."""
        values = np.asarray(host)
        name = self._name(name, values.dtype, values.shape)
        return DeviceArray(self.memory, values, values.shape, values.dtype, name, not read_only)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32, *, name: str = "") -> DeviceArray:
        """An array of zeros in device memory."""
        whole = (shape,) if isinstance(shape, int) else tuple(shape)
        return DeviceArray(self.memory, None, whole, dtype, self._name(name, np.dtype(dtype), whole), True)

    def launch(
        self,
        kernel: KernelFunction,
        global_size: Size,
        local_size: Size | None = None,
        args: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        kernarg: bytes | None = None,
        dynamic_lds_bytes: int = 0,
        global_offset: Size = 0,
        caches: Literal["flushed", "warm"] = "flushed",
        max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
        checked: bool = False,
        hotspots: int = 0,
        observer: Observer | None = None,
        timeline: Timeline | None = None,
    ) -> LaunchResult:
        """Run a kernel to its end and return its metrics.

        global_size, local_size: work-items in up to three dimensions; the last workgroups may be partial. args: in
        the kernel's order or by name: device arrays (None: null), `gpusim.Pointer`, `gpusim.Local(bytes)`, NumPy
        scalars or Python numbers. kernarg: instead of args, the whole argument block. dynamic_lds_bytes: LDS in
        addition to that of `gpusim.Local` arguments. caches: 'warm' leaves in L2 what the launch before left there
        (L1 is always empty at first). max_instructions: of one wavefront, before it counts as an endless loop.
        checked: assert the model's conservation laws. hotspots: how many of the costliest instructions
        `result.hotspots` lists. observer: called several times a second, ends the launch by
        returning False. timeline: what happens in each cycle is drawn into it (gpusim.timeline.timeline.Timeline).

        Raises KernargError, GridError, LaunchError, DecodeError, ProgramError, OccupancyError, DeviceMemoryError;
        ExecutionFault for what the kernel does wrong: its message names kernel, program counter, instruction,
        wavefront, lane, address and the nearest allocation. Arrays then hold what was written before.
        """
        if caches not in ("flushed", "warm"):
            raise LaunchError(f"caches is 'flushed' or 'warm', not {caches!r}")
        if not self.timing and (caches == "warm" or checked or hotspots or timeline is not None):
            raise LaunchError(
                "a device without timing has no warm caches, no conservation laws, no hot spots and no timeline"
            )
        if max_instructions < 1:
            raise LaunchError(f"max_instructions: {max_instructions} is not at least 1")
        places = grid(kernel.kernel, global_size, local_size, global_offset)
        packed = self._kernarg(kernel.kernel, args, kernarg, places)
        launch = Launch(
            kernel.kernel,
            self.memory,
            packed.block,
            places.global_size,
            places.local_size,
            packed.dynamic_lds_bytes + dynamic_lds_bytes,
            dimensions=places.dimensions,
        )
        self._announce_compilation()
        self._tell_violations(kernel)
        record = RunRecord(False, kernel.name, [])
        with self._reporter.following(kernel.name) as update:

            def observe(progress: Progress) -> bool:
                update(progress)
                return observer is None or observer(progress)

            if self.timing:
                options = {
                    "checked": checked,
                    "max_instructions": max_instructions,
                    "hotspots": hotspots > 0,
                    "timeline": timeline,
                }
                self._simulate(launch, record, observe, caches, options)
                del record.launches[0].hotspots[hotspots:]
            else:
                self._execute(launch, record, observe, max_instructions)
        record.partial = record.launches[0].partial
        record.peak_memory_mb = peak_memory_mb()
        return LaunchResult(self._config(launch, caches), record)

    def _simulate(
        self, launch: Launch, record: RunRecord, observe: Observer, caches: str, options: dict[str, Any]
    ) -> None:
        warm, self._warm = self._warm if caches == "warm" else WarmCaches(), WarmCaches()

        def run_kernel() -> float:
            facts = simulate(launch, self.gpu, observer=observe, warm=warm, **options)
            record.launches.append(facts)
            return facts.time_us

        queue = run_queue(self.gpu.kernel_launch_us, [Command(record.kernel, run_kernel, barrier=True)])
        record.host_time_us = queue[-1].ended_us
        self._warm = warm  # not after a fault: the machine is then in no state to go on from

    def _execute(self, launch: Launch, record: RunRecord, observe: Observer, max_instructions: int) -> None:
        x, y, z = launch.workgroups
        start = time.perf_counter()
        done = run_functional(
            launch,
            max_instructions,
            observer=lambda begun, instructions: observe(Progress(0, begun, x * y * z, instructions)),
        )
        wall_s = time.perf_counter() - start - done.compile_s
        record.launches.append(_untimed_facts(launch, self.gpu, done, wall_s))

    def _kernarg(
        self, kernel: Kernel, args: Sequence[Any] | Mapping[str, Any] | None, kernarg: bytes | None, places: Grid
    ) -> Kernarg:
        if kernarg is not None:
            if args is not None or any(places.offset):
                raise LaunchError("a kernarg block takes the place of args and of global_offset: pass one of them")
            block = bytes(kernarg)
            if len(block) < kernel.kernarg_bytes:
                raise LaunchError(
                    f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, kernarg has {len(block)}"
                )
            return Kernarg(block, 0)
        if args is None:
            args = ()
        if isinstance(args, Mapping):
            return pack(kernel, {name: self._pointed(value) for name, value in args.items()}, places.offset)
        return pack(kernel, [self._pointed(value) for value in args], places.offset)

    def _pointed(self, value: Any) -> Any:
        if not isinstance(value, DeviceArray):
            return value
        if not value.belongs_to(self.memory):
            raise LaunchError(f"array '{value.name}' lies on another device")
        return value.pointer()

    def _name(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> str:
        self._arrays += 1
        return name or f"array {self._arrays}: {dtype} {'x'.join(map(str, shape))}"

    def _tell_violations(self, kernel: KernelFunction) -> None:
        missing = sum(violation.missing for violation in kernel.violations)
        if missing and kernel not in self._told:
            self._told.add(kernel)
            self._reporter.say(
                f"gpusim: kernel '{kernel.name}': {missing} missing wait state{'s' * (missing > 1)}: real hardware"
                " would read old values; see gpusim disasm --hazards"
            )

    def _announce_compilation(self) -> None:
        if not all(is_compiled(domain) for domain in ("isa", "timing")[: 1 + self.timing]):
            where = cache_dir("timing").parent
            self._reporter.say(f"gpusim: compiling the core: once, less than a minute; kept in {where}")

    def _config(self, launch: Launch, caches: str) -> dict[str, Any]:
        return {
            "gpu": self.gpu.model_dump(mode="json"),
            "launch": {
                "kernel": launch.kernel.name,
                "global_size": list(launch.global_size),
                "local_size": list(launch.local_size),
                "dynamic_lds_bytes": launch.dynamic_lds_bytes,
                "caches": caches,
                "timing": self.timing,
            },
        }


def _untimed_facts(launch: Launch, gpu: GpuSpec, done: FunctionalResult, wall_s: float) -> RunFacts:
    x, y, z = launch.workgroups
    kinds = dict(done.instructions)
    kinds["other"] = kinds.pop("internal") + kinds.pop("export")
    return RunFacts.of(
        partial=not done.finished,
        kernel={
            "name": launch.kernel.name,
            "clock_ghz": gpu.clock_ghz,
            "workgroups": done.workgroups if done.finished else max(0, done.workgroups - 1),
            "workgroups_total": x * y * z,
            "wavefronts": done.wavefronts,
            "wavefront_instructions": done.wavefront_instructions,
            **{f"{kind}_instructions": count for kind, count in kinds.items()},
        },
        simulator={"wall_s": wall_s, "cpu_s": done.seconds, "compile_s": done.compile_s},
    )
