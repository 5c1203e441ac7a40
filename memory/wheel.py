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
from memory.unit_classes import CLASSES, FIRST_BEYOND, MOST_UNITS

SIZE = 1024  # cycles; a power of two
WORD_BITS = 32
NEAR_WORDS = 32  # two lines of the host's cache, and one operation's (`any_32`)
ROW_WORDS = 48  # one line more for the units beyond the crossbar

# a class has as many words of a row as its units need, and is numbered by its first one
_words = {number: -(-MOST_UNITS[name] // WORD_BITS) for name, number in CLASSES.items()}
_ends = [number + words for number, words in _words.items()]
assert all(end <= number for end, number in zip(_ends[:-1], [*_words][1:], strict=True))

WORDS = _ends[-1]
WIDE = tuple(number for number, words in _words.items() if words > 1)
_WIDE = sum(1 << number for number in WIDE)
assert FIRST_BEYOND == NEAR_WORDS and WORDS <= ROW_WORDS and all(_words[number] % 2 == 0 for number in WIDE)

WHEEL = State(
    "wheel",
    {
        "now": Field((), "current cycle"),
        "active": Field((), "last cycle in which a unit on the CUs' side of the crossbar has run"),
        "running": Field((), "class whose units are running now, -1 between cycles"),
        "row": Field((SIZE, ROW_WORDS), "units to run in a cycle, by class and number", u32),
        "far_now": Field((), "current cycle beyond the crossbar"),
        "far_active": Field((), "last cycle in which a unit beyond it has run"),
        "far_running": Field((), "class whose units are running there, -1 between cycles"),
    },
)


def wake_at_start(m: Machine, unit_class: int) -> None:
    """Have unit 0 of a class run in the present cycle, before the run begins.

    Args:
        m: Machine record.
        unit_class: Class of units in the wake-up wheel.
    """
    m.wheel.row[int(m.wheel.now) & (SIZE - 1), unit_class] |= 1


def let_sleep(m: Machine, unit_class: int) -> None:
    """Cancel, before the run begins, that unit 0 of a class runs in the present cycle.

    Args:
        m: Machine record.
        unit_class: Class of units in the wake-up wheel.
    """
    m.wheel.row[int(m.wheel.now) & (SIZE - 1), unit_class] &= ~np.uint32(1)


@jit
def wake_at(m: Machine, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, which lies within the wheel's reach, its class's turn still to come."""
    word = unit >> 5 if (_WIDE >> unit_class) & 1 else 0  # known to the compiler, as the class is
    m.wheel.row[t & (SIZE - 1), unit_class + word] |= 1 << (unit & 31)


def word_of(unit_class: int, unit: int) -> int:
    """Return the word, of a row, of one of a class's units.

    Args:
        unit_class: Class of units in the wake-up wheel.
        unit: Number of the unit.
    """
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
def within_far_reach(m: Machine, t):
    """Return a cycle as `within_reach` does, for units beyond the crossbar."""
    return min(t, m.wheel.far_now + SIZE - 1)


@jit
def wake(m: Machine, unit_class, t, unit):
    """Run `unit` of `unit_class` in cycle `t`, or in the next one in which its class's turn is still to come."""
    if unit_class < FIRST_BEYOND:  # known to the compiler
        t = max(t, m.wheel.now + 1 - (unit_class > m.wheel.running))
        wake_at(m, unit_class, within_reach(m, t), unit)
    else:
        t = max(t, m.wheel.far_now + 1 - (unit_class > m.wheel.far_running))
        wake_at(m, unit_class, within_far_reach(m, t), unit)


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
        if unit_class < FIRST_BEYOND:
            wheel.running = unit_class
        else:
            wheel.far_running = unit_class
        wheel.row[slot, word] = 0
        if (_WIDE >> unit_class) & 1:
            wheel.row[slot, word + 1] = 0
    return units


@jit
def take_word(m: Machine, t, word):
    """Return a word of a cycle's row, and empty it."""
    bits = np.int64(m.wheel.row[t & (SIZE - 1), word])
    if bits:
        m.wheel.row[t & (SIZE - 1), word] = 0
    return bits


@jit
def turned(units, first, last):
    """Return a mask turned so that its bit `first` comes lowest, then those up to bit `last`, then those before it.

    last: a power of two less one, at most 31.
    """
    return (units >> first | units << (last + 1 - first)) & ((2 << last) - 1)


@jit
def near_due(m: Machine, slot):
    """Return a number that is not 0 if a unit on the CUs' side of the crossbar runs in a cycle."""
    return any_32(address_in(m.wheel.row, slot * ROW_WORDS))


@jit
def far_due(m: Machine, slot):
    """Return a number that is not 0 if a unit beyond the crossbar runs in a cycle."""
    units = np.int64(0)
    for word in range(FIRST_BEYOND, WORDS):
        units |= np.int64(m.wheel.row[slot, word])
    return units
