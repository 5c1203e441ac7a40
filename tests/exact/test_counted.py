"""Exact cases of what active lanes do: floating-point operations, bytes asked for, and each level's time in use."""

from pathlib import Path

import pytest

from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import (
    BUFFER,
    BUFFER_LOW,
    END,
    LANES,
    LOAD,
    ONE_LINE,
    ONE_LINE_TURNS,
    TURN,
    WAIT,
    after_wait,
    cases,
    first_issue,
    l1_miss_data,
    l2_miss,
)
from tests.support.assembly import Assembly
from tests.support.utilization import resource_utilization

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "counted.hsaco")
case = cases(ASSEMBLY)
FEW, FEWER, TIMES = 20, 10, 3  # lanes, lanes, turns of a loop
DWORD = 4

ASSEMBLY.kernel(
    "flops",
    f"""
    v_add_f32 v1, v1, v1
    v_subrev_f32 v1, v1, v1
    v_mac_f32 v1, v1, v1
    v_cmp_gt_u32 vcc, {FEW}, v0
    s_and_saveexec_b64 s[2:3], vcc
    v_mul_f32 v1, v1, v1
    v_madak_f32 v1, v1, v1, 0x40490fdb
    v_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]
    v_add_f64 v[2:3], v[2:3], v[2:3]
    v_rcp_f32 v4, v1
    v_max_f32 v4, v1, v4
    v_cvt_f64_f32 v[6:7], v4
    v_cmp_lt_f32 vcc, v1, v4
    s_mov_b64 exec, s[2:3]
    s_movk_i32 s4, {TIMES}
.Lagain:
    v_mul_f16 v5, v5, v5
    v_cmpx_gt_u32 vcc, {FEWER}, v0
    v_mad_f16 v5, v5, v5, v5
    s_sub_i32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 .Lagain
    s_endpgm
""",
)


def test_floating_point_operations_of_active_lanes(gpu: GpuSpec) -> None:
    facts = case("flops", gpu, wavefronts=2).kernel
    # the second wavefront's lanes are 64 to 127: none of them is below FEW
    assert facts.single_flops == 2 * LANES * (1 + 1 + 2) + FEW * (1 + 2)
    assert facts.double_flops == FEW * (2 + 1)
    halves = LANES + FEWER * 2 + (TIMES - 1) * FEWER * (1 + 2)
    assert facts.half_flops == halves + LANES


ASSEMBLY.kernel(
    "bytes",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 4, v0
    v_mov_b32 v3, v1
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
    s_mov_b32 s8, {BUFFER_LOW:#x}
    s_mov_b32 s9, {BUFFER >> 32}
    s_mov_b32 s10, {FEWER * DWORD}
    s_mov_b32 s11, 0x00027000
    v_lshlrev_b32 v4, 2, v0
    buffer_load_dword v5, v4, s[8:11], 0 offen
    flat_store_dword v[1:2], v0
    ds_write_b32 v4, v0
    v_cmp_gt_u32 vcc, {FEW}, v0
    s_and_saveexec_b64 s[2:3], vcc
    flat_load_dwordx2 v[6:7], v[1:2]
    ds_read2_b64 v[8:11], v4 offset1:1
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_mov_b64 exec, 0
    flat_load_dword v6, v[1:2]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_endpgm
""",
    vgprs=12,
    lds_bytes=1024,
)


def test_bytes_that_active_lanes_ask_for(gpu: GpuSpec) -> None:
    facts = case("bytes", gpu)
    stored = LANES * DWORD
    assert facts.l1.bytes_asked_for == FEWER * DWORD + stored + FEW * 2 * DWORD  # lanes out of range ask for nothing
    assert facts.lds.bytes_asked_for == stored + FEW * 2 * 2 * DWORD
    assert facts.l2.bytes_written == stored


ASSEMBLY.kernel(
    "two_lines",
    ONE_LINE + LOAD + WAIT + f"    v_mov_b32 v1, {BUFFER_LOW + 4096:#x}\n" + LOAD + WAIT + LOAD + WAIT + END,
)


def test_a_level_is_in_use_from_its_first_to_its_last_transaction(gpu: GpuSpec) -> None:
    first = first_issue(gpu) + ONE_LINE_TURNS + 1
    data = l1_miss_data(gpu, l2_miss(gpu, first))
    second = after_wait(data) + TURN + 1
    again = after_wait(l1_miss_data(gpu, l2_miss(gpu, second))) + 1
    facts = case("two_lines", gpu)
    assert facts.l1.span_cycles == again - first + 1
    assert facts.l2.span_cycles == facts.dram.span_cycles == second - first + 1  # the third load hits L1
    assert facts.l2.read_hits == facts.lds.span_cycles == 0


ASSEMBLY.kernel("nothing", END)
ASSEMBLY.kernel(
    "lds",
    f"    v_mul_u32_u24 v1, {2 * DWORD}, v0\n    ds_read_b32 v2, v1\n    s_waitcnt lgkmcnt(0)\n"
    "    ds_read_b32 v2, v1\n    s_waitcnt lgkmcnt(0)\n    s_endpgm\n",
    lds_bytes=512,
)


def test_the_lds_are_in_use_until_their_last_bank_cycle(gpu: GpuSpec) -> None:
    banks = 4  # two lanes meet in each bank
    first = first_issue(gpu) + TURN
    second = after_wait(first + banks + gpu.cu.lds_latency_cycles)
    assert case("lds", gpu).lds.span_cycles == second + banks - first


@pytest.mark.parametrize("waves", [0.5, 1.0, 1.25])
def test_how_much_of_the_waves_of_a_grid_is_taken(gpu: GpuSpec, waves: float) -> None:
    most = SIMDS * gpu.cu.waves_per_simd * gpu.cus  # workgroups of a wavefront each
    facts = case("nothing", gpu, workgroups=int(waves * most))
    found = facts.kernel.workgroups_total / facts.kernel.workgroup_places
    assert found == resource_utilization(int(waves * most), most)
