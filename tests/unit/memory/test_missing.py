"""Missing lines against plain lists: who waits for which line in which order, and what is left for others."""

import numpy as np
from hypothesis import strategies as st

from gpusim.base.jit import Field, State, address_of, new_record, record_dtype
from memory.cache.missing import (
    IN_FRONT,
    LAST,
    MISSING,
    NO_SLOT,
    begin_miss,
    configure_misses,
    end_miss,
    join_miss,
    may_join,
    may_miss,
    next_target,
)
from memory.sets.rows import LANES, clear_rows, is_filling, start_filling
from tests.support.daily import given_daily
from tests.support.machines import allow_further_layouts

MSHRS, TARGETS = 3, 5
CACHE = State("cache", {"missing": Field((2,), "missing lines", MISSING.dtype())})


@given_daily(
    30,
    100,
    st.lists(st.tuples(st.sampled_from(["miss", "join", "fill", "give up"]), st.integers(0, 3), st.booleans())),
)
def test_lines_and_who_waits_for_them(events: list[tuple[str, int, bool]]) -> None:
    allow_further_layouts()
    m = new_record(record_dtype((CACHE,)))
    configure_misses(m.cache.missing, MSHRS, TARGETS)
    missing = m.cache.missing[1]
    words = np.zeros(2 * LANES, np.uint32)
    clear_rows(words, 1, LANES)
    row = address_of(words)
    waiting: dict[int, list[int]] = {}  # targets by MSHR, in the order in which they are to be answered
    slots: dict[int, int] = {}
    for event, number, in_front in events:
        taken = [target for targets in waiting.values() for target in targets]
        assert missing.lines == len(waiting)
        assert may_miss(missing) == (len(waiting) < MSHRS and len(taken) < TARGETS)
        assert may_join(missing) == (len(taken) < TARGETS)
        mshrs = list(waiting)
        if event == "miss" and may_miss(missing) and number not in slots.values():
            mshr = int(begin_miss(missing, number))
            start_filling(row, LANES, number)
            assert mshr not in waiting and mshr < MSHRS
            waiting[mshr], slots[mshr] = [], number
            mshrs = [mshr]
        elif event not in ("miss", "join") and mshrs:
            mshr = mshrs[number % len(mshrs)]
            if event == "give up":
                missing.mshr[mshr].slot = NO_SLOT
            filled = end_miss(missing, mshr, row, LANES)
            assert filled == (NO_SLOT if event == "give up" else slots[mshr])
            assert bool(is_filling(row, LANES, slots.pop(mshr))) == (event == "give up")
            target = int(missing.mshr[mshr].first)
            for expected in waiting.pop(mshr):
                assert target == expected
                target = int(next_target(missing, target))
            assert target == -1
            if event == "give up":  # its way would be filled by another miss
                return
            continue
        if mshrs and event in ("miss", "join") and may_join(missing):
            mshr = mshrs[number % len(mshrs)]
            target = int(join_miss(missing, mshr, IN_FRONT if in_front else LAST))
            assert target not in taken and target < TARGETS
            waiting[mshr].insert(0 if in_front else len(waiting[mshr]), target)
    assert not m.cache.missing[0].lines
