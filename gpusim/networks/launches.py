"""Launches that cost the same: what decides a launch's time, and what of an operator's operands does.

No dense kernel's control flow or addresses depend on the values of floating-point operands, so that launches of one
class are simulated once. Whole numbers may decide both: places of maxima, masks, labels. So do the zeros that sparse
kernels skip.
"""

import hashlib
import struct
from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from isa.launch import POINTERS
from isa.trace import LINE_BYTES
from workloads.operators.primitive import Primitive
from workloads.operators.tensor import FLOAT, Operand

if TYPE_CHECKING:
    from isa.launch import Launch


def class_of_values(primitive: Primitive, made_by: str) -> str:
    """Which values decide the time of a primitive's launches; empty: none do.

    made_by: whose values the operands hold. Tables that launches make for those after them follow from the primitive.
    """
    if deciding(primitive):
        return made_by
    return repr(primitive) if has_tables(primitive) else ""


def has_tables(primitive: Primitive) -> bool:
    """Whether launches read what launches before them made and decides their time: whole numbers, or zeros to skip."""
    tables = any(operand.dtype != FLOAT for operand in primitive.workspace.values())
    return tables or bool(primitive.skips_zeros_of)


def deciding(primitive: Primitive) -> dict[str, Operand]:
    """Operands whose values may decide the time."""
    skipped = primitive.skips_zeros_of
    return {name: held for name, held in primitive.takes.items() if held.dtype != FLOAT or name in skipped}


class LaunchClass(NamedTuple):
    """Equal for launches that take the same time: of the same code, geometry, arguments and class of data.

    arguments: the block without addresses; pointers: which addresses are the same, where in a cache line they begin,
    and which are null; values: which values decide the time, empty: none do; transferable: whether the values are the
    same in every run.
    """

    kernel: str
    code: str
    arguments: bytes
    pointers: Hashable
    geometry: Hashable
    regions: Hashable
    values: str
    transferable: bool


def launch_class(launch: "Launch", values: str, transferable: bool) -> LaunchClass:
    """The class of a launch."""
    kernel = launch.kernel
    block, pointers = bytearray(launch.kernarg), launch.pointers
    for argument in kernel.arguments:
        if argument.kind in POINTERS and argument.size == 8:
            struct.pack_into("<Q", block, argument.offset, 0)
    seen: dict[int, int] = {}
    pattern = tuple((seen.setdefault(address, len(seen)), address % LINE_BYTES, address == 0) for address in pointers)
    geometry = (launch.global_size, launch.local_size, launch.dynamic_lds_bytes)
    regions = tuple((region.rows, region.columns) for region in launch.regions)
    code = _digest(kernel.code + kernel.image)
    return LaunchClass(kernel.name, code, bytes(block), pattern, geometry, regions, values, transferable)


@cache
def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()
