"""Several launches with copies between them, from a script: one result, each launch still to be seen."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.jobs.api import checks
from gpusim.jobs.api.device_array import DeviceArray, DeviceArrayError, host_array
from gpusim.jobs.api.device_image import DeviceImage, DeviceSampler
from gpusim.jobs.api.launch_result import QueueResult
from gpusim.jobs.api.module import KernelFunction
from gpusim.jobs.host.command_processor import CopyCommand, HostCommand, LaunchCommand, Observer, RunOptions
from gpusim.model.core.gpu_spec import GpuSpec
from isa.grid import Size

if TYPE_CHECKING:
    from gpusim.jobs.api.device import Device


class QueueError(UserError):
    """A queue is used before or after its time."""


class Queue:
    """Commands for a device, each after the one before; they run when the `with` block ends without an error.

    The operands of a command are taken when it is added: arguments are packed, host arrays are copied. An error of a
    command is raised at the end of the block; the commands before it have run then.
    """

    def __init__(self, device: "Device", options: RunOptions, observer: Observer | None) -> None:
        self._device, self._options, self._observer = device, options, observer
        self._commands: list[HostCommand] = []
        self._held: list[DeviceArray | DeviceSampler] = []  # not freed before the queue has run
        self._result: QueueResult | None = None
        self._closed = False

    def __enter__(self) -> "Queue":
        if self._closed:
            raise QueueError("a queue runs once: make another by gpu.queue()")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed = True
        if kind is None:
            record = self._device._run(self._commands, self._options, self._observer)
            described = [_described(command, self._device.gpu) for command in self._commands]
            config = self._device._config(queue=described, timing=self._device.timing)
            self._result = QueueResult(config, record)
        self._commands, self._held = [], []

    @property
    def result(self) -> QueueResult:
        """Metrics of all launches together, once the block has ended."""
        if self._result is None:
            raise QueueError("the queue has not run yet: its commands run when the with block ends")
        return self._result

    def launch(
        self,
        kernel: KernelFunction,
        global_size: Size,
        local_size: Size | None = None,
        args: Sequence[Any] | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Queue a kernel, which runs to its end.

        Args:
            kernel: a kernel of a loaded module.
            global_size: work-items in up to three dimensions.
            local_size: work-items of a workgroup; None: what the kernel requires.
            args: in the kernel's order or by name, as for `Device.launch`.
            options: further arguments of `Device.launch`, except those of the whole queue.

        Raises:
            KernargError: the arguments do not fit the kernel's.
            GridError: the sizes are not valid.
            LaunchError: another argument is not valid.
            QueueError: the queue has run.
        """
        command = self._device.command(kernel, global_size, local_size, args, **options)
        given = checks.arguments(args)
        values = given.values() if isinstance(given, Mapping) else given
        self._add(command, *(value for value in values if isinstance(value, DeviceArray | DeviceSampler)))

    def write(self, array: DeviceArray, host: Any) -> None:
        """Queue a copy from the host to an array, over the host link.

        Args:
            array: the target.
            host: an array of the target's shape and dtype, or one number, which fills it.

        Raises:
            DeviceArrayError: the array was freed, or shape or dtype differ.
            LaunchError: the array lies on another device.
            QueueError: the queue has run.
        """
        self._check_array(array)
        values = host_array(host).copy()
        array._check(values)
        self._add(CopyCommand(f"to '{array.name}'", array.nbytes, lambda: array.write(values)), array)

    def read(self, array: DeviceArray, into: np.ndarray | None = None) -> np.ndarray:
        """Queue a copy from an array to the host, over the host link.

        Args:
            array: the source.
            into: the host array to use, of the same shape and dtype; None: a new one.

        Returns:
            A host array that holds the array's contents once the block has ended.

        Raises:
            DeviceArrayError: the array was freed, or `into` does not fit.
            LaunchError: the array lies on another device.
            QueueError: the queue has run.
        """
        self._check_array(array)
        host = np.zeros(array.shape, array.dtype) if into is None else into
        array._check(host)

        def move() -> None:
            host[...] = array.numpy()

        self._add(CopyCommand(f"from '{array.name}'", array.nbytes, move, "from the device"), array)
        return host

    def copy(self, source: Any, target: Any) -> None:
        """Queue a copy of an array to another of the same shape and dtype.

        Between host and device the copy takes the host link. Within the device it is a kernel, as in real runtimes, and
        so one of the result's launches.

        Args:
            source: a device array or a host array.
            target: a device array or a host array; at least one of both is the device's.

        Raises:
            DeviceArrayError: neither is the device's, one was freed, or shape or dtype differ.
            LaunchError: an array lies on another device.
            QueueError: the queue has run.
        """
        if not isinstance(source, DeviceArray):
            if not isinstance(target, DeviceArray):
                raise DeviceArrayError("a copy needs a device array on one side at least")
            self.write(target, source)
        elif not isinstance(target, DeviceArray):
            self.read(source, target)
        else:
            from workloads.operators.bypass import copy_launch  # a device without copies needs no workloads

            target._check_like(source)
            for array in (source, target):
                self._device._check_owner(array)
                if isinstance(array, DeviceImage):
                    raise DeviceArrayError(f"image '{array.name}': copies within the device are of arrays: read, write")
            launch = copy_launch(self._device.memory, source.address, target.address, source.nbytes)
            self._add(LaunchCommand(launch), source, target)

    def _check_array(self, array: Any) -> None:
        if not isinstance(array, DeviceArray):
            raise DeviceArrayError(
                f"array: {checks.format_given_value(array)} is no device array; gpu.array(host) makes one"
            )

    def _add(self, command: HostCommand, *arrays: DeviceArray | DeviceSampler) -> None:
        if self._closed:
            raise QueueError("the queue has run: make another by gpu.queue()")
        for array in arrays:
            self._device._check_owner(array)
        self._commands.append(command)
        self._held += arrays


def _described(command: HostCommand, gpu: GpuSpec) -> dict[str, Any]:
    if isinstance(command, CopyCommand):
        return {"copy": command.name, "bytes": command.size_bytes}
    return command.described(gpu)
