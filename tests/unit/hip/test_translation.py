"""Does each of comgr's actions give what it says, or say in one line why not?"""

from pathlib import Path

import pytest

from gpusim.jobs.hip import translation
from gpusim.jobs.hip.translation import (
    TRIPLE,
    DataKind,
    DataObject,
    Language,
    TranslationRequest,
    TranslationResult,
    translate,
)
from isa.object.code_object import load_code_object
from workloads.toolchain.compilers import without_library

PREPROCESS, COMPILE, LINK_BITCODE, GENERATE, LINK, DISASSEMBLE, WITH_LIBRARY = 0x0, 0x2, 0x4, 0x6, 0x9, 0xC, 0xF
OPTIONS = ("-O1", "-nogpuinc", "-fgpu-rdc")
CALLER = b'__attribute__((device)) int g(int); extern "C" __attribute__((global)) void f(int* x) { *x = g(3); }'
CALLED = b"__attribute__((device)) int g(int y) { return y * 2; }"
compiled = pytest.mark.skipif(without_library() is None, reason="no clang with lld")


def done(
    action: int, *inputs: DataObject, language: int = Language.HIP, isa: str = f"{TRIPLE}gfx803", gpu: str = "gfx803"
) -> TranslationResult:
    return translate(TranslationRequest(action, language, isa, OPTIONS, "", inputs), gpu)


def source(name: str, text: bytes) -> DataObject:
    return DataObject(DataKind.SOURCE, name, text)


@compiled
def test_bitcode_of_two_sources_becomes_one_kernel() -> None:
    objects = done(COMPILE, source("a.hip", CALLER), source("b.hip", CALLED))
    assert [one.name for one in objects.results] == ["a.hip.bc", "b.hip.bc"]
    alone = done(LINK, *done(GENERATE, objects.results[0]).results)
    assert not alone.done and "undefined" in alone.log and "g(int)" in alone.log
    (linked,) = done(LINK, *done(GENERATE, *done(LINK_BITCODE, *objects.results).results).results).results
    assert (linked.kind, linked.name) == (DataKind.EXECUTABLE, "a.so")
    assert list(load_code_object(linked.contents).kernels) == ["f"]


@compiled
def test_code_is_made_for_the_gpu_at_hand() -> None:
    given = {"isa": f"{TRIPLE}gfx906:sramecc+:xnack-", "gpu": "gfx906"}
    steps = done(GENERATE, *done(COMPILE, source("b.hip", CALLER), source("c.hip", CALLED), **given).results, **given)
    (linked,) = done(LINK, *steps.results, **given).results
    assert load_code_object(linked.contents).kernels["f"].gpu == "gfx906"


@compiled
def test_headers_are_found_and_none_lies_elsewhere(tmp_path: Path) -> None:
    outside = DataObject(DataKind.INCLUDE, f"../{tmp_path.name}.h", b"#define H 4")
    given = (
        source("p.hip", b'#include "h.h"\nint y = H;'),
        DataObject(DataKind.INCLUDE, "h.h", b"#define H 3"),
        outside,
    )
    held = done(PREPROCESS, *given)
    assert held.results[0].contents.endswith(b"int y = 3;\n")
    missing = done(PREPROCESS, source("p.hip", b'#include "none.h"\n'))
    assert not missing.done and missing.log.startswith("p.hip:1:10: fatal error: 'none.h' file not found")


@compiled
@pytest.mark.parametrize(
    ("action", "more", "said"),
    [
        (DISASSEMBLE, {}, "comgr's action AMD_COMGR_ACTION_DISASSEMBLE_EXECUTABLE_TO_SOURCE is not supported"),
        (153, {}, "comgr's action no. 153 is not supported"),
        (COMPILE, {"language": 3}, "comgr's language 3 is not supported: 4 (HIP), 1 (OPENCL_1_2), 2 (OPENCL_2_0) are"),
        (COMPILE, {"isa": "gfx90a"}, f"comgr's ISA gfx90a: code can be made for {TRIPLE}gfx803 alone"),
        (LINK, {}, "there is no data of kind RELOCATABLE to link"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(action: int, more: dict[str, str], said: str) -> None:
    assert done(action, source("a.hip", CALLED), **more) == TranslationResult((), f"gpusim: {said}\n", False)  # type: ignore[arg-type]


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "with_library", lambda: None)
    monkeypatch.setattr(translation, "without_library", lambda: None)
    assert done(WITH_LIBRARY, source("a.hip", CALLED)).log.startswith("gpusim: this action needs ")
