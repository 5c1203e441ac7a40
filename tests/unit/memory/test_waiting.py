"""The wait list: who waits is woken once; of those who compete, who waited goes first, round robin."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import new_record, record_dtype
from memory.waiting import (
    CONTESTED,
    CU_SPACE,
    ENGINE_WAITER,
    FILLS,
    L1_LINE,
    LOOK_UP,
    RESOURCES,
    RESPONSE_SLOT,
    TIMED,
    UNTIL_FREED,
    VECTOR_SLOT,
    WAITING,
    cycles_short,
    freed,
    goes_first,
    is_short,
    no_longer_short,
    short,
    short_since,
    slot_taken,
    slots_freed,
    take_off,
    wait_for,
    waiting_for_what,
    waits,
)
from tests.support.daily import given_daily
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((WAITING,))
CHANNELS = 32


def machine():
    allow_further_layouts()
    return new_record(RECORD)


def test_every_resource_has_numbers_of_its_own():
    numbers = [n for resource in RESOURCES for n in range(resource.first, resource.first + resource.count)]
    assert numbers == list(range(len(machine().waiting.waiters)))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, CU_SPACE), st.integers(0, FILLS)), max_size=20), st.integers(0, CU_SPACE))
def test_what_comes_free_takes_its_own_waiters_off_the_list(registered, resource):
    m = machine()
    for wanted, waiter in registered:
        wait_for(m, wanted, waiter)
    mine = sum({1 << waiter for wanted, waiter in registered if wanted == resource})
    assert freed(m, resource) == mine
    assert freed(m, resource) == 0
    for wanted, waiter in registered:
        assert waits(m, wanted, waiter) == (wanted != resource)


@settings(deadline=None)
@given(st.sets(st.integers(0, FILLS)), st.integers(0, FILLS))
def test_one_waiter_is_taken_off_and_the_others_stay(waiters, one):
    m = machine()
    for waiter in waiters:
        wait_for(m, CU_SPACE, waiter)
    take_off(m, CU_SPACE, one)
    assert freed(m, CU_SPACE) == sum(1 << waiter for waiter in waiters - {one})


@given_daily(
    25,
    100,
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=6),
    st.integers(0, 140),
)
def test_short_cycles_are_those_in_which_there_was_none(shortages, asked):
    """Shortages of some cycles with pauses between them, the end known beforehand or not."""
    m = machine()
    resource, now, cycles = TIMED + 7, 1, set()
    for pause, length, known in shortages:
        start = now + pause
        assert cycles_short(m, resource, start) == len(cycles)
        short(m, resource, start, start + length if known else UNTIL_FREED)
        assert is_short(m, resource) == (not known) and short_since(m, resource) == start
        assert cycles_short(m, resource, start + length) == len(cycles) + length
        if not known:
            no_longer_short(m, start + length, resource)
        assert not is_short(m, resource)
        cycles |= set(range(start, start + length))
        now = start + length
    later = now + asked
    assert cycles_short(m, resource, later) == len(cycles)
    assert not m.waiting.shortage["total"][:7].any()


@given_daily(
    25,
    100,
    st.integers(0, CONTESTED - 1),
    st.sets(st.integers(0, CHANNELS - 1)),
    st.integers(1, 6),
    st.integers(0, CHANNELS - 1),
    st.integers(0, CHANNELS - 1),
)
def test_who_waited_gets_the_slots_round_robin_whatever_the_order_in_which_they_try(
    resource, waiters, slots, last, first
):
    m = machine()
    slot_taken(m, 0, resource, last)  # the one after it goes first
    for waiter in waiters:
        wait_for(m, resource, waiter)
    wait_for(m, resource, ENGINE_WAITER)
    woken = 0
    for _ in range(slots):
        woken |= slots_freed(m, 11, resource)
    assert woken == sum(1 << waiter for waiter in waiters) | 1 << ENGINE_WAITER
    assert not any(waits(m, resource, waiter) for waiter in (*waiters, ENGINE_WAITER))
    trying, pointer = set(waiters), last + 1
    for waiter in sorted(waiters, key=lambda waiter: (waiter - first) % CHANNELS):  # as they run in a cycle
        trying.discard(waiter)
        turn = sorted((*trying, waiter), key=lambda other: (other < pointer, other))
        may = waiter in turn[: max(slots, 0)]
        assert goes_first(m, 11, resource, waiter) == may
        if may:
            slot_taken(m, 11, resource, waiter)
            slots, pointer = slots - 1, waiter + 1
    assert goes_first(m, 12, resource, first)  # nobody who waited tries in this cycle


def test_the_list_names_whose_resource_and_who_waits():
    m = machine()
    assert waiting_for_what(m) == []
    wait_for(m, L1_LINE + 3, LOOK_UP)
    wait_for(m, 2, 7)
    wait_for(m, 2, ENGINE_WAITER)
    wait_for(m, RESPONSE_SLOT + 5, FILLS)
    wait_for(m, VECTOR_SLOT + 9, 0)
    wait_for(m, VECTOR_SLOT + 9, 3)
    assert waiting_for_what(m) == [
        "waited for: a slot of the read queue, DRAM channel 2 (by 7, engine)",
        "waited for: a slot of the crossbar's response queue, L2 channel 5 (by fills)",
        "waited for: an MSHR, a target or a way, vector L1 3",
        "waited for: a slot of the vector memory queue, CU 9 (by SIMD 0, 3)",
    ]
