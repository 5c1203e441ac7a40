"""The wake-up wheel: in which of the next cycles which units have something to do.

One bit a unit and cycle. Waking is idempotent, so waking twice or for nothing is harmless; a wake further
away than the wheel reaches is clamped, and the unit, finding nothing ready, wakes itself again. Units run in
a fixed order within a cycle: by class, then by number.
"""

from gpusim.jit import Field, State, jit, u32

SIZE = 1024  # cycles; a power of two
WORD_BITS = 32
WORDS = 2  # up to 64 units of a class

# classes in the order in which they run within a cycle
TRANSLATION, CU_MEMORY, SCALAR, FETCH, L2, ENGINE, DRAM, CU_ISSUE, DISPATCH = range(9)
CLASSES = 9

WHEEL = State(
    "wheel",
    {
        "now": Field((), "current cycle"),
        "running": Field((), "class whose units are running now, -1 between cycles"),
        # short words: a cycle's masks lie in one or two lines of the host's cache
        "mask": Field((SIZE, CLASSES, WORDS), "units to run in a cycle", u32),
        "busy": Field((SIZE,), "class-and-word pairs with a bit set in a cycle", u32),
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
    slot = t & (SIZE - 1)
    word = unit >> 5
    m.wheel.mask[slot, unit_class, word] |= 1 << (unit & 31)
    m.wheel.busy[slot] |= 1 << (unit_class * WORDS + word)
