"""Launches of the operators' kernels: code objects by name, argument blocks, grids of a work-item for four elements."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isa.device_memory import DeviceMemory
from isa.kernarg import pack
from isa.launch import Launch
from isa.region import SparseRegion
from workloads.operators.primitive import OperatorError
from workloads.operators.tensor import Tensor
from workloads.toolchain.build import KERNELS_DIR
from workloads.toolchain.compilers import DEFAULT_GPU
from workloads.toolchain.needed import code_object

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

GROUP = 256  # work-items of a workgroup: workloads/kernels/elements.h
ITEM_ELEMENTS = 4  # of a work-item of an element-wise kernel


def launch(
    source: str,
    kernel: str,
    memory: DeviceMemory,
    groups: tuple[int, ...],
    values: Mapping[str, Any],
    work_items: int | tuple[int, int, int] = GROUP,
    regions: tuple[SparseRegion, ...] = (),
    directory: Path = KERNELS_DIR,
) -> Launch:
    """Return a launch of `groups` workgroups (x, and y, z where given) of kernel `kernel` of code object `source`.

    Args:
        values: Arguments by name; tensors stand for their addresses.
        work_items: Work-items of a workgroup, in x or in x, y and z.
        directory: Folder of the source.
    """
    from isa.launch import Launch

    function = kernel_of(source, kernel, directory, memory.architecture)
    arguments = {name: value.pointer if isinstance(value, Tensor) else value for name, value in values.items()}
    x, y, z = (*groups, 1, 1)[:3]
    local = (work_items, 1, 1) if isinstance(work_items, int) else work_items
    size = (x * local[0], y * local[1], z * local[2])
    packed = pack(function, arguments)
    return Launch(
        kernel=function,
        memory=memory,
        kernarg=packed.block,
        global_size=size,
        local_size=local,
        dynamic_lds_bytes=packed.dynamic_lds_bytes,
        regions=regions,
    )


def elementwise(source: str, kernel: str, values: Mapping[str, Any]) -> Launch:
    """Return a launch with work-items for all `n` elements, four each; `values` has n and at least one tensor."""
    memory = next(value.memory for value in values.values() if isinstance(value, Tensor))
    return launch(source, kernel, memory, (groups_for(values["n"]),), values)


def count_code(source: str, kernel: str) -> int:
    """Count the instructions in the code of kernel `kernel` of the project's source `source`; 0 where it has none.

    Args:
        source: Name of the source.
        kernel: Name of the kernel.
    """
    from isa.encoding.control_flow import decode_kernel

    kernels = _kernels(source, KERNELS_DIR, DEFAULT_GPU)
    return len(decode_kernel(kernels[kernel])) if kernel in kernels else 0


def groups_for(elements: int) -> int:
    """Return the number of workgroups of an element-wise kernel."""
    return -(-elements // (GROUP * ITEM_ELEMENTS))


def divisor(number: int) -> np.ndarray:
    """Return what kernels divide values below 2^31 by `number` with (workloads/kernels/elements.h, Divisor)."""
    shift = (number - 1).bit_length()
    return np.array([number, -(-(1 << 31 + shift) // number), shift], np.uint32)


def words(*values: Any) -> np.ndarray:
    """Return a structure of 32-bit words; negative numbers in two's complement."""
    return np.concatenate([np.atleast_1d(np.asarray(value, np.int64)) for value in values]).astype(np.uint32)


@cache
def _kernels(source: str, directory: Path, gpu: str) -> "Mapping[str, Kernel]":
    from isa.object.code_object import load_code_object

    return load_code_object(code_object(source, directory, gpu)).kernels


def kernel_of(source: str, name: str, directory: Path = KERNELS_DIR, gpu: str = DEFAULT_GPU) -> "Kernel":
    """Return the kernel `name` of the project's source `source`, as code for a GPU of this name.

    Args:
        source: Name of the source.
        name: Name of the kernel.
        directory: Folder of the source.
        gpu: Name of the GPU.

    Raises:
        OperatorError: The source has no such kernel.
    """
    kernels = _kernels(source, directory, gpu)
    if name not in kernels:
        raise OperatorError(f"code object '{source}.hsaco' has no kernel '{name}'; it has {', '.join(sorted(kernels))}")
    return kernels[name]
