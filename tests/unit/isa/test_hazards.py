"""Is each dependency that hardware does not check found in code that lacks wait states, and only there?"""

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from isa.encoding.control_flow import decode_kernel
from isa.encoding.decoder import decode
from isa.encoding.hazards import Violation, find_violations
from isa.object.code_object import load_code_object
from isa.opcodes import ARCHITECTURES, GFX803, Architecture
from tests.corpus.build import OBJECTS
from tests.support.encoded import program
from tests.support.llvm_hazards import compare, has_llc
from tests.system.test_cli_disasm import VARIANTS
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
# the same of GFX9: what it adds, and what the rules of all apply to there
PAIRS_GFX9 = [
    ("s_mov_b32 m0, s0", "s_movrels_b32 s2, s0", "m0-relative-move"),
    ("s_mov_b32 m0, s0", "s_movreld_b64 s[2:3], s[0:1]", "m0-relative-move"),
    ("s_mov_b32 m0, s0", "ds_read_addtid_b32 v0 offset:4", "m0-lds"),
    ("s_mov_b32 m0, s0", "ds_write_addtid_b32 v0", "m0-lds"),
    ("s_mov_b32 m0, s0", "buffer_load_dword off, s[0:3], 0 lds", "m0-lds"),
    ("s_mov_b32 m0, s0", "v_mov_b32_e32 v0, src_lds_direct", "m0-lds"),
    ("global_store_dwordx4 v[4:5], v[0:3], off", "v_mov_b32_e32 v0, v1", "wide-store"),
    ("global_store_dwordx3 v4, v[0:2], s[2:3]", "v_mov_b32_e32 v2, v0", "wide-store"),
    ("scratch_store_dwordx4 v4, v[0:3], off", "v_pk_add_u16 v0, v1, v2", "wide-store"),
    ("global_atomic_cmpswap_x2 v[4:5], v[0:3], off", "v_mov_b32_e32 v2, v0", "wide-store"),
    ("v_readfirstlane_b32 s2, v0", "global_load_dword v0, v4, s[2:3]", "valu-vmem"),
    ("v_pk_add_u16 v0, v1, v2", "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "valu-dpp"),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s0", "v_pk_add_u16 v0, v1, v2", "vskip-vector"),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s0", "global_load_dword v0, v4, s[2:3]", "vskip-vector"),
]
HARMLESS_GFX9 = [
    ("s_mov_b32 s2, s0", "s_movrels_b32 s2, s0"),
    ("s_mov_b32 m0, s0", "buffer_load_dword v0, off, s[0:3], 0"),
    ("s_mov_b32 m0, s0", "v_mov_b32_e32 v0, v1"),
    ("global_store_dwordx2 v[4:5], v[0:1], off", "v_mov_b32_e32 v0, v1"),
    ("global_store_dwordx4 v[4:5], v[0:3], off", "v_pk_add_u16 v5, v1, v2"),  # the address is read in time
    ("v_readfirstlane_b32 s6, v0", "global_load_dword v0, v4, s[2:3]"),
    ("v_readfirstlane_b32 s2, v0", "v_add_f32_sdwa v3, s2, v2 dst_sel:DWORD src0_sel:WORD_0 src1_sel:DWORD"),
]
GFX9 = [architecture for architecture in ARCHITECTURES.values() if architecture.generation == "GFX9"]
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


# of gfx803 but not of GFX9: those with carries have other names there
GFX803_ALONE = ("v_add_u32_e64 v0, s[2:3], v1, v2",)


def found(*texts: str, architecture: Architecture = GFX803) -> list[tuple[str, int]]:
    """Rule and wait states there of each violation."""
    violations = find_violations(program(*texts, architecture=architecture))
    return [(violation.hazard.name, violation.wait_states) for violation in violations]


def cases() -> Iterator[tuple[Architecture, str, str, str]]:
    """Every architecture with the pairs that need wait states there; a rule '' marks those that need none."""
    for architecture in ARCHITECTURES.values():
        more = (PAIRS_GFX9, HARMLESS_GFX9) if architecture in GFX9 else ((), ())
        for first, second, rule in (*PAIRS, *more[0]):
            yield architecture, first, second, rule
        for first, second in (*HARMLESS, *more[1]):
            if architecture is GFX803 or first not in GFX803_ALONE:
                yield architecture, first, second, ""


