"""Does every instruction do what a second statement of the manual says (tests.support.oracle_isa)?

Texts are those that LLVM 19 wrote for random words (`tests/data/isa/oracle.txt`): nobody needs LLVM here.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from docs._site.isa_coverage import refusal
from isa.encoding.decoder import DecodeError, decode
from tests.support.functional import kernel
from tests.support.llvm_oracle import ORACLE, read_lines
from tests.support.oracle_isa import scalar, vector
from tests.support.oracle_isa.beside import OneWave, bare_kernel, random_values, random_wave
from tests.support.oracle_isa.numbers import fma
from tests.support.oracle_isa.operands import vector_number
from tests.support.oracle_isa.state import Wave
from tests.support.oracle_isa.text import Line, NotStatedError, parsed, to_number

ELSEWHERE = (
    "flat_",
    "image_",
    "buffer_",
    "tbuffer_",
    "ds_",
    "s_load",
    "s_buffer",
    "s_store",
    "s_atomic",
    "s_cbranch",
    "s_branch",
)
JUMPS = (
    "s_setpc",
    "s_swappc",
    "s_getpc",
    "s_call",
    "s_endpgm",
    "s_barrier",
    "s_rfe",
    "s_cbranch",
    "s_sleep",
    "s_dcache",
)
MODES = (0x3C0, 0x3F0, 0x1C0, 0x000)  # as kernels begin; denormals kept; without IEEE; all denormals flushed
LEAST = 2500  # lines that are stated: most of the file's vector and scalar instructions

# Where the manual says two things or nothing, and both statements stay with one of them:
UNDECIDED = {
    "a carry of lanes that DPP's masks leave out": lambda line: "row_mask" in line.modifiers and "vcc" in line.operands,
    "clamp of a denormal that an instruction gives by its bits": lambda line: (
        "clamp" in line.modifiers and line.name.startswith(("v_min", "v_max", "v_med3", "v_div_scale"))
    ),
    "a float constant as the exponent of v_ldexp_f16": lambda line: line.name == "v_ldexp_f16",
}


def stated() -> tuple[list[tuple[Line, vector.Step]], list[int]]:
    """The oracle's lines of vector and scalar arithmetic that are executed and stated, and the words of all."""
    found, words = [], []
    for each, text in read_lines(ORACLE):
        line = parsed(text, 4 * len(words), 4 * len(each))
        if line.name.startswith((*ELSEWHERE, *JUMPS)):
            continue
        try:
            decoded = decode(b"".join(word.to_bytes(4, "little") for word in each))
            if len(decoded) != 1 or refusal(decoded[0]) is not None:
                continue
            step = scalar.step_of(line) or vector.step_of(line)
        except (DecodeError, NotStatedError):
            continue
        found.append((line, step))
        words += each
    return found, [*words, 0xBF810000]


def of_nan(line: Line, one: OneWave, w: Wave) -> str:
    """The difference that is left where any NaN equals any other; its destination is made the same before."""
    kind = line.name.rsplit("_", 1)[-1]
    if line.name == "v_cvt_f16_f32":
        kind = "f16"  # NumPy keeps a bit of a payload that FP16 has no place for
    if kind in ("f16", "f32", "f64") and line.operands and vector_number(line.operands[0]) is not None:
        one.forgive_nan(line, kind, w)
    return one.differs(w)


@pytest.mark.compiled_tier  # in plain Python floats are the same NumPy's
def test_each_instruction_leaves_the_same_registers() -> None:
    lines, words = stated()
    assert len(lines) >= LEAST
    one = OneWave(bare_kernel(kernel("operands", "operands"), words))
    draw = np.random.default_rng(803)
    values = random_values(draw, 1 << 18)
    wrong = []
    with np.errstate(all="ignore"):
        for number, (line, step) in enumerate(lines):
            if any(applies(line) for applies in UNDECIDED.values()):
                continue
            w = random_wave(draw, values, MODES[number % len(MODES)])
            one.take(w)
            step(w)
            one.step(line.address)
            if why := of_nan(line, one, w):
                wrong.append(f"{line.text}: {why}")
    assert not wrong, "\n".join(wrong[:20])


def test_a_fused_product_is_rounded_once() -> None:
    draw = np.random.default_rng(5)
    for dtype in (np.float16, np.float32, np.float64):
        a, b = (draw.normal(size=400).astype(dtype) for _ in range(2))
        c = (-(a.astype(np.float64) * b.astype(np.float64)) * (1 + draw.normal(size=400) * 2.0**-12)).astype(dtype)
        for x, y, z, found in zip(a, b, c, fma(a, b, c), strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            near = [dtype(found), np.nextafter(found, dtype(-math.inf)), np.nextafter(found, dtype(math.inf))]
            errors = [abs(Fraction(float(each)) - exact) for each in near]
            assert errors[0] == min(errors)


def test_a_branch_to_a_symbol_goes_where_its_word_says() -> None:
    """The disassembler prints the symbol's name, as of rocBLAS's assembly, in place of the distance."""
    back = to_number(parsed("s_cbranch_scc1 label_AlphaNonZero", 0x100, 4), 0xBF85FFFE)
    assert back.target == 0x100 + 4 - 8
    assert to_number(parsed("s_branch 3", 0x100, 4), 0xBF820003).target == 0x100 + 4 + 12
