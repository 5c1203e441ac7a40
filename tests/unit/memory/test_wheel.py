"""Wheel: a unit runs when it asked to, or as soon after as its class's turn comes; far wakes are clamped."""

import pytest
from hypothesis import strategies as st

from gpusim.base.jit import ctz, new_record, record_dtype
from memory.unit_classes import CLASSES, MOST_UNITS
from memory.wheel import SIZE, WHEEL, due, far_due, near_due, turned, wake
from tests.support.daily import given_daily
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((WHEEL,))


def machine(now):
    allow_further_layouts()
    m = new_record(RECORD)
    m.wheel.now = m.wheel.far_now = now
    return m


UNITS = st.sampled_from(list(CLASSES)).flatmap(
    lambda name: st.tuples(st.just(CLASSES[name]), st.integers(-5, 2 * SIZE), st.integers(0, MOST_UNITS[name] - 1))
)


@given_daily(10, 100, st.integers(0, 10**9), st.sampled_from((-1, *CLASSES.values())), st.lists(UNITS))
def test_wakes_equal_a_plain_set(now, running, wakes):
    m = machine(now)
    m.wheel.running = m.wheel.far_running = running
    expected = set()
    for unit_class, after, unit in wakes:
        wake(m, unit_class, now + after, unit)
        soonest = 0 if unit_class > running else 1
        expected.add(((now + min(max(after, soonest), SIZE - 1)) % SIZE, unit_class, unit))
    found = set()
    for slot in range(SIZE):
        if not near_due(m, slot) | far_due(m, slot):
            continue
        for name, unit_class in CLASSES.items():
            for first in range(0, MOST_UNITS[name], 64):
                units = int(due(m, slot, unit_class, first))
                found |= {(slot, unit_class, first + bit) for bit in range(64) if units >> bit & 1}
    assert found == expected
    assert not m.wheel.row.any()


@pytest.mark.parametrize("count", [1, 2, 8, 32])
def test_a_turned_mask_has_the_units_in_rotating_order(count):
    for first in range(count):
        for units in {0, 1, (1 << count) - 1, 0x5A5A_A5A5 % (1 << count)}:
            mask, order = int(turned(units, first, count - 1)), []
            while mask:
                order.append((ctz(mask) + first) & (count - 1))
                mask &= mask - 1
            wanted = [unit for unit in [*range(first, count), *range(first)] if units >> unit & 1]
            assert order == wanted
