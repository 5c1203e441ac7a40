"""Is an instruction of another GPU refused by its name and with the GPUs that have it?"""

import random
from collections import Counter
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from isa.encoding.decoder import DecodeError, decode
from isa.object.code_object import load_code_object
from isa.opcodes import ARCHITECTURES
from isa.opcodes.later import CDNA, RDNA, describe_support, later_instruction
from tests.support.daily import parametrize_daily
from tests.support.later_instructions import free_numbers, gpus_asked, same, words_of
from tests.support.llvm_oracle import ORACLE_VERSION, find_llvm_mc, oracle_lines, version_of
from workloads.toolchain import build

KERNELS = Path(__file__).resolve().parents[2] / "data/kernels"
# assembled by LLVM 19 for the GPU that is named first
MFMA = (0xD3C00000, 0x04020300)  # gfx908: v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]
CASES = [
    ("gfx906", MFMA, "v_mfma_f32_32x32x1f32: gfx908 (CDNA) and later"),
    ("gfx803", MFMA, "v_mfma_f32_32x32x1f32: gfx908 (CDNA) and later"),
    ("gfx900", (0xD3D84000, 0x18000101), "v_accvgpr_read_b32: gfx908 (CDNA) and later"),
    ("gfx906", (0xD3E80000, 0x04020300), "v_mfma_f32_32x32x2bf16: gfx908 (CDNA) and gfx90a (CDNA 2)"),
    ("gfx906", (0xD3B04000, 0x1C120902), "v_pk_fma_f32: gfx90a (CDNA 2) and later"),
    ("gfx906", (0xDD348000, 0x007F0000), "global_atomic_add_f32: gfx908 (CDNA) and later"),
    ("gfx90c", (0x6E020702,), "v_dot2c_f32_f16: gfx908 (CDNA) and later"),
    ("gfx906", (0xF4000002, 0xFA000000), "s_load_dword: gfx1010 (RDNA) and gfx1030 (RDNA 2)"),
    ("gfx803", (0xBFA10001,), "s_clause: gfx1010 (RDNA) and gfx1030 (RDNA 2)"),
    ("gfx900", (0xC8000501, 0x00020702), "v_dual_fmac_f32: gfx1100 (RDNA 3) and later"),
    ("gfx803", (0xD3A84000, 0x1C0E0501), "v_dot4_i32_i8: gfx906 (GFX9) and later"),
    ("gfx900", (0xD3A84000, 0x1C0E0501), "v_dot4_i32_i8: gfx906 (GFX9) and later"),
    ("gfx803", (0xD3A00001, 0x1C0E0501), "v_mad_mix_f32: gfx900 (GFX9) and gfx90c (GFX9)"),
    ("gfx803", (0xD1FF0001, 0x040E0501), "v_add3_u32: gfx900 (GFX9) and later"),
]
needs_compiler = pytest.mark.skipif(not build.compiler_available(), reason="needs clang and lld")


def code_of(words: tuple[int, ...]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


@pytest.mark.parametrize(("gpu", "words", "said"), CASES)
def test_its_name_and_its_gpus_are_said(gpu: str, words: tuple[int, ...], said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(code_of(words), 0x100, architecture=ARCHITECTURES[gpu])
    text = " ".join(f"0x{word:08x}" for word in words)
    first = f"0x{words[0]:08x}"
    assert str(caught.value) in (f"0x100: {w}: {said}; this GPU is {gpu}" for w in (text, first))


def test_a_word_of_no_gpu_is_said_to_be_none() -> None:
    with pytest.raises(DecodeError, match=r"^0x0: 0xfc000000 has no encoding of gfx906$"):
        decode(code_of((0xFC000000,)), architecture=ARCHITECTURES["gfx906"])
    with pytest.raises(DecodeError, match=r"SOPP has no opcode 127 \(0x7f\)$"):
        decode(code_of((0xBFFF0000,)), architecture=ARCHITECTURES["gfx906"])


def test_later_means_all_that_came_after_it() -> None:
    assert describe_support("v_x", tuple(CDNA), "gfx906") == "v_x: gfx908 (CDNA) and later; this GPU is gfx906"
    assert describe_support("v_x", ("gfx942",), "gfx906") == "v_x: gfx942 (CDNA 3) and later; this GPU is gfx906"
    assert describe_support("v_x", ("gfx908", "gfx942"), "gfx906").startswith(
        "v_x: gfx908 (CDNA) and gfx942 (CDNA 3); "
    )
    assert describe_support("v_x", ("gfx90a",), "gfx906") == "v_x: gfx90a (CDNA 2); this GPU is gfx906"


def test_a_kernel_with_one_is_refused_when_it_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray((KERNELS / "jumps.hsaco").read_bytes())
    data[48] = 0x2F  # EF_AMDGPU_MACH of gfx906
    kernel = load_code_object(KERNELS / "jumps.hsaco").kernels["forward"]
    at = data.index(kernel.code) + kernel.entry
    data[at : at + 8] = code_of(MFMA)
    (tmp_path / "matrix.hsaco").write_bytes(data)
    assert invoke(["kernels", "check", str(tmp_path / "matrix.hsaco")]) == 1
    assert "1 cannot: v_mfma_f32_32x32x1f32: gfx908 (CDNA) and later; this GPU is gfx906" in capsys.readouterr().out


@needs_compiler
@pytest.mark.compiled_tier  # nothing here is ever compiled
@parametrize_daily(
    "gpu, line, said",
    [
        ("gfx906", "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "v_mfma_f32_32x32x1f32: gfx908 (CDNA) and later"),
        ("gfx906", "s_waitcnt_vscnt null, 0x0", "s_waitcnt_vscnt: gfx1010 (RDNA) and later"),
        ("gfx803", "v_dot4_i32_i8 v1, v1, v2, v3", "v_dot4_i32_i8: gfx906 (GFX9) and later"),
        ("gfx906", "v_mad_mix_f32 v1, v1, v2, v3", "v_mad_mix_f32: gfx900 (GFX9) and gfx90c (GFX9)"),
    ],
    {0, 2},
)
def test_assembly_says_it_with_its_line(
    gpu: str, line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.s").write_text(f"mine:\n  s_nop 0\n  {line}\n  s_endpgm\n")
    assert invoke(["kernels", "build", "--gpu", gpu, str(tmp_path / "mine.s")]) == 2
    assert f"mine.s:3: {said}; this GPU is {gpu}" in capsys.readouterr().err


def test_the_names_are_llvms() -> None:
    """Some of the numbers that are free on gfx906, others each time, in words of LLVM's choice of registers."""
    tool = find_llvm_mc()
    if tool is None or version_of(tool) < ORACLE_VERSION:
        pytest.skip(f"needs LLVM {ORACLE_VERSION}'s llvm-mc")
    draw = random.Random()
    known = [one for one in free_numbers() if later_instruction(words_of(draw, *one[1:])[0])]
    for gpu in (*CDNA, *RDNA):
        chosen = [one for one in draw.sample(known, 60) if gpu in gpus_asked(one[0])]
        items = [words_of(draw, *one[1:]) for one in chosen for _ in range(8)]
        said: dict[int, Counter[str]] = {}
        for number, text in enumerate(oracle_lines(tool, items, gpu)):
            if text is not None and "Invalid" not in text:
                name = text.split()[0].removesuffix("_e32").removesuffix("_e64")
                said.setdefault(number // 8, Counter())[name] += 1
        for number, names in said.items():
            mnemonic, gpus = later_instruction(items[8 * number][0]) or ("", ())
            if gpu in gpus:
                assert same(mnemonic, names.most_common(1)[0][0]), (gpu, chosen[number][:2])
