"""What the hardware makes a wavefront wait for between two of its instructions, to the cycle."""

import pytest

from gpusim.model.core.cu.code_table import code_table
from gpusim.model.core.cu.interlocks import interlocks
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.cu.state import EXECUTION, FETCH, MAX_IN_FLIGHT, THROTTLE
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED
from memory.cache.instruction import InstructionCacheSpec
from memory.dram.spec import DramSpec
from tests.support.encoded import program
from tests.support.machines import LINE, simple
from tests.support.scripted import Script, ScriptedRun

LAUNCH = 20  # wavefront 0's first issue; its SIMD's turns are multiples of 4
TURN = 4
SPEC = ComputeUnitSpec()


def run(*texts: str, waves: int = 1, cu: ComputeUnitSpec | None = None) -> ScriptedRun:
    """The program and an s_endpgm, in the order of the text, without branches taken."""
    gpu = GpuSpec(
        dram=DramSpec(model="ideal"),
        instruction_cache=InstructionCacheSpec(model="ideal"),
        cu=cu or SPEC,
    )
    code = code_table(program(*texts), gpu.cu)
    scripts = [Script() for _ in range(waves)]
    for script in scripts:
        for word in code:
            script.words.append(int(word))
        script.end()
    machine = ScriptedRun(gpu, [scripts])
    assert machine.go() == FINISHED
    return machine


def end(*texts: str, cu: ComputeUnitSpec | None = None) -> int:
    """Cycles from the first instruction's issue to that of the s_endpgm after the last."""
    return run(*texts, cu=cu).cycles - 1 - LAUNCH


ADD = "v_add_u32_e32 v0, vcc, v1, v2"
READ_VCC = "s_and_b64 s[2:3], vcc, exec"
OTHER = "s_mov_b32 s8, s0"
LANE = "v_readfirstlane_b32 s2, v0"


def test_a_scalar_instruction_waits_for_a_vector_instructions_scalar_result() -> None:
    machine = run(ADD, READ_VCC)
    assert machine.cycles - 1 - LAUNCH == 16 + TURN
    # the turn of the vector instruction is "issued", the rest of the 16 cycles a dependency
    assert int(machine.m.cu.stalls[0, EXECUTION]) == 16 - TURN


@pytest.mark.parametrize("between", range(5))
def test_other_instructions_fill_the_wait(between: int) -> None:
    assert end(ADD, *[OTHER] * between, READ_VCC) == max(16, (between + 1) * TURN) + TURN


def test_a_scalar_instruction_that_reads_something_else_does_not_wait() -> None:
    assert end(ADD, OTHER) == 2 * TURN
    assert end(ADD, "v_addc_u32_e32 v3, vcc, v1, v2, vcc", OTHER) == 3 * TURN  # nor does a vector instruction


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (LANE, "s_add_u32 s2, s2, s1"),
        ("v_readlane_b32 s3, v0, 5", "s_add_u32 s2, s3, s1"),
        ("v_cmp_lt_u32_e64 s[2:3], v0, v1", "s_and_b64 vcc, s[2:3], exec"),
        ("v_cmp_lt_u32_e32 vcc, v0, v1", "s_and_saveexec_b64 s[2:3], vcc"),
        ("v_cmpx_lt_u32_e32 vcc, v0, v1", READ_VCC),
        ("v_cmp_lt_u32_e64 s[4:5], v0, v1", "s_and_saveexec_b64 s[2:3], s[4:5]"),
        ("v_add_u32_e64 v0, s[2:3], v1, v2", "s_and_b64 vcc, s[2:3], exec"),
    ],
)
def test_every_scalar_result_of_the_vector_alu_is_late(writer: str, reader: str) -> None:
    own = 8 if "saveexec" in reader else TURN
    assert end(writer, reader) == 16 + own


@pytest.mark.parametrize(("cycles", "waits"), [(4, 4), (8, 8), (17, 20), (64, 64)])
def test_the_delay_is_the_specifications(cycles: int, waits: int) -> None:
    assert end(ADD, READ_VCC, cu=ComputeUnitSpec(valu_scalar_cycles=cycles)) == waits + TURN


def test_a_slow_vector_instruction_delivers_as_much_later() -> None:
    # a comparison of doubles occupies the vector ALU 32 cycles instead of 4
    assert end("v_cmp_lt_f64_e32 vcc, v[0:1], v[2:3]", READ_VCC) == 16 + 28 + TURN
    assert end("v_div_scale_f32 v3, vcc, v0, v1, v2", *[OTHER] * 3, READ_VCC) == 16 + 12 + TURN


def test_the_last_writer_is_waited_for() -> None:
    assert end(LANE, "v_cmp_lt_u32_e32 vcc, v0, v1", READ_VCC) == TURN + 16 + TURN
    # the first one's reader issues in cycle 16, the second one's in cycle 20
    machine = run(LANE, "v_cmp_lt_u32_e32 vcc, v0, v1", "s_add_u32 s2, s2, s1", READ_VCC)
    assert machine.cycles - 1 - LAUNCH == TURN + 16 + TURN
    assert int(machine.m.cu.stalls[0, EXECUTION]) == 16 - 2 * TURN
    locks = interlocks(program(LANE, "v_cmp_lt_u32_e32 vcc, v0, v1", "s_add_u32 s2, s2, s1", READ_VCC), SPEC)
    assert (locks.writers, locks.result_cycles) == ([0, 1], [0, 0, 12, 16])


