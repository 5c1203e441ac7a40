"""gpusim: a cycle-level simulator of AMD GCN3 GPUs with the Spartan compaction engine.

Importing the package is cheap: the simulator's core, Numba included, is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusim.core.gpu_spec import GpuSpec as GpuSpec
    from gpusim.core.occupancy import OccupancyError as OccupancyError
    from gpusim.device import Device as Device
    from gpusim.device import LaunchError as LaunchError
    from gpusim.device_array import DeviceArray as DeviceArray
    from gpusim.device_array import DeviceArrayError as DeviceArrayError
    from gpusim.errors import UserError as UserError
    from gpusim.grid import GridError as GridError
    from gpusim.kernarg import KernargError as KernargError
    from gpusim.kernarg import Local as Local
    from gpusim.kernarg import Pointer as Pointer
    from gpusim.launch_result import LaunchResult as LaunchResult
    from gpusim.module import KernelFunction as KernelFunction
    from gpusim.module import KernelNameError as KernelNameError
    from gpusim.module import Module as Module
    from isa.code_object import CodeObjectError as CodeObjectError
    from isa.decoder import DecodeError as DecodeError
    from isa.faults import ExecutionFault as ExecutionFault
    from isa.program import ProgramError as ProgramError
    from memory.device_memory import DeviceMemoryError as DeviceMemoryError

__version__ = "0.1.0"

# the interface for scripts: name → module that defines it
_EXPORTED = {
    "CodeObjectError": "isa.code_object",
    "DecodeError": "isa.decoder",
    "Device": "gpusim.device",
    "DeviceArray": "gpusim.device_array",
    "DeviceArrayError": "gpusim.device_array",
    "DeviceMemoryError": "memory.device_memory",
    "ExecutionFault": "isa.faults",
    "GpuSpec": "gpusim.core.gpu_spec",
    "GridError": "gpusim.grid",
    "KernargError": "gpusim.kernarg",
    "KernelFunction": "gpusim.module",
    "KernelNameError": "gpusim.module",
    "LaunchError": "gpusim.device",
    "LaunchResult": "gpusim.launch_result",
    "Local": "gpusim.kernarg",
    "Module": "gpusim.module",
    "OccupancyError": "gpusim.core.occupancy",
    "Pointer": "gpusim.kernarg",
    "ProgramError": "isa.program",
    "UserError": "gpusim.errors",
}

__all__ = sorted([*_EXPORTED, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _EXPORTED:
        raise AttributeError(f"module 'gpusim' has no attribute '{name}'")
    return getattr(import_module(_EXPORTED[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTED])
