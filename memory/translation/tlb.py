"""Address translation: an L1 TLB beside each first-level cache, a shared L2 TLB, page walkers.

Each CU's vector L1 has an L1 TLB of its own, and the scalar and instruction caches of a shader array share one. A
look-up by tag needs the translation of its line (AMD ROCm Compute Profiler documentation, vL1D: coalescing, UTCL1, tag
look-up), which costs no extra cycle when the L1 TLB holds it: that is part of the cache's hit latency. A line in the
page of its cache's line before needs no look-up in the TLB.

Misses go to the L2 TLB (UTCL2), at most one of a page from each L1 TLB; look-ups there go round robin over the L1 TLBs
and do not wait for earlier misses, whose pages are walked for first come first served. With as many walks under way as
it has MSHRs, the L2 TLB stands still at its next miss. Nothing is translated at a launch's start.

A *user* is one that looks lines up: a vector L1 (its CU), a scalar cache, an instruction cache.
"""

from typing import Literal

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.jit import Field, State, address_in, counter_fields, ctz, jit, st_i32, u32
from isa.trace import LINE_ADDRESS_MASK, LINE_BYTES
from memory.network.state import MAX_ARRAYS, MAX_CUS
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    first_order,
    on_hit,
    on_insert,
    policy_number,
    replacement_param,
)
from memory.sets.rows import LANES, clear_rows, next_order, stride_of, way_of
from memory.translation.counters import TRANSLATION_COUNTERS
from memory.wheel import CU_LOOK_UP, FETCH, SCALAR, TRANSLATION, wake, wake_at

FIRST_SCALAR_USER = MAX_CUS
FIRST_INSTRUCTION_USER = MAX_CUS + MAX_ARRAYS
MAX_USERS = MAX_CUS + 2 * MAX_ARRAYS
MAX_TLBS = MAX_CUS + MAX_ARRAYS  # the CUs' first, then the arrays'
TLB_WORDS = MAX_TLBS // 32
MAX_L1_ENTRIES = 256
MAX_L1_MSHRS = 32
MAX_PORT_QUEUE = 32
MAX_L2_ENTRIES = 16384
MAX_WALKS = 256
NO_PAGE_BITS = 62  # translation off: all lines lie in one page

ON_ITS_WAY, ASKED = 1, 2


class TranslationSpec(Spec):
    """TLBs and page walkers."""

    model: Literal["cycle", "ideal", "off"] = param(
        "cycle",
        "cycle: L1 TLBs, L2 TLB and page walkers; ideal: every miss of an L1 TLB is answered after a fixed latency; "
        "off: translation is free",
        "cycle-level by default",
    )
    page_kib: Literal[4, 64, 2048] = param(
        2048,
        "page size in KiB",
        "Linux kernel, amdgpu: fragments of 2 MiB on GFX8 (64 KiB in drm/radeon), as large as the TLBs take",
    )
    l1_entries: int = param(
        64, "pages an L1 TLB holds, fully associative", "MGPUSim R9 Nano; gem5 GPUTLBOptions: 32", ge=1, le=256
    )
    l1_replacement: Replacement = replacement_param("gem5's and MGPUSim's TLBs: LRU")
    l1_mshrs: int = param(
        16,
        "pages an L1 TLB waits for at most, and how many pages the vector L1 looks ahead",
        "MGPUSim R9 Nano, vector TLB",
        ge=1,
        le=MAX_L1_MSHRS,
    )
    port_queue: int = param(4, "requests of an L1 TLB waiting at the L2 TLB", "assumed", ge=1, le=MAX_PORT_QUEUE)
    l2_entries: int = param(
        4096, "pages the L2 TLB holds", "gem5 GPUTLBOptions (AMD); MGPUSim R9 Nano: all of the memory's", ge=1, le=16384
    )
    l2_ways: int = param(32, "associativity of the L2 TLB", "gem5 GPUTLBOptions (AMD)", ge=1, le=256)
    l2_replacement: Replacement = replacement_param("gem5's and MGPUSim's TLBs: LRU")
    l2_lookups_per_cycle: int = param(2, "look-ups of the L2 TLB in a cycle", "gem5 GPUTLBOptions (AMD)", ge=1, le=32)
    l2_latency_cycles: int = param(
        69, "cycles from look-up in the L2 TLB to the answer at an L1 TLB", "gem5 GPUTLBOptions (AMD)", ge=1, le=500
    )
    l2_mshrs: int = param(
        64, "pages that are walked for, or wait for a walker", "gem5 GPUTLBOptions (AMD); MGPUSim R9 Nano", ge=1, le=256
    )
    walkers: int = param(
        32, "page walks at a time", "Power et al., HPCA 2014: a 32-way threaded walker for the GPU", ge=1, le=256
    )
    walk_cycles: int = param(
        250,
        "cycles of a page walk",
        "assumed: a DRAM access, upper levels cached; MGPUSim R9 Nano: 100, gem5 GPUTLBOptions (an APU's): 750",
        ge=1,
        le=100_000,
    )
    ideal_latency_cycles: int = param(
        70, "ideal model: cycles from a miss in an L1 TLB to its answer", "assumed: a hit in the L2 TLB", ge=1, le=900
    )

    @model_validator(mode="after")
    def _ways_suit_the_policies(self) -> "TranslationSpec":
        check_replacement(self.l1_replacement, self.l1_entries)
        check_replacement(self.l2_replacement, self.l2_ways)
        return self


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
        "since": Field((MAX_USERS,), "cycle from which it looks for a translation, -1 if it does not"),
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


