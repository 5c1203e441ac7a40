"""Launches that cost the same: what decides a launch's time, and what of an operator's operands does.

A class is all that decides: the code, the arguments with the addresses that the launch alone has
(`gpusim.jobs.networks.placement`), what its arrays hold (`gpusim.jobs.networks.contents`), and how it is sampled.
Launches of one class are simulated once. Floating-point values are made up, as no dense kernel's addresses depend on
them. Whole numbers may decide: places of maxima, masks, labels. So do the zeros that sparse kernels skip.
"""

import hashlib
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gpusim.jobs.networks.contents import deciding, describe_contents
from gpusim.jobs.networks.placement import LaunchPlacement, place_arrays
from workloads.operators.primitive import Primitive, TensorOperator
from workloads.operators.tensor import FLOAT

if TYPE_CHECKING:
    from gpusim.model.sampling.spec import SamplingSpec
    from isa.launch import Launch

TURNED_OVER = 2  # times L2's size, after which launches find nothing of what was in it before


def class_of_values(primitive: Primitive, made_by: str) -> str:
    """Say which values decide the time of a primitive's launches; empty if none do.

    made_by: the origin of the operands' values. Tables that launches make for later launches follow from the primitive.
    """
    if deciding(primitive):
        return f"{made_by}: {primitive!r}"
    return repr(primitive) if has_tables(primitive) else ""


def has_tables(primitive: Primitive) -> bool:
    """Tell whether launches read what earlier launches of the primitive made and what decides their time: integers, or
    zeros to skip.
    """
    tables = any(operand.dtype != FLOAT for operand in primitive.workspace.values())
    return tables or bool(primitive.skips_zeros_of)


class LaunchClass(NamedTuple):
    """A key of launches that take the same time: the same code, geometry, arguments and class of data."""

    kernel: str
    """Name of the kernel."""
    code: str
    """Hash of the code object."""
    arguments: bytes
    """Argument block with the addresses in the launch's own memory."""
    arrays: Hashable
    """Address and size of each range of arrays there, and what the arrays hold."""
    geometry: Hashable
    """Grid, workgroup size and dynamic LDS."""
    regions: Hashable
    """Sparse regions: address in the launch's own memory, rows, columns and leading dimension."""
    values: str
    """Description of the values that decide the time, and hash of the code that makes tables; empty: none do."""
    transferable: bool
    """The values are the same in every run."""
    after: Hashable = ()
    """With warm caches, preceding launches whose lines it may find in L2, in the same memory."""
    l1_bypass: bool = False
    """Loads bypass L1."""
    sampling: str = ""
    """How it is sampled, as JSON; empty: simulated whole."""

    def sampled(self, spec: "SamplingSpec | None") -> "LaunchClass":
        """Return the class of the same launch that is sampled; None: simulated whole.

        Whether skipped workgroups are executed decides no time of a class that others may take.
        """
        return self._replace(sampling="" if spec is None else spec.model_dump_json(exclude={"functional"}))


def launch_class(
    operator: TensorOperator, launch: "Launch", values: str, transferable: bool, l1_bypass: bool = False, draw: int = 0
) -> LaunchClass:
    """Return the class of a launch.

    Args:
        operator: the launch's operator.
        launch: the launch.
        values: description of the values that decide the time; empty: none do.
        transferable: the values are the same in every run.
        l1_bypass: loads bypass L1.
        draw: of the machine, which decides places too.

    Returns:
        The class.
    """
    kernel = launch.kernel
    unplaced = LaunchClass(
        kernel=kernel.name,
        code=_digest(kernel.code + kernel.image),
        arguments=launch.kernarg,
        arrays=(),
        geometry=(launch.global_size, launch.local_size, launch.dynamic_lds_bytes),
        regions=(),
        values=values and f"{values}; {_digest(b''.join(each.kernel.code for each in operator.launches))}",
        transferable=transferable,
        l1_bypass=l1_bypass,
    )
    return _placed(unplaced, operator, launch, place_arrays([(operator, launch)], draw))


def _placed(one: LaunchClass, operator: TensorOperator, launch: "Launch", placement: LaunchPlacement) -> LaunchClass:
    """Return a launch's class with the places of its arrays."""
    regions = placement.move_regions(launch).regions
    ranges = tuple((each.address, each.size_bytes) for each in placement.ranges)
    return one._replace(
        arguments=placement.move_arguments(launch),
        arrays=(ranges, tuple(map(tuple, describe_contents(operator, launch, placement)))),
        regions=tuple((each.address, each.rows, each.columns, each.leading_dimension) for each in regions),
    )


def classify_synthetic_launches(
    operators: Sequence[TensorOperator], zeros: str = "", l1_bypass: bool = False, draw: int = 0
) -> list[LaunchClass]:
    """Return the classes of all launches of operators over made-up values.

    Args:
        operators: the operators.
        zeros: how many are to be skipped.
        l1_bypass: loads bypass L1.
        draw: of the machine.

    Returns:
        The classes, in order.
    """
    classes = []
    for operator in operators:
        skipped = f", {zeros} zeros" if operator.primitive.skips_zeros_of else ""
        values = class_of_values(operator.primitive, f"made up{skipped}")
        classes += [launch_class(operator, launch, values, True, l1_bypass, draw=draw) for launch in operator.launches]
    return classes


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


def class_after(before: Sequence[PrecedingLaunch], launched: PrecedingLaunch, draw: int = 0) -> LaunchClass:
    """Return the class of a launch that finds in L2 what others left there, all in one memory.

    Args:
        before: the others.
        launched: the launch.
        draw: of the machine.

    Returns:
        The class.
    """
    placement = place_arrays([(each.operator, each.launch) for each in (*before, launched)], draw)
    *others, last = (_placed(each.one, each.operator, each.launch, placement) for each in (*before, launched))
    return last._replace(after=tuple(other._replace(after=()) for other in others))


@cache
def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()
