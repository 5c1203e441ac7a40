"""Chains of launches: one that reads what a sampled launch has skipped.

A sampled launch leaves its results incomplete. A later launch may still be timed if neither its addresses nor its
branches depend on them. Workgroups spread over its grid are executed without writing (`isa.execution.survey`), and the
loads that decide are compared with the incomplete arrays.
"""

from collections.abc import Sequence

import numpy as np

from isa.device_memory import Allocation
from isa.execution.control_slice import ControlSliceError
from isa.execution.faults import ExecutionFault
from isa.execution.passage import needed_of
from isa.execution.survey import surveyed_accesses
from isa.launch import Launch
from isa.trace import LINE_ADDRESS_MASK, LINE_BYTES
from spartan.shadows import shadows_of

_PLACES = 128  # workgroups that are looked at


class UncomputedInputError(Exception):
    """A launch whose time depends, or may depend, on what a sampled launch has skipped."""


def find_uncomputed_inputs(launch: Launch) -> list[Allocation]:
    """Return the incomplete arrays that a launch reads, none of which decides its time.

    Args:
        launch: The launch, before it runs.

    Returns:
        The arrays.

    Raises:
        UncomputedInputError: One of them decides addresses or branches, or it is not known that none does.
    """
    words = np.frombuffer(launch.kernarg[: len(launch.kernarg) // 8 * 8], "<u8").tolist()
    given = launch.memory.uncomputed([*words, *(region.address for region in launch.regions)])
    if not given:
        return []
    for region in launch.regions:
        for allocation in launch.memory.uncomputed([region.address]):
            raise UncomputedInputError(f"the zeros of '{allocation.name}' decide its time")
    total = int(np.prod(launch.workgroups))
    chosen = np.unique(np.linspace(0, total - 1, min(total, _PLACES)).astype(int)).tolist()
    try:
        needed_of(launch.kernel)
        seen = surveyed_accesses(launch, chosen, shadows_of(launch) or None)
    except (ControlSliceError, ExecutionFault) as why:
        raise UncomputedInputError(
            f"it is not known whether '{given[0].name}' decides its addresses or branches: {why}"
        ) from None
    for allocation in given:
        if any(_meets(allocation, workgroup.deciding) for workgroup in seen):
            raise UncomputedInputError(f"'{allocation.name}' decides its addresses or branches")
    return [allocation for allocation in given if any(_meets(allocation, workgroup.loaded) for workgroup in seen)]


def join_names(allocations: Sequence[Allocation]) -> str:
    """Return the names of arrays in one text."""
    return " and ".join(f"'{allocation.name}'" for allocation in allocations)


def _meets(allocation: Allocation, lines: np.ndarray) -> bool:
    """Tell whether any of some lines lies in an allocation, as far as lines are numbered."""
    first = allocation.address // LINE_BYTES & LINE_ADDRESS_MASK
    return bool((((lines - first) & LINE_ADDRESS_MASK) <= (allocation.size_bytes - 1) // LINE_BYTES).any())
