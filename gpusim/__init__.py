"""The public names: a cycle-level simulator of AMD GPUs with the Spartan compaction engine.

From the bottom up: `gpusim.base` (tools), then beside this package `isa`, `memory` and `spartan`, and on them
`gpusim.model` (the timed GPU); `gpusim.config`, `gpusim.results` and `gpusim.jobs` lead from a configuration to a
result; `gpusim.study` runs and compares many; `gpusim.cli` is the command line. `gpusim.lab` stands on all of them.
`docs/explanation/architecture.md` has the whole plan.

Importing the package is cheap: the simulator's core, Numba included, is imported on first use.

Why so: a user sees these names and the command line alone, so that all else may move between versions;
`docs/reference/stability.md` says which names hold.
"""

from gpusim.base.packages import EXTENSIONS, claim

claim()
EXTENSIONS += ["gpusim.jobs.extension", "gpusim.lab.extension"]

from gpusim.base.version import __version__ as __version__  # noqa: E402  what follows may import the packages beside

TYPE_CHECKING = False  # as in `typing`, whose import would take as long as all else here
if TYPE_CHECKING:
    from typing import Any

    from gpusim.base.errors import GpusimError as GpusimError
    from gpusim.base.errors import SimulationError as SimulationError
    from gpusim.base.errors import UserError as UserError
    from gpusim.jobs.api.device import Device as Device
    from gpusim.jobs.api.device import LaunchError as LaunchError
    from gpusim.jobs.api.device_array import DeviceArray as DeviceArray
    from gpusim.jobs.api.device_array import DeviceArrayError as DeviceArrayError
    from gpusim.jobs.api.device_image import DeviceImage as DeviceImage
    from gpusim.jobs.api.device_image import DeviceSampler as DeviceSampler
    from gpusim.jobs.api.launch_result import LaunchResult as LaunchResult
    from gpusim.jobs.api.launch_result import QueueResult as QueueResult
    from gpusim.jobs.api.module import KernelFunction as KernelFunction
    from gpusim.jobs.api.module import Module as Module
    from gpusim.jobs.api.queue import Queue as Queue
    from gpusim.jobs.api.queue import QueueError as QueueError
    from gpusim.jobs.networks.script import NetworkResult as NetworkResult
    from gpusim.jobs.networks.script import run_network as run_network
    from gpusim.jobs.run import run as run
    from gpusim.jobs.running.script import RunResult as RunResult
    from gpusim.model.core.gpu_spec import GpuSpec as GpuSpec
    from gpusim.model.core.occupancy import OccupancyError as OccupancyError
    from gpusim.results.store.reading import open_store as open_store
    from gpusim.results.store.sweeps import SweepTable as SweepTable
    from gpusim.study.sweep.script import Sweep as Sweep
    from gpusim.study.sweep.script import run_sweep as run_sweep
    from isa.device_memory import DeviceMemoryError as DeviceMemoryError
    from isa.encoding.decoder import DecodeError as DecodeError
    from isa.execution.faults import ExecutionFault as ExecutionFault
    from isa.execution.translation import ProgramError as ProgramError
    from isa.grid import GridError as GridError
    from isa.image_resource import ImageError as ImageError
    from isa.kernarg import KernargError as KernargError
    from isa.kernarg import Local as Local
    from isa.kernarg import Pointer as Pointer
    from isa.object.code_object import CodeObjectError as CodeObjectError
    from isa.object.names import KernelNameError as KernelNameError


# the interface for scripts: name → module that defines it
_EXPORTED = {
    "CodeObjectError": "isa.object.code_object",
    "DecodeError": "isa.encoding.decoder",
    "Device": "gpusim.jobs.api.device",
    "DeviceArray": "gpusim.jobs.api.device_array",
    "DeviceArrayError": "gpusim.jobs.api.device_array",
    "DeviceImage": "gpusim.jobs.api.device_image",
    "DeviceMemoryError": "isa.device_memory",
    "DeviceSampler": "gpusim.jobs.api.device_image",
    "ExecutionFault": "isa.execution.faults",
    "GpuSpec": "gpusim.model.core.gpu_spec",
    "GpusimError": "gpusim.base.errors",
    "GridError": "isa.grid",
    "ImageError": "isa.image_resource",
    "KernargError": "isa.kernarg",
    "KernelFunction": "gpusim.jobs.api.module",
    "KernelNameError": "isa.object.names",
    "LaunchError": "gpusim.jobs.api.device",
    "LaunchResult": "gpusim.jobs.api.launch_result",
    "Local": "isa.kernarg",
    "Module": "gpusim.jobs.api.module",
    "NetworkResult": "gpusim.jobs.networks.script",
    "OccupancyError": "gpusim.model.core.occupancy",
    "Pointer": "isa.kernarg",
    "ProgramError": "isa.execution.translation",
    "Queue": "gpusim.jobs.api.queue",
    "QueueError": "gpusim.jobs.api.queue",
    "QueueResult": "gpusim.jobs.api.launch_result",
    "RunResult": "gpusim.jobs.running.script",
    "SimulationError": "gpusim.base.errors",
    "Sweep": "gpusim.study.sweep.script",
    "SweepTable": "gpusim.results.store.sweeps",
    "UserError": "gpusim.base.errors",
    "open_store": "gpusim.results.store.reading",
    "run": "gpusim.jobs.run",
    "run_network": "gpusim.jobs.networks.script",
    "run_sweep": "gpusim.study.sweep.script",
}

__all__ = sorted([*_EXPORTED, "__version__"])


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in _EXPORTED:
        raise AttributeError(f"module 'gpusim' has no attribute '{name}'")
    return getattr(import_module(_EXPORTED[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
