"""The L1 instruction cache that the CUs of a shader array share, between instruction fetch and L2.

It shares the scalar cache's crossbar port and L1 TLB (both belong to the sequencer); a line is looked up once its
address is translated. A miss asks for the lines of the page after it too, as far as the configuration says. Who waits
for a line is the fetch unit's business (`gpusim.model.core.cu.fetch`): the cache names a line that has come, and every
wavefront that missed it goes on.
"""

from typing import Literal

from pydantic import model_validator

from gpusim.base.jit import Field, Machine, State, address_in, counter_fields, jit, st_i32
from gpusim.base.spec import Spec, param
from memory.cache.counters import INSTRUCTION_CACHE_COUNTERS, MAX_BANKS
from memory.cache.missing import (
    LAST,
    MISSING,
    begin_miss,
    configure_misses,
    configure_sets,
    end_miss,
    join_miss,
    may_miss,
    next_target,
)
from memory.network.crossbar import crossbar_has_space, crossbar_send
from memory.network.state import FIRST_SCALAR_PORT, MAX_ARRAYS, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    on_hit,
    on_insert,
    replacement_param,
)
from memory.sets.rows import is_filling, line_in, next_order, set_fields, start_filling, way_of
from memory.translation.l1_tlb import translated
from memory.translation.state import FIRST_INSTRUCTION_USER

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
    replacement: Replacement = replacement_param("assumed, as the vector L1's")
    banks: int = param(
        4,
        "banks, a power of two, interleaved by lines; each reads one line a cycle, for all who fetch 32 bytes of it",
        "AMD GCN whitepaper (2012): 4 banks, 32 bytes a cycle to each of four CUs; that CUs share a read is assumed",
        ge=1,
        le=MAX_BANKS,
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
        "lines after a missing line that are fetched with it",
        "AnandTech, RX 480 preview (2016): GCN4 prefetches instructions; how far is assumed",
        ge=0,
        le=16,
    )
    kept: bool = param(
        False,
        "whether a launch that finds warm caches finds in this one too what the launch before left",
        "ROCr invalidates it where code is loaded (GpuAgent::InvalidateCodeCaches), AMD's benchmarks by a kernel of "
        "their own (ROCm/composable_kernel, flush_icache.hpp); false: as the older cards' tables were fitted",
    )

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "InstructionCacheSpec":
        check_replacement(self.replacement, self.ways)
        return self


INSTRUCTION_CACHE = State(
    "icache",
    set_fields(MAX_ARRAYS * MAX_INSTRUCTION_LINES)
    | {
        "order": Field((MAX_ARRAYS,), "running number of the accesses to a cache's sets"),
        "missing": Field((MAX_ARRAYS,), "missing lines of a cache", MISSING.dtype()),
        "ideal": Field((), "1: instructions are always there"),
        "banks": Field((), "banks, a power of two"),
        "bank_line": Field((MAX_BANKS,), "line that the bank reads now; in one array's cycle, for the banks in use"),
        "latency": Field((), "cycles from look-up or fill to the instruction buffer"),
        "prefetch": Field((), "lines fetched with a missing one"),
        "last_line": Field((), "last line of the code, after which nothing is prefetched"),
        **counter_fields(INSTRUCTION_CACHE_COUNTERS),
        "outstanding": Field((), "lines asked for that have not come"),
        "target": Field((MAX_ARRAYS, MAX_MSHRS), "cycle in which a missing line was asked for"),
    },
)


