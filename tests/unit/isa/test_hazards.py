"""Is each dependency that hardware does not check found in code that lacks wait states, and only there?"""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from isa.encoding.control_flow import decode_kernel
from isa.encoding.hazards import HAZARDS, find_violations
from isa.object.code_object import load_code_object
from tests.corpus.build import OBJECTS
from tests.support.encoded import program
from workloads.toolchain.build import KERNELS_DIR

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

ROOT = Path(__file__).resolve().parents[3]
# first instruction, second instruction, rule
PAIRS = [
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15", "s_getreg_b32 s2, hwreg(HW_REG_MODE)", "setreg"),
    (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15",
        "setreg",
    ),
    ("s_setvskip s0, 1", "s_getreg_b32 s2, hwreg(HW_REG_MODE)", "vskip-getreg"),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s0", "v_mov_b32_e32 v0, v1", "vskip-vector"),
    ("s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s_rfe_b64 s[2:3]", "trapsts-rfe"),
    ("v_cmp_lt_u32_e32 vcc, v0, v1", "v_add_f32_e64 v3, src_vccz, v2", "valu-vccz"),
    ("v_cmpx_lt_u32_e32 vcc, v0, v1", "v_add_f32_e64 v3, src_execz, v2", "valu-execz"),
    ("v_readfirstlane_b32 s2, v0", "v_readlane_b32 s2, v0, s2", "valu-lane"),
    ("v_cmp_lt_u32_e64 s[2:3], v0, v1", "v_writelane_b32 v3, 1, s2", "valu-lane"),
    ("v_div_scale_f32 v3, vcc, v0, v1, v2", "v_div_fmas_f32 v3, v0, v1, v2", "valu-div-fmas"),
    ("v_readfirstlane_b32 s2, v0", "buffer_load_dword v0, off, s[0:3], 0", "valu-vmem"),
    ("v_mov_b32_e32 v0, v1", "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "valu-dpp"),
    (
        "v_cmpx_lt_u32_e32 vcc, v0, v1",
        "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf",
        "exec-dpp",
    ),
    ("s_mov_b32 m0, s0", "s_sendmsg sendmsg(MSG_INTERRUPT)", "m0-message"),
    ("s_mov_b32 m0, s0", "ds_add_u32 v0, v1 gds", "m0-message"),
    ("flat_store_dwordx4 v[4:5], v[0:3]", "v_mov_b32_e32 v0, v1", "wide-store"),
    ("flat_store_dwordx3 v[4:5], v[0:2]", "v_mov_b32_e32 v2, v0", "wide-store"),
    ("flat_atomic_cmpswap_x2 v[4:5], v[0:3]", "v_mov_b32_e32 v2, v0", "wide-store"),
    ("buffer_store_dwordx4 v[0:3], off, s[0:3], 0", "v_mov_b32_e32 v0, v1", "wide-store"),
]
HARMLESS = [
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15", "s_getreg_b32 s2, hwreg(HW_REG_STATUS)"),
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15", "v_mov_b32_e32 v0, v1"),  # not the bit of vskip
    ("s_and_b64 vcc, s[2:3], exec", "v_add_f32_e64 v3, src_vccz, v2"),  # not the vector ALU's
    ("v_cmp_lt_u32_e32 vcc, v0, v1", "v_add_f32_e64 v3, src_execz, v2"),
    ("s_mov_b32 s2, s0", "v_readlane_b32 s2, v0, s2"),
    ("v_readfirstlane_b32 s2, v0", "v_readlane_b32 s3, v0, 5"),
    ("v_add_u32_e64 v0, s[2:3], v1, v2", "v_div_fmas_f32 v3, v0, v1, v2"),
    ("v_readfirstlane_b32 s6, v0", "buffer_load_dword v0, off, s[0:3], s8"),
    ("v_readfirstlane_b32 s2, v0", "v_add_f32_e32 v3, s2, v2"),  # an interlock
    ("v_mov_b32_e32 v0, v1", "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("s_mov_b32 s2, s0", "s_sendmsg sendmsg(MSG_INTERRUPT)"),
    ("flat_store_dwordx4 v[4:5], v[0:3]", "v_mov_b32_e32 v5, v0"),  # the address is read in time
    ("buffer_store_dwordx4 v[0:3], off, s[0:3], s8", "v_mov_b32_e32 v0, v1"),
    ("buffer_store_dwordx2 v[0:1], off, s[0:3], 0", "v_mov_b32_e32 v0, v1"),
]


def found(*texts: str) -> list[tuple[str, int]]:
    """Rule and wait states there of each violation."""
    return [(violation.hazard.name, violation.wait_states) for violation in find_violations(program(*texts))]


@pytest.mark.parametrize(("first", "second", "rule"), PAIRS)
def test_each_rule_counts_its_wait_states(first: str, second: str, rule: str) -> None:
    needed = HAZARDS[rule].wait_states
    for there in range(needed):
        assert (rule, there) in found(first, *["s_nop 0"] * there, second)
    assert rule not in dict(found(first, *["s_nop 0"] * needed, second))


def test_every_rule_has_its_pair() -> None:
    assert {rule for _, _, rule in PAIRS} == set(HAZARDS)


@pytest.mark.parametrize(("first", "second"), HARMLESS)
def test_what_needs_no_wait_states(first: str, second: str) -> None:
    assert found(first, second) == []


READER = "buffer_load_dword v0, off, s[0:3], 0"
WRITER = "v_readfirstlane_b32 s2, v0"


def test_s_nop_counts_its_argument_and_other_instructions_one() -> None:
    assert found(WRITER, "s_nop 3", READER) == [("valu-vmem", 4)]
    assert found(WRITER, "s_nop 4", READER) == []
    assert found(WRITER, "s_nop 1", "v_mov_b32_e32 v0, v1", "s_waitcnt lgkmcnt(0)", READER) == [("valu-vmem", 4)]


def test_a_register_written_again_is_no_hazard() -> None:
    assert found(WRITER, "s_mov_b32 s2, s0", READER) == []
    # only the other half of the pair is written again
    assert found("v_cmp_lt_u32_e64 s[2:3], v0, v1", "s_mov_b32 s2, s0", READER) == [("valu-vmem", 1)]


def test_the_nearest_writer_counts() -> None:
    assert found(WRITER, "s_nop 1", "v_readfirstlane_b32 s0, v0", READER) == [("valu-vmem", 0)]


def test_a_branch_is_followed() -> None:
    # the writer, s_branch over s_endpgm and s_nop, the reader: one wait state
    assert found(WRITER, "s_branch 1", "s_endpgm", READER) == [("valu-vmem", 1)]


def test_both_ways_to_an_instruction_are_looked_at() -> None:
    # falling through from the conditional branch, five wait states; taken, one
    code = (WRITER, "s_cbranch_scc1 2", "s_nop 3", "s_nop 3", READER, "s_endpgm")
    assert found(*code) == [("valu-vmem", 1)]


def test_a_loop_is_followed_backwards() -> None:
    # the branch goes back to the reader, four words before its own end
    assert found(READER, WRITER, "s_branch 65532") == [("valu-vmem", 1)]


def test_what_control_flow_does_not_reach_is_no_hazard() -> None:
    assert found(WRITER, "s_endpgm", READER) == []


def test_the_text_names_place_and_need() -> None:
    (violation,) = find_violations(program(WRITER, "s_nop 0", READER))
    assert violation.missing == 4
    assert violation.text == (
        "0x8: buffer_load_dword v0, off, s[0:3], 0: 5 wait states needed after v_readfirstlane_b32 s2, v0 (0x0),"
        " 1 there [valu-vmem: VALU writes an SGPR, VCC, then VMEM reads it]"
    )


def test_the_page_lists_every_rule_with_its_wait_states() -> None:
    rows = [line.split(" | ") for line in (ROOT / "docs/hazards.md").read_text().splitlines() if line[:3] == "| `"]
    listed = {row[0].strip("| `"): int(row[3]) for row in rows if len(row) == 5 and row[0].strip("| `") in HAZARDS}
    assert listed == {name: hazard.wait_states for name, hazard in HAZARDS.items()}


def compiled_objects() -> Iterator[tuple[str, Path | bytes]]:
    """Every committed code object that a compiler wrote."""
    folders = (KERNELS_DIR, ROOT / "sim_configs", ROOT / "docs", ROOT / "tests/data", OBJECTS)
    for path in sorted(path for folder in folders for path in folder.rglob("*.hsaco")):
        if not any(path.with_suffix(suffix).exists() for suffix in (".s", ".S")):
            yield path.stem, path
    for path in sorted(OBJECTS.glob("*.zip")):
        with zipfile.ZipFile(path) as file:
            yield from ((f"{path.stem} {name}", file.read(name)) for name in file.namelist())


def test_compiled_kernels_have_all_their_wait_states() -> None:
    kernels = instructions = 0
    for name, source in compiled_objects():
        for kernel in load_code_object(source).kernels.values():
            code = decode_kernel(kernel)
            kernels, instructions = kernels + 1, instructions + len(code)
            assert [v.text for v in find_violations(code)] == [], f"{name}: {kernel.name}"
    assert kernels > 100 and instructions > 50_000
