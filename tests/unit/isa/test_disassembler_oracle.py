"""Is the disassembly word for word what LLVM writes, for every opcode and every form?"""

import random
import re
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isa.encoding.decoder import DecodeError, decode_one
from isa.encoding.disassembler import disassemble
from isa.opcodes import ARCHITECTURES, GFX803, Architecture
from isa.opcodes.formats import LITERAL
from tests.support.daily import given_daily, parametrize_daily
from tests.support.instruction_words import LITERALS, forms, opcodes, random_words, source_fields
from tests.support.llvm_oracle import (
    LATER,
    ORACLE,
    ORACLE_VERSION,
    added_opcodes,
    assembled,
    find_llvm_mc,
    is_oracle_for,
    oracle_lines,
    read_lines,
    version_of,
)

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

LLVM_MC = find_llvm_mc()
BATCH = 300
FIRST_AND_LAST = {0, len(ARCHITECTURES) - 1}  # what the others add is in the committed lines

needs_llvm = pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed: the oracle cannot be asked")


def text_of(words: list[int], architecture: Architecture = GFX803) -> str:
    return text_of_code(b"".join(word.to_bytes(4, "little") for word in words), architecture)


def text_of_code(code: bytes, architecture: Architecture) -> str:
    try:
        return disassemble(decode_one(code, 0, 0, len(code), architecture))
    except DecodeError as error:
        return f"refused: {error}"


def test_committed_lines_cover_every_opcode() -> None:
    seen = set()
    for words, _ in read_lines(ORACLE):
        code = b"".join(word.to_bytes(4, "little") for word in words)
        seen.add(decode_one(code, 0, 0, len(code)).opcode)
    missing = [f"{opcode.encoding} {opcode.mnemonic}" for opcode in opcodes() if opcode not in seen]
    assert not missing


def test_committed_lines_are_written_the_same() -> None:
    pairs = read_lines(ORACLE)
    assert len(pairs) > 3000
    different = [(text_of(words), text) for words, text in pairs if text_of(words) != text]
    assert different == []


@pytest.mark.parametrize("gpu", LATER)
def test_committed_lines_of_later_gpus(gpu: str) -> None:
    architecture = ARCHITECTURES[gpu]
    pairs = read_lines(LATER[gpu])
    different = [(text_of(words, architecture), text) for words, text in pairs]
    assert [pair for pair in different if pair[0] != pair[1]] == []
    seen = set()
    for words, _ in pairs:
        code = b"".join(word.to_bytes(4, "little") for word in words)
        seen.add(decode_one(code, 0, 0, len(code), architecture).opcode)
    assert [f"{o.encoding} {o.mnemonic}" for o in added_opcodes(architecture) if o not in seen] == []


def test_only_old_versions_are_excused() -> None:
    pairs = read_lines(ORACLE)
    tfe, words = next(
        (text, words) for words, text in pairs if text.startswith("buffer_load_") and text.endswith(" tfe")
    )
    assert is_oracle_for(19, words, tfe) and is_oracle_for(20, words, tfe) and not is_oracle_for(14, words, tfe)
    assert is_oracle_for(14, words, tfe.removesuffix(" tfe"))
    assert sum(not is_oracle_for(14, words, text) for words, text in pairs) < 0.02 * len(pairs)


@pytest.mark.parametrize(
    ("words", "text", "old"),
    [
        ([0x567C0CFF, 0x3F800000], "v_lshrrev_b16_e32 v62, 1.0, v6", False),  # LLVM 14: 0
        ([0x7D55DAFF, 0x3F800000], "v_cmp_eq_u16_e32 vcc, 1.0, v237", False),
        ([0x7CF726FF, 0x3F800000], "v_cmpx_ngt_f64_e32 vcc, 0x3f800000, v[147:148]", False),
        ([0x7F5A88FF, 0x00003C00], "v_floor_f16_e32 v173, 1.0", True),
        ([0x567C0CF2], "v_lshrrev_b16_e32 v62, 0x3c00, v6", True),  # an inline constant, not a literal
    ],
)
def test_an_old_version_is_excused_by_the_kind_of_the_literal(words: list[int], text: str, old: bool) -> None:
    assert text_of(words) == text
    assert is_oracle_for(19, words, text)
    assert is_oracle_for(14, words, text) == old


