"""The L1 instruction cache that the CUs of a shader array share, between instruction fetch and L2.

It shares the scalar cache's crossbar port and L1 TLB (both belong to the sequencer); a line is looked up once its
address is translated. A miss asks for the lines of the page behind it too, as far as the configuration says. Who waits
for a line is the fetch unit's business (`gpusim.core.cu.fetch`): the cache names a line that has come, and every
wavefront that missed it goes on.
"""

from typing import Literal

from gpusim.base.spec import Spec, param
from gpusim.jit import Field, State, counter_fields, jit
from memory.cache.counters import INSTRUCTION_CACHE_COUNTERS
from memory.cache.fields import tag_fields
from memory.network.crossbar import crossbar_has_room, crossbar_send
from memory.network.state import FIRST_SCALAR_PORT, MAX_ARRAYS, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT
from memory.translation.tlb import FIRST_INSTRUCTION_USER, translated

MAX_INSTRUCTION_LINES = 1024  # an array: 64 KiB
MAX_MSHRS = 64
FETCH_ID = 1 << 10  # in a packet's id: the answer is for the instruction cache

FETCH_HIT, FETCH_MERGED, FETCH_MISSED, FETCH_STALLED = range(4)


class InstructionCacheSpec(Spec):
    """L1 instruction cache of a shader array and the fetch path behind it."""

    model: Literal["cycle", "ideal"] = param(
        "cycle", "cycle: instructions are fetched; ideal: they are always there", "cycle-level by default"
    )
    size_kib: int = param(32, "capacity in KiB", "AMD GCN whitepaper (2012): 32 KB for up to four CUs", ge=1, le=64)
    ways: int = param(4, "associativity", "AMD GCN whitepaper (2012): 4-way", ge=1, le=64)
    banks: int = param(
        4,
        "banks, a power of two, interleaved by lines; each serves one fetch of 32 bytes a cycle",
        "AMD GCN whitepaper (2012): 4 banks, 32 bytes a cycle for each of four CUs",
        ge=1,
        le=32,
    )
    hit_latency_cycles: int = param(
        12,
        "cycles from look-up, or from a fill, to the instruction buffer",
        "assumed: hidden in the 16 cycles of a taken branch",
        ge=1,
        le=500,
    )
    mshrs: int = param(16, "lines that may be missing at a time", "assumed", ge=1, le=MAX_MSHRS)
    prefetch_lines: int = param(
        1,
        "lines behind a missing line that are fetched with it",
        "AnandTech, RX 480 preview (2016): GCN4 prefetches instructions; how far is assumed",
        ge=0,
        le=16,
    )


INSTRUCTION_CACHE = State(
    "icache",
    tag_fields(MAX_ARRAYS, MAX_INSTRUCTION_LINES, MAX_MSHRS)
    | {
        "ideal": Field((), "1: instructions are always there"),
        "banks": Field((), "banks, a power of two"),
        "latency": Field((), "cycles from look-up or fill to the instruction buffer"),
        "prefetch": Field((), "lines fetched with a missing one"),
        "last_line": Field((), "last line of the code, behind which nothing is prefetched"),
        **counter_fields(INSTRUCTION_CACHE_COUNTERS),
        "outstanding": Field((), "lines asked for that have not come"),
        "m_since": Field((MAX_ARRAYS, MAX_MSHRS), "cycle in which the MSHR's line was asked for"),
    },
)


def configure_instruction_cache(m, spec: InstructionCacheSpec, arrays: int) -> None:  # type: ignore[no-untyped-def]
    """Size the instruction caches of `arrays` shader arrays in the machine record and empty them."""
    i = m.icache
    i.ideal, i.banks = int(spec.model == "ideal"), spec.banks
    i.sets, i.ways = spec.size_kib * 16 // spec.ways, spec.ways
    i.latency, i.mshrs, i.prefetch = spec.hit_latency_cycles, spec.mshrs, spec.prefetch_lines
    i.tag[: arrays * spec.size_kib * 16] = -1
    i.m_free_count[:arrays] = spec.mshrs
    i.m_free[:arrays, : spec.mshrs] = range(spec.mshrs - 1, -1, -1)


def set_last_code_line(m, line: int) -> None:  # type: ignore[no-untyped-def]
    """Name the last line of the kernel's code: nothing after it is prefetched."""
    m.icache.last_line = line


@jit
def _ask_for(m, now, array, line, at):
    """Fetch a line from L2 into way `at`; the caller has seen that an MSHR and the port are free."""
    i = m.icache
    n = i.m_free_count[array] - 1
    mshr = i.m_free[array, n]
    i.m_free_count[array] = n
    i.tag[at] = line
    i.lru[at] = now
    i.pending[at] = mshr + 1
    i.m_where[array, mshr] = at
    i.m_since[array, mshr] = now
    i.outstanding += 1
    port = FIRST_SCALAR_PORT + array
    crossbar_send(m, now, port, line, READ | port << SOURCE_CU_SHIFT | (mshr | FETCH_ID) << SOURCE_ID_SHIFT, 0)


@jit
def _find(m, array, line):
    """Way that holds the line; else -1 - the way to replace (least recently used), or -1 - 2**40 if all are filling."""
    i = m.icache
    base = (array * i.sets + (line & (i.sets - 1))) * i.ways
    victim = 1 << 40
    for at in range(base, base + i.ways):
        if i.tag[at] == line:
            return at
        if i.pending[at] == 0 and (victim == 1 << 40 or i.lru[at] < i.lru[victim]):
            victim = at
    return -1 - victim


@jit
def _may_ask(m, array, at):
    """1 if a line may be fetched into the way that `_find` gave."""
    free = at > -1 - (1 << 40) and m.icache.m_free_count[array] > 0
    return 1 if free and crossbar_has_room(m, FIRST_SCALAR_PORT + array) else 0


@jit(inline=True)
def instruction_look_up(m, now, array, line):
    """Look a fetch's line up: FETCH_HIT, FETCH_MERGED, FETCH_MISSED, or FETCH_STALLED with nothing changed."""
    i = m.icache
    if not translated(m, now, FIRST_INSTRUCTION_USER + array, line):
        return FETCH_STALLED
    at = _find(m, array, line)
    if at >= 0:
        i.lru[at] = now
        if i.pending[at]:
            i.merges += 1
            return FETCH_MERGED
        i.hits += 1
        return FETCH_HIT
    if not _may_ask(m, array, at):
        return FETCH_STALLED
    _ask_for(m, now, array, line, -1 - at)
    i.misses += 1
    last_of_page = line | (1 << m.translation.page_bits) - 1
    for behind in range(line + 1, min(line + i.prefetch, i.last_line, last_of_page) + 1):
        at = _find(m, array, behind)
        if at < 0 and _may_ask(m, array, at):
            _ask_for(m, now, array, behind, -1 - at)
            i.prefetches += 1
    return FETCH_MISSED


@jit
def instruction_fill(m, now, array, mshr):
    """The line of an MSHR is here: returns it."""
    i = m.icache
    at = i.m_where[array, mshr]
    i.pending[at] = 0
    i.m_free[array, i.m_free_count[array]] = mshr
    i.m_free_count[array] += 1
    i.outstanding -= 1
    i.latency_total += now - i.m_since[array, mshr]
    return i.tag[at]
