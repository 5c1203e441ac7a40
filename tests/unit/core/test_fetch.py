"""Instruction fetch: cycle counts derived by hand, the cache against the reference cache, and what the counters say."""

import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.cu.code_table import fetch_table
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.cu.state import FETCH
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED
from gpusim.model.core.roofline import roofline
from isa.encoding.instruction import Instruction
from isa.opcodes.opcode import SALU, Opcode
from memory.cache.instruction import InstructionCacheSpec
from memory.dram.spec import DramSpec
from memory.sets.replacement import POLICIES
from tests.support.daily import given_daily
from tests.support.machines import simple
from tests.support.reference_cache import ReferenceCache, lines_of
from tests.support.scripted import Script, ScriptedRun

LAUNCH = 20
DRAM = 124  # cycles of the ideal DRAM's 100 ns
# a miss: crossbar 35, served by the channel one cycle after it is taken, DRAM, L2 fill 70, crossbar 35
MISS = 35 + 1 + DRAM + 70 + 35
HIT = 12  # InstructionCacheSpec.hit_latency_cycles
TURN = 4


def gpu(buffer_bytes: int = 64, **cache: object) -> GpuSpec:
    """The simple machine with instruction fetch."""
    return simple(
        cu=ComputeUnitSpec(instruction_buffer_bytes=buffer_bytes),
        instruction_cache=InstructionCacheSpec(**cache),  # type: ignore[arg-type]
    )


def run(groups: list[list[Script]], spec: GpuSpec, **limits: int) -> ScriptedRun:
    r = ScriptedRun(spec, groups, **limits)
    assert r.go() == FINISHED
    return r


def turn(cycle: int, simd: int = 0) -> int:
    """First turn of the SIMD at or after the cycle."""
    return cycle + (simd - cycle) % TURN


def test_the_first_instruction_waits_for_its_line() -> None:
    # dispatched at 0, looked up at 1; the line comes after a miss and is in the buffer 12 cycles later
    there = 1 + MISS + HIT
    assert run([[Script().end()]], gpu()).cycles == turn(there) + 1


def test_a_prefetched_line_comes_a_cycle_after_the_missing_one() -> None:
    # 24 instructions of 4 bytes: lines 0 and 1 (16 a line); line 1 was asked for with line 0 and comes a cycle later
    # after it on the same port, while the first 16 instructions issue: it costs nothing
    script = Script().valu(24).end()
    there = 1 + MISS + HIT
    r = run([[script]], gpu(prefetch_lines=1))
    assert r.cycles == turn(there) + 24 * TURN + 1
    assert (r.m.icache.misses, r.m.icache.prefetches) == (1, 1)


def test_without_prefetch_each_line_is_waited_for() -> None:
    # a buffer of 64 bytes holds granules of 32: when the wavefront enters its second granule, granule 2, the next line,
    # is asked for. It enters in the turn in which it issues the eighth instruction; fetch looks at it a cycle later
    script = Script().valu(24).end()
    start = turn(1 + MISS + HIT)
    enters = start + 7 * TURN
    there = enters + 1 + MISS + HIT
    r = run([[script]], gpu(prefetch_lines=0))
    assert r.cycles == turn(there) + 8 * TURN + 1
    assert (r.m.icache.misses, r.m.icache.prefetches) == (2, 0)


def test_straight_code_in_the_cache_never_waits() -> None:
    # the second workgroup on the CU (one slot a SIMD) finds all lines: launch latency hides its first fetch
    groups = [[Script().valu(60).end()]] * 37
    r = run(groups, gpu(), waves_per_simd=1, workgroups_per_cu=1)
    alone = run(groups[:36], gpu(), waves_per_simd=1, workgroups_per_cu=1)
    assert r.m.cu.stalls[0, FETCH] == alone.m.cu.stalls[0, FETCH] > MISS


@pytest.mark.parametrize("latency", [12, 40, 80])
def test_a_slow_cache_delays_every_second_granule(latency: int) -> None:
    # a buffer of two granules, eight instructions each. The last instruction of granule n - 1 issues at t and makes
    # space for granule n + 1: looked up at t + 1, there `latency` cycles later. Granule n issues from t + 4 to t + 32,
    # so that granule n + 1 is wanted at t + 36. If it is late, granule n + 2 has that much more time: every second
    # one is late. Sixteen lines come at once, and the figures are taken among them
    def cycles(granules: int) -> int:
        return run([[Script().valu(8 * granules).end()]], gpu(hit_latency_cycles=latency, prefetch_lines=15)).cycles

    late = max(0, turn(1 + latency) - 36)
    assert cycles(26) - cycles(14) == 12 * 8 * TURN + 6 * late


