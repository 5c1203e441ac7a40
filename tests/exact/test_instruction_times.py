"""Exact cases of what one instruction costs its wavefront: vector rates, scalar instructions, branches, pauses."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from isa.encoding.control_flow import decode_kernel
from isa.object.code_object import load_code_object
from tests.exact.machine import TURN, cases, condition, finished, first_issue, run, turn, turns
from tests.support.assembly import Assembly
from workloads.vendor.multiply_accumulate import with_multiply_accumulate

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "instruction_times.hsaco")
case = cases(ASSEMBLY)


# Cycles that a wavefront occupies its SIMD: CLRX GcnTimings, for GPUs whose double precision runs at 1/16; 64-bit
# integers: LLVM's SISchedule.td and Mesa's ACO
VALU_CYCLES = {
    "v_add_f32 v2, v0, v1": 4,
    "v_mac_f32 v2, v0, v1": 4,
    "v_mad_f32 v2, v0, v1, v2": 4,
    "v_mul_u32_u24 v2, v0, v1": 4,
    "v_mad_i32_i24 v2, v0, v1, v2": 4,
    "v_lshlrev_b32 v2, 1, v0": 4,
    "v_fma_f32 v2, v0, v1, v2": 16,
    "v_mul_lo_u32 v2, v0, v1": 16,
    "v_mul_hi_u32 v2, v0, v1": 16,
    "v_rcp_f32 v2, v0": 16,
    "v_sqrt_f32 v2, v0": 16,
    "v_exp_f32 v2, v0": 16,
    "v_log_f32 v2, v0": 16,
    "v_sin_f32 v2, v0": 16,
    "v_add_f64 v[2:3], v[0:1], v[0:1]": 32,
    "v_cvt_f64_f32 v[2:3], v0": 32,
    "v_lshlrev_b64 v[2:3], 1, v[0:1]": 8,
    "v_lshrrev_b64 v[2:3], 1, v[0:1]": 8,
    "v_ashrrev_i64 v[2:3], 1, v[0:1]": 8,
    "v_cmp_lt_u64 vcc, v[0:1], v[0:1]": 8,
    "v_cmp_lt_i64 vcc, v[0:1], v[0:1]": 8,
    "v_cmp_lt_f64 vcc, v[0:1], v[0:1]": 32,
    "v_mul_f64 v[2:3], v[0:1], v[0:1]": 64,
    "v_fma_f64 v[2:3], v[0:1], v[0:1], v[2:3]": 64,
    "v_rcp_f64 v[2:3], v[0:1]": 64,
}
REPEATS = 5


def rate_name(text: str) -> str:
    return "rate_" + text.split()[0]


for _text in VALU_CYCLES:
    ASSEMBLY.kernel(rate_name(_text), f"    .rept {REPEATS}\n    {_text}\n    .endr\n    s_endpgm")


@pytest.mark.parametrize(("text", "cycles"), VALU_CYCLES.items(), ids=lambda value: str(value).split()[0])
def test_vector_rates(gpu: GpuSpec, text: str, cycles: int) -> None:
    # the n-th issues when the vector ALU is free of the one before; s_endpgm needs none and follows in the next turn
    last = first_issue(gpu) + (REPEATS - 1) * cycles
    assert case(rate_name(text), gpu).cycles == finished(last + TURN)
    # two wavefronts on each SIMD take the vector ALU twice as long; SIMD 3's turn may be the last
    start = max(first_issue(gpu, simd) for simd in range(4))
    assert case(rate_name(text), gpu, wavefronts=8).cycles == finished(start + (2 * REPEATS - 1) * cycles + TURN)


ASSEMBLY.kernel(
    "beside_a_slow_one",
    """
    v_rcp_f64 v[2:3], v[0:1]
    .rept 10
    s_add_u32 s1, s1, s0
    .endr
    v_add_f32 v4, v0, v0
    s_endpgm
    """,
)


def test_a_wavefront_goes_on_beside_its_own_slow_vector_instruction(gpu: GpuSpec) -> None:
    # ten scalar adds fit into the 64 cycles; the next vector instruction waits for the vector ALU, for
    # "execution dependency" from the turn after the scalar adds
    start = first_issue(gpu)
    facts = case("beside_a_slow_one", gpu)
    assert facts.cycles == finished(start + 64 + TURN)
    assert facts.stalls["execution_dependency"] == 64 - 11 * TURN


# --- scalar instructions, branches ---

ASSEMBLY.kernel("not_taken", "    s_cmp_eq_u32 s0, 1\n    s_cbranch_scc1 .Lend\n    s_nop 0\n.Lend:\n    s_endpgm")
ASSEMBLY.kernel("taken", "    s_cmp_eq_u32 s0, 0\n    s_cbranch_scc1 .Lend\n    s_nop 0\n.Lend:\n    s_endpgm")
ASSEMBLY.kernel(
    "always",
    """
    s_cbranch_scc1 .Lskipped
    s_branch .Lend