def configure_translation(m, spec: TranslationSpec, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the TLBs in the machine record and empty them. seed: of random replacement."""
    t = m.translation
    off = spec.model == "off"
    t.page_bits = NO_PAGE_BITS if off else (spec.page_kib * 1024 // LINE_BYTES).bit_length() - 1
    t.ideal = int(spec.model == "ideal")
    t.latency = spec.ideal_latency_cycles if t.ideal else spec.l2_latency_cycles
    t.l1_entries, t.l1_mshrs, t.port_limit = spec.l1_entries, spec.l1_mshrs, spec.port_queue
    t.l2_sets, t.l2_ways, t.l2_ports = spec.l2_entries // spec.l2_ways, spec.l2_ways, spec.l2_lookups_per_cycle
    t.walk_limit, t.walkers, t.walk_cycles = spec.l2_mshrs, spec.walkers, spec.walk_cycles
    t.last[:] = 0 if off else -1
    for array in (t.wait, t.since, t.m_page, t.m_ready):
        array[...] = -1
    t.l1_stride, t.l2_stride = stride_of(spec.l1_entries), stride_of(spec.l2_ways)
    t.l1_replacement = policy_number(spec.l1_replacement)
    t.l2_replacement = policy_number(spec.l2_replacement)
    clear_rows(t.l1_rows, MAX_TLBS, spec.l1_entries)
    clear_rows(t.l2_rows, int(t.l2_sets), spec.l2_ways)
    t.l1_order[:] = [first_order(spec.l1_replacement, seed, tlb) for tlb in range(MAX_TLBS)]
    t.l2_order = first_order(spec.l2_replacement, seed, MAX_TLBS)


@jit
def _wake_users(m, t, tlb):
    """Let those who use an L1 TLB run in cycle `t`."""
    if tlb < MAX_CUS:
        wake(m, CU_LOOK_UP, t, tlb)
    else:
        wake(m, SCALAR, t, tlb - MAX_CUS)
        wake(m, FETCH, t, tlb - MAX_CUS)


@jit
def _l1_row(m, tlb):
    """Address of the only row of an L1 TLB, which is fully associative."""
    t = m.translation
    return address_in(t.l1_rows, 2 * tlb * t.l1_stride)


@jit
def _next_l1_order(m, tlb):
    t = m.translation
    t.l1_order[tlb] = next_order(t.l1_order[tlb], _l1_row(m, tlb), 1, t.l1_stride)
    return t.l1_order[tlb]


@jit
def _l2_row(m, page):
    """Address of the row of the L2 TLB's set in which a page may be."""
    t = m.translation
    return address_in(t.l2_rows, 2 * (page & (t.l2_sets - 1)) * t.l2_stride)


@jit
def _next_l2_order(m):
    t = m.translation
    t.l2_order = next_order(t.l2_order, address_in(t.l2_rows, 0), t.l2_sets, t.l2_stride)
    return t.l2_order


@jit
def _fill_l1(m, tlb, page):
    """An L1 TLB gets a page."""
    t = m.translation
    row = _l1_row(m, tlb)
    way = find_victim(t.l1_replacement, row, t.l1_stride, t.l1_entries, t.l1_order[tlb])
    st_i32(row, way, page)
    on_insert(t.l1_replacement, row, t.l1_stride, t.l1_entries, way, _next_l1_order(m, tlb))


@jit
def _fill_l2(m, page):
    """The L2 TLB gets a page."""
    t = m.translation
    row = _l2_row(m, page)
    way = find_victim(t.l2_replacement, row, t.l2_stride, t.l2_ways, t.l2_order)
    st_i32(row, way, page)
    on_insert(t.l2_replacement, row, t.l2_stride, t.l2_ways, way, _next_l2_order(m))


@jit
def _request(m, now, tlb, page):
    """Ask the L2 TLB for a page: ASKED, ON_ITS_WAY if that was done before, 0 without an MSHR or a slot of the queue.

    Who gets 0 is woken when that may have changed.
    """
    t = m.translation
    free = -1
    for k in range(t.l1_mshrs):
        if t.m_page[tlb, k] == page:
            return ON_ITS_WAY
        if t.m_page[tlb, k] < 0:
            free = k
    if free < 0 or t.r_count[tlb] >= t.port_limit:
        return 0
    t.m_page[tlb, free] = page
    t.m_sent[tlb, free] = now
    t.requests += 1
    if t.ideal:
        t.l2_hits += 1
        t.m_ready[tlb, free] = now + t.latency
        t.answered[tlb] += 1
        _wake_users(m, now + t.latency, tlb)
    else:
        t.r_page[tlb, (t.r_head[tlb] + t.r_count[tlb]) & (MAX_PORT_QUEUE - 1)] = page
        t.r_count[tlb] += 1
        t.asking[tlb >> 5] |= 1 << (tlb & 31)
        wake_at(m, TRANSLATION, now + 1, 0)
    return ASKED


@jit
def _take_answers(m, now, tlb):
    """Fill an L1 TLB with the answers that are there, in the order in which they came."""
    t = m.translation
    while True:
        k = -1
        for other in range(t.l1_mshrs):
            ready = t.m_ready[tlb, other]
            if 0 <= ready <= now and (k < 0 or ready < t.m_ready[tlb, k]):
                k = other
        if k < 0:
            return
        page = t.m_page[tlb, k]
        ready = t.m_ready[tlb, k]
        _fill_l1(m, tlb, page)
        t.m_page[tlb, k] = -1
        t.m_ready[tlb, k] = -1
        t.answered[tlb] -= 1
        t.answers += 1
        t.request_latency += ready - t.m_sent[tlb, k]
        for user in (tlb, tlb + MAX_ARRAYS):
            if (user == tlb or tlb >= MAX_CUS) and t.wait[user] == page:
                t.wait[user] = -1
                t.last[user] = page
                t.stall_cycles += ready - t.since[user]
                t.since[user] = -1


@jit(outline=True)
def _translate(m, now, user, page):
    """`translated` for another page than the user's last."""
    t = m.translation
    tlb = user if user < FIRST_INSTRUCTION_USER else user - MAX_ARRAYS
    if t.answered[tlb]:
        _take_answers(m, now, tlb)
        if t.last[user] == page:
            return 1
    if t.since[user] < 0:
        t.since[user] = now
        t.lookups += 1
        if t.ahead[user]:
            t.ahead[user] -= 1
    if t.wait[user] >= 0:
        return 0
    row = _l1_row(m, tlb)
    way = way_of(row, t.l1_stride, page)
    if way < 0:
        asked = _request(m, now, tlb, page)
        if asked:
            t.wait[user] = page
            if asked == ASKED:
                t.misses += 1
            else:
                t.merges += 1
        return 0
    t.hits += 1
    on_hit(t.l1_replacement, row, t.l1_stride, t.l1_entries, way, _next_l1_order(m, tlb))
    t.last[user] = page
    t.stall_cycles += now - t.since[user]
    t.since[user] = -1
    return 1


@jit
def page_of(m, line):
    """Page of a line; a sparse line's is that of its address."""
    return (line & LINE_ADDRESS_MASK) >> m.translation.page_bits


@jit(inline=True)
def translated(m, now, user, line):
    """1 if `user` may look the line up now; if not, its translation is asked for and the user woken."""
    page = page_of(m, line)
    if page == m.translation.last[user]:
        return 1
    return _translate(m, now, user, page)


@jit
def ask_ahead(m, now, tlb, page):
    """Ask for a page that a vector L1's look-up will come to; 0 if that must wait."""
    t = m.translation
    if t.ahead[tlb] >= t.l1_mshrs:
        return 0
    if way_of(_l1_row(m, tlb), t.l1_stride, page) < 0:
        asked = _request(m, now, tlb, page)
        if not asked:
            return 0
        if asked == ASKED:
            t.early += 1
    t.ahead[tlb] += 1
    return 1


@jit
def _answer(m, t, tlb, page):
    """The L2 TLB answers an L1 TLB, which may use the page from cycle `t` on."""
    for k in range(m.translation.l1_mshrs):
        if m.translation.m_page[tlb, k] == page:
            m.translation.m_ready[tlb, k] = t
    m.translation.answered[tlb] += 1
    _wake_users(m, t, tlb)


@jit
def _next_port(m):
    """L1 TLB whose oldest request the L2 TLB looks up next, round robin, or -1."""
    t = m.translation
    low = (1 << (t.next_tlb & 31)) - 1
    for step in range(TLB_WORDS + 1):
        word = ((t.next_tlb >> 5) + step) & (TLB_WORDS - 1)
        bits = t.asking[word]
        if step == 0:
            bits &= ~low
        elif step == TLB_WORDS:
            bits &= low
        if bits:
            return word * 32 + ctz(bits)
    return -1


@jit
def _look_up(m, now, tlb, page):
    """Look a request up in the L2 TLB; 0 if it would need a walk and there are as many as there may be."""
    t = m.translation
    row = _l2_row(m, page)
    way = way_of(row, t.l2_stride, page)
    if way >= 0:
        on_hit(t.l2_replacement, row, t.l2_stride, t.l2_ways, way, _next_l2_order(m))
        t.l2_hits += 1
        _answer(m, now + t.latency, tlb, page)
        return 1
    n = t.w_count
    q = -1
    for k in range(n):
        if t.w_page[(t.w_head + k) & (MAX_WALKS - 1)] == page:
            q = (t.w_head + k) & (MAX_WALKS - 1)
            t.l2_merges += 1
    if q < 0:
        if n >= t.walk_limit:
            return 0
        q = (t.w_head + n) & (MAX_WALKS - 1)
        done = max(now + t.latency, t.walker_free[t.walker_next]) + t.walk_cycles
        t.walker_free[t.walker_next] = done
        t.walker_next = (t.walker_next + 1) % t.walkers
        t.w_page[q] = page
        t.w_done[q] = done
        t.w_count = n + 1
        t.walks += 1
    t.w_tlbs[q, tlb >> 5] |= 1 << (tlb & 31)
    return 1


@jit(outline=True)
def translation_tick(m, now):
    """A cycle of the L2 TLB and the walkers: walks that are done, then look-ups. Requests of this cycle come later."""
    t = m.translation
    while t.w_count and t.w_done[t.w_head] <= now:
        h = t.w_head
        page = t.w_page[h]
        _fill_l2(m, page)
        for word in range(TLB_WORDS):
            bits = t.w_tlbs[h, word]
            t.w_tlbs[h, word] = 0
            while bits:
                _answer(m, now, word * 32 + ctz(bits), page)
                bits &= bits - 1
        t.w_head = (h + 1) & (MAX_WALKS - 1)
        t.w_count -= 1
    for _ in range(t.l2_ports):
        tlb = _next_port(m)
        if tlb < 0 or not _look_up(m, now, tlb, t.r_page[tlb, t.r_head[tlb]]):
            break
        n = t.r_count[tlb]
        t.r_head[tlb] = (t.r_head[tlb] + 1) & (MAX_PORT_QUEUE - 1)
        t.r_count[tlb] = n - 1
        t.next_tlb = (tlb + 1) & (MAX_TLBS - 1)
        if n == 1:
            t.asking[tlb >> 5] &= ~(1 << (tlb & 31))
        if n == t.port_limit:
            _wake_users(m, now, tlb)
        wake_at(m, TRANSLATION, now + 1, 0)
    if t.w_count:
        wake(m, TRANSLATION, t.w_done[t.w_head], 0)
