"""Has the page of instructions every opcode, and what of it is refused?"""

import re

import pytest

from docs._site.isa_coverage import IMPLEMENTED, PARTLY, REFUSED, coverage, coverage_of
from isa.opcodes import ARCHITECTURES, GFX803
from tests.support.daily import parametrize_daily

# All that GPUs with matrix cores have and no kernel is executed with, as patterns, by why it is refused
NOT_EXECUTED = {
    "graphics": r"v_interp_.*|exp|v_screen_partition_4se_b32|s_endpgm_ordered_ps_done|ds_ordered_count",
    "debuggers and traps": r"s_rfe.*|s_cbranch_(join|g_fork|i_fork|cdbg.*)|s_setkill|s_sethalt|s_sendmsghalt|s_trap"
    r"|s_endpgm_saved|s_setvskip",
    "scalar atomics and private memory, cache hints: no compiler writes them": r"s_(buffer_)?atomic_.*|s_scratch_.*"
    r"|s_atc_.*|s_dcache_discard.*",
    "rare LDS operations": r"ds_wrap_rtn_b32|ds_condxchg32_rtn_b64|ds_\w+_src2_\w+",
    "semaphores of the whole GPU": r"ds_gws_sema_.*",
    "typed and packed texels": r"t?buffer_(load|store)_format_d16_.*|tbuffer_.*|image_(load|store)_(mip_)?pck.*"
    r"|image_gather4h|image_get_lod",
    "rounding that is not published": r"v_mfma_f32_.*_xf32|v_cvt_sr_.*",
}
pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled


@pytest.fixture(scope="module")
def found():
    return {name: coverage(architecture, samples=6) for name, architecture in ARCHITECTURES.items()}


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


@parametrize_daily("gpu", ["gfx908", "gfx90a", "gfx942"], {2})
def test_what_is_not_executed_of_matrix_gpus_is_listed(gpu):
    """Every mnemonic that is decoded and refused in each of its forms, and no other, is in NOT_EXECUTED."""
    pattern = re.compile("|".join(NOT_EXECUTED.values()))
    refused, listed = set(), set()
    for opcode in ARCHITECTURES[gpu].opcodes():
        if all(coverage_of(opcode, ARCHITECTURES[gpu], samples).state == REFUSED for samples in (4, 40)):
            refused.add(opcode.mnemonic)
        if pattern.fullmatch(opcode.mnemonic):
            listed.add(opcode.mnemonic)
    assert refused == listed
