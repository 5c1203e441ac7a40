"""The grid of a launch: sizes as a caller writes them, checked against the kernel and the machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

MAX_WORKGROUP_SIZE = 1024  # 16 wavefronts of 64 (GCN3 ISA manual, section 1.2)
MAX_GLOBAL_SIZE = (1 << 32) - 1  # the dispatch packet's grid sizes have 32 bits (LLVM AMDGPU guide)

Size = int | Sequence[int]
Size3 = tuple[int, int, int]


class GridError(UserError):
    """Sizes that the kernel or the machine does not allow."""


class Grid(NamedTuple):
    """Work-items of a launch in x, y and z."""

    global_size: Size3
    """Size of the grid."""
    local_size: Size3
    """Size of a workgroup."""
    offset: Size3
    """Offset of the first work-item."""
    dimensions: int
    """Number of dimensions as given."""


def grid(kernel: "Kernel", global_size: Size, local_size: Size | None, offset: Size = 0) -> Grid:
    """Check a grid's sizes.

    Args:
        kernel: the kernel, which may require a local size.
        global_size: work-items in up to three dimensions; missing ones are 1.
        local_size: work-items of a workgroup; None: what the kernel requires.
        offset: number of the first work-item in each dimension.

    Returns:
        The grid.

    Raises:
        GridError: a size is not valid.
    """
    name = kernel.name
    total = _three(name, "global_size", global_size, 1)
    required = kernel.required_workgroup_size
    if local_size is None:
        if required is None:
            raise GridError(f"kernel '{name}': local_size is missing, and the kernel does not require one")
        local_size = required
    local = _three(name, "local_size", local_size, 1)
    if required is not None and local != tuple(required):
        raise GridError(f"kernel '{name}' requires local_size {tuple(required)}, the launch has {local}")
    items = local[0] * local[1] * local[2]
    most = min(kernel.max_workgroup_size or MAX_WORKGROUP_SIZE, MAX_WORKGROUP_SIZE)
    if items > most:
        raise GridError(
            f"kernel '{name}' allows workgroups of at most {most} work-items, local_size {local} has {items}"
        )
    dimensions = 1 if isinstance(global_size, int | np.integer) else len(global_size)
    return Grid(total, local, _three(name, "global_offset", offset, 0), dimensions)


def _three(kernel: str, what: str, size: Any, least: int) -> Size3:
    whole = (size,) if isinstance(size, int | np.integer) else tuple(size) if isinstance(size, Sequence) else ()
    if not 1 <= len(whole) <= 3 or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in whole):
        raise GridError(f"kernel '{kernel}': {what} is 1 to 3 whole numbers, not {size!r}")
    if not all(least <= n <= MAX_GLOBAL_SIZE for n in whole):
        raise GridError(f"kernel '{kernel}': {what} {tuple(map(int, whole))}: allowed are {least} to {MAX_GLOBAL_SIZE}")
    filled = [int(n) for n in whole] + [least] * (3 - len(whole))
    return filled[0], filled[1], filled[2]