# GPU, rule, wait states, first instruction, second one; a third is what stands in between
MATRIX = [
    ("gfx908", "exec-mfma", "4", "050da47c", "0000c2d300032204"),
    ("gfx908", "valu-mfma", "2", "0503027e", "0000c2d300032204"),
    ("gfx908", "dot-mfma", "2", "0140a3d3050d1e1c", "0000c2d300032204"),
    ("gfx908", "mfma-mfma-c", "2", "0000c4d300034204", "2800c2d302070a04"),
    ("gfx908", "mfma-mfma-ab", "4", "0000c2d300032204", "2800c2d30007b20c"),
    ("gfx908", "exec-accvgpr-write", "4", "050da47c", "0040d9d309010018"),
    ("gfx908", "valu-accvgpr-write", "2", "0503127e", "0040d9d309010018"),
    ("gfx908", "mfma-accvgpr-read", "4", "0000c2d300032204", "0940d8d300010018"),
    ("gfx908", "mfma-accvgpr-read", "10", "0000c5d300032204", "0940d8d300010018"),
    ("gfx908", "mfma-accvgpr-read", "18", "0000c4d300034204", "0940d8d300010018"),
    ("gfx908", "mfma-accvgpr-write", "1", "0000c2d300032204", "0040d9d309010018"),
    ("gfx908", "mfma-accvgpr-write", "7", "0000c5d300032204", "0040d9d309010018"),
    ("gfx908", "mfma-accvgpr-write", "15", "0000c4d300034204", "0040d9d309010018"),
    ("gfx908", "mfma-c-accvgpr-write", "5", "0000c5d300032204", "0840d9d309010018"),
    ("gfx908", "mfma-c-accvgpr-write", "13", "0000c4d300034204", "1040d9d309010018"),
    ("gfx908", "accvgpr-write-mfma-c", "1", "0040d9d309010018", "0800c2d300030204"),
    ("gfx908", "accvgpr-write-mfma-ab", "3", "0040d9d309010018", "0800c2d30003320c"),
    ("gfx908", "accvgpr-write-read", "3", "0040d9d309010018", "0940d8d300010018"),
    ("gfx908", "accvgpr-write-write", "3", "0040d9d309010018", "0040d9d303010018"),
    ("gfx908", "accvgpr-read-memory", "2", "0040d8d300010018", "008050dc00007f1e"),
    ("gfx908", "valu-accvgpr-memory", "2", "0503007e", "008050dc00007f1e", "0940d8d300010018"),
    ("gfx90a", "exec-mfma", "4", "050da47c", "0000c2d3142b2204"),
    ("gfx90a", "valu-mfma", "2", "0040d9d305010018", "0880c2d300030204"),
    ("gfx90a", "mfma-mfma-c", "2", "0000c2d3142b2204", "3200c2d3366f0a04"),
    ("gfx90a", "mfma-mfma-c", "8", "0000c5d3142b2204", "3200c2d3366f0a04"),
    ("gfx90a", "mfma-mfma-c", "16", "0000c4d328534204", "3200c2d3366f0a04"),
    ("gfx90a", "mfma-dmfma-c", "3", "0000c2d3142b2204", "3200efd336710a04"),
    ("gfx90a", "mfma-dmfma-c", "9", "0000c5d3142b2204", "3200efd336710a04"),
    ("gfx90a", "mfma-dmfma-c", "17", "0000c4d328534204", "3200efd336710a04"),
    ("gfx90a", "dmfma-dmfma-c", "4", "0000efd3142d2204", "3200eed33c7d0204"),
    ("gfx90a", "dmfma-dmfma-c", "9", "0000eed3142d2204", "3200efd33c7d0204"),
    ("gfx90a", "dmfma-same-c", "4", "0000efd3142d2204", "0000efd33c7d0204"),
    ("gfx90a", "mfma-mfma-ab", "5", "0000c2d3142b2204", "3200c2d3006fe204"),
    ("gfx90a", "mfma-mfma-ab", "11", "0000c5d3142b2204", "3200c2d3006fe204"),
    ("gfx90a", "mfma-mfma-ab", "19", "0000c4d328534204", "3200c2d3006fe204"),
    ("gfx90a", "dmfma-mfma-ab", "6", "0000efd3142d2204", "3200c2d3006fe204"),
    ("gfx90a", "dmfma-mfma-ab", "11", "0000eed3142d2204", "3200c2d3006fe204"),
    ("gfx90a", "mfma-read", "5", "0000c2d3142b2204", "00035a7e"),
    ("gfx90a", "mfma-read", "11", "0000c5d3142b2204", "00035a7e"),
    ("gfx90a", "mfma-read", "19", "0000c4d328534204", "00035a7e"),
    ("gfx90a", "mfma-write", "5", "0000c2d3142b2204", "00006cd82d000000"),
    ("gfx90a", "mfma-write", "11", "0000c5d3142b2204", "00006cd82d000000"),
    ("gfx90a", "mfma-write", "19", "0000c4d328534204", "00006cd82d000000"),
    ("gfx90a", "mfma-c-write", "1", "0000c2d3142b2204", "2d03107e"),
    ("gfx90a", "mfma-c-write", "7", "0000c5d3142b2204", "2d03107e"),
    ("gfx90a", "mfma-c-write", "15", "0000c4d328534204", "2d03207e"),
    ("gfx90a", "dmfma-valu-read", "6", "0000efd3142d2204", "00035a7e"),
    ("gfx90a", "dmfma-valu-read", "11", "0000eed3142d2204", "00035a7e"),
    ("gfx90a", "dmfma-memory-read", "9", "0000efd3142d2204", "00001ad82d000000"),
    ("gfx90a", "dmfma-memory-read", "18", "0000eed3142d2204", "00001ad82d000000"),
    ("gfx90a", "dmfma-write", "6", "0000efd3142d2204", "2d03007e"),
    ("gfx90a", "dmfma-write", "11", "0000eed3142d2204", "2d03007e"),
    ("gfx90a", "dmfma-fma", "2", "0000efd3142d2204", "3200ccd1346de204"),
    ("gfx90a", "valu-dmfma-memory", "2", "2d03587e", "00001ad82e2c0000", "0000efd3142d2204"),
    ("gfx90a", "dot-read", "3", "0140a3d3050d1e1c", "0103127e"),
    ("gfx90a", "dot-read", "3", "0140a3d3050d1e1c", "0940a3d3010d1e1c"),
    ("gfx90a", "dot-write", "3", "0140a3d3050d1e1c", "0903027e"),
    ("gfx942", "m0-lds", "1", "0000fcbe", "0081a8dc1e000200"),  # global_load_lds_dword
    ("gfx942", "m0-lds", "1", "0000fcbe", "0060a8dc01007f00"),  # scratch_load_lds_dword
]
MATRIX_GPUS = ("gfx908", "gfx90a")
# nothing to wait for: the same accumulators, and what another matrix product's passes cover
MATRIX_HARMLESS = [
    ("gfx908", "same SrcC", "0000c2d300030204", "0000c2d300030204"),
    ("gfx908", "SrcC of 2 passes", "0000c2d300032204", "0840d9d309010018"),
    ("gfx908", "product in between", "06030a7e", "0000c2d300032204", "1400c2d305035204"),
    ("gfx90a", "same SrcC", "0000c4d328530204", "0000c4d328530204"),
    ("gfx90a", "same SrcC of doubles", "0000eed3142d0204", "0000eed3142d0204"),
    ("gfx90a", "SrcC of doubles is read in time", "0000eed3142d2204", "2d03107e"),
    ("gfx90a", "doubles before another product's SrcC", "0000eed3142d2204", "3200c2d3366f0204"),
    ("gfx90a", "SrcC of the same dot product", "0140a3d3050d061c", "0140a3d3050d061c"),
    ("gfx90a", "dot product before a product", "0140a3d3050d1e1c", "3200c2d3016fe204"),
]


