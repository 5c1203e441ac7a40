"""Launches that cost the same: what decides a launch's time, and what of an operator's operands does.

No dense kernel's control flow or addresses depend on the values of floating-point operands, so that launches of one
class are simulated once. Whole numbers may decide both: places of maxima, masks, labels. So do the zeros that sparse
kernels skip.
"""

import hashlib
import struct
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from isa.launch import POINTERS
from isa.trace import LINE_BYTES
from workloads.operators.primitive import Primitive, TensorOperator
from workloads.operators.tensor import FLOAT, Operand

if TYPE_CHECKING:
    from isa.launch import Launch

TURNED_OVER = 2  # times L2's size, after which launches find nothing of what was in it before


def class_of_values(primitive: Primitive, made_by: str) -> str:
    """Say which values decide the time of a primitive's launches; empty if none do.

    made_by: the origin of the operands' values. Tables that launches make for later launches follow from the primitive.
    """
    if deciding(primitive):
        return made_by
    return repr(primitive) if has_tables(primitive) else ""


def has_tables(primitive: Primitive) -> bool:
    """Tell whether launches read what earlier launches of the primitive made and what decides their time: integers, or
    zeros to skip.
    """
    tables = any(operand.dtype != FLOAT for operand in primitive.workspace.values())
    return tables or bool(primitive.skips_zeros_of)


def deciding(primitive: Primitive) -> dict[str, Operand]:
    """Return the operands whose values may decide the time."""
    skipped = primitive.skips_zeros_of
    return {name: held for name, held in primitive.takes.items() if held.dtype.kind != "f" or name in skipped}


class LaunchClass(NamedTuple):
    """A key of launches that take the same time: the same code, geometry, arguments and class of data."""

    kernel: str
    """Name of the kernel."""
    code: str
    """Hash of the code object."""
    arguments: bytes
    """Argument block with addresses set to zero."""
    pointers: Hashable
    """For each pointer: which are equal, its offset in a cache line, and whether it is null."""
    geometry: Hashable
    """Grid, workgroup size and dynamic LDS."""
    regions: Hashable
    """Rows and columns of the sparse regions."""
    values: str
    """Description of the values that decide the time; empty: none do."""
    transferable: bool
    """The values are the same in every run."""
    after: Hashable = ()
    """With warm caches, preceding launches whose lines it may find in L2, and their shared memory."""
    l1_bypass: bool = False
    """Loads bypass L1."""


def launch_class(launch: "Launch", values: str, transferable: bool, l1_bypass: bool = False) -> LaunchClass:
    """Return the class of a launch."""
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
    return LaunchClass(
        kernel=kernel.name,
        code=code,
        arguments=bytes(block),
        pointers=pattern,
        geometry=geometry,
        regions=regions,
        values=values,
        transferable=transferable,
        l1_bypass=l1_bypass,
    )


def classify_synthetic_launches(
    operators: Sequence[TensorOperator], zeros: str = "", l1_bypass: bool = False
) -> list[LaunchClass]:
    """Return the classes of all launches of operators over made-up values.

    zeros: says how many are to be skipped; l1_bypass: whether loads go past L1.
    """
    found = []
    for operator in operators:
        skipped = f", {zeros} zeros" if operator.primitive.skips_zeros_of else ""
        values = class_of_values(operator.primitive, f"made up{skipped}")
        found += [launch_class(launch, values, True, l1_bypass) for launch in operator.launches]
    return found


class PrecedingLaunch(NamedTuple):
    """A preceding launch."""

    operator: TensorOperator
    """Operator that contains the launch."""
    number: int
    """Number of the launch in its operator."""
    one: LaunchClass
    """Class of the launch."""
    moved_bytes: float
    """Estimate of the bytes that it reads and writes."""

    @property
    def launch(self) -> "Launch":
        """The launch itself."""
        return self.operator.launches[self.number]


def find_launches_in_l2(before: Sequence[PrecedingLaunch], l2_bytes: int) -> tuple[PrecedingLaunch, ...]:
    """Return the last launches of `before`, whose lines the next launch may find in L2.

    They go back until together they have moved TURNED_OVER times what L2 holds: of anything older, hardly a line is
    left.
    """
    moved, first = 0.0, len(before)
    while first and moved < TURNED_OVER * l2_bytes:
        first -= 1
        moved += before[first].moved_bytes
    return tuple(before[first:])


def after(before: Sequence[PrecedingLaunch], launch: "Launch") -> Hashable:
    """Return a key that distinguishes two launches of one class by what they find in L2: who ran before, on which
    memory.
    """
    seen: dict[int, int] = {}
    chain = [one.launch.pointers for one in before] + [launch.pointers]
    shared = tuple(tuple(seen.setdefault(address, len(seen)) for address in pointers) for pointers in chain)
    return tuple(one.one._replace(after=()) for one in before), shared


@cache
def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()