def configure_instruction_cache(m: Machine, spec: InstructionCacheSpec, arrays: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the instruction caches of `arrays` shader arrays and empty them.

    Args:
        m: Machine record.
        spec: Its configuration.
        arrays: Shader arrays.
        seed: Of random replacement.
    """
    cache = m.icache
    cache.ideal, cache.banks = int(spec.model == "ideal"), spec.banks
    cache.latency, cache.prefetch = spec.hit_latency_cycles, spec.prefetch_lines
    sets = spec.size_kib * 16 // spec.ways
    cache.order[:arrays] = configure_sets(cache, sets, spec.ways, spec.replacement, seed, arrays)
    configure_misses(cache.missing[:arrays], spec.mshrs, spec.mshrs)


def set_last_code_line(m: Machine, line: int) -> None:  # type: ignore[no-untyped-def]
    """Name the last line of the kernel's code: nothing after it is prefetched.

    Args:
        m: Machine record.
        line: Number of the line.
    """
    m.icache.last_line = line


@jit
def _first_slot(m: Machine, array, line):
    cache = m.icache
    return (array * cache.sets + (line & (cache.sets - 1))) * cache.stride


@jit
def _next_use(m: Machine, array):
    cache = m.icache
    rows = address_in(cache.rows, array * cache.sets * 2 * cache.stride)
    cache.order[array] = next_order(cache.order[array], rows, cache.sets, cache.stride)
    return cache.order[array]


@jit
def _fetch(m: Machine, now, array, line):
    """Ask L2 for a line that is not held, in another's place; returns 0 if a way, an MSHR or the port is missing."""
    cache = m.icache
    port = FIRST_SCALAR_PORT + array
    slot = _first_slot(m, array, line)
    row = address_in(cache.rows, 2 * slot)
    way = find_victim(cache.replacement, row, cache.stride, cache.ways, cache.order[array])
    missing = cache.missing[array]
    if way < 0 or not may_miss(missing) or not crossbar_has_space(m, now, port):
        return 0
    st_i32(row, way, line)
    on_insert(cache.replacement, row, cache.stride, cache.ways, way, _next_use(m, array))
    start_filling(row, cache.stride, way)
    mshr = begin_miss(missing, slot + way)
    cache.target[array, join_miss(missing, mshr, LAST)] = now
    cache.outstanding += 1
    crossbar_send(m, now, port, line, READ | port << SOURCE_CU_SHIFT | (mshr | FETCH_ID) << SOURCE_ID_SHIFT, 0)
    return 1


@jit
def _prefetch(m: Machine, now, array, line):
    """Ask for the lines after a missing one, as far as the configuration says, its page reaches and the code goes.

    The next page would need a translation, too much for a guess.
    """
    cache = m.icache
    last_of_page = line | (1 << m.translation.page_bits) - 1
    for following in range(line + 1, min(line + cache.prefetch, cache.last_line, last_of_page) + 1):
        row = address_in(cache.rows, 2 * _first_slot(m, array, following))
        if way_of(row, cache.stride, following) < 0 and _fetch(m, now, array, following):
            cache.prefetches += 1


@jit(inline=True)
def bank_can_read(m: Machine, busy, line):
    """Return 1 if the line's bank can read it in this cycle, else 0. busy: mask of the banks in use.

    A bank reads one line a cycle; all requests for that line are served by the same read.
    """
    bank = line & (m.icache.banks - 1)
    if not (busy >> bank) & 1 or m.icache.bank_line[bank] == line:
        return 1
    m.icache.bank_conflicts += 1
    return 0


@jit(inline=True)
def use_bank(m: Machine, busy, line, looked_up):
    """Return the mask of banks in use once the line's bank has read it.

    Args:
        busy: The mask before.
        looked_up: 0 if the look-up stalled, as it will for other requests of the line in this cycle.
    """
    bank = line & (m.icache.banks - 1)
    if not (busy >> bank) & 1:
        m.icache.bank_line[bank] = line if looked_up else -1
        m.icache.bank_reads[bank] += looked_up
    return busy | 1 << bank


@jit(inline=True)
def instruction_look_up(m: Machine, now, array, line):
    """Look a fetch's line up; returns FETCH_HIT, FETCH_MERGED, FETCH_MISSED, or FETCH_STALLED with no change."""
    cache = m.icache
    if not translated(m, now, FIRST_INSTRUCTION_USER + array, line):
        return FETCH_STALLED
    row = address_in(cache.rows, 2 * _first_slot(m, array, line))
    way = way_of(row, cache.stride, line)
    if way < 0:
        if not _fetch(m, now, array, line):
            return FETCH_STALLED
        cache.misses += 1
        _prefetch(m, now, array, line)
        return FETCH_MISSED
    on_hit(cache.replacement, row, cache.stride, cache.ways, way, _next_use(m, array))
    if is_filling(row, cache.stride, way):
        cache.merges += 1
        return FETCH_MERGED
    cache.hits += 1
    return FETCH_HIT


@jit
def instruction_fill(m: Machine, now, array, mshr):
    """Complete the fill of the line that an MSHR has asked for; returns the line."""
    cache = m.icache
    missing = cache.missing[array]
    slot = end_miss(missing, mshr, address_in(cache.rows, 0), cache.stride)
    target = missing.mshr[mshr].first
    cache.outstanding -= 1
    cache.latency_total += now - cache.target[array, target]
    next_target(missing, target)
    return line_in(address_in(cache.rows, 0), cache.stride, slot)