.Lskipped:
    s_nop 0
.Lend:
    s_endpgm
    """,
)
ASSEMBLY.kernel("to_the_next", "    s_branch .Lend\n.Lend:\n    s_endpgm")


def test_a_branch_not_taken_costs_its_turn(gpu: GpuSpec) -> None:
    # the branch waits for the compare; it and s_nop take a turn each
    assert case("not_taken", gpu).cycles == finished(first_issue(gpu) + condition(gpu) + 2 * TURN)


def test_a_branch_taken_costs_the_branch_latency(gpu: GpuSpec) -> None:
    branch = first_issue(gpu) + condition(gpu)
    facts = case("taken", gpu)
    assert facts.cycles == finished(turn(branch + gpu.cu.branch_cycles))
    # of these, the turn of its issue is "issued"; the rest is the branch's latency, none of it the fetch's
    assert facts.stalls["instruction_fetch"] == 0
    assert facts.stalls["branch_latency"] == turn(branch + gpu.cu.branch_cycles) - branch - TURN


def test_an_unconditional_branch_costs_the_branch_latency(gpu: GpuSpec) -> None:
    assert case("always", gpu).cycles == finished(turn(first_issue(gpu) + TURN + gpu.cu.branch_cycles))


def test_a_branch_taken_to_the_next_instruction_costs_the_branch_latency(gpu: GpuSpec) -> None:
    assert case("to_the_next", gpu).cycles == finished(turn(first_issue(gpu) + gpu.cu.branch_cycles))


ASSEMBLY.kernel(
    "jump",
    """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, 0x50
    s_addc_u32 s3, s3, 0
    s_setpc_b64 s[2:3]
    .rept 16
    s_nop 0
    .endr
    s_endpgm
    """,
)


def test_a_jump_costs_the_branch_latency(gpu: GpuSpec) -> None:
    # s_getpc_b64 gives the address after itself: s_endpgm lies 8 + 4 + 4 bytes and 16 instructions further on
    assert case("jump", gpu).cycles == finished(turn(first_issue(gpu) + 3 * TURN + gpu.cu.branch_cycles))


ASSEMBLY.kernel(
    "jump_known_when_it_runs",
    """
    s_bcnt1_i32_b32 s4, 0x0f0f0f0f
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, s4
    s_addc_u32 s3, s3, 0
    s_setpc_b64 s[2:3]
    s_nop 0
    s_endpgm
    s_endpgm
    """,
)


def test_a_jump_whose_target_is_known_when_it_runs_costs_the_same(gpu: GpuSpec) -> None:
    # 16 bytes behind s_getpc_b64: two additions, the jump, s_nop
    assert case("jump_known_when_it_runs", gpu).cycles == finished(
        turn(first_issue(gpu) + 4 * TURN + gpu.cu.branch_cycles)
    )


PASSES = 7
ASSEMBLY.kernel(
    "loop",
    f"""
    s_movk_i32 s1, {PASSES}
.Lagain:
    v_add_f32 v1, v1, v0
    s_sub_u32 s1, s1, 1
    s_cmp_lg_u32 s1, 0
    s_cbranch_scc1 .Lagain
    s_endpgm
    """,
)


def test_a_loop(gpu: GpuSpec) -> None:
    # two instructions, the compare that the branch waits for, and the branch: taken in all passes but the last
    to_the_branch = 2 * TURN + condition(gpu)
    passes = PASSES * to_the_branch + (PASSES - 1) * turns(gpu.cu.branch_cycles) + TURN
    assert case("loop", gpu).cycles == finished(first_issue(gpu) + TURN + passes)


SAVEEXEC_CYCLES = 8  # CLRX GcnTimings
ASSEMBLY.kernel(
    "divergent",
    """
    v_cmp_gt_u32 vcc, 16, v0
    s_and_saveexec_b64 s[2:3], vcc
    s_cbranch_execz .Lother
    .rept 3
    v_add_f32 v1, v1, v0
    .endr
