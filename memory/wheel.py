"""The wake-up wheel: in which of the next cycles which units have something to do.

One bit a unit and cycle. Waking is idempotent, and a spurious wake-up changes nothing: a unit that finds nothing to do
does nothing. So a wake-up further away than the wheel reaches may come early: the unit wakes itself again. Units run
in a fixed order within a cycle, class by class (`memory.unit_classes`, written from the table in
`gpusim.model.core.units`).

Two ways to wake: `wake` takes any cycle; `wake_at`, for callers that know their cycle to be ahead and within reach, is
half as long, and wake-ups are the most frequent thing that units do. Where the class is no constant, a table has the
unit's word and bit for `wake_word`.
"""

import numpy as np

from gpusim.base.jit import Field, Machine, State, address_in, any_32, jit, u32
from memory.unit_classes import CLASSES, MOST_UNITS

SIZE = 1024  # cycles; a power of two
WORD_BITS = 32
ROW_WORDS = 32  # a row fills two lines of the host's cache, and is one operation's (`any_32`)

# of a row, each the class that it belongs to: a class has as many as its units need, and is numbered by its first one
_words = [number for name, number in CLASSES.items() for _ in range(-(-MOST_UNITS[name] // WORD_BITS))]
assert [_words.index(number) for number in CLASSES.values()] == list(CLASSES.values())

WORDS = len(_words)
WIDE = tuple(number for number in CLASSES.values() if _words.count(number) > 1)
_WIDE = sum(1 << number for number in WIDE)
assert WORDS <= ROW_WORDS and all(_words.count(number) % 2 == 0 for number in WIDE)

WHEEL = State(
    "wheel",
    {
        "now": Field((), "current cycle"),
        "running": Field((), "class whose units are running now, -1 between cycles"),
        "row": Field((SIZE, ROW_WORDS), "units to run in a cycle, by class and number", u32),
    },
)


def wake_at_start(m: Machine, unit_class: int) -> None:
    """Have unit 0 of a class run in the present cycle, before the run begins."""
    m.wheel.row[int(m.wheel.now) & (SIZE - 1), unit_class] |= 1


def let_sleep(m: Machine, unit_class: int) -> None:
    """Cancel, before the run begins, that unit 0 of a class runs in the present cycle."""
    m.wheel.row[int(m.wheel.now) & (SIZE - 1), unit_class] &= ~np.uint32(1)


@jit
def wake_at(m: Machine, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, which lies within the wheel's reach, its class's turn still to come."""
    word = unit >> 5 if (_WIDE >> unit_class) & 1 else 0  # known to the compiler, as the class is
    m.wheel.row[t & (SIZE - 1), unit_class + word] |= 1 << (unit & 31)


def word_of(unit_class: int, unit: int) -> int:
    """Return the word, of a row, of one of a class's units."""
    return unit_class + unit // WORD_BITS * ((_WIDE >> unit_class) & 1)


@jit
def wake_word(m: Machine, word, t, bit):
    """Wake as `wake_at` does a unit that is a bit of a row's word, of any class."""
    m.wheel.row[t & (SIZE - 1), word] |= bit


@jit
def within_reach(m: Machine, t):
    """Return cycle `t`, or the last one that the wheel reaches if that is before: then the unit wakes itself again."""
    return min(t, m.wheel.now + SIZE - 1)


@jit
def wake(m: Machine, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, or in the next one in which its class's turn is still to come."""
    t = max(t, m.wheel.now + 1 - (unit_class > m.wheel.running))
    wake_at(m, unit_class, within_reach(m, t), unit)


@jit
def due(m: Machine, slot, unit_class, first):
    """Return the mask of the units of a class that run in a cycle, 64 from number `first` on, and take them off it.

    A class without any is not entered: what was written for it would be most of a cycle in which few units run.
    """
    wheel = m.wheel
    word = unit_class + (first >> 5)
    units = np.int64(wheel.row[slot, word])
    if (_WIDE >> unit_class) & 1:  # known to the compiler
        units |= np.int64(wheel.row[slot, word + 1]) << WORD_BITS
    if units:
        wheel.running = unit_class
        wheel.row[slot, word] = 0
        if (_WIDE >> unit_class) & 1:
            wheel.row[slot, word + 1] = 0
    return units


@jit
def turned(units, first, last):
    """Return a mask turned so that its bit `first` comes lowest, then those up to bit `last`, then those before it.

    last: a power of two less one, at most 31.
    """
    return (units >> first | units << (last + 1 - first)) & ((2 << last) - 1)


@jit
def anything_due(m: Machine, slot):
    """Return a number that is not 0 if a unit runs in a cycle."""
    return any_32(address_in(m.wheel.row, slot * ROW_WORDS))