def differences(
    items: list[list[int]], architecture: Architecture = GFX803
) -> tuple[list[tuple[list[int], str, str | None]], int]:
    """What the installed LLVM writes in another way, of what it can be trusted about; and how many were compared."""
    assert LLVM_MC is not None
    version = version_of(LLVM_MC)
    different, compared = [], 0
    for words, text in zip(items, oracle_lines(LLVM_MC, items, architecture.name), strict=True):
        ours = text_of(words, architecture)
        if not is_oracle_for(version, words, ours):
            continue
        if text is None or "Invalid" in text:
            if not ours.startswith("refused"):
                different.append((words, ours, text))
            continue
        compared += 1
        if ours != text:
            different.append((words, ours, text))
    return different, compared


@needs_llvm
@parametrize_daily("gpu", ARCHITECTURES, FIRST_AND_LAST)
def test_llvm_knows_no_opcode_that_the_tables_lack(gpu: str) -> None:
    if version_of(LLVM_MC or "") < ORACLE_VERSION:
        pytest.skip(f"LLVM before {ORACLE_VERSION} is not asked which opcodes there are")
    draw, architecture = random.Random(1), ARCHITECTURES[gpu]
    items = []
    for encoding, table in architecture.tables.items():
        _, _, width = architecture.formats[encoding].fields[0]
        template = next((one for one in table.values() if "refused" not in one.flags), None)
        if template is None:  # of graphics alone
            continue
        absent = [template._replace(number=number) for number in range(1 << width) if number not in table]
        drawn = [random_words(draw, opcode, "plain", architecture) for opcode in absent]
        items += [words for words in drawn if architecture.encoding_of(words[0]) == encoding]
    lines = oracle_lines(LLVM_MC or "", items, gpu)
    known = [
        text
        for words, text in zip(items, lines, strict=True)
        if text is not None and text_of(words, architecture) != text
    ]
    assert known == []


@needs_llvm
@given_daily(3, 8, seed=st.integers(0, 2**32))
@example(seed=1944649)  # v_lshrrev_b16 with the literal 0x3f800000
def test_random_words_are_written_the_same(seed: int) -> None:
    draw = random.Random(seed)
    chosen = [(opcode, form) for opcode in opcodes() for form in forms(opcode)]
    different, compared = differences([random_words(draw, *draw.choice(chosen)) for _ in range(BATCH)])
    assert different == []
    assert compared > 0.9 * BATCH


@needs_llvm
@parametrize_daily("gpu", LATER, {len(LATER) - 1})
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_words_of_later_gpus_are_written_the_same(gpu: str, seed: int) -> None:
    draw, architecture = random.Random(seed), ARCHITECTURES[gpu]
    if version_of(LLVM_MC or "") < ORACLE_VERSION:
        pytest.skip(f"LLVM before {ORACLE_VERSION} is not asked about {gpu}")
    chosen = [(opcode, form) for opcode in opcodes(architecture) for form in forms(opcode, architecture)]
    items = [random_words(draw, *draw.choice(chosen), architecture) for _ in range(BATCH)]
    different, compared = differences(items, architecture)
    assert different == []
    assert compared > 0.9 * BATCH


@needs_llvm
@parametrize_daily("gpu", ARCHITECTURES, FIRST_AND_LAST)
def test_every_opcode_goes_round_through_llvms_assembler(gpu: str) -> None:
    """Text of ours is assembled to words that have this text again, and hence the same words.

    The assembler refuses some of what its disassembler writes, such as two scalar registers in an instruction, and
    takes the bits of an inline constant for a literal: then other words of the opcode are drawn.
    """
    draw, architecture = random.Random(gpu), ARCHITECTURES[gpu]
    if version_of(LLVM_MC or "") < ORACLE_VERSION:
        pytest.skip(f"LLVM before {ORACLE_VERSION} is not asked about {gpu}")
    wanted = [(opcode, form) for opcode in opcodes(architecture) for form in forms(opcode, architecture)]
    for draws in (2, 12, 60):
        texts = [text_of(random_words(draw, *one, architecture), architecture) for one in wanted * draws]
        codes = assembled(LLVM_MC or "", texts, gpu)
        same = {
            one
            for one, text, code in zip(wanted * draws, texts, codes, strict=True)
            if code and disassemble(decode_one(code, 0, 0, len(code), architecture)) == text
        }
        wanted = [one for one in wanted if one not in same]
    assert [(opcode.mnemonic, form) for opcode, form in wanted] == []