.Lother:
    s_xor_b64 exec, exec, s[2:3]
    s_cbranch_execz .Lend
    .rept 5
    v_add_f32 v1, v1, v0
    .endr
.Lend:
    s_endpgm
    """,
)


def test_both_sides_of_a_divergent_branch_take_their_time(gpu: GpuSpec) -> None:
    # 16 lanes go one way, 48 the other; neither branch is taken; a vector instruction of few lanes is no faster.
    # s_and_saveexec waits for VCC from the vector compare and keeps its wavefront for SAVEEXEC_CYCLES; each branch
    # waits for EXEC from the instruction before it
    first_side = first_issue(gpu) + turns(gpu.cu.valu_scalar_cycles)
    first_side += turns(SAVEEXEC_CYCLES + gpu.cu.branch_condition_cycles) + TURN
    second_side = first_side + 3 * TURN + condition(gpu) + TURN
    assert case("divergent", gpu).cycles == finished(second_side + 5 * TURN)


ASSEMBLY.kernel(
    "scalar_from_vector",
    """
    v_readfirstlane_b32 s1, v0
    s_add_u32 s2, s1, s1
    v_cmp_lt_f64 vcc, v[0:1], v[2:3]
    s_and_b64 s[4:5], vcc, exec
    v_readfirstlane_b32 s1, v0
    s_add_u32 s3, s2, s2
    s_endpgm
    """,
)


def test_a_scalar_instruction_waits_for_a_vector_instructions_scalar_result(gpu: GpuSpec) -> None:
    # a compare of doubles takes 32 cycles instead of 4; the last add reads nothing of the vector instruction before it
    waits = turns(gpu.cu.valu_scalar_cycles) + turns(32 - 4 + gpu.cu.valu_scalar_cycles)
    assert case("scalar_from_vector", gpu).cycles == finished(first_issue(gpu) + waits + 4 * TURN)


# --- pauses ---

for _n in range(16):
    ASSEMBLY.kernel(f"nop_{_n}", f"    s_nop {_n}\n    s_endpgm")


@pytest.mark.parametrize("operand", range(16))
def test_s_nop_takes_a_cycle_more_than_its_operand(gpu: GpuSpec, operand: int) -> None:
    # GCN3 ISA manual, S_NOP: 0 is one cycle, 0xF sixteen; the wavefront goes on in its next turn
    assert case(f"nop_{operand}", gpu).cycles == finished(turn(first_issue(gpu) + operand + 1))


SLEEP_UNIT = 64  # GCN3 ISA manual: about 64 x SIMM16[6:0] cycles
for _n in (0, 1, 3, 127):
    ASSEMBLY.kernel(f"sleep_{_n}", f"    s_sleep {_n}\n    s_endpgm")


@pytest.mark.parametrize("operand", [0, 1, 3, 127])
def test_s_sleep_takes_64_cycles_a_unit(gpu: GpuSpec, operand: int) -> None:
    # the longest is longer than the wake-up wheel reaches
    assert case(f"sleep_{operand}", gpu).cycles == finished(turn(first_issue(gpu) + 1 + SLEEP_UNIT * operand))


ASSEMBLY.kernel("setprio", "    .rept 6\n    s_setprio 3\n    .endr\n    s_endpgm")


def test_internal_instructions_take_a_turn(gpu: GpuSpec) -> None:
    assert case("setprio", gpu).cycles == finished(first_issue(gpu) + 6 * TURN)


def test_fused_multiply_additions_run_as_multiply_accumulates_at_full_rate(gpu: GpuSpec) -> None:
    name = rate_name("v_fma_f32")
    image = ASSEMBLY.path.read_bytes()
    (kernel,) = (k for n, k in load_code_object(image).kernels.items() if n == name)
    changed = load_code_object(with_multiply_accumulate(image, [kernel])).kernels[name]
    assert [i.opcode.mnemonic for i in decode_kernel(changed)][:REPEATS] == ["v_mac_f32"] * REPEATS
    assert run(changed, gpu).cycles == finished(first_issue(gpu) + (REPEATS - 1) * TURN + TURN)
