"""State of address translation: users, L1 TLBs, the L2 TLB's ports and rows, walks."""

import numpy as np

from gpusim.base.jit import Field, Machine, State, counter_fields, u32
from isa.trace import LINE_BYTES
from memory.network.state import MAX_ARRAYS, MAX_CUS
from memory.sets.replacement import first_order, policy_number
from memory.sets.rows import LANES, clear_rows, stride_of
from memory.translation.counters import TRANSLATION_COUNTERS
from memory.translation.spec import (
    MAX_L1_ENTRIES,
    MAX_L1_MSHRS,
    MAX_L2_ENTRIES,
    MAX_PORT_QUEUE,
    MAX_WALKS,
    TranslationSpec,
)

FIRST_SCALAR_USER = MAX_CUS
FIRST_INSTRUCTION_USER = MAX_CUS + MAX_ARRAYS
MAX_USERS = MAX_CUS + 2 * MAX_ARRAYS
MAX_TLBS = MAX_CUS + MAX_ARRAYS  # the CUs' first, then the arrays'
TLB_WORDS = MAX_TLBS // 32
# by which random replacement begins to draw: the first 64 CUs', the arrays', the L2 TLB's, further CUs'
_FIRST_CUS = 64
L2_TLB_DRAW = _FIRST_CUS + MAX_ARRAYS
_DRAWS = (
    *range(_FIRST_CUS),
    *range(L2_TLB_DRAW + 1, L2_TLB_DRAW + 1 + MAX_CUS - _FIRST_CUS),
    *range(_FIRST_CUS, _FIRST_CUS + MAX_ARRAYS),
)
NO_PAGE_BITS = 62  # translation off: all lines lie in one page

TRANSLATION_STATE = State(
    "translation",
    {
        "page_bits": Field((), "log2 of the lines of a page"),
        "ideal": Field((), "1: misses of the L1 TLBs are answered after the ideal latency"),
        "l1_entries": Field((), "entries of an L1 TLB: the ways of its only set"),
        "l1_stride": Field((), "slots of an L1 TLB: the entries, rounded up"),
        "l1_replacement": Field((), "replacement policy of the L1 TLBs"),
        "l1_mshrs": Field((), "pages an L1 TLB waits for at most"),
        "port_limit": Field((), "requests of an L1 TLB waiting at the L2 TLB at most"),
        "l2_sets": Field((), "sets of the L2 TLB, a power of two"),
        "l2_ways": Field((), "ways of the L2 TLB"),
        "l2_stride": Field((), "slots of a set of the L2 TLB: the ways, rounded up"),
        "l2_replacement": Field((), "replacement policy of the L2 TLB"),
        "l2_ports": Field((), "look-ups of the L2 TLB in a cycle"),
        "latency": Field((), "cycles from look-up in the L2 TLB to the answer; ideal: from the miss to the answer"),
        "walk_limit": Field((), "walks under way or waiting at most"),
        "walkers": Field((), "page walkers"),
        "walk_cycles": Field((), "cycles of a walk"),
        # users
        "last": Field((MAX_USERS,), "page whose translation the user holds, -1 none"),
        "wait": Field((MAX_USERS,), "page that the user waits for, -1 none"),
        "ahead": Field((MAX_USERS,), "pages looked ahead that its look-up has not come to"),
        # L1 TLBs
        "l1_rows": Field((2 * MAX_TLBS * MAX_L1_ENTRIES,), "pages and order words, one row a TLB", u32),
        "l1_order": Field((MAX_TLBS,), "running number of a TLB's look-ups and answers"),
        "m_page": Field((MAX_TLBS, MAX_L1_MSHRS), "page that the MSHR waits for, -1 free"),
        "m_sent": Field((MAX_TLBS, MAX_L1_MSHRS), "cycle in which it was asked for"),
        "m_ready": Field((MAX_TLBS, MAX_L1_MSHRS), "cycle from which its answer is there, -1 not known"),
        "answered": Field((MAX_TLBS,), "MSHRs with an answer, there or on its way"),
        # ports of the L2 TLB
        "r_page": Field((MAX_TLBS, MAX_PORT_QUEUE), "requests of an L1 TLB"),
        "r_seen": Field((MAX_TLBS, MAX_PORT_QUEUE), "cycle from which a request may be looked up"),
        "r_head": Field((MAX_TLBS,), "position of the oldest"),
        "r_count": Field((MAX_TLBS,), "requests held"),
        "asking": Field((TLB_WORDS,), "L1 TLBs with a request, 32 a word"),
        "next_tlb": Field((), "round-robin pointer: L1 TLB that is looked at first"),
        # L2 TLB and walks, oldest first
        "l2_rows": Field((2 * LANES * MAX_L2_ENTRIES,), "pages and order words of the sets", u32),
        "l2_order": Field((), "running number of the L2 TLB's look-ups and walks"),
        "w_page": Field((MAX_WALKS,), "page walked for"),
        "w_done": Field((MAX_WALKS,), "cycle in which the walk is done"),
        "w_tlbs": Field((MAX_WALKS, TLB_WORDS), "L1 TLBs that wait for it"),
        "w_head": Field((), "position of the oldest walk"),
        "w_count": Field((), "walks under way or waiting"),
        "walker_free": Field((MAX_WALKS,), "cycle in which a walker is free"),
        "walker_next": Field((), "walker of the next walk"),
        **counter_fields(TRANSLATION_COUNTERS),
    },
)


def configure_translation(m: Machine, spec: TranslationSpec, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the TLBs in the machine record and empty them.

    Args:
        m: Machine record.
        spec: Configuration of the TLBs.
        seed: Of random replacement.
    """
    t = m.translation
    off = spec.model == "off"
    t.page_bits = NO_PAGE_BITS if off else (spec.page_kib * 1024 // LINE_BYTES).bit_length() - 1
    t.ideal = int(spec.model == "ideal")
    t.latency = spec.ideal_latency_cycles if t.ideal else spec.l2_latency_cycles
    t.l1_entries, t.l1_mshrs, t.port_limit = spec.l1_entries, spec.l1_mshrs, spec.port_queue
    t.l2_sets, t.l2_ways, t.l2_ports = spec.l2_entries // spec.l2_ways, spec.l2_ways, spec.l2_lookups_per_cycle
    t.walk_limit, t.walkers, t.walk_cycles = spec.l2_mshrs, spec.walkers, spec.walk_cycles
    t.last[:] = 0 if off else -1
    for array in (t.wait, t.m_page, t.m_ready):
        array[...] = -1
    t.l1_stride, t.l2_stride = stride_of(spec.l1_entries), stride_of(spec.l2_ways)
    t.l1_replacement = policy_number(spec.l1_replacement)
    t.l2_replacement = policy_number(spec.l2_replacement)
    clear_rows(t.l1_rows, MAX_TLBS, spec.l1_entries)
    clear_rows(t.l2_rows, int(t.l2_sets), spec.l2_ways)
    t.l1_order[:] = [first_order(spec.l1_replacement, seed, draw) for draw in _DRAWS]
    t.l2_order = first_order(spec.l2_replacement, seed, L2_TLB_DRAW)


def perturb_translation(m: Machine, random: "np.random.Generator", cus: int) -> None:
    """Draw which L1 TLB, of a CU's vector L1, the L2 TLB looks at first.

    Args:
        m: Machine record.
        random: Generator to draw from.
        cus: Number of CUs.
    """
    m.translation.next_tlb = int(random.integers(0, cus))
