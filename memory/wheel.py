"""The wake-up wheel: in which of the next cycles which units have something to do.

One bit a unit and cycle. Waking is idempotent, so waking twice or for nothing is harmless; a wake further
away than the wheel reaches is clamped, and the unit, finding nothing ready, wakes itself again. Units run in
a fixed order within a cycle: by class, then by number.
"""

import numpy as np

from gpusim.jit import Field, State, jit, u32

SIZE = 1024  # cycles; a power of two
WORD_BITS = 32
ROW_WORDS = 16  # a row fills one line of the host's cache

# classes in the order in which they run within a cycle: each is the number of its first word in a row
TRANSLATION = 0
CU_MEMORY = 1  # two words: up to 64 CUs
SCALAR = 3  # two words: up to 64 shader arrays
FETCH = 5  # two words
L2 = 7
ENGINE = 8
DRAM = 9
CU_ISSUE = 10  # two words
DISPATCH = 12
CLASSES = (TRANSLATION, CU_MEMORY, SCALAR, FETCH, L2, ENGINE, DRAM, CU_ISSUE, DISPATCH)
WIDE = (CU_MEMORY, SCALAR, FETCH, CU_ISSUE)

WHEEL = State(
    "wheel",
    {
        "now": Field((), "current cycle"),
        "running": Field((), "class whose units are running now, -1 between cycles"),
        "row": Field((SIZE, ROW_WORDS), "units to run in a cycle, by class and number", u32),
    },
)


@jit
def wake(m, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, or in the next one in which its class's turn is still to come."""
    now = m.wheel.now
    if t <= now:
        t = now if unit_class > m.wheel.running else now + 1
    if t >= now + SIZE:
        t = now + SIZE - 1
    m.wheel.row[t & (SIZE - 1), unit_class + (unit >> 5)] |= 1 << (unit & 31)


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
    for word in range(ROW_WORDS):
        units |= np.int64(m.wheel.row[slot, word])
    return units
