"""Are encodings, control flow and refusals decoded as the manual says?"""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.encoding.control_flow import decode_kernel
from isa.encoding.decoder import DecodeError, decode
from isa.encoding.disassembler import disassemble
from isa.encoding.static_counts import static_counts
from isa.object.code_object import Kernel, load_code_object
from isa.opcodes import GFX803
from isa.opcodes.architecture import ARCHITECTURES
from isa.opcodes.opcode import (
    BRANCH,
    EIGHTH_RATE,
    FULL_RATE,
    INTERNAL,
    LDS,
    QUARTER_RATE,
    SALU,
    SIXTEENTH_RATE,
    SMEM,
    VALU,
    VMEM,
)

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

DATA = Path(__file__).parents[2] / "data" / "isa"
END, BARRIER, NOP = 0xBF810000, 0xBF8A0000, 0xBF800000


def code_of(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def one(*words: int):
    (instruction,) = decode(code_of(*words))
    return instruction


@pytest.fixture(scope="module")
def template() -> Kernel:
    return load_code_object(DATA / "basic_clang19_v5.hsaco").kernels["add"]


def kernel_of(template: Kernel, *words: int, entry: int = 0, functions: tuple[int, ...] = ()) -> Kernel:
    return replace(template, code=code_of(*words), entry=entry, code_address=0x1000, code_end=0, functions=functions)


def test_fields_have_the_manual_names() -> None:
    add = one(0xD1018301, 0x70020702)  # v_add_f32_e64 v1, -|v2|, -|v3| clamp mul:4
    assert add.fields == dict(vdst=1, src0=258, src1=259, src2=0, abs=3, neg=3, omod=2, clamp=1)
    assert (add.size, add.literal, add.opcode.encoding) == (8, None, "vop3")
    load = one(0xC0060202, 0x00000010)
    assert load.fields == dict(imm=1, glc=0, sdata=8, sbase=2, offset=16)
    wide = one(0xE0525FFF, 0x81830401)
    assert wide.fields["offset"] == 4095 and wide.fields["soffset"] == 129 and wide.fields["srsrc"] == 3


def test_compares_as_vop3_write_sdst() -> None:
    compare = one(0xD0410010, 0x00020702)
    assert compare.fields["sdst"] == 16 and "vdst" not in compare.fields
    carry = one(0xD1196A01, 0x00020702)
    assert (carry.fields["sdst"], carry.fields["vdst"]) == (106, 1) and "abs" not in carry.fields


def test_sdwa_and_dpp_words_name_the_real_source() -> None:
    dpp = one(0x7E0202FA, 0x5A081B03)
    assert (dpp.fields["src0"], dpp.fields["dpp_ctrl"], dpp.fields["row_mask"], dpp.fields["bank_mask"]) == (
        256 + 3,
        0x1B,
        5,
        10,
    )
    sdwa = one(0x020204F9, 0x06050603)
    assert (sdwa.fields["src0"], sdwa.fields["src0_sel"], sdwa.fields["src1_sel"]) == (259, 5, 6)
    assert dpp.size == sdwa.size == 8 and dpp.literal is None


def test_literals_follow_the_instruction() -> None:
    move, after = decode(code_of(0xBE8200FF, 0x12345678, NOP), 0x40)
    assert (move.literal, move.size, after.address) == (0x12345678, 8, 0x48)
    assert one(0x2E020503, 0x3F800000).literal == 0x3F800000  # v_madmk_f32


@pytest.mark.parametrize(
    ("words", "unit", "rate"),
    [
        ((0x02020503,), VALU, FULL_RATE),
        ((0x7E024503,), VALU, QUARTER_RATE),  # v_rcp_f32
        ((0xD2850001, 0x00020702), VALU, QUARTER_RATE),  # v_mul_lo_u32
        ((0xD2800002, 0x00020904), VALU, EIGHTH_RATE),  # v_add_f64
        ((0xD2810002, 0x00020904), VALU, SIXTEENTH_RATE),  # v_mul_f64
        ((0x80020403,), SALU, FULL_RATE),
        ((0xDC500000, 0x08000001), VMEM, FULL_RATE),
        ((0xD86C0000, 0x06000001), LDS, FULL_RATE),
        ((0xC0020402, 0x00000010), SMEM, FULL_RATE),
        ((0xBF880001,), BRANCH, FULL_RATE),
        ((0xBF8C0070,), INTERNAL, FULL_RATE),
    ],
)
def test_units_and_rates(words: tuple[int, ...], unit: int, rate: int) -> None:
    opcode = one(*words).opcode
    assert (opcode.unit, opcode.rate) == (unit, rate)


def test_every_promoted_row_matches_its_short_form() -> None:
    for encoding, offset in (("vopc", 0), ("vop2", 0x100), ("vop1", 0x140)):
        for number, opcode in GFX803.tables[encoding].items():
            long = GFX803.tables["vop3"].get(offset + number)
            if "only_e32" in opcode.flags:
                assert long is None
            else:
                assert long is not None and (long.mnemonic, long.rate) == (opcode.mnemonic, opcode.rate)


def test_operand_signatures_are_well_formed() -> None:
    for opcode in GFX803.opcodes():
        for operand in opcode.operands.split():
            name, _, kind = operand.partition(":")
            assert (
                name in ("vcc", "vaddr", "format")
                or operand == "vdata"
                or kind
                in (
                    *("imm", "hex", "branch", "waitcnt", "message", "hwreg", "gpr_idx", "optional", "index", "smem"),
                    *(f"{letter}{bits}" for letter in "buif" for bits in (8, 16, 32, 64, 96, 128, 256, 512)),
                )
            ), (opcode.mnemonic, operand)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((0xBF811234 | 0x7F << 16,), "SOPP has no opcode 127"),
        ((0xBE8200FF,), "ends within s_mov_b32's literal"),
        ((0xD1018301,), "ends within VOP3"),
        ((0xD4000000, 0), "v_interp_p1_f32 (VINTRP) is a graphics instruction"),
        ((0xF0000F00, 0x0003FF01), "v258 does not exist"),
        ((0xF0480100, 0x80030401), "the D16 bit on an instruction that has no data of 16 bits"),
        ((0xC4000000, 0), "exp (EXP) is a graphics instruction"),
        ((0xFC000000,), "0xfc000000 has no encoding"),
        ((0xD10C0001, 0x20020702), "negation or magnitude"),
        ((0xD10C8001, 0x00020702), "clamp"),
        ((0xBE830104,), "misaligned"),
        ((0x7E0204D1,), "source operand number 209 is reserved"),
        ((0xD1010001, 0x000200FF), "literal constant is not allowed"),
        ((0xDC500000, 0x08000101), "does not use it"),
        ((0xDC5C0000, 0xFD000001), "v256 does not exist"),
        ((0x7E0206F9, 0x00060603), "has no SDWA form"),
        ((0x7E0202FA, 0xFF010003), "undefined DPP control"),
    ],
)
def test_undefined_instructions_are_refused(words: tuple[int, ...], message: str) -> None:
    with pytest.raises(DecodeError, match="0x100") as caught:
        decode(code_of(*words), 0x100)
    assert message in str(caught.value)


