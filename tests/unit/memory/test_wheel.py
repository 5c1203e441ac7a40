"""Wheel: a unit runs when it asked to, or as soon after as its class's turn comes; far wakes are clamped."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.jit import new_record, record_dtype
from memory.wheel import CLASSES, SIZE, WHEEL, WORD_BITS, WORDS, wake
from tests.support.smaller_machines import allow_further_layouts

RECORD = record_dtype((WHEEL,))


def machine(now):
    allow_further_layouts()
    m = new_record(RECORD)
    m.wheel.now = now
    return m


@settings(deadline=None)
@given(
    st.integers(0, 10**9),
    st.integers(-1, CLASSES - 1),
    st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(-5, 2 * SIZE), st.integers(0, WORDS * WORD_BITS - 1))),
)
def test_wakes_equal_a_plain_set(now, running, wakes):
    m = machine(now)
    m.wheel.running = running
    expected = set()
    for unit_class, after, unit in wakes:
        wake(m, unit_class, now + after, unit)
        soonest = 0 if unit_class > running else 1
        expected.add(((now + min(max(after, soonest), SIZE - 1)) % SIZE, unit_class, unit))
    found = {
        (int(slot), int(unit_class), int(word) * WORD_BITS + bit)
        for slot, unit_class, word in zip(*m.wheel.mask.nonzero(), strict=True)
        for bit in range(WORD_BITS)
        if (int(m.wheel.mask[slot, unit_class, word]) >> bit) & 1
    }
    assert found == expected
    busy = {(slot, unit_class * WORDS + unit // WORD_BITS) for slot, unit_class, unit in expected}
    assert {(int(s), b) for s in m.wheel.busy.nonzero()[0] for b in range(62) if int(m.wheel.busy[s]) >> b & 1} == busy
