"""Do the register masks agree with the instruction semantics and with what an instruction is?"""

import importlib
import pkgutil

import pytest

import isa.semantics
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.encoding.registers import EXEC, EXECZ, M0, SCC, VCC, VCCZ, registers, scalar_mask, vgpr_mask
from isa.lanes.table import ALIASES, SCALAR, Operation
from isa.opcodes import GFX803
from tests.support.encoded import ENCODED, program


def scalar_operations() -> dict[str, Operation]:
    for module in pkgutil.iter_modules(isa.semantics.__path__):
        importlib.import_module(f"isa.semantics.{module.name}")
    return SCALAR | {name: SCALAR[of] for name, of in ALIASES.items() if of in SCALAR}


def test_encoded_programs_are_what_they_are_called() -> None:
    for text in ENCODED:
        (instruction,) = program(text)
        assert disassemble(instruction) == text


def test_scc_and_destinations_as_the_semantics_say() -> None:
    operations = scalar_operations()
    compared = 0
    for opcode in GFX803.opcodes():
        operation = operations.get(opcode.mnemonic)
        if operation is None:
            continue
        names = ("sdst", "ssrc0", "ssrc1", "simm16")
        reads, writes = registers(Instruction(0, 4, opcode, {**dict.fromkeys(names, 128), "sdst": 20}))
        assert bool(writes & SCC) == ("scc" in operation.signature.results), opcode.mnemonic
        assert bool(reads & SCC) == ("scc" in operation.signature.operands), opcode.mnemonic
        destination = M0 if opcode.mnemonic.startswith("s_set_gpr_idx") else scalar_mask(20)
        read = any(operand.startswith("old:") for operand in operation.signature.operands)
        assert bool(reads & destination) == read, opcode.mnemonic
        stored = operation.signature.destination is not None
        assert bool(writes & destination) == stored, opcode.mnemonic
        compared += 1
    assert compared > 100


S01, S23, S = scalar_mask(0, 2), scalar_mask(2, 2), scalar_mask
V = vgpr_mask


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("s_add_u32 s2, s0, s1", S01, S(2) | SCC),
        ("s_and_b64 vcc, s[2:3], exec", S23 | EXEC, VCC | VCCZ | SCC),
        ("s_and_saveexec_b64 s[2:3], vcc", VCC | EXEC, S23 | EXEC | EXECZ | SCC),
        ("s_cbranch_scc1 2", SCC, 0),
        ("s_cbranch_vccz 0", VCCZ, 0),
        ("s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", S(0), 0),
        ("s_getreg_b32 s2, hwreg(HW_REG_MODE)", 0, S(2)),
        ("s_mov_b32 m0, s0", S(0), M0),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", M0, 0),
        ("s_load_dwordx8 s[8:15], s[0:1], 0x0", S01, S(8, 8)),
        ("v_add_u32_e32 v0, vcc, v1, v2", V(1, 2), V(0) | VCC | VCCZ),
        ("v_add_u32_e64 v0, s[2:3], v1, v2", V(1, 2), V(0) | S23),
        ("v_addc_u32_e32 v3, vcc, v1, v2, vcc", V(1, 2) | VCC, V(3) | VCC | VCCZ),
        ("v_add_f32_e64 v3, src_vccz, v2", V(2) | VCCZ, V(3)),
        ("v_cmp_lt_u32_e64 s[2:3], v0, v1", V(0, 2), S23),
        ("v_cmpx_lt_u32_e32 vcc, v0, v1", V(0, 2), VCC | VCCZ | EXEC | EXECZ),
        ("v_cmp_lt_f64_e32 vcc, v[0:1], v[2:3]", V(0, 4), VCC | VCCZ),
        ("v_readlane_b32 s2, v0, s2", V(0) | S(2), S(2)),
        ("v_div_scale_f32 v3, vcc, v0, v1, v2", V(0, 3), V(3) | VCC | VCCZ),
        ("v_div_fmas_f32 v3, v0, v1, v2", V(0, 3) | VCC, V(3)),
        ("buffer_load_dword v0, off, s[0:3], s8", S(0, 4) | S(8), V(0)),
        ("buffer_store_dwordx4 v[0:3], off, s[0:3], 0", S(0, 4) | V(0, 4), 0),
        ("flat_store_dwordx3 v[4:5], v[0:2]", V(0, 3) | V(4, 2), 0),
        ("flat_atomic_cmpswap_x2 v[4:5], v[0:3]", V(0, 6), 0),
        ("ds_add_u32 v0, v1 gds", V(0, 2) | M0, 0),
    ],
)
def test_masks(text: str, reads: int, writes: int) -> None:
    assert registers(program(text)[0]) == (reads, writes)