def test_granules_of_a_buffer_of_twelve_dwords() -> None:
    # instructions of 4, 8, 4, 8, 8 bytes from byte 52 of a line on; granules of 16 bytes
    opcode = Opcode("s_nop", "sopp", 0, "", SALU)
    code, address = [], 0x1000
    for size in (4, 8, 4, 8, 8):
        code.append(Instruction(address, size, opcode))
        address += size
    table = fetch_table(code, 48, 0x2034)
    assert table.granule_bytes == 16
    assert [int(g) & 0xFFFFFFFF for g in table.granules_of] == [3, 3, 4, 4, 5]
    assert [int(g) >> 32 for g in table.granules_of] == [3, 3, 4, 4, 4]
    assert table.ends.tolist() == [0, 0, 0, 2, 4, 5]
    assert (table.first_line, table.last_line) == (0x2034 >> 6, (0x2034 + 31) >> 6)
    assert fetch_table(code, 64, 0x2034).granule_bytes == 32


def array_of_four(banks: int) -> GpuSpec:
    """The four CUs of an array, which all start in cycle 0."""
    return simple(
        shader_arrays=1,
        cus_per_array=4,
        dispatch=DispatchSpec(wavefront_cycles=0),
        instruction_cache=InstructionCacheSpec(banks=banks, prefetch_lines=0),
    )


def test_one_read_of_a_bank_serves_all_cus_that_want_its_line() -> None:
    # they start the same code in one cycle: one look-up misses and three join it, all in cycle 1
    script = Script().end()
    r = run([[script]] * 4, array_of_four(banks=1))
    assert (r.m.icache.misses, r.m.icache.merges, r.m.icache.bank_conflicts) == (1, 3, 0)
    assert r.m.icache.bank_reads.sum() == 1
    assert r.cycles == turn(1 + MISS + HIT) + 1


@pytest.mark.parametrize("banks", [1, 2, 4])
def test_a_bank_reads_one_line_a_cycle(banks: int) -> None:
    # four scripts of a line each lie in lines n to n + 3. From cycle 1 on four CUs ask; each bank reads a line a cycle,
    # and those whose line it does not read come again
    spec = array_of_four(banks)
    r = ScriptedRun(spec, [[Script().valu(15).end()] for _ in range(4)])
    to_a_bank = 4 // banks
    r.go(1 + to_a_bank)
    assert r.m.icache.misses == r.m.icache.bank_reads.sum() == 4
    assert r.m.icache.bank_reads.max() == to_a_bank
    assert r.m.icache.bank_conflicts == banks * sum(range(to_a_bank))
    assert r.go() == FINISHED
    # the bound is the busiest bank's reads: fewer banks make it larger than a fetch a cycle for each CU
    assert roofline(r.m, spec, int(r.m.run.ended))["fetch"] == r.m.icache.bank_reads.max() >= 2 * to_a_bank


def test_a_starved_wavefront_is_fetched_for_before_those_that_only_have_space() -> None:
    # 15 wavefronts begin with the seven first instructions of granule 0, the last one, on SIMD 3, with its eighth.
    # Their line comes for all of them; from then on all want granule 1, 16 cycles' work of fetch. The last one, whom
    # round robin serves last, issues its only instruction of granule 0 at once, and is starved: it goes next
    others = Script().valu(6).end()
    starved = Script().salu(2).end()
    r = ScriptedRun(gpu(hit_latency_cycles=1), [[others] * 15 + [starved]])
    line = 1 + MISS
    first = turn(line + 1, simd=3)
    second = turn(first + 1 + 1, simd=3)
    assert second < line + 15 + 1  # when round robin alone would have it there
    while int(r.m.cu.issued[SALU]) < 2:
        r.go(r.cycles + 1)
    assert r.cycles == second + 1


@given_daily(
    *((2, 4) if JIT_DISABLED else (15, 40)),
    st.integers(4, 60),
    st.sampled_from([(1, 4), (2, 8)]),
    st.integers(1, 3),
    st.sampled_from(sorted(POLICIES)),
)
def test_one_wavefront_at_a_time_sees_the_reference_cache(
    lines: int, shape: tuple[int, int], times: int, policy: str
) -> None:
    # the same code again and again, each workgroup after the one before: fetches in order, no merges
    kib, ways = shape
    spec = GpuSpec(
        shader_arrays=1,
        cus_per_array=1,
        dram=DramSpec(model="ideal"),
        instruction_cache=InstructionCacheSpec(size_kib=kib, ways=ways, prefetch_lines=0, replacement=policy),
    )
    r = run([[Script().salu(16 * lines - 1).end()]] * times, spec, waves_per_simd=1, workgroups_per_cu=1)
    cache = ReferenceCache(kib * 16 // ways, ways, policy)
    first = r.fetched.first_line
    # two granules a line, the second always a hit
    hits = cache.all_used(first + n // 2 for _ in range(times) for n in range(2 * lines))
    assert (r.m.icache.hits, r.m.icache.hits + r.m.icache.misses) == (hits, times * 2 * lines)
    assert lines_of(r.m.icache.rows, kib * 16 // ways, ways) == [row.lines for row in cache.sets]
