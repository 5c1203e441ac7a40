"""Is what the interpreter does not implement refused when the kernel is loaded, by name and place?"""

from dataclasses import replace

import numpy as np
import pytest

from isa.encoding.operands import EncodedOperand, constant_of
from isa.execution.program import build_program
from isa.execution.translation import ProgramError
from tests.support.functional import kernel

S_WAITCNT_LGKM = bytes.fromhex("7f008cbf")


@pytest.mark.parametrize(
    ("word", "mnemonic"),
    [(0xBF920001, "s_trap"), (0xBF8D0001, "s_sethalt"), (0xBE802E04, "s_cbranch_join"), (0xB8800005, "s_getreg_b32")],
)
def test_refused_by_mnemonic_address_encoding_and_kernel(word, mnemonic):
    k = kernel("vector_add", "vector_add")
    at = k.code.index(S_WAITCNT_LGKM, k.entry)
    code = k.code[:at] + word.to_bytes(4, "little") + k.code[at + 4 :]
    with pytest.raises(ProgramError) as caught:
        build_program(replace(k, code=code))
    text = str(caught.value)
    for part in ("'vector_add'", mnemonic, f"{k.code_address + at:#x}", "is not implemented", "SOP"):
        assert part in text


def test_instruction_counts_by_unit_follow_the_code():
    program = build_program(kernel("vector_add", "vector_add"))
    units = [i.opcode.unit for i in program.instructions]
    for n in (0, 5, len(units)):
        np.testing.assert_array_equal(program.unit_prefix[n], np.bincount(units[:n], minlength=8))


@pytest.mark.parametrize(
    ("code", "letter", "bits", "expected"),
    [
        (129, "u", 32, 1),
        (193, "i", 32, 0xFFFFFFFF),
        (193, "i", 64, 0xFFFFFFFFFFFFFFFF),
        (240, "f", 32, 0x3F000000),
        (240, "f", 16, 0x3800),
        (243, "f", 64, 0xBFF0000000000000),
        (248, "f", 32, 0x3E22F983),
        (255, "f", 64, 0x8765432100000000),
        (255, "i", 64, 0xFFFFFFFF87654321),
        (255, "b", 32, 0x87654321),
        (5, "b", 32, None),
    ],
)
def test_constants_by_operand_type(code, letter, bits, expected):
    assert constant_of(code, EncodedOperand("src0", letter, bits), 0x87654321) == expected
