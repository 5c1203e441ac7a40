"""Where hipcc is not installed, does its stand-in compile device code, and refuse the rest?"""

import subprocess
from pathlib import Path

import pytest

from gpusim.jobs.hip import built, supervisor
from workloads.toolchain.compilers import Toolchain
from workloads.toolchain.errors import KernelBuildError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache's folder; no hipcc is installed, and the compiler prints its arguments."""
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(built.shutil, "which", lambda name: None)
    monkeypatch.setattr(built, "find_hip_tools", lambda gpu: (Toolchain("echo", "lld", None), ("-x", f"hip {gpu}")))
    return tmp_path


def test_it_compiles_device_code_alone(cache: Path) -> None:
    folder = built.compiler_folder("gfx906")
    assert folder is not None and folder == built.compiler_folder("gfx906") != built.compiler_folder("gfx900")
    call = [str(folder / "hipcc"), "--genco", "-I a b", "kern.cpp"]
    assert subprocess.run(call, capture_output=True, text=True).stdout == "-x hip gfx906 -I a b kern.cpp\n"
    call[1] = "--preprocess"
    assert subprocess.run(call, capture_output=True, text=True).stdout == "-x hip gfx906 --preprocess -I a b kern.cpp\n"
    refused = subprocess.run([call[0], "program.cpp"], capture_output=True, text=True)
    assert refused.returncode == 1 and "compiles device code alone (--genco, -E)" in refused.stderr
    program = supervisor.HostProgram(["./program"], architecture="gfx906")
    assert program.started_by(cache, None)[1]["PATH"].endswith(f":{folder}"), "it goes before an installed one"
    assert str(folder) not in supervisor.HostProgram(["./program"]).started_by(cache, None)[1]["PATH"]


def test_hipcc_finds_the_device_library_and_no_cuda(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, library = cache / "usr", cache / "lib" / "amdgcn" / "bitcode"
    for folder in (installed / "include", library):
        folder.mkdir(parents=True)
    monkeypatch.setattr(built, "hip_root", lambda: installed)
    monkeypatch.setattr(built, "device_library", lambda: library)
    monkeypatch.setattr(built, "libraries", lambda: cache / "lib")
    rocm = built.rocm_folder()
    assert rocm is not None and (rocm / "amdgcn" / "bitcode").samefile(library)
    (installed / "amdgcn" / "bitcode").mkdir(parents=True)
    rocm = built.rocm_folder()
    assert rocm is not None and (rocm / "amdgcn").samefile(installed / "amdgcn"), "ROCm's own goes first"
    monkeypatch.delenv("HIP_PLATFORM", raising=False)
    monkeypatch.delenv("HCC_AMDGPU_TARGET", raising=False)
    environment = supervisor.HostProgram(["./program"], architecture="gfx90a").started_by(cache, rocm)[1]
    assert (environment["HIP_PLATFORM"], environment["HCC_AMDGPU_TARGET"]) == ("amd", "gfx90a")
    monkeypatch.setenv("HIP_PLATFORM", "nvidia")
    assert supervisor.HostProgram(["./program"]).started_by(cache, rocm)[1]["HIP_PLATFORM"] == "nvidia"


def test_there_is_none_beside_hipcc_or_without_a_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(gpu: str) -> None:
        raise KernelBuildError("none")

    with monkeypatch.context() as patch:
        patch.setattr(built, "find_hip_tools", refuse)
        assert built.compiler_folder("gfx906") is None
    monkeypatch.setattr(built.shutil, "which", lambda name: "/usr/bin/hipcc")
    assert built.compiler_folder("gfx906") is None
