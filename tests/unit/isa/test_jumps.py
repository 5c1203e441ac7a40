"""Do jumps through registers go where the registers say, and does every other target end in one clear error?"""

import struct
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.encoding.control_flow import decode_kernel
from isa.encoding.disassembler import disassemble
from isa.encoding.hazards import find_violations
from isa.execution.emulator import run_functional
from isa.execution.faults import FAULT_BRANCH, ExecutionFault
from isa.launch import Launch
from isa.object.code_object import Kernel
from isa.opcodes import GFX803
from isa.opcodes.opcode import Opcode
from tests.support.functional import Device, kernel


def stored(name: str, argument: int = 0) -> int:
    """What the kernel of jumps.s stores."""
    device = Device()
    out = device.put("out", np.zeros(1, np.int32))
    block = struct.pack("<QI", out, argument & 0xFFFFFFFF)
    run_functional(Launch(kernel("jumps", name), device.memory, block, (1, 1, 1), (1, 1, 1)))
    return int(device.get("out")[0])


@pytest.mark.parametrize(("name", "value"), [("forward", 11), ("backward", 22), ("relaxed", 33)])
def test_long_branches(name: str, value: int) -> None:
    assert stored(name) == value


@pytest.mark.parametrize("name", ["forward", "backward", "relaxed"])
def test_constants_are_followed_to_one_target(name: str) -> None:
    """What lies between jump and target is not reached, and belongs to the kernel only where targets are unknown."""
    instructions = decode_kernel(kernel("jumps", name))
    targets = [i.jump_targets for i in instructions if i.opcode.mnemonic == "s_setpc_b64" and i.jump_targets]
    assert len(targets) == 1 and len(targets[0]) == 1
    (target,) = (i for i in instructions if i.address == targets[0][0])
    assert disassemble(target).startswith("s_movk_i32 s8")
    assert not any(i.opcode.mnemonic == "s_sleep" for i in instructions)


@pytest.mark.parametrize("entry", range(4))
def test_a_target_that_is_known_when_it_runs(entry: int) -> None:
    assert stored("computed", entry) == 100 + entry


@pytest.mark.parametrize(("way", "value"), [(0, 44), (1, 55)])
def test_a_jump_that_a_second_way_leads_to(way: int, value: int) -> None:
    assert stored("two_ways", way) == value


def test_a_jump_within_the_code() -> None:
    # s_getpc_b64 gives the address of the addition: 8 bytes of additions, the jump, 8 bytes of a move with a literal
    assert stored("anywhere", 12) == 0x12345
    assert stored("anywhere", 20) == 0


@pytest.mark.parametrize(
    ("offset", "where"),
    [
        (16, r"as linked 0x\w+, within s_mov_b32 at 0x"),
        (13, r"as linked 0x"),
        (-(1 << 20), r"outside the code \(0x\w+ to 0x\w+ as linked\)"),
        (1 << 20, r"outside the code \(0x\w+ to 0x\w+ as linked\)"),
    ],
)
def test_a_jump_to_no_instruction_names_pc_and_address(offset: int, where: str) -> None:
    with pytest.raises(ExecutionFault, match=where) as caught:
        stored("anywhere", offset)
    fault = caught.value
    jump = next(i for i in decode_kernel(kernel("jumps", "anywhere")) if i.opcode.mnemonic == "s_setpc_b64")
    assert (fault.code, fault.program_counter) == (FAULT_BRANCH, jump.address)
    assert fault.address is not None
    linked = jump.address - 8 + offset & 0xFFFFFFFF
    assert fault.address & 0xFFF == linked & 0xFFF
    assert f"pc {jump.address:#x} (s_setpc_b64 s[6:7])" in str(fault) and f"address {fault.address:#x}" in str(fault)


def test_wait_states_are_counted_across_a_long_branch() -> None:
    """v_readlane's lane select needs four wait states after the VALU has written it: one is there."""
    code = [0xBE841C00, 0x8004FF04, 24, 0x82058005]  # s_getpc_b64 s[4:5]; 24 bytes on
    code += [0x7E0C0500, 0xBE801D04, 0xFFFFFFFF]  # v_readfirstlane_b32 s6, v0; s_setpc_b64 s[4:5]; no code
    code += [0xD2890002, 0x00000D00, 0xBF810000]  # v_readlane_b32 s2, v0, s6; s_endpgm
    found = decode_kernel(made(*code))
    assert [i.opcode.mnemonic for i in found][-3:] == ["s_setpc_b64", "v_readlane_b32", "s_endpgm"]
    assert [violation.missing for violation in find_violations(found)] == [3]