CASES = [pytest.param(*case, id=f"{case[0].name}: {case[1]}; {case[2]}") for case in cases()]


@pytest.mark.parametrize(("architecture", "first", "second", "rule"), CASES)
def test_each_rule_counts_its_wait_states(architecture: Architecture, first: str, second: str, rule: str) -> None:
    if not rule:
        assert found(first, second, architecture=architecture) == []
        return
    needed = architecture.hazards[rule].most
    for there in range(needed):
        assert (rule, there) in found(first, *["s_nop 0"] * there, second, architecture=architecture)
    assert rule not in dict(found(first, *["s_nop 0"] * needed, second, architecture=architecture))


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_every_rule_has_its_pair(architecture: Architecture) -> None:
    matrix = {case[1] for case in MATRIX if case[0] == architecture.name}
    assert {case[3] for case in cases() if case[0] is architecture} - {""} | matrix == set(architecture.hazards)


def missing(gpu: str, *words: str) -> list[Violation]:
    return find_violations(decode(bytes.fromhex("".join(words)), 0, architecture=ARCHITECTURES[gpu]))


@pytest.mark.parametrize("case", MATRIX, ids=lambda case: f"{case[0]} {case[1]} {case[2]}")
def test_matrix_rules_count_their_wait_states(case: tuple[str, ...]) -> None:
    gpu, rule, states, first, second, *between = case
    there = len(between)
    needed = int(states)
    nops = ["000080bf"] * (needed - there)
    assert rule not in {v.hazard.name for v in missing(gpu, first, *between, *nops, second)}
    fewest = {v.hazard.name: v for v in missing(gpu, first, *between, *nops[1:], second)}
    assert (fewest[rule].needed, fewest[rule].missing) == (needed, 1)


