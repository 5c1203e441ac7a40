"""Are AMD's device library and HIP used where the machine has them, and is what is missing named?"""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from isa.object.code_object import CodeObject, load_code_object
from isa.object.line_table import SourceLine
from tests.support.daily import parametrize_daily
from tests.support.functional import KERNELS
from workloads.toolchain import build, compilers
from workloads.toolchain.errors import KernelBuildError

needs_library = pytest.mark.skipif(
    compilers.with_library() is None, reason="needs rocm-device-libs, and a clang that reads it"
)
needs_compiler = pytest.mark.skipif(not build.compiler_available(), reason="needs clang and lld")


def first_line(built: CodeObject) -> SourceLine | None:
    """Where in its source the first kernel begins, if the object says so."""
    kernel = next(iter(built.kernels.values()))
    return kernel.source_line(kernel.code_address + kernel.entry)


@needs_library
def test_opencl_takes_the_device_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(KERNELS / "device_library.cl", tmp_path)
    assert invoke(["kernels", "build", str(tmp_path / "device_library.cl")]) == 0
    tools = compilers.with_library()
    assert tools is not None
    said = capsys.readouterr().out
    assert f"clang {compilers.version_of(tools.clang)}, device library {tools.library}" in said
    built = load_code_object(tmp_path / "device_library.hsaco")
    assert set(built.kernels) == {"doubles", "halves", "singles", "groups"}
    assert first_line(built) is None  # not asked for


@needs_compiler
def test_without_the_library_the_header_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(compilers.LIBRARY_VARIABLE, "none")
    (tmp_path / "k.cl").write_text("kernel void k(global float *x) { x[get_global_id(0)] = sqrt(x[0]); }")
    assert invoke(["kernels", "build", str(tmp_path / "k.cl")]) == 0
    assert "gpusim's OpenCL header" in capsys.readouterr().out
    (tmp_path / "k.cl").write_text("kernel void k(global float *x) { x[0] = work_group_reduce_add(x[1]); }")
    with pytest.raises(KernelBuildError, match=r"k\.cl: .*work_group_reduce_add"):
        build.build(tmp_path / "k.cl", tmp_path / "k.hsaco")


@needs_library
def test_hip_builds_with_names_and_types(tmp_path: Path) -> None:
    if compilers.hip_root() is None:
        pytest.skip("needs libamdhip64-dev")
    shutil.copy(KERNELS / "hip_kernels.hip", tmp_path)
    (target,) = build.build_all(tmp_path)
    assert first_line(load_code_object(target)) is None  # not asked for
    built, kept = (load_code_object(path).kernels for path in (target, KERNELS / "hip_kernels.hsaco"))
    assert list(built) == list(kept)
    arguments = built["_Z10scaled_sumIfLj256EEvPKT_PS0_S0_j"].arguments[:4]
    assert [(a.name, a.type_name) for a in arguments] == [
        ("in", "float*"),
        ("out", "float*"),
        ("factor", "float"),
        ("n", "uint"),
    ]


@needs_library
@parametrize_daily("name", ["device_library.cl", "hip_kernels.hip"], (0,))
def test_an_object_is_the_same_wherever_its_source_lies(name: str, tmp_path: Path) -> None:
    if name.endswith("hip") and compilers.hip_root() is None:
        pytest.skip("needs libamdhip64-dev")
    folders = [tmp_path / each for each in ("here", "elsewhere")]
    for folder in folders:
        folder.mkdir()
        shutil.copy(KERNELS / name, folder)
    one, other = (build.build_all(folder)[0].read_bytes() for folder in folders)
    assert one == other


@needs_library
@parametrize_daily("name", ["device_library.cl", "hip_kernels.hip"], (0,))
def test_line_tables_on_request(name: str, tmp_path: Path) -> None:
    if name.endswith("hip") and compilers.hip_root() is None:
        pytest.skip("needs libamdhip64-dev")
    source = tmp_path / name
    shutil.copy(KERNELS / name, source)
    assert invoke(["kernels", "build", "-g", str(source)]) == 0
    line = first_line(load_code_object(source.with_suffix(".hsaco")))
    assert str(line).startswith(f"{name}:")


def test_shipped_objects_are_not_built_with_line_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernels", "build", "-g"]) == 2
    assert "-g is for sources that are named" in capsys.readouterr().err


@needs_library
def test_every_compiler_that_reads_the_library_builds_both_languages(tmp_path: Path) -> None:
    library = compilers.device_library()
    assert library is not None
    able = [(c, linker) for c, linker in compilers._pairs() if compilers.can_read(c, library)]
    assert able
    for clang, linker in able:
        tools = compilers.Toolchain(clang, linker, library)
        build._compile(tools, compilers.opencl_flags(library), KERNELS / "device_library.cl", tmp_path / "k.hsaco")
        assert len(load_code_object(tmp_path / "k.hsaco").kernels) == 4
        root = compilers.hip_root()
        if root is not None:
            command = [clang, *compilers.hip_flags(library, root), str(KERNELS / "hip_kernels.hip")]
            subprocess.run([*command, "-o", str(tmp_path / "hip.hsaco")], check=True)
            assert len(load_code_object(tmp_path / "hip.hsaco").kernels) == 4


def hip_error(tmp_path: Path) -> str:
    (tmp_path / "k.hip").write_text("#include <hip/hip_runtime.h>\n__global__ void k(int *x) { *x = 1; }")
    with pytest.raises(KernelBuildError) as caught:
        build.build(tmp_path / "k.hip", tmp_path / "k.hsaco")
    return str(caught.value)


def test_what_hip_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda _: None)
        assert "k.hip: HIP needs clang-19 with ld.lld-19" in hip_error(tmp_path)
    if not build.compiler_available():
        pytest.skip("needs clang and lld")
    with monkeypatch.context() as patch:
        patch.setenv(compilers.LIBRARY_VARIABLE, "none")
        assert "HIP needs AMD's device library (Debian: rocm-device-libs" in hip_error(tmp_path)
    if compilers.with_library() is None:
        pytest.skip("needs rocm-device-libs")
    with monkeypatch.context() as patch:
        patch.setattr(compilers, "_HIP_PATTERNS", ("nowhere",))
        assert "HIP needs its headers (Debian: libamdhip64-dev; another folder: ROCM_PATH)" in hip_error(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(compilers, "can_read", lambda clang, library: False)
        assert "needs a compiler that can read the device library in /" in hip_error(tmp_path)


@pytest.mark.parametrize(
    "folder",
    [
        "usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
        "usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode",
        "opt/rocm-6/amdgcn/bitcode",
    ],
)
def test_the_device_library_is_found_where_packages_put_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(compilers.LIBRARY_VARIABLE, raising=False)
    monkeypatch.setattr(compilers, "_ROOT", tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    assert compilers.device_library() is None, "a folder without gfx803's part is none"
    for name in compilers._LIBRARY_FILES:
        (tmp_path / folder / name).touch()
    assert compilers.device_library() == tmp_path / folder


def test_a_folder_that_is_no_device_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ocml.bc").write_bytes(b"")
    monkeypatch.setenv(compilers.LIBRARY_VARIABLE, str(tmp_path))
    with pytest.raises(KernelBuildError, match=r"not AMD's device library, has no opencl\.bc, ockl\.bc, oclc_isa"):
        compilers.device_library()


@needs_library
def test_a_compiler_that_cannot_read_the_library_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = compilers.with_library()
    assert tools is not None
    monkeypatch.setattr(compilers, "can_read", lambda clang, library: clang != tools.clang)
    other = compilers.with_library()
    assert other is None or other.clang != tools.clang
