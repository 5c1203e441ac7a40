"""A simulated GPU for scripts and notebooks: memory, code objects, launches.

gpu = gpusim.Device("r9nano")
module = gpu.load("kernels.hsaco")
a, c = gpu.array(host_a), gpu.zeros((256, 256), np.float32)
result = gpu.launch(module["scale"], global_size=(256, 256), local_size=(16, 16), args=[a, c, np.int32(256)])
c.numpy(); result.kernel.cycles
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

import numpy as np

from gpusim.base.errors import unknown_name
from gpusim.base.host_memory import peak_memory_mb
from gpusim.base.progress import Reporter
from gpusim.config.files import SHIPPED, plain
from gpusim.config.gpu import gpus_that_run, load_gpu
from gpusim.config.tree import Sets
from gpusim.jobs.api import checks
from gpusim.jobs.api.device_array import DeviceArray, DeviceArrayError, host_array, parse_dtype, parse_shape
from gpusim.jobs.api.device_image import DeviceImage, DeviceSampler
from gpusim.jobs.api.launch_result import LaunchResult
from gpusim.jobs.api.module import KernelFunction, Module
from gpusim.jobs.api.queue import Queue
from gpusim.jobs.host.command_processor import CommandProcessor, HostCommand, LaunchCommand, Observer, RunOptions
from gpusim.jobs.host.command_processor import LaunchError as LaunchError
from gpusim.model.core.gpu_spec import CACHES, GpuSpec
from gpusim.model.core.occupancy import OccupancyError
from gpusim.results.records.record import RunRecord
from isa.device_memory import DeviceMemory
from isa.grid import Grid, Size, grid
from isa.kernarg import Kernarg, pack
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch
from isa.object.code_object import Kernel
from isa.opcodes import ARCHITECTURES

if TYPE_CHECKING:
    from gpusim.results.timeline.timeline import Timeline

Caches = Literal["flushed", "warm"]
FILTERS = ("nearest", "linear")
MAX_LIMIT = 1 << 60  # of instructions: what the core's counter holds


class Device:
    """One GPU: its memory, which launches share, and its caches.

    Args:
        gpu: a configuration's path, the name of a shipped one ('r9nano', 'mi6'), a mapping such as a file holds
            (`{"base": "mi6", "l2": {"size_kib": 1024}}`), or a GpuSpec.
        timing: False executes kernels without the timing model, for results alone.
        quiet: report neither compilation nor progress (on standard error).
        sets: values laid over the configuration: `path=value` texts, or a mapping of paths to values.

    Raises:
        UserError: the configuration is not valid.
    """

    def __init__(
        self,
        gpu: str | Path | Mapping[str, Any] | GpuSpec,
        *,
        timing: bool = True,
        quiet: bool = False,
        sets: Sets = (),
    ) -> None:
        self.gpu = gpu if isinstance(gpu, GpuSpec) and not sets else load_gpu(plain(gpu, "gpu"), sets)
        self.timing = checks.switch("timing", timing)
        self.memory = DeviceMemory(self.gpu.memory_mib << 20, architecture=self.gpu.architecture)
        self._reporter = Reporter(checks.switch("quiet", quiet), sys.stderr)
        self._processor = CommandProcessor(self.gpu, self._reporter, timing=timing)
        self._arrays = 0
        self._warned: WeakSet[KernelFunction] = WeakSet()  # kernels whose missing wait states were reported

    def __repr__(self) -> str:
        held = sum(a.size_bytes for a in self.memory.allocations)
        timing = "" if self.timing else ", functional only"
        return f"<device {self.gpu.name}: {self.gpu.cus} compute units, {held} bytes of memory in use{timing}>"

    def load(self, source: str | Path | bytes) -> Module:
        """Load a code object from a file, a shipped example's by its name, or from memory; raise CodeObjectError."""
        example = SHIPPED / "examples" / source if isinstance(source, str) and Path(source).name == source else None
        if example is not None and example.is_file() and not Path(str(source)).exists():
            source = example
        return Module(source, self._reporter, timing=self.timing)

    def array(self, host: Any, *, name: str = "", read_only: bool = False) -> DeviceArray:
        """Copy an array to device memory.

        Args:
            host: anything that NumPy makes an array of; its shape and dtype are kept.
            name: name in errors.
            read_only: whether a kernel that writes to the array faults.

        Returns:
            The array in device memory.

        Raises:
            DeviceArrayError: `host` is no array of plain memory, or empty.
            DeviceMemoryError: the memory is full.
        """
        values = host_array(host)
        name = self._name(name, values.dtype, values.shape)
        return DeviceArray(
            self.memory, values, values.shape, values.dtype, name, not checks.switch("read_only", read_only)
        )

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32, *, name: str = "") -> DeviceArray:
        """Allocate an array of zeros in device memory.

        Args:
            shape: number of elements along each axis.
            dtype: NumPy's type of the elements.
            name: name in errors.

        Returns:
            The array in device memory.

        Raises:
            DeviceArrayError: the shape or the type is not valid.
            DeviceMemoryError: the memory is full.
        """
        kind, whole = parse_dtype(dtype), parse_shape(shape)
        return DeviceArray(self.memory, None, whole, kind, self._name(name, kind, whole), True)

    def image(self, host: Any, kind: str = "2d", *, fractions: bool = False, name: str = "") -> DeviceImage:
        """Copy an array to device memory as an image, for OpenCL C's image2d_t and its like.

        Args:
            host: texels [layer or z, y, x, channel]; without the last axis for one channel. 1, 2 or 4 channels.
            kind: '1d', '2d', '3d', '1d_array' or '2d_array'.
            fractions: whether whole numbers are read as parts of the largest one (UNORM, SNORM).
            name: name in errors.

        Returns:
            The image in device memory.

        Raises:
            DeviceArrayError: the axes do not fit `kind`, or no image has such texels.
            DeviceMemoryError: the memory is full.
        """
        values = host_array(host)
        name = self._name(name, values.dtype, values.shape)
        fractions = checks.switch("fractions", fractions)
        generation = ARCHITECTURES[self.gpu.architecture].image_generation
        return DeviceImage(self.memory, values, kind, fractions, name, generation)

    def sampler(
        self, filter: str = "nearest", address: str = "none", *, normalized: bool = False, name: str = "sampler"
    ) -> DeviceSampler:
        """Return a sampler for OpenCL C's sampler_t.

        Args:
            filter: 'nearest' or 'linear'.
            address: what is read beyond the image: 'none', 'clamp' (the border: zeros), 'clamp_to_edge', and where
                coordinates are normalized 'repeat' and 'mirrored_repeat'.
            normalized: whether coordinates go from 0 to 1 from edge to edge.
            name: name in errors.

        Returns:
            The sampler in device memory.

        Raises:
            DeviceArrayError: a name is unknown, or the addressing needs normalized coordinates.
        """
        if filter not in FILTERS:
            raise DeviceArrayError(f"sampler '{name}': {unknown_name('filter', filter, FILTERS)}")
        return DeviceSampler(self.memory, filter == "linear", address, checks.switch("normalized", normalized), name)

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
        caches: Caches | None = None,
        l1_bypass: bool | None = None,
        max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
        checked: bool = False,
        hotspots: int = 0,
        observer: Observer | None = None,
        timeline: "Timeline | None" = None,
        sample: checks.SampleRequest = False,
    ) -> LaunchResult:
        """Run a kernel to its end and return its metrics.

        Args:
            kernel: a kernel of a loaded module.
            global_size: work-items in up to three dimensions; the last workgroups may be partial.
            local_size: work-items of a workgroup; None: what the kernel requires.
            args: in the kernel's order or by name: device arrays (None: null), `gpusim.Pointer`, `gpusim.Local(bytes)`,
                NumPy scalars or Python numbers.
            kernarg: the whole argument block, instead of `args`.
            dynamic_lds_bytes: LDS in addition to that of `gpusim.Local` arguments.
            global_offset: number of the first work-item in each dimension.
            caches: 'warm' leaves in L2 and the TLBs what the launch before left there, 'flushed' empties them; None: as
                the GPU's `caches` says. L1 is always empty at first.
            l1_bypass: whether loads go past L1; None: as the GPU's `l1.bypass` says.
            max_instructions: instructions of one wavefront, before it counts as an endless loop.
            checked: assert the model's conservation laws.
            hotspots: how many of the costliest instructions `result.hotspots` lists.
            observer: called several times a second; ends the launch by returning False.
            timeline: what happens in each cycle is drawn into it (gpusim.results.timeline.timeline.Timeline).
            sample: True simulates the launch in part and estimates the rest, with `name_half_width` beside each metric
                `name`; a number: the wanted relative half-width of the cycles; a mapping or SamplingSpec: whatever
                `gpusim.model.sampling.spec` names. Results of skipped workgroups are then not computed, unless
                `functional` says so, and reading them back is an error.

        Returns:
            The launch's metrics.

        Raises:
            KernargError: the arguments do not fit the kernel's.
            GridError: the sizes are not valid.
            LaunchError: another argument is not valid.
            DecodeError: the kernel has an instruction that the architecture lacks.
            ProgramError: the kernel has an instruction that is not supported.
            OccupancyError: a workgroup does not fit a compute unit.
            DeviceMemoryError: the device's memory is full.
            ExecutionFault: the kernel is in error. The message names kernel, program counter, instruction, wavefront,
                lane, address and the nearest allocation. Arrays then hold what was written before.
        """
        command = self.command(
            kernel,
            global_size,
            local_size,
            args,
            kernarg=kernarg,
            dynamic_lds_bytes=dynamic_lds_bytes,
            global_offset=global_offset,
            caches=caches,
            l1_bypass=l1_bypass,
            max_instructions=max_instructions,
        )
        record = self._run([command], _options(checked, hotspots, timeline, sample), observer)
        return LaunchResult(self._config(launch={**command.described(self.gpu), "timing": self.timing}), record)

    def queue(
        self,
        *,
        checked: bool = False,
        hotspots: int = 0,
        observer: Observer | None = None,
        timeline: "Timeline | None" = None,
        sample: checks.SampleRequest = False,
    ) -> Queue:
        """Return a queue of launches and copies, which runs at the end of its `with` block.

        Example:
            with gpu.queue() as queue:
                queue.write(a, host_a)
                queue.launch(module["scale"], 256, 64, [a, c])
                result = queue.read(c)
            queue.result.kernel.cycles; queue.result.launches[0]; result

        Args:
            checked: assert the model's conservation laws.
            hotspots: how many of the costliest instructions are listed.
            observer: called several times a second; ends the queue by returning False.
            timeline: what happens in each cycle is drawn into it.
            sample: simulate launches in part, as for `launch`.

        Returns:
            The queue, still empty.

        Raises:
            LaunchError: an option is not valid.
        """
        return Queue(self, _options(checked, hotspots, timeline, sample), observer)

    def command(
        self,
        kernel: KernelFunction,
        global_size: Size,
        local_size: Size | None = None,
        args: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        kernarg: bytes | None = None,
        dynamic_lds_bytes: int = 0,
        global_offset: Size = 0,
        caches: Caches | None = None,
        l1_bypass: bool | None = None,
        max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
    ) -> LaunchCommand:
        """Check and pack a launch, to be run later.

        Args:
            kernel: a kernel of a loaded module.
            global_size: as for `launch`, like all that follow.
            local_size: work-items of a workgroup.
            args: the kernel's arguments.
            kernarg: the whole argument block, instead of `args`.
            dynamic_lds_bytes: additional LDS.
            global_offset: number of the first work-item.
            caches: 'warm', 'flushed' or None.
            l1_bypass: whether loads go past L1.
            max_instructions: instructions of one wavefront.

        Returns:
            The launch with its argument block.

        Raises:
            KernargError: the arguments do not fit the kernel's.
            GridError: the sizes are not valid.
            LaunchError: another argument is not valid.
        """
        if caches not in (None, *CACHES):
            raise LaunchError(f"caches is 'flushed' or 'warm', not {caches!r}")
        if l1_bypass not in (None, True, False):
            raise LaunchError(f"l1_bypass is True, False or None, not {checks.format_given_value(l1_bypass)}")
        if not isinstance(kernel, KernelFunction):
            raise LaunchError(
                f"kernel: {checks.format_given_value(kernel)} is no kernel; gpu.load(file)['name'] is one"
            )
        if why := self.gpu.why_foreign(kernel.kernel.gpu):
            instead = " or ".join(gpus_that_run([kernel.kernel.gpu]))
            raise LaunchError(f"kernel '{kernel.kernel.short_name}' {why}{instead and f': {instead}'}")
        lds_bytes = checks.whole("dynamic_lds_bytes", dynamic_lds_bytes, 0)
        most = checks.whole("max_instructions", max_instructions, 1)
        places = grid(kernel.kernel, global_size, local_size, global_offset)
        packed = self._kernarg(kernel.kernel, args, kernarg, places)
        lds_bytes += packed.dynamic_lds_bytes
        needed, available = kernel.kernel.lds_bytes + lds_bytes, self.gpu.cu.lds_kib * 1024
        if needed > available:
            raise OccupancyError(
                f"kernel '{kernel.name}' needs {needed} bytes of LDS, a workgroup has at most {available}"
            )
        launch = Launch(
            kernel.kernel,
            self.memory,
            packed.block,
            places.global_size,
            places.local_size,
            lds_bytes,
            dimensions=places.dimensions,
        )
        self._tell_violations(kernel)
        warm = None if caches is None else caches == "warm"
        command = LaunchCommand(launch, warm, min(most, MAX_LIMIT), l1_bypass=l1_bypass)
        command.machine(self.gpu)  # raises LaunchError
        return command

    def _run(self, commands: Sequence[HostCommand], options: RunOptions, observer: Observer | None = None) -> RunRecord:
        """Run commands in order, each after the one before, as one record."""
        if observer is not None and not callable(observer):
            raise LaunchError(f"observer: {checks.format_given_value(observer)} is not a function")
        names = [c.launch.kernel.name for c in commands if isinstance(c, LaunchCommand)]
        record = RunRecord(False, " + ".join(names), [])
        self._processor.run(commands, record, options, observer)
        record.peak_memory_mb = peak_memory_mb()
        return record

    def _config(self, **more: Any) -> dict[str, Any]:
        """Return the values that a result depends on, as plain data: the GPU and those of `more`."""
        return {"gpu": self.gpu.model_dump(mode="json"), **more}

    def _kernarg(
        self, kernel: Kernel, args: Sequence[Any] | Mapping[str, Any] | None, kernarg: bytes | None, places: Grid
    ) -> Kernarg:
        if kernarg is not None:
            if args is not None or any(places.offset):
                raise LaunchError("a kernarg block takes the place of args and of global_offset: pass one of them")
            if not isinstance(kernarg, bytes | bytearray | memoryview):
                raise LaunchError(f"kernarg: {checks.format_given_value(kernarg)} is not bytes")
            block = bytes(kernarg)
            if len(block) < kernel.kernarg_bytes:
                raise LaunchError(
                    f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, kernarg has {len(block)}"
                )
            return Kernarg(block, 0)
        given = checks.arguments(args)
        if isinstance(given, Mapping):
            return pack(kernel, {name: self._pointed(value) for name, value in given.items()}, places.offset)
        return pack(kernel, [self._pointed(value) for value in given], places.offset)

    def _pointed(self, value: Any) -> Any:
        if not isinstance(value, DeviceArray | DeviceSampler):
            return value
        self._check_owner(value)
        return value.argument()

    def _check_owner(self, held: DeviceArray | DeviceSampler) -> None:
        """Raise LaunchError for what lies on another device."""
        if not held.belongs_to(self.memory):
            raise LaunchError(f"'{held.name}' lies on another device")

    def _name(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> str:
        self._arrays += 1
        return name or f"array {self._arrays}: {dtype} {'x'.join(map(str, shape))}"

    def _tell_violations(self, kernel: KernelFunction) -> None:
        missing = sum(violation.missing for violation in kernel.violations)
        if missing and kernel not in self._warned:
            self._warned.add(kernel)
            self._reporter.say(
                f"gpusim: kernel '{kernel.name}': {missing} missing wait state{'s' * (missing > 1)}: real hardware"
                " would read old values; see gpusim disasm --hazards"
            )


def _options(checked: bool, hotspots: int, timeline: "Timeline | None", sample: checks.SampleRequest) -> RunOptions:
    return RunOptions(
        checks.switch("checked", checked),
        checks.whole("hotspots", hotspots, 0),
        checks.watcher(timeline),
        sampling=checks.sampling(sample),
    )
