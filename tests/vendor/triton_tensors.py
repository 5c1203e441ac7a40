"""pytest's plugin for Triton's own tests under `gpusim hip`: tensors of PyTorch for kernels of a GPU that it lacks.

The tests make tensors of PyTorch's device "cuda", which PyTorch's builds for processors alone do not have. Here such a
tensor lies in the host's memory. A launch takes the memory that its arguments lie in to the GPU, and back after it.
"""

import copy
import ctypes
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
import triton
from torch.overrides import TorchFunctionMode
from triton.backends.amd.driver import HIPLauncher
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.vendor.triton_kernels import HIP, Driver, check_status

_ALIGNMENT = 256  # of the GPU's allocations: an address is as far from it there as on the host
_TO_GPU, _TO_HOST = 1, 2  # kinds of hipMemcpy
_COMPUTE_UNITS = 63  # hipDeviceAttributeMultiprocessorCount


class HostDevice(TorchFunctionMode):
    """Takes the processor for device "cuda"."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of PyTorch's on the processor."""
        del types
        if function is torch.Tensor.cuda:
            return args[0]
        named = {key: _on_host(value) for key, value in (kwargs or {}).items()}
        return function(*map(_on_host, args), **named)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.device) or (isinstance(value, str) and value.partition(":")[0] == "cuda"):
        return "cpu" if torch.device(value).type == "cuda" else value
    return value


class GpuCopy:
    """A copy of a tensor's memory on the GPU."""

    def __init__(self, tensor: torch.Tensor) -> None:
        memory = tensor.untyped_storage()
        self.host, self._bytes = memory.data_ptr(), ctypes.c_size_t(memory.nbytes())
        self._memory = ctypes.c_void_p()
        check_status(HIP.hipMalloc(ctypes.byref(self._memory), ctypes.c_size_t(memory.nbytes() + _ALIGNMENT)))
        self.address = (self._memory.value or 0) + self.host % _ALIGNMENT
        check_status(HIP.hipMemcpy(ctypes.c_void_p(self.address), ctypes.c_void_p(self.host), self._bytes, _TO_GPU))

    def close(self) -> None:
        """Take what the kernel left back to the host, and free the copy."""
        check_status(HIP.hipMemcpy(ctypes.c_void_p(self.host), ctypes.c_void_p(self.address), self._bytes, _TO_HOST))
        check_status(HIP.hipFree(self._memory))


class Address:
    """What Triton takes for a tensor on the GPU."""

    def __init__(self, address: int) -> None:
        self._address = address

    def data_ptr(self) -> int:
        """Return the address."""
        return self._address


class Launcher(HIPLauncher):
    """Triton's own launcher, with arguments on the GPU."""

    def __call__(self, *args: Any) -> None:
        """Launch a kernel, and wait for it."""
        copies: dict[int, GpuCopy] = {}
        placed = [_place(argument, copies) for argument in args]
        super().__call__(*placed)
        for one in copies.values():
            one.close()


def _place(argument: Any, copies: dict[int, GpuCopy]) -> Any:
    """Return an argument as it is on the GPU; what is copied for it is added to `copies`."""
    if isinstance(argument, TensorWrapper):
        return _place(argument.base, copies)
    if isinstance(argument, torch.Tensor):
        memory = argument.untyped_storage().data_ptr()
        if memory not in copies:
            copies[memory] = GpuCopy(argument)
        return Address(copies[memory].address + argument.data_ptr() - memory)
    if isinstance(argument, TensorDescriptor):
        placed = copy.copy(argument)
        placed.base = _place(argument.base, copies)
        return placed
    if isinstance(argument, tuple):
        values = [_place(one, copies) for one in argument]
        return type(argument)(*values) if hasattr(argument, "_fields") else tuple(values)
    return argument


def _properties(device: Any = None) -> Any:
    """Return what the tests ask of PyTorch's properties of the GPU."""
    del device
    units = ctypes.c_int()
    check_status(HIP.hipDeviceGetAttribute(ctypes.byref(units), _COMPUTE_UNITS, 0))
    return SimpleNamespace(multi_processor_count=units.value)


def _capability(device: Any = None) -> tuple[int, int]:
    """Return the GPU's version as PyTorch does: (9, 0) is gfx90a."""
    del device
    major, minor = ctypes.c_int(), ctypes.c_int()
    check_status(HIP.hipDeviceComputeCapability(ctypes.byref(major), ctypes.byref(minor), 0))
    return major.value, minor.value


def install() -> None:
    """Let Triton launch by it."""
    driver = Driver()
    driver.launcher_cls = Launcher
    triton.runtime.driver.set_active(driver)
    torch.cuda.current_device = driver.get_current_device
    torch.cuda.get_device_capability = _capability
    torch.cuda.get_device_properties = _properties
    torch.cuda.synchronize = lambda device=None: check_status(HIP.hipDeviceSynchronize())
    HostDevice().__enter__()


def pytest_configure() -> None:
    """Let Triton launch by it, in programs that tests start too."""
    install()
    run = subprocess.run

    def run_likewise(command: Any, *args: Any, **kwargs: Any) -> Any:
        is_program = isinstance(command, list) and command[0] == sys.executable and command[1].endswith(".py")
        return run([sys.executable, "-m", __name__, *command[1:]] if is_program else command, *args, **kwargs)

    subprocess.run = run_likewise


if __name__ == "__main__":
    install()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
