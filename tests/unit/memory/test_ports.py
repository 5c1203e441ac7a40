"""Ports: answers come in order of ready cycle, rings refuse when full, waiters are woken once."""

from hypothesis import strategies as st

from gpusim.base.jit import new_record, record_dtype
from memory.address_map import ADDRESS_MAP, MAX_L2_CHANNELS
from memory.ports import (
    ENGINE_FROM_DRAM,
    L2_FROM_DRAM,
    L2_FROM_ENGINE,
    PORT_DEPTH,
    PORTS,
    deliver,
    dram_space_freed,
    port_ready,
    port_take,
    sparse_request,
    sparse_taken,
)
from memory.unit_classes import ENGINE, L2_FILL, L2_SERVE
from memory.waiting import DRAM_READ_SLOT, ENGINE_WAITER, WAITING, wait_for
from memory.wheel import SIZE, WHEEL
from tests.support.daily import given_daily
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((WHEEL, WAITING, PORTS, ADDRESS_MAP))


def machine(now=10):
    allow_further_layouts()
    m = new_record(RECORD)
    m.wheel.now = m.wheel.far_now = now
    m.map.l2_channels = MAX_L2_CHANNELS
    m.ports.sparse_limit = 3
    return m


def woken(m, unit_class, unit):
    """Cycles in which the unit will run."""
    slots = [t for t in range(SIZE) if (int(m.wheel.row[t, unit_class]) >> unit) & 1]
    return [m.wheel.now + (t - m.wheel.now) % SIZE for t in slots]


@given_daily(12, 100, st.lists(st.integers(11, 40), max_size=40))
def test_answers_are_taken_in_order_of_ready_cycle_and_first_come_first(times):
    m = machine()
    for tag, t in enumerate(times):
        deliver(m, t, L2_FROM_DRAM + 3, tag)
    expected = sorted(range(len(times)), key=lambda tag: (times[tag], tag))
    taken = []
    for now in range(11, 41):
        while port_ready(m, now, L2_FROM_DRAM + 3):
            tag = port_take(m, L2_FROM_DRAM + 3)
            assert times[tag] == now
            taken.append(tag)
    assert taken == expected
    assert m.ports.count[L2_FROM_DRAM + 3] == 0


def test_delivery_wakes_the_reader_when_the_answer_is_ready():
    m = machine()
    deliver(m, 15, L2_FROM_DRAM + 2, 0)
    deliver(m, 17, L2_FROM_ENGINE + 2, 0)
    deliver(m, 19, ENGINE_FROM_DRAM + 1, 0)
    assert sorted(woken(m, L2_FILL, 2)) == [15, 17]
    assert woken(m, ENGINE, 0) == [19]


def test_a_full_port_counts_an_overflow_and_drops_nothing_older():
    m = machine()
    for tag in range(PORT_DEPTH + 1):
        deliver(m, 11, ENGINE_FROM_DRAM, tag)
    assert m.ports.overflows == 1
    assert [port_take(m, ENGINE_FROM_DRAM) for _ in range(PORT_DEPTH)] == list(range(PORT_DEPTH))


def test_sparse_queue_refuses_at_its_limit_and_wakes_the_stalled_channel():
    m = machine()
    assert [sparse_request(m, 12, 5, 100 + i, i) for i in range(4)] == [1, 1, 1, 0]
    assert woken(m, ENGINE, 0) == [12]
    head = m.ports.sparse_head[5]
    assert (m.ports.sparse_line[5, head], m.ports.sparse_mshr[5, head]) == (100, 0)
    sparse_taken(m, 20, 5)
    assert woken(m, L2_SERVE, 5) == [21]
    assert sparse_request(m, 22, 5, 104, 4) == 1
    sparse_taken(m, 30, 5)
    assert woken(m, L2_SERVE, 5) == [21]  # nobody waited


def test_space_in_a_dram_queue_wakes_its_waiters_once():
    m = machine()
    wait_for(m, DRAM_READ_SLOT + 1, 0)
    wait_for(m, DRAM_READ_SLOT + 1, MAX_L2_CHANNELS - 1)
    wait_for(m, DRAM_READ_SLOT + 1, ENGINE_WAITER)
    wait_for(m, DRAM_READ_SLOT + 2, 7)
    dram_space_freed(m, 30, 1)
    assert woken(m, L2_SERVE, 0) == woken(m, L2_SERVE, MAX_L2_CHANNELS - 1) == woken(m, ENGINE, 0) == [31]
    assert woken(m, L2_SERVE, 7) == []
    assert m.waiting.waiters[DRAM_READ_SLOT + 1] == 0
