"""The wake-up wheel: in which of the next cycles which units have something to do.

One bit a unit and cycle. Waking is idempotent, so waking twice or for nothing is harmless; a wake further
away than the wheel reaches is clamped, and the unit, finding nothing ready, wakes itself again. Units run in
a fixed order within a cycle: by class, then by number.
"""

from typing import Any

import numpy as np

from gpusim.jit import Field, State, jit, u32

SIZE = 1024  # cycles; a power of two
WORD_BITS = 32
ROW_WORDS = 32  # a row fills two lines of the host's cache

# classes in the order in which they run within a cycle: each is the number of its first word in a row
TRANSLATION = 0
CU_RESPONSE = 1  # an answer from the crossbar; two words: up to 64 CUs
CU_RETURN = 3  # finished loads, stores, LDS accesses; two words
CU_LOOK_UP = 5  # the vector L1's look-up; two words
SCALAR = 7  # two words: up to 64 shader arrays
FETCH = 9  # two words
L2_FILL = 11  # lines from DRAM and the engine
L2_SERVE = 12  # the oldest waiting request
L2_TAKE = 13  # a request from the crossbar
ENGINE = 14
DRAM = 15
CU_ISSUE = 16  # two words
DISPATCH = 18
CLASSES = (
    *(TRANSLATION, CU_RESPONSE, CU_RETURN, CU_LOOK_UP, SCALAR, FETCH),
    *(L2_FILL, L2_SERVE, L2_TAKE, ENGINE, DRAM, CU_ISSUE, DISPATCH),
)
WIDE = (CU_RESPONSE, CU_RETURN, CU_LOOK_UP, SCALAR, FETCH, CU_ISSUE)
WORDS = DISPATCH + 1
_WIDE = sum(1 << unit_class for unit_class in WIDE)

WHEEL = State(
    "wheel",
    {
        "now": Field((), "current cycle"),
        "running": Field((), "class whose units are running now, -1 between cycles"),
        "row": Field((SIZE, ROW_WORDS), "units to run in a cycle, by class and number", u32),
    },
)


def wake_at_start(m: Any, unit_class: int) -> None:
    """Before a run: have unit 0 of a class run in cycle 0."""
    m.wheel.row[0, unit_class] |= 1


@jit
def wake_at(m, unit_class, t, unit):
    """As `wake`, for a cycle `t` that is known to lie within the wheel's reach, its class's turn still to come."""
    word = unit >> 5 if (_WIDE >> unit_class) & 1 else 0  # known to the compiler, as the class is
    m.wheel.row[t & (SIZE - 1), unit_class + word] |= 1 << (unit & 31)


@jit
def wake(m, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, or in the next one in which its class's turn is still to come."""
    now = m.wheel.now
    t = max(t, now + 1 - (unit_class > m.wheel.running))
    wake_at(m, unit_class, min(t, now + SIZE - 1), unit)


@jit
def wake_later(m, unit_class, t, unit):
    """As `wake`, for a cycle `t` after the current one."""
    wake_at(m, unit_class, min(t, m.wheel.now + SIZE - 1), unit)


@jit
def due(m, slot, unit_class):
    """Mask of the units of a class of one word that run in a cycle; they are taken off the wheel."""
    wheel = m.wheel
    wheel.running = unit_class
    units = np.int64(wheel.row[slot, unit_class])
    wheel.row[slot, unit_class] = 0
    return units


@jit
def due_of_wide(m, slot, unit_class):
    """The same for a class of two words."""
    return due(m, slot, unit_class) | due(m, slot, unit_class + 1) << WORD_BITS


@jit
def anything_due(m, slot):
    """Not 0 if a unit runs in a cycle."""
    units = 0
    for word in range(WORDS):
        units |= np.int64(m.wheel.row[slot, word])
    return units