@pytest.mark.parametrize("case", MATRIX_HARMLESS, ids=lambda case: f"{case[0]} {case[1]}")
def test_matrix_code_without_hazards(case: tuple[str, ...]) -> None:
    gpu, _, *words = case
    assert missing(gpu, *words) == []


@pytest.mark.skipif(not has_llc(), reason="llc-19 (LLVM 19) is not installed: the oracle cannot be asked")
@pytest.mark.parametrize("programs", [900, pytest.param(1500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("gpu", MATRIX_GPUS)
def test_llvm_inserts_the_wait_states_that_the_rules_demand(gpu: str, programs: int) -> None:
    result = compare(ARCHITECTURES[gpu], programs)
    assert result.differences == ()
    assert result.waiting > 100 and len(result.hazards) > 10


def test_m0_is_read_in_time_by_gfx803() -> None:
    for second in ("s_movrels_b32 s2, s0", "buffer_load_dword off, s[0:3], 0 lds"):
        code = program("s_mov_b32 m0, s0", second, architecture=GFX9[0])
        assert [v.hazard.name for v in find_violations(code)] != []
        assert find_violations([replace(one, architecture=GFX803) for one in code]) == []


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
    rows = [
        line.split(" | ") for line in (ROOT / "docs/reference/hazards.md").read_text().splitlines() if line[:3] == "| `"
    ]
    begin = next(k for k, row in enumerate(rows) if row[0] == "| `setreg`")
    middle = next(k for k, row in enumerate(rows) if row[0] == "| `exec-mfma`")
    listed = {row[0].strip("| `"): (int(row[3]), "(GFX9 alone)" in row[1]) for row in rows[begin:middle]}
    older = [one for one in ARCHITECTURES.values() if one.name not in MATRIX_GPUS]
    known = {name: hazard.wait_states for one in older for name, hazard in one.hazards.items()}
    assert listed == {name: (states, name not in GFX803.hazards) for name, states in known.items()}
    for gpu in MATRIX_GPUS:
        of_gpu = {row[0].strip("| `"): row[3] for row in rows[middle:] if row[4].strip("| ") in ("both", gpu)}
        needs = {n: h.wait_states for n, h in ARCHITECTURES[gpu].hazards.items() if n not in known}
        assert of_gpu == {
            name: str(need) if isinstance(need, int) else ", ".join(f"{v} ({k} passes)" for k, v in need.items())
            for name, need in needs.items()
        }


def compiled_objects() -> Iterator[tuple[str, Path | bytes]]:
    """Committed code objects that compilers wrote: of those that differ in their version one, no variant of another."""
    folders = (KERNELS_DIR, ROOT / "sim_configs", ROOT / "docs", ROOT / "tests/data", OBJECTS)
    for path in sorted(path for folder in folders for path in folder.rglob("*.hsaco")):
        by_hand = path.stem.endswith("_execution") or any(path.with_suffix(end).exists() for end in (".s", ".S"))
        if not by_hand and not path.stem.endswith(VARIANTS):
            yield path.stem, path
    for path in sorted(OBJECTS.glob("*-v4.zip")):
        with zipfile.ZipFile(path) as file:
            yield from ((f"{path.stem} {name}", file.read(name)) for name in file.namelist())


# objects of each change: every sixth, at night all
@pytest.mark.parametrize(
    ("step", "kernels_at_least", "instructions_at_least"),
    [(12, 10, 4_000), pytest.param(1, 100, 50_000, marks=pytest.mark.nightly)],
)
def test_compiled_kernels_have_all_their_wait_states(
    step: int, kernels_at_least: int, instructions_at_least: int
) -> None:
    kernels = instructions = 0
    for name, source in [*compiled_objects()][::step]:
        for kernel in load_code_object(source).kernels.values():
            code = decode_kernel(kernel)
            kernels, instructions = kernels + 1, instructions + len(code)
            assert [v.text for v in find_violations(code)] == [], f"{name}: {kernel.name}"
    assert kernels > kernels_at_least and instructions > instructions_at_least
