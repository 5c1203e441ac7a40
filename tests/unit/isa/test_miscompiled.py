"""Are the marks that compilers' faults leave in machine code found, and nothing that only looks so?"""

from pathlib import Path

import pytest

from isa.encoding.control_flow import decode_kernel
from isa.encoding.miscompiled import find_marks
from isa.object.code_object import load_code_object
from tests.corpus.build import OBJECTS
from tests.support.encoded import program

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled
RELOAD = "buffer_load_dword v1, off, s[0:3], 0 offset:8"
RESTORE = "s_or_b64 exec, exec, s[8:9]"


def marks(*texts: str) -> list[tuple[str, int]]:
    return [(mark.fault, mark.instruction.address) for mark in find_marks(program(*texts))]


def test_a_literal_subtracted_in_the_encoding_without_clamp() -> None:
    assert marks("v_subrev_u32_e32 v5, vcc, 0x80, v0") == [("lost-clamp", 0)]
    assert marks("v_subrev_u32_e32 v5, vcc, 8, v0", "v_sub_u32_e32 v5, vcc, 0x80, v0") == []
    (mark,) = find_marks(program("v_subrev_u32_e32 v5, vcc, 0x80, v0"))
    assert mark.text.startswith("0x0: v_subrev_u32_e32 v5, vcc, 0x80, v0: a literal is subtracted")


def test_a_reload_where_control_flow_joins_before_lanes_are_restored() -> None:
    assert marks("s_cbranch_execz 1", "s_nop 0", RELOAD, RESTORE) == [("early-reload", 8)]
    assert marks("s_cbranch_execz 1", "s_nop 0", RESTORE, RELOAD) == []
    assert marks("s_nop 0", RELOAD, RESTORE) == []  # no join
    assert marks("s_cbranch_execz 1", "s_nop 0", "s_or_saveexec_b64 s[8:9], -1", RELOAD, RESTORE) == []


def test_what_clang_17_makes_of_a_clamp_and_of_a_branch() -> None:
    """Objects of clang17.hip: `x < 128u ? 0u : x - 128u`, the same with 8, and a branch with spilled registers."""
    found = {
        path.stem: {name: {mark.fault for mark in find_marks(decode_kernel(kernel))} for name, kernel in held.items()}
        for path in sorted((Path(__file__).parents[2] / "data/miscompiled").glob("*.hsaco"))
        for held in [load_code_object(path).kernels]
    }
    assert found["clang17-O2"] == {"clamp": {"lost-clamp"}, "clampi": set(), "spill": set()}
    assert found["clang17-O0"] == {"clamp": {"early-reload"}, "clampi": {"early-reload"}, "spill": set()}


def test_the_corpus_has_none() -> None:
    for path in sorted(OBJECTS.glob("*.hsaco")):
        for kernel in load_code_object(path).kernels.values():
            assert find_marks(decode_kernel(kernel)) == [], f"{path.name}: {kernel.name}"
