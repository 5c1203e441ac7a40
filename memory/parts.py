"""The CUs' side of the crossbar, divided among several machine records, each of which a thread runs.

The *main* record has everything. While it is divided, others, its *parts*, have shader arrays of their own: their
compute units and caches, with a wheel, counters and wait lists. The main record has the first arrays, then each part
the next ones, so that the order of records is that of units. What serves all, the L2 TLB and the dispatcher, is *held*:
it is left for whoever runs all records (`gpusim.model.core.division`), in the order of cycles. Code that is given a
record reaches another one by the functions below that return one.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.base.jit import JIT_DISABLED, Field, Machine, State, jit
from gpusim.base.jit.functions import Intrinsic, note_primitive
from memory.unit_classes import MOST_UNITS

_LLVM = "gpusim.base.jit.operations_llvm"
_MAX_CUS, MAX_PARTS = MOST_UNITS["CU_LOOK_UP"], MOST_UNITS["SCALAR"]
DISPATCHES = 2  # beside 1 in `held`: the dispatcher has something to do

PARTS = State(
    "parts",
    {
        "others": Field((), "of the main record: number of its parts, 0: it is whole"),
        "address": Field((1 + MAX_PARTS,), "of the main record: addresses of its parts, from 1 on"),
        "main": Field((), "of a part: address of the main record, 0: this is the main one"),
        "first_cu": Field((), "first compute unit of the record"),
        "end_cu": Field((), "compute unit after its last one"),
        "first_array": Field((), "first shader array of the record"),
        "end_array": Field((), "shader array after its last one"),
        "came": Field((), "cycle to which the record has come in a window"),
        "held": Field((), "1: L2 TLB and dispatcher do not run in their cycles; DISPATCHES: the dispatcher was to"),
        "notes": Field((), "1: what has an order that all records decide is noted, with its cycle"),
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


def divide(records: Sequence[Machine], addresses: Sequence[int], arrays: Sequence[int], cus_per_array: int) -> None:
    """Let records be a machine and its parts.

    Args:
        records: The machine, then its parts.
        addresses: Of the records.
        arrays: Number of shader arrays of each.
        cus_per_array: Compute units of an array.
    """
    first = 0
    for record, number in zip(records, arrays, strict=True):
        parts = record.parts
        parts.first_array, parts.end_array = first, first + number
        parts.first_cu, parts.end_cu = first * cus_per_array, (first + number) * cus_per_array
        parts.held, parts.stops, parts.notes = 1, 0, 0
        parts.main = 0 if first == 0 else addresses[0]
        first += number
    main = records[0].parts
    main.others, main.address[: len(addresses)] = len(addresses) - 1, addresses


def make_whole(m: Machine) -> None:
    """Let a machine have no part."""
    m.parts.others, m.parts.held, m.parts.stops = 0, 0, 0


@jit
def is_dispatcher_held(m: Machine):
    """Tell whether the dispatcher, which has something to do now, is left to whoever runs all records."""
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
    """Have what all records decide the order of be noted (1) from a window's begin on, or be done at once (0)."""
    m.parts.stops = 0
    m.parts.notes = notes


@jit
def come_to(m: Machine, now):
    """Note the cycle to which the record has come in a window."""
    m.parts.came = now


@jit
def main_of(m: Machine):
    """Return the main record: the given one, or that whose part it is."""
    return machine_at(m.parts.main, 0) if m.parts.main else m


@jit
def record_of(m: Machine, number):
    """Return the main record (0) or one of its parts by its number."""
    return machine_at(m.parts.address[number], 0) if number else m


@jit
def is_whole(m: Machine):
    """Tell whether the record has all shader arrays."""
    return m.parts.others == 0 and m.parts.main == 0


@jit
def _has(m: Machine, number):
    """Tell whether a port, or an L1 TLB, is of the record's units: CUs' come first, then arrays'."""
    if number >= _MAX_CUS:
        return m.parts.first_array <= number - _MAX_CUS < m.parts.end_array
    return m.parts.first_cu <= number < m.parts.end_cu


@jit
def is_own(m: Machine, number):
    """Tell whether a port, or an L1 TLB, is the record's."""
    return is_whole(m) or _has(m, number)


@jit
def owner_of(m: Machine, number):
    """Return the record, of the main one and its parts, whose a compute unit, a port or an L1 TLB is."""
    for part in range(1, 1 + m.parts.others):
        of = machine_at(m.parts.address[part], 0)
        if _has(of, number):
            return of
    return m
