"""The job of `gpusim exec`: one kernel of the user's own, from an execution's file."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.files import write_whole
from gpusim.base.progress import Reporter
from gpusim.config.exec import ArgumentSpec, ExecConfig, RecordedSpec, resolve_path
from gpusim.jobs.api.device import Device
from gpusim.jobs.api.device_array import DeviceArray
from gpusim.jobs.api.module import KernelFunction, Module
from gpusim.jobs.arguments import build_argument, fill_in_types, load_expected
from gpusim.jobs.host.command_processor import HostCommand, LaunchCommand
from gpusim.jobs.running.job import CommandTask, Job, JobOptions, Task, Variant, launch_options
from isa.device_memory import Allocation
from isa.execution.launch_setup import adopt_image
from isa.kernarg import pack_undescribed
from isa.memory_file import MemoryFile
from isa.object.names import listed
from isa.region import SparseRegion
from spartan.engine_spec import EngineSpec
from spartan.formats import FORMATS
from spartan.sib_layout import sib_layout
from workloads.operators.verify import ReferencePart, Verification, compare


class ExecJob(Job):
    """A kernel, its grid, its arguments and their expected values after it (gpusim.jobs.running.job.Job).

    path: of the execution's file; the files that it names are relative to its folder.
    """

    kind = "exec"

    def __init__(self, config: ExecConfig, path: Path, reporter: Reporter) -> None:
        self._config, self._path, self._reporter = config, path, reporter
        self._is_prepared = False
        self.title, self.gpu, self.energy_spec = str(path), config.gpu, config.energy
        self.engine_spec = config.engine
        self.options = JobOptions(timing=config.run.timing, draws=config.run.draws, launches=launch_options(config.run))

    @property
    def variants(self) -> Sequence[Variant]:
        """Return the only variant, with the engine where an argument is sparse."""
        if self._config.recorded is None:
            self._described()  # an argument that is not the kernel's is an error before anything is reported
        return [Variant(self._kernel_name, bool(self._config.sparse), self._prepare)]

    def resolved(self) -> dict[str, Any]:
        """Return the configuration, every value, as plain data."""
        return self._config.resolved()

    @cached_property
    def _device(self) -> Device:
        return Device(self.gpu, timing=self._config.run.timing, quiet=self._reporter.quiet)

    @cached_property
    def _module(self) -> Module:
        return self._device.load(resolve_path(self._config.code_object, self._path))

    @cached_property
    def _kernel_name(self) -> str:
        if self._config.kernel is not None:
            return self._config.kernel
        names = list(self._module)
        if len(names) > 1:
            raise UserError(f"{self._module.source} has several kernels; name one of them in kernel: {listed(names)}")
        return names[0]

    def _described(self) -> dict[str, ArgumentSpec]:
        return fill_in_types(self._module[self._kernel_name].kernel, self._config.arguments, self._path)

    def _prepare(self) -> Task:
        for name in ("_device", "_module") if self._is_prepared else ():
            del self.__dict__[name]  # each draw of the machine finds the device memory as the first did
        self._is_prepared = True
        config, path, device = self._config, self._path, self._device
        kernel = self._module[self._kernel_name]
        if config.recorded is not None:
            return self._recorded(config.recorded, kernel)
        arguments = {name: build_argument(device, name, spec, path) for name, spec in self._described().items()}
        expected = [
            load_expected(arguments[name], spec, path)
            for name, spec in config.arguments.items()
            if spec.expected is not None
        ]
        passed: dict[str, Any] = {"args": arguments, "dynamic_lds_bytes": config.dynamic_lds_bytes}
        if arguments and not kernel.kernel.arguments:
            pointed = [value.pointer() if isinstance(value, DeviceArray) else value for value in arguments.values()]
            packed = pack_undescribed(kernel.kernel, pointed)
            lds_bytes = config.dynamic_lds_bytes + packed.dynamic_lds_bytes
            passed = {"kernarg": packed.block, "dynamic_lds_bytes": lds_bytes}
        command = device.command(
            kernel,
            config.global_size,
            config.local_size,
            **passed,
            global_offset=config.global_offset,
            max_instructions=config.run.max_instructions,
        )
        if config.sparse:
            command = command._replace(launch=replace(command.launch, regions=self._regions(arguments)))
        outputs = {name: spec.output for name, spec in config.arguments.items() if spec.output is not None}
        return _ExecTask(command, arguments, expected, outputs)

    def _regions(self, arguments: Mapping[str, Any]) -> tuple[SparseRegion, ...]:
        """Return the sparse arguments as the engine's regions, in order of addresses; raise UserError."""
        regions = []
        for name, wanted in self._config.sparse.items():
            where, array = f"{self._path}: arguments.{name}: sparse", arguments[name]
            if wanted not in FORMATS:
                raise UserError(f"{where}: {unknown_name('format', wanted, FORMATS)}")
            if FORMATS[wanted].listed:
                raise UserError(f"{where}: '{wanted}' needs a list of lines, which a file cannot give")
            if array.dtype != np.float32 or len(array.shape) < 2:
                raise UserError(f"{where}: a matrix of float32 is allowed, not {array.dtype} {list(array.shape)}")
            rows = array.shape[-1]
            try:
                regions.append(SparseRegion(array.address, rows, array.size // rows, rows, wanted))
            except ValueError as error:
                raise UserError(f"{where}: {error}") from None
        ordered = tuple(sorted(regions, key=lambda region: region.address))
        try:
            sib_layout(self._config.engine or EngineSpec(), ordered)
        except ValueError as error:
            raise UserError(f"{self._path}: engine: {error}") from None
        return ordered

    def _recorded(self, recorded: RecordedSpec, kernel: KernelFunction) -> Task:
        """Prepare a recorded launch: the device memory of the program, each allocation at its address."""
        config, device = self._config, self._device
        before = MemoryFile.read(resolve_path(recorded.before, self._path))
        after = None if recorded.after is None else MemoryFile.read(resolve_path(recorded.after, self._path))
        device.memory.drops_lds, device.memory.slack_bytes = recorded.drops_lds, recorded.slack_bytes
        allocations = before.place(device.memory)
        adopt_image(device.memory, kernel.kernel, before.code)
        command = device.command(
            kernel,
            config.global_size,
            config.local_size,
            kernarg=before.arguments,
            dynamic_lds_bytes=config.dynamic_lds_bytes,
            max_instructions=config.run.max_instructions,
        )
        return _RecordedTask(command, device, allocations, before, after)


class _RecordedTask(CommandTask):
    """A recorded launch, and the comparison of all memory with what it was after it."""

    def __init__(
        self,
        command: LaunchCommand,
        device: Device,
        allocations: Sequence[Allocation],
        before: MemoryFile,
        after: MemoryFile | None,
    ) -> None:
        self._command, self._device, self._allocations = command, device, allocations
        self._before, self._after = before, after

    @property
    def commands(self) -> Sequence[HostCommand]:
        return [self._command]

    def verify(self) -> Verification | None:
        if self._after is None:
            return None
        computed, expected = {}, []
        for one in self._allocations:
            name = f"{one.address:#x} {one.name}"
            wanted = self._after.pieces.get(one.address, self._before.pieces[one.address]).content
            computed[name] = self._device.memory.view(one)
            expected.append(ReferencePart(name, (slice(None),), wanted, 0.0))
        return compare(computed, expected)


class _ExecTask(CommandTask):
    """The launch, its arrays, and the comparison and the files of its results."""

    def __init__(
        self,
        command: LaunchCommand,
        arguments: Mapping[str, Any],
        expected: Sequence[ReferencePart],
        outputs: Mapping[str, str],
    ) -> None:
        self._command = command
        self._arguments, self._expected, self._outputs = arguments, expected, outputs

    @property
    def commands(self) -> Sequence[HostCommand]:
        return [self._command]

    def verify(self) -> Verification | None:
        if not self._expected:
            return None
        computed = {part.output: self._arguments[part.output].numpy() for part in self._expected}
        return compare(computed, self._expected)

    def finish(self) -> None:
        for name, file in self._outputs.items():
            contents = io.BytesIO()
            np.save(contents, self._arguments[name].numpy())
            write_whole(Path(file), contents.getvalue())
