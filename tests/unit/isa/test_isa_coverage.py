"""Has the page of instructions every opcode, and what of it is refused?"""

import pytest

from docs._site.isa_coverage import IMPLEMENTED, PARTLY, coverage
from isa.opcodes import ARCHITECTURES, GFX803

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled


@pytest.fixture(scope="module")
def found():
    return {name: coverage(architecture) for name, architecture in ARCHITECTURES.items()}


def test_the_page_is_complete(found):
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
