"""Is the disassembly word for word what LLVM writes, for every opcode and every form?"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.encoding.decoder import DecodeError, decode_one
from isa.encoding.disassembler import disassemble
from tests.support.gfx803_words import forms, opcodes, random_words
from tests.support.llvm_oracle import ORACLE, find_llvm_mc, is_oracle_for, oracle_lines, read_lines, version_of

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

LLVM_MC = find_llvm_mc()
BATCH = 300


def text_of(words: list[int]) -> str:
    code = b"".join(word.to_bytes(4, "little") for word in words)
    try:
        return disassemble(decode_one(code, 0, 0, len(code)))
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


def test_only_old_versions_are_excused() -> None:
    tfe = "buffer_load_format_d16_xy v[194:196], v245, s[60:63], s60 offen tfe"
    assert is_oracle_for(19, tfe) and is_oracle_for(20, tfe) and not is_oracle_for(14, tfe)
    assert is_oracle_for(14, tfe.removesuffix(" tfe"))
    texts = [text for _, text in read_lines(ORACLE)]
    assert sum(not is_oracle_for(14, text) for text in texts) < 0.03 * len(texts)


@pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed: the oracle cannot be asked")
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_words_are_written_the_same(seed: int) -> None:
    assert LLVM_MC is not None
    draw = random.Random(seed)
    chosen = [(opcode, form) for opcode in opcodes() for form in forms(opcode)]
    items = [random_words(draw, *draw.choice(chosen)) for _ in range(BATCH)]
    version = version_of(LLVM_MC)
    different, compared = [], 0
    for words, text in zip(items, oracle_lines(LLVM_MC, items), strict=True):
        ours = text_of(words)
        if not is_oracle_for(version, ours):
            continue
        if text is None or "Invalid" in text:
            if not ours.startswith("refused"):
                different.append((words, ours, text))
            continue
        compared += 1
        if ours != text:
            different.append((words, ours, text))
    assert different == []
    assert compared > 0.9 * BATCH
