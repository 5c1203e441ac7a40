"""Is docs/isa-coverage.md what the opcode table and the program builder say now?"""

from pathlib import Path

import pytest

from isa.opcodes import ARCHITECTURES, GFX803
from tests.support.isa_coverage import IMPLEMENTED, PARTLY, coverage, markdown

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

PAGE = Path(__file__).resolve().parents[3] / "docs" / "isa-coverage.md"


@pytest.fixture(scope="module")
def found():
    return {name: coverage(architecture) for name, architecture in ARCHITECTURES.items()}


@pytest.mark.generated
def test_the_page_is_current_and_complete(found):
    assert markdown(found) == PAGE.read_text(encoding="utf-8"), "run .ci/generate"
    assert [row.opcode for rows in found["gfx803"].values() for row in rows] == list(GFX803.opcodes())
    every = [row for tables in found.values() for rows in tables.values() for row in rows]
    assert {o for a in ARCHITECTURES.values() for o in a.opcodes()} <= {row.opcode for row in every}
    assert all(row.reasons or row.state == IMPLEMENTED for row in every)


def test_refusals_are_found(found):
    states = {row.opcode.mnemonic: row.state for rows in found["gfx803"].values() for row in rows}
    assert states["s_getreg_b32"] == PARTLY and states["v_mac_f32"] == IMPLEMENTED
    assert states["ds_gws_barrier"] == states["ds_gws_init"] == IMPLEMENTED
    assert states["image_load"] == states["image_sample_lz"] == states["buffer_load_format_xyzw"] == IMPLEMENTED
    assert states["ds_gws_sema_p"] == states["image_get_lod"] == states["s_setvskip"] == "no"
