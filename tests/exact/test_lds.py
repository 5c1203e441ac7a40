"""Exact cases of the LDS: bank conflicts of each degree and width, broadcast, atomics, the backlog, sharing."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import LANES, TURN, after_wait, cases, finished, first_issue, turn
from tests.support.assembly import Assembly

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "lds.hsaco")
case = cases(ASSEMBLY)
BANKS = 32  # GCN3 ISA manual, section 10: 32 banks of a dword
READS = 10


def bank_cycles(degree: int, dwords: int) -> int:
    """Of an instruction whose lanes lie `degree` times their own width apart.

    A step serves as many lanes as have 32 dwords together, each to a bank of its own; lanes that lie further apart
    meet in a bank, where each waits for the others.
    """
    lanes_a_step = BANKS // dwords
    return LANES // lanes_a_step * degree


CONFLICTS = [
    *((1, degree) for degree in (1, 2, 4, 8, 16, 32)),
    *((2, degree) for degree in (1, 2, 4, 8, 16)),
    *((4, degree) for degree in (1, 2, 4, 8)),
]
for _dwords, _degree in CONFLICTS:
    _register = "v2" if _dwords == 1 else f"v[2:{1 + _dwords}]"
    for _reads in (1, READS):
        ASSEMBLY.kernel(
            f"b{32 * _dwords}_{_degree}_{_reads}",
            f"""
            v_mul_u32_u24 v1, {4 * _dwords * _degree}, v0
            .rept {_reads}
            ds_read_b{32 * _dwords} {_register}, v1
            .endr
            s_waitcnt lgkmcnt(0)
            s_endpgm
            """,
            lds_bytes=4 * _dwords * _degree * LANES,
        )


@pytest.mark.parametrize(("dwords", "degree"), CONFLICTS)
def test_one_read(gpu: GpuSpec, dwords: int, degree: int) -> None:
    issue = first_issue(gpu) + TURN
    data = issue + bank_cycles(degree, dwords) + gpu.cu.lds_latency_cycles
    facts = case(f"b{32 * dwords}_{degree}_1", gpu)
    assert facts.cycles == finished(after_wait(data))
    # from the turn after the issue of the read to the turn with the data
    assert facts.stalls["memory_dependency"] == data - issue - TURN


@pytest.mark.parametrize(("dwords", "degree"), CONFLICTS)
def test_reads_in_a_row(gpu: GpuSpec, dwords: int, degree: int) -> None:
    # the banks work without a gap where a read takes them at least a turn; otherwise a read issues every turn
    banks = bank_cycles(degree, dwords)
    first = first_issue(gpu) + TURN
    data = first + (READS - 1) * max(banks, TURN) + banks + gpu.cu.lds_latency_cycles
    assert case(f"b{32 * dwords}_{degree}_{READS}", gpu).cycles == finished(after_wait(data))


ASSEMBLY.kernel("broadcast", "    ds_read_b32 v2, v1\n    s_waitcnt lgkmcnt(0)\n    s_endpgm", lds_bytes=4)


def test_a_word_that_all_lanes_read_is_served_once_a_step(gpu: GpuSpec) -> None:
    data = first_issue(gpu) + LANES // BANKS + gpu.cu.lds_latency_cycles
    assert case("broadcast", gpu).cycles == finished(after_wait(data))


for _dwords in (1, 2, 4):
    _register = "v2" if _dwords == 1 else f"v[2:{1 + _dwords}]"
    ASSEMBLY.kernel(
        f"steps_b{32 * _dwords}",
        f"""
        v_and_b32 v1, {BANKS // _dwords - 1}, v0
        v_lshlrev_b32 v1, {2 + _dwords // 2}, v1
        ds_read_b{32 * _dwords} {_register}, v1
        s_waitcnt lgkmcnt(0)
        s_endpgm
        """,
        lds_bytes=128,
    )


@pytest.mark.parametrize("dwords", [1, 2, 4])
def test_lanes_of_different_steps_do_not_share_a_word(gpu: GpuSpec, dwords: int) -> None:
    # the lanes of every step read the same 32 dwords, each its own: one cycle a step
    data = first_issue(gpu) + 2 * TURN + LANES // (BANKS // dwords) + gpu.cu.lds_latency_cycles
    assert case(f"steps_b{32 * dwords}", gpu).cycles == finished(after_wait(data))


ASSEMBLY.kernel("one_counter", "    ds_add_u32 v1, v0\n    s_waitcnt lgkmcnt(0)\n    s_endpgm", lds_bytes=4)


def test_atomics_on_one_word_come_one_after_another(gpu: GpuSpec) -> None:
    data = first_issue(gpu) + LANES + gpu.cu.lds_latency_cycles
    assert case("one_counter", gpu).cycles == finished(after_wait(data))


for _name, _text, _kept in (
    ("write_b32", "ds_write_b32 v1, v0", 4),
    ("write_b64", "ds_write_b64 v1, v[2:3]", 8),
    ("add_u32", "ds_add_u32 v1, v0", 4),
    ("swizzle", "ds_swizzle_b32 v2, v1 offset:0x1f", 4),
):
    ASSEMBLY.kernel(
        _name,
        f"""
        v_mul_u32_u24 v1, {_kept}, v0
        .rept {READS}
        {_text}
        .endr
        s_waitcnt lgkmcnt(0)
        s_endpgm
        """,
        lds_bytes=8 * LANES,
    )


@pytest.mark.parametrize(("name", "dwords"), [("write_b32", 1), ("write_b64", 2), ("add_u32", 1)])
def test_writes_and_atomics_without_conflicts_take_a_multiple_of_a_read(gpu: GpuSpec, name: str, dwords: int) -> None:
    # CLRX GcnTimings: twice; on the odd machine three times
    banks = gpu.cu.lds_write_passes * bank_cycles(1, dwords)
    first = first_issue(gpu) + TURN
    data = first + (READS - 1) * max(banks, TURN) + banks + gpu.cu.lds_latency_cycles
    facts = case(name, gpu)
    assert facts.cycles == finished(after_wait(data))
    assert facts.cu.lds_busy_cycles == READS * banks


ASSEMBLY.kernel(
    "write_conflicts",
    f"""
    v_lshlrev_b32 v1, 7, v0
    .rept {READS}
    ds_write_b32 v1, v0
    .endr
    s_waitcnt lgkmcnt(0)
    s_endpgm
    """,
    lds_bytes=128 * LANES,
)


def test_writes_that_meet_in_a_bank_take_a_cycle_each(gpu: GpuSpec) -> None:
    # all lanes in one bank: more cycles than addresses and data need to come in, so that these do not count
    assert case("write_conflicts", gpu).cu.lds_busy_cycles == READS * LANES


def test_an_exchange_of_lanes_writes_nothing(gpu: GpuSpec) -> None:
    assert case("swizzle", gpu).cu.lds_busy_cycles == READS * LANES // BANKS


ASSEMBLY.kernel(
    "few_lanes",
    """
    v_lshlrev_b32 v1, 7, v0
    s_mov_b64 exec, 0xff
    ds_read_b32 v2, v1
    s_waitcnt lgkmcnt(0)
    s_endpgm
    """,
    lds_bytes=1024,
)


def test_a_step_without_active_lanes_costs_nothing(gpu: GpuSpec) -> None:
    # eight lanes, all in one bank; lanes 32 to 63 are off
    data = first_issue(gpu) + 2 * TURN + 8 + gpu.cu.lds_latency_cycles
    assert case("few_lanes", gpu).cycles == finished(after_wait(data))


ASSEMBLY.kernel(
    "two_addresses",
    """
    v_lshlrev_b32 v1, 2, v0
    ds_read2_b32 v[2:3], v1 offset0:0 offset1:64
    s_waitcnt lgkmcnt(0)
    s_endpgm
    """,
    lds_bytes=512,
)


def test_two_addresses_are_two_accesses(gpu: GpuSpec) -> None:
    data = first_issue(gpu) + TURN + 2 * bank_cycles(1, 1) + gpu.cu.lds_latency_cycles
    assert case("two_addresses", gpu).cycles == finished(after_wait(data))


ASSEMBLY.kernel(
    "backlog",
    f"""
    v_mul_u32_u24 v1, {4 * 32}, v0
    .rept {READS}
    ds_read_b32 v2, v1
    .endr
    s_endpgm
    """,
    lds_bytes=4 * 32 * LANES,
)


def test_a_read_issues_when_the_backlog_is_short_enough(gpu: GpuSpec) -> None:
    # without a wait for the data the end follows the last issue: the n-th read issues when the banks are busy with
    # those before for no more than the backlog
    first = first_issue(gpu) + TURN
    banks = bank_cycles(32, 1)
    last = turn(first + (READS - 1) * banks - gpu.cu.lds_backlog_cycles)
    facts = case("backlog", gpu)
    assert facts.cycles == finished(last + TURN)
    # all its waiting is for the busy LDS: from the first read on but for the turns in which it issues
    between_turns = turn(last) - (first + (READS - 1) * banks - gpu.cu.lds_backlog_cycles)
    assert 0 <= between_turns < TURN
    assert facts.stalls["execution_dependency"] + facts.stalls["not_selected"] == last - first - (READS - 1) * TURN


SHARED = 5
ASSEMBLY.kernel(
    "shared",
    f"""
    .rept {SHARED}
    ds_read_b32 v2, v1
    .endr
    s_waitcnt lgkmcnt(0)
    s_endpgm
    """,
    lds_bytes=4,
)


ASSEMBLY.kernel(
    "busy",
    """
    v_lshlrev_b32 v1, 3, v0
    v_and_b32 v1, 0x1ff, v1
    .rept 80
    ds_read_b32 v2, v1
    .endr
    s_waitcnt lgkmcnt(0)
    s_endpgm
    """,
    lds_bytes=512,
)


def test_four_simds_share_the_banks(gpu: GpuSpec) -> None:
    # each SIMD issues a read of two bank cycles in its turn: four ask for eight bank cycles in four. The banks never
    # rest; the reads that wait stay below the backlog
    start = min(first_issue(gpu, simd) for simd in range(4))
    reads = 4 * SHARED
    assert reads * (LANES // BANKS - 1) < gpu.cu.lds_backlog_cycles
    data = start + reads * (LANES // BANKS) + gpu.cu.lds_latency_cycles
    last_simd = (start - 1) % TURN  # whose turn comes last issues the last read
    assert case("shared", gpu, wavefronts=4).cycles == finished(after_wait(data, last_simd))


def test_four_simds_share_a_busy_lds_in_turn(gpu: GpuSpec) -> None:
    # reads of four bank cycles, as many as the LDS can do: each SIMD has its last read among the last four
    facts = case("busy", gpu, wavefronts=4)
    missing = 4 * facts.cycles - sum(facts.stalls.values())
    assert missing <= (1 + 2 + 3) * 4 + 4 * 2 * TURN


def test_lds_of_two_cus_are_two(gpu: GpuSpec) -> None:
    # workgroup 1, on another CU, starts later and is as fast as the first
    banks = bank_cycles(32, 1)
    first = first_issue(gpu, workgroup=1) + TURN
    data = first + READS * banks + gpu.cu.lds_latency_cycles
    assert case("b32_32_10", gpu, workgroups=2).cycles == finished(after_wait(data))