def test_a_result_that_is_overwritten_is_not_waited_for() -> None:
    assert end(LANE, "s_mov_b32 s2, s0", "s_add_u32 s2, s2, s1") == 3 * TURN


def test_a_scalar_load_waits_for_its_address() -> None:
    loaded = interlocks(program("v_readfirstlane_b32 s0, v0", "s_load_dword s2, s[0:1], 0x0"), SPEC)
    assert (loaded.writers, loaded.result_cycles) == ([0], [0, 16])


COMPARE = "s_cmp_lg_u32 s0, 0"


@pytest.mark.parametrize(
    ("writer", "branch", "wait"),
    [
        (COMPARE, "s_cbranch_scc1 2", 4),
        (COMPARE, "s_cbranch_scc0 0", 4),
        ("s_and_b64 vcc, s[2:3], exec", "s_cbranch_vccnz 0", 4),
        ("v_cmp_lt_u32_e32 vcc, v0, v1", "s_cbranch_vccz 0", 4),
        ("v_cmpx_lt_u32_e32 vcc, v0, v1", "s_cbranch_execz 0", 4),
        ("v_cmp_lt_f64_e32 vcc, v[0:1], v[2:3]", "s_cbranch_vccz 0", 28 + 4),
        ("s_and_saveexec_b64 s[2:3], s[4:5]", "s_cbranch_execz 0", 4 + 4),
        ("v_cmp_lt_u32_e32 vcc, v0, v1", "s_cbranch_execz 0", 0),  # tests something else
        ("s_mov_b32 s2, s0", "s_cbranch_scc1 2", 0),
    ],
)
def test_a_branch_waits_for_what_the_instruction_before_it_changes(writer: str, branch: str, wait: int) -> None:
    machine = run(writer, branch)
    assert machine.cycles - 1 - LAUNCH == 2 * TURN + wait
    assert int(machine.m.cu.stalls[0, EXECUTION]) == wait and int(machine.m.cu.stalls[0, FETCH]) == 0


def test_an_instruction_in_front_of_the_branch_hides_its_wait() -> None:
    assert end(COMPARE, OTHER, "s_cbranch_scc1 2") == 3 * TURN
    assert end("v_cmp_lt_u32_e32 vcc, v0, v1", OTHER, "s_cbranch_vccz 0") == 3 * TURN


@pytest.mark.parametrize(("cycles", "waits"), [(0, 0), (1, 4), (20, 20)])
def test_a_branch_waits_for_the_specified_cycles(cycles: int, waits: int) -> None:
    cu = ComputeUnitSpec(branch_condition_cycles=cycles)
    assert end(COMPARE, "s_cbranch_scc1 2", cu=cu) == 2 * TURN + waits
    assert end("v_cmp_lt_u32_e32 vcc, v0, v1", "s_cbranch_vccz 0", cu=cu) == 2 * TURN + waits


@pytest.mark.parametrize("cycles", [0, 4, 12])
def test_indexing_holds_a_wavefront_as_is_said(cycles: int) -> None:
    cu = ComputeUnitSpec(register_index_cycles=cycles)
    texts = ("s_set_gpr_idx_on s0, gpr_idx(SRC1)", "s_set_gpr_idx_idx s0", OTHER)
    assert end(*texts, cu=cu) == 3 * TURN + 2 * cycles


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("s_and_saveexec_b64 s[2:3], s[4:5]", 8),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15", 8),
        ("s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", 8),
        ("s_add_u32 s2, s0, s1", 4),
    ],
)
def test_scalar_instructions_that_take_longer(text: str, cycles: int) -> None:
    assert end(text, text, OTHER) == 2 * cycles + TURN


@pytest.mark.parametrize(("text", "cycles"), [("s_load_dwordx8", 8), ("s_load_dwordx16", 16), ("s_load_dword", 4)])
def test_wide_scalar_loads_take_longer_to_issue(text: str, cycles: int) -> None:
    code = {
        "s_load_dword": "s_load_dword s2, s[0:1], 0x0",
        "s_load_dwordx8": "s_load_dwordx8 s[8:15], s[0:1], 0x0",
        "s_load_dwordx16": "s_load_dwordx16 s[8:23], s[0:1], 0x0",
    }[text]
    assert interlocks(program(code), SPEC).pause_cycles == [cycles - TURN]


def test_another_wavefront_issues_in_the_wait() -> None:
    # wavefronts 0 and 4 share SIMD 0: the second's two instructions issue in turns that the first waits in
    alone = run(ADD, READ_VCC).cycles
    assert run(ADD, READ_VCC, waves=5).cycles == alone + TURN


@pytest.mark.parametrize("vector", [True, False])
def test_who_waits_for_space_in_a_counter_goes_on_when_it_has_some_however_full_the_other(vector: bool) -> None:
    # accesses of one kind, then of the other up to its limit, all missing: the first kind's answers come first
    def throttled(others: int) -> int:
        script = Script()
        kinds = (script.load, script.scalar_load) if vector else (script.scalar_load, script.load)
        for k in range(MAX_IN_FLIGHT):
            kinds[0]([LINE + k])
        for k in range(others):
            kinds[1]([LINE + 100 + k])
        kinds[0]([LINE])
        r = ScriptedRun(simple(shader_arrays=1, cus_per_array=1), [[script.end()]])
        assert r.go() == FINISHED
        return int(r.m.cu.stalls[:, THROTTLE].sum())

    assert throttled(MAX_IN_FLIGHT) == throttled(MAX_IN_FLIGHT - 1) - TURN > 0
