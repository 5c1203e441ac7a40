"""Are the committed code objects what the sources give, and does clang emit what the kernels count on?"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from isa.encoding.control_flow import decode_kernel
from isa.object.code_object import load_code_object
from tests.support import built_objects
from workloads.operators.gemm_kernels import GEMM_KERNELS
from workloads.toolchain import build
from workloads.toolchain.compilers import hip_flags, without_library

needs_compiler = pytest.mark.skipif(
    not build.compiler_available() or not build.compiler_version().startswith(build.COMPILER_VERSION),
    reason=f"needs clang {build.COMPILER_VERSION}x and lld",
)


def test_committed_objects_are_those_that_their_sources_gave() -> None:
    noted, found = json.loads(built_objects.NOTED.read_text()), built_objects.digests()
    changed = [name for name in sorted(noted.keys() | found) if noted.get(name) != found.get(name)]
    assert not changed, "build them anew, then python -m tests.support.built_objects"
    assert "no source" not in noted.values()


@needs_compiler
@pytest.mark.nightly
def test_committed_objects_equal_their_sources() -> None:
    assert build.check_all() == []


@needs_compiler
def test_a_changed_source_a_missing_and_a_foreign_object_are_found(tmp_path: Path) -> None:
    for name in ("sgemm_tiled16.cl", "sgemm_tiled16.hsaco", "dib_convert.cl", "wavefront.h", "dib.h"):
        shutil.copy(build.KERNELS_DIR / name, tmp_path)
    shutil.copy(build.KERNELS_DIR / "sgemm_4x4.hsaco", tmp_path)
    source = tmp_path / "sgemm_tiled16.cl"
    source.write_text(source.read_text().replace("depth += TILE", "depth += TILE + TILE"))
    assert build.check(tmp_path) == [
        "dib_convert.hsaco: missing",
        "sgemm_tiled16.hsaco: differs from what sgemm_tiled16.cl gives",
        "sgemm_4x4.hsaco: has no source",
    ]


@needs_compiler
@pytest.mark.parametrize("text", ["", "int f(int a) { return a; }\n"])
def test_a_source_without_a_kernel_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.cl").write_text(text)
    with pytest.raises(build.KernelBuildError, match=r"^mine\.cl: has no kernel"):
        build.build_sources([tmp_path / "mine.cl"])
    assert not (tmp_path / "mine.hsaco").exists()


def test_two_sources_of_one_object_are_refused_before_any_is_built(tmp_path: Path) -> None:
    sources = [tmp_path / "mine.cl", tmp_path / "other.cl", tmp_path / "mine.hip"]
    with pytest.raises(
        build.KernelBuildError, match=r"mine\.hip: would be built into .*mine\.hsaco, as .*mine\.cl: one"
    ):
        build.build_sources(sources)
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_a_source_that_does_not_compile_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.cl").write_text("kernel void broken(global float *x) { x[0] = y; }")
    with pytest.raises(build.KernelBuildError, match=r"broken\.cl: .*undeclared identifier 'y'"):
        build.build_all(tmp_path)


@needs_compiler
def test_a_source_named_like_an_option_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "-O9.cl").write_text("kernel void one(global float *x) { x[0] = 1; }")
    build.build_all(tmp_path)
    assert (tmp_path / "-O9.hsaco").is_file()


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(build.KernelBuildError, match="needs clang-19 or clang"):
        build.compiler_version()


def test_a_compiler_of_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compiler_version", lambda: "14.0.6")
    with pytest.raises(build.KernelBuildError, match=r"clang 19\.x.*found clang 14\.0\.6"):
        build.check()


def _mnemonics(source: str, marked: bool, without: str = "128x") -> list[str]:
    """Of all of the source's kernels but those whose names hold `without`."""
    kernels = load_code_object(build.code_object_path(source)).kernels.values()
    return [
        instruction.opcode.mnemonic
        for kernel in kernels
        if without not in kernel.name or marked
        for instruction in decode_kernel(kernel)
        if bool(instruction.fields.get("glc") and instruction.fields.get("slc")) == marked
    ]


@pytest.mark.parametrize("source", ["sgemm_dib_gather", "sgemm_dib_tiled", "dib_algorithm3"])
def test_sparse_loads_are_two_dword_loads_with_both_cache_bits(source: str) -> None:
    assert set(_mnemonics(source, marked=True)) == {"flat_load_dwordx2"}
    # tiles of 128 rows have two of A in a lane, which come by plain loads of two dwords
    assert "flat_load_dwordx2" not in _mnemonics(source, marked=False)


def _software() -> set[str]:
    """Return the code objects of kernels for machines without an engine, those of all tiles among them."""
    names = {k.code_object.format(variant="*") for k in GEMM_KERNELS.values() if not k.uses_engine}
    folder = build.code_object_path("sgemm").parent
    return {file.stem for name in names for file in folder.glob(f"{name}.hsaco")} - {"sgemm_dib_registers"}


@pytest.mark.parametrize("source", sorted({"dib_convert", "dib_convert_blocks", *_software()}))
def test_other_kernels_have_no_sparse_load(source: str) -> None:
    assert _mnemonics(source, marked=True) == []


def test_mmm_local_keeps_a_in_registers_and_b_in_lds_and_needs_no_barrier() -> None:
    """Sixteen multiply-accumulates a k: those of four work-items' quads of B, which LDS gives, with a quad of A."""
    mnemonics = _mnemonics("mmm_local", marked=False)
    assert mnemonics.count("v_mac_f32") + mnemonics.count("v_mad_f32") == 128 and mnemonics.count("ds_read_b128") == 8
    assert mnemonics.count("ds_write_b128") == 4 and "s_barrier" not in mnemonics
    assert not any(name.startswith("scratch") or name == "buffer_store_dword" for name in mnemonics)


def test_sgemm_4x4_is_mostly_multiply_accumulate() -> None:
    mnemonics = _mnemonics("sgemm_4x4", marked=False)
    assert mnemonics.count("v_mac_f32") == 256 and mnemonics.count("ds_read_b128") == 32
    assert {name for name in mnemonics if name.startswith("flat_load")} == {"flat_load_dwordx4"}


ALONG_A_RECURSION = """
#define FUNCTION __attribute__((device, noinline))
FUNCTION double sign_of(double x, int* sign) { *sign = x < 0 ? -1 : 1; return x < -34 ? sign_of(-x, sign) : x; }
FUNCTION double sum_of(double x) { int sign; double y = x > 9 ? sum_of(x - 9) : sign_of(x, &sign); return sign * y; }
__attribute__((global)) void from(double* out) { out[0] = sum_of(out[1]); }
"""


@needs_compiler
def test_private_memory_has_an_address_in_functions_that_are_not_inlined(tmp_path: Path) -> None:
    """As implicit arguments of version 5 clang 19 reads it from 0xc0: without the arguments' own address."""
    tools = without_library()
    assert tools is not None
    (tmp_path / "a.hip").write_text(ALONG_A_RECURSION)
    flags = [*hip_flags(Path("none"), Path("none"), "gfx803"), "-nogpulib", "-nogpuinc", "-S", "-o", "-"]
    done = subprocess.run([tools.clang, *flags, "a.hip"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "s_load_dword" in done.stdout and ", 0xc0\n" not in done.stdout