def made(*words: int) -> Kernel:
    """A kernel of these words, linked at 0x1000."""
    code = b"".join(word.to_bytes(4, "little") for word in words)
    template = kernel("jumps", "anywhere")
    return replace(template, code=code, entry=0, code_address=0x1000, code_end=len(code), functions=())


@pytest.mark.parametrize("word", [0, 0xBF800000, 0xBF820000, 0xBF84FFFF, 0xBE841C00])
def test_long_padding_behind_an_unknown_jump_takes_no_time(word: int) -> None:
    """Zeros, s_nop, s_branch, s_cbranch_scc0 -1 and s_getpc_b64: decoded from each place on, it would take hours."""
    found = decode_kernel(made(0xBE801D1E, *[word] * (1 << 13)))  # s_setpc_b64 s[30:31]
    assert found[0].opcode.mnemonic == "s_setpc_b64"


def test_a_target_outside_the_code_is_a_fault_when_it_is_jumped_to() -> None:
    code = (0xBE841C00, 0x8004FF04, 0x100000, 0x82058005, 0xBE801D04)  # s_getpc_b64, additions, s_setpc_b64
    found = decode_kernel(made(*code))
    assert len(found) == 4 and found[-1].jump_targets == ()


@given(st.binary(min_size=4, max_size=96))
def test_any_code_behind_an_unknown_jump_is_decoded_or_left_out(noise: bytes) -> None:
    words = struct.unpack(f"<{len(noise) // 4}I", noise[: len(noise) // 4 * 4])
    found = decode_kernel(made(0xBE801D1E, *words))  # s_setpc_b64 s[30:31]
    assert found[0].address == 0x1000
    for one, other in pairwise(found):
        assert one.address + one.size <= other.address
    addresses = {i.address for i in found}
    for i in found:
        assert i.branch_target is None or i.branch_target in addresses
        assert "ends_block" in i.opcode.flags or i.address + i.size in addresses


def scalar_word(opcode: Opcode) -> int:
    """A scalar instruction of inline constants (GCN3 ISA manual, chapter 13: microcode formats)."""
    destination, first, second = (
        value * (name in opcode.operands) for name, value in (("sdst", 4), ("ssrc0", 129), ("ssrc1", 129))
    )
    return {
        "sop2": 0b10 << 30 | opcode.number << 23 | destination << 16 | second << 8 | first,
        "sopk": 0b1011 << 28 | opcode.number << 23 | destination << 16 | 1,
        "sop1": 0b101111101 << 23 | destination << 16 | opcode.number << 8 | first,
        "sopc": 0b101111110 << 23 | opcode.number << 16 | second << 8 | first,
    }[opcode.encoding]


ONLY_REGISTERS = {"s_setpc_b64", "s_swappc_b64", "s_rfe_b64", "s_cbranch_join", "s_movrels_b32", "s_movrels_b64"}
SCALAR = [
    o
    for o in GFX803.opcodes()
    if o.encoding in ("sop1", "sop2", "sopc", "sopk") and not o.flags & {"refused"} and o.mnemonic not in ONLY_REGISTERS
]


@pytest.mark.parametrize("opcode", SCALAR, ids=lambda opcode: opcode.mnemonic)
def test_constants_are_followed_past_any_scalar_instruction(opcode: Opcode) -> None:
    (get_pc,) = (o for o in SCALAR if o.mnemonic == "s_getpc_b64")
    set_pc = 0xBE801D04  # s_setpc_b64 s[4:5]: what is known by then decides where it goes
    literal = [0x1F] * ("literal" in opcode.operands)
    words = [scalar_word(get_pc), scalar_word(opcode), *literal, set_pc, 0xBF810000]
    code = replace(kernel("jumps", "forward"), code=struct.pack(f"<{len(words)}I", *words), entry=0)
    assert [i.opcode.mnemonic for i in decode_kernel(code)][:2] == ["s_getpc_b64", opcode.mnemonic]