# what LLVM assembles and is refused here: of graphics, of the trap handler, without an effect, without a meaning
REFUSED = re.compile(
    r"source operand number 239 is reserved|scalar registers 10[48] to 1\d\d are no group|scalar destination 2\d\d"
    r"|vector register v256 does not exist|ssrc0 must be a scalar register|must be a scalar register pair or VCC"
    r"|(clamp|omod)\S* .*(without a floating-point result|that has none)|negation or magnitude of an operand that is no"
)


@needs_llvm
@parametrize_daily("gpu", ["gfx803", *LATER], FIRST_AND_LAST)
def test_what_llvm_assembles_is_decoded(gpu: str) -> None:
    """Words with one source of any kind, as LLVM writes them again: a compiler may write what it can assemble."""
    draw, architecture = random.Random(gpu), ARCHITECTURES[gpu]
    if version_of(LLVM_MC or "") < ORACLE_VERSION:
        pytest.skip(f"LLVM before {ORACLE_VERSION} is not asked about {gpu}")
    items = []
    for opcode in opcodes(architecture):
        for low, width in source_fields(opcode, architecture):
            first, *others = random_words(draw, opcode, "plain", architecture)
            number = draw.choice((draw.randrange(250), draw.randrange(128), 256)) & (1 << width) - 1
            word = first | sum(other << 32 * i for i, other in enumerate(others, 1))
            word = word & ~((1 << width) - 1 << low) | number << low
            items.append([word >> 32 * i & 0xFFFFFFFF for i in range(1 + len(others))])
    lines = [text for text in oracle_lines(LLVM_MC or "", items, gpu) if text is not None and "Invalid" not in text]
    codes = [code for code in assembled(LLVM_MC or "", lines, gpu) if code]
    refused = [text for text in map(partial(text_of_code, architecture=architecture), codes) if text[:7] == "refused"]
    assert [text for text in refused if not REFUSED.search(text)] == []
    assert len(codes) > 0.5 * len(items)


@needs_llvm
def test_literals_of_every_vector_instruction_are_written_the_same() -> None:
    draw = random.Random(1)
    vector = [opcode for opcode in opcodes() if opcode.encoding in ("vop1", "vop2", "vopc")]
    takes = [opcode for opcode in vector if "src0:" in opcode.operands and "vgpr_src0" not in opcode.flags]
    first = [random_words(draw, opcode)[0] & ~0x1FF | LITERAL for opcode in takes]
    items = [[word, literal] for word in first for literal in (*LITERALS, draw.getrandbits(32))]
    different, compared = differences(items)
    assert different == []
    assert compared > 0.7 * len(items)


@needs_llvm
@parametrize_daily("gpu", ["gfx803", *LATER], FIRST_AND_LAST)
def test_constants_of_scalar_instructions_are_written_the_same(gpu: str) -> None:
    """Messages, counters and hardware registers: 1024 constants each, all small ones of messages among them."""
    draw, architecture = random.Random(), ARCHITECTURES[gpu]
    if version_of(LLVM_MC or "") < ORACLE_VERSION:
        pytest.skip(f"LLVM before {ORACLE_VERSION} is not asked about {gpu}")
    for first, constants in (
        (0xBF900000, [*range(512), *draw.sample(range(65536), 512)]),  # s_sendmsg
        (0xBF8C0000, draw.sample(range(65536), 1024)),  # s_waitcnt
        (0xB8800000, draw.sample(range(65536), 1024)),  # s_getreg_b32
    ):
        different, compared = differences([[first | constant] for constant in constants], architecture)
        assert different == []
        assert compared == 1024
