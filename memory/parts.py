"""The CUs' side of the crossbar, divided between two machine records, each of which a thread runs.

The *main* record has everything. While it is divided, a second one, its *part*, has the shader arrays from one number
on: their compute units and caches, with a wheel, counters and wait lists of their own. What serves both, the L2 TLB and
the dispatcher, is *held*: it is left for whoever runs both records (`gpusim.model.core.division`), in the order of
cycles. Code that is given a record reaches the other one by `machine_at` alone.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.base.jit import JIT_DISABLED, Field, Machine, State, jit
from gpusim.base.jit.functions import Intrinsic, note_primitive
from memory.unit_classes import MOST_UNITS

_LLVM = "gpusim.base.jit.operations_llvm"
_MAX_CUS = MOST_UNITS["CU_LOOK_UP"]
DISPATCHES = 2  # beside 1 in `held`: the dispatcher has something to do

PARTS = State(
    "parts",
    {
        "part": Field((), "of the main record: address of its part, 0: it is whole"),
        "main": Field((), "of a part: address of the main record, 0: this is the main one"),
        "first_cu": Field((), "first compute unit of the part"),
        "first_array": Field((), "first shader array of the part"),
        "held": Field((), "1: L2 TLB and dispatcher do not run in their cycles; DISPATCHES: the dispatcher was to"),
        "notes": Field((), "1: what has an order that both records decide is noted, with its cycle"),
        "stops": Field((), "1: a unit has asked the L2 TLB, the record runs no further cycle of the window"),
    },
)


class _MachineAt(Intrinsic):
    """The operation (address, 0) that returns the machine record at an address."""

    layout: Callable[[], np.dtype]
    """Returns the machine record's layout, which is put together above."""

    @cached_property
    def intrinsic(self) -> Any:
        """Numba's intrinsic of the operation; imports Numba."""
        from gpusim.base.jit.operations_llvm import record_at_intrinsic

        return record_at_intrinsic(self.layout())


def _machine_at(address: int, i: int) -> Any:
    raise NotImplementedError("a machine is divided in compiled code alone")


_machine_at.__name__ = "machine_at"
machine_at: Any = _machine_at if JIT_DISABLED else note_primitive(_MachineAt(_machine_at, _LLVM))


def lay_machine_out(layout: Callable[[], np.dtype]) -> None:
    """Say how a machine record is laid out, before anything is compiled. layout: returns its type."""
    if not JIT_DISABLED:
        machine_at.layout = layout


def divide(m: Machine, part: Machine, addresses: tuple[int, int], first_cu: int, first_array: int) -> None:
    """Let a record be the part of a machine, which has units from some numbers on.

    Args:
        m: The machine.
        part: The record.
        addresses: Of both.
        first_cu: First of the part's compute units.
        first_array: First of its shader arrays.
    """
    for record in (m, part):
        record.parts.first_cu, record.parts.first_array = first_cu, first_array
        record.parts.held, record.parts.stops, record.parts.notes = 1, 0, 0
    part.parts.main, m.parts.part = addresses


def make_whole(m: Machine) -> None:
    """Let a machine have no part."""
    m.parts.part, m.parts.held, m.parts.stops = 0, 0, 0


@jit
def is_dispatcher_held(m: Machine):
    """Tell whether the dispatcher, which has something to do now, is left to whoever runs both records."""
    if m.parts.held:
        m.parts.held |= DISPATCHES
    return m.parts.held


@jit
def takes_dispatches(m: Machine):
    """Tell whether the dispatcher was to run since this was asked last."""
    if not m.parts.held & DISPATCHES:
        return False
    m.parts.held = 1
    return True


@jit
def stop_if_divided(m: Machine):
    """Have the record run no further cycle of its window, as a unit has asked the L2 TLB."""
    m.parts.stops = m.parts.held


@jit
def note_orders(m: Machine, notes):
    """Have what both records decide the order of be noted (1) from a window's begin on, or be done at once (0)."""
    m.parts.stops = 0
    m.parts.notes = notes


@jit
def main_of(m: Machine):
    """Return the main record: the given one, or that whose part it is."""
    return machine_at(m.parts.main, 0) if m.parts.main else m


@jit
def is_whole(m: Machine):
    """Tell whether the record has all shader arrays."""
    return m.parts.part == 0 and m.parts.main == 0


@jit
def owner_of_cu(m: Machine, cu):
    """Return the machine record whose a compute unit is: the given one or its part."""
    return machine_at(m.parts.part, 0) if m.parts.part and cu >= m.parts.first_cu else m


@jit
def user_in_part(m: Machine, number):
    """Tell whether a port, or an L1 TLB, is the part's: CUs' come first, then arrays'."""
    return number - _MAX_CUS >= m.parts.first_array if number >= _MAX_CUS else number >= m.parts.first_cu


@jit
def is_own(m: Machine, number):
    """Tell whether a port, or an L1 TLB, is the record's."""
    return is_whole(m) or user_in_part(m, number) == (m.parts.main != 0)