def test_a_write_back_for_the_whole_system_is_decoded_on_gfx90a() -> None:
    """LLVM sets glc and scc of it (`__threadfence_system`, printf); its disassembler shows neither."""
    (release,) = decode(code_of(0xE0A0C000, 0), architecture=ARCHITECTURES["gfx90a"])
    assert disassemble(release) == "buffer_wbl2"
    with pytest.raises(DecodeError, match="field scc is 1"):
        decode(code_of(0xE0A48000, 0), architecture=ARCHITECTURES["gfx90a"])  # buffer_invl2


def test_branch_targets_count_words_from_the_next_instruction(template: Kernel) -> None:
    back = decode(code_of(NOP, 0xBF82FFFE), 0x200)[1]
    assert back.branch_target == 0x200
    assert decode(code_of(0xBF880003), 0x200)[0].branch_target == 0x210
    assert one(END).branch_target is None


def test_kernel_is_what_control_flow_reaches(template: Kernel) -> None:
    kernel = kernel_of(template, 0xBF880002, NOP, END, BARRIER, 0xBF82FFFB, 0xFFFFFFFF, END)
    assert [disassemble(i) for i in decode_kernel(kernel)] == [
        "s_cbranch_execz 2",
        "s_nop 0",
        "s_endpgm",
        "s_barrier",
        "s_branch 65531",
    ]
    assert [i.address for i in decode_kernel(kernel)] == [0x1000, 0x1004, 0x1008, 0x100C, 0x1010]


def test_calls_bring_the_other_functions_in(template: Kernel) -> None:
    call, back = 0xBE9E1E04, 0xBE801D1E  # s_swappc_b64 s[30:31], s[4:5]; s_setpc_b64 s[30:31]
    kernel = kernel_of(template, call, END, 0xFFFFFFFF, NOP, back, functions=(12,))
    assert [i.address for i in decode_kernel(kernel)] == [0x1000, 0x1004, 0x100C, 0x1010]


def test_without_a_known_target_all_of_the_kernel_is_code_to_jump_to(template: Kernel) -> None:
    kernel = replace(kernel_of(template, 0xBE801D1E, END, 0xFFFFFFFF, NOP, END, NOP, END), code_end=20)
    assert [i.address for i in decode_kernel(kernel)] == [0x1000, 0x1004, 0x100C, 0x1010]


def test_code_addresses_from_the_program_counter_belong_to_the_kernel(template: Kernel) -> None:
    far = 0xBE841C00, 0x8004FF04, 16, 0x82058005, 0xBE801D04, 0xFFFFFFFF, END  # s_getpc, s_add, s_addc, s_setpc
    addresses = [i.address - 0x1000 for i in decode_kernel(kernel_of(template, *far[:5], END, END))]
    assert addresses == [0, 4, 12, 16, 20]
    assert [i.address - 0x1000 for i in decode_kernel(kernel_of(template, *far[:2], 20, *far[3:]))][-1] == 24


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((0xBF820004, END), "branches to 0x1014, outside the code"),
        ((0xBF82FFF0,), "branches to 0xfc4, outside the code"),
        ((NOP, NOP), "leaves the code at 0x1008"),
        ((0xBF880001, 0xBE8200FF, END, END), "middle of s_mov_b32"),
    ],
)
def test_control_flow_errors(template: Kernel, words: tuple[int, ...], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_kernel(kernel_of(template, *words))
    assert message in str(caught.value) and "'add'" in str(caught.value)


def test_static_counts(template: Kernel) -> None:
    counts = static_counts(kernel_of(template, 0x02020503, 0x02020503, 0xC0020402, 16, 0xBF8C0070, END))
    assert counts == dict(total=5, valu=2, salu=0, vmem=0, lds=0, smem=1, branch=0, internal=2, export=0)


@given(st.binary(max_size=64))
def test_any_bytes_decode_or_are_refused(code: bytes) -> None:
    try:
        instructions = decode(code)
    except DecodeError:
        return
    assert sum(i.size for i in instructions) == len(code)
    assert all(disassemble(i) for i in instructions)
