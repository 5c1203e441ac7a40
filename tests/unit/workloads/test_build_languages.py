"""Do kernels in assembly and LLVM IR build, with and without clang, and run?"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gpusim.cli.main import invoke
from isa.object.code_object import load_code_object
from tests.support.functional import KERNELS, Device
from workloads.toolchain import build
from workloads.toolchain.errors import KernelBuildError
from workloads.toolchain.link import link

needs_compiler = pytest.mark.skipif(not build.compiler_available(), reason="needs clang and lld")


def _look_up(path: Path) -> np.ndarray:
    device = Device()
    device.put("out", np.zeros(64, np.int32))
    device.run(load_code_object(path).kernels["look_up"], 64, 64, "out")
    return device.get("out")


def _expected() -> np.ndarray:
    i = np.arange(64)
    k = i % 4
    return 3 * (np.where(i & 1, k**3, k**2) + k**2)


@needs_compiler
def test_ir_through_clang(tmp_path: Path) -> None:
    build.build(KERNELS / "look_up.ll", tmp_path / "k.hsaco")
    np.testing.assert_array_equal(_look_up(tmp_path / "k.hsaco"), _expected())


def test_ir_without_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses relative to the program counter, through a table of addresses, and stored in data."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    build.build(KERNELS / "look_up.ll", tmp_path / "k.hsaco")
    loaded = load_code_object(tmp_path / "k.hsaco").kernels["look_up"]
    assert len(loaded.relocations) >= 3  # two entries of `tables`, one or more reserved addresses
    np.testing.assert_array_equal(_look_up(tmp_path / "k.hsaco"), _expected())


@needs_compiler
def test_assembly(tmp_path: Path) -> None:
    for name in ("operands.s", "rows.inc"):
        shutil.copy(KERNELS / name, tmp_path)
    (target,) = build.build_all(tmp_path)
    fresh, kept = (load_code_object(path).kernels for path in (target, KERNELS / "operands.hsaco"))
    assert {name: k.code for name, k in fresh.items()} == {name: k.code for name, k in kept.items()}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("define amdgpu_kernel void @k() {", r"k\.ll: .*expecting more instructions"),
        ('target triple = "x86_64-linux"\ndefine void @k() { ret void }', r"k\.ll: is for target 'x86_64"),
        (
            "declare void @sinf()\ndefine amdgpu_kernel void @k() {\n call void @sinf()\n ret void\n}",
            r"k\.ll: .*'sinf' is not defined",
        ),
    ],
)
def test_bad_ir_without_clang(text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "k.ll").write_text(text)
    with pytest.raises(KernelBuildError, match=problem):
        build.build_all(tmp_path)


@needs_compiler
def test_an_undefined_function_is_named(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("float f(float); kernel void k(global float *x) { x[0] = f(x[1]); }")
    with pytest.raises(KernelBuildError, match=r"k\.cl: .*undefined.*symbol: f"):
        build.build_all(tmp_path)


@needs_compiler
def test_opencl_built_in_functions(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "kernel void k(global float *x) { x[get_global_id(0)] = fmax(2.0f, get_local_id(0)); }"
    )
    ((target, _),) = build.build_sources([tmp_path / "k.cl"])
    device = Device()
    device.put("x", np.zeros(100, np.float32))
    device.run(load_code_object(target).kernels["k"], 100, 50, "x")
    np.testing.assert_array_equal(device.get("x"), np.maximum(2, np.arange(100) % 50))


def test_bad_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KernelBuildError, match="there is no such file"):
        build.build_sources([tmp_path / "none.cl"])
    (tmp_path / "a.c").write_text("")
    with pytest.raises(KernelBuildError, match=r"a\.c: no kernel source; sources end in \.cl, \.hip, \.s, \.ll"):
        build.build_sources([tmp_path / "a.c"])
    (tmp_path / "b.s").write_text("")
    (tmp_path / "b.cl").write_text("")
    with pytest.raises(KernelBuildError, match=r"b\.cl and b\.s would both give b\.hsaco"):
        build.kernel_sources(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(KernelBuildError, match="needs clang-19 or clang"):
        build.build_sources([tmp_path / "b.s"])


def test_what_the_linker_cannot_do_is_refused() -> None:
    with pytest.raises(KernelBuildError, match="damaged"):
        link(b"\x7fELF")


def test_the_command_builds_what_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(KERNELS / "look_up.ll", tmp_path)
    assert invoke(["kernels", "build", str(tmp_path / "look_up.ll")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'look_up.hsaco'}  (")
    np.testing.assert_array_equal(_look_up(tmp_path / "look_up.hsaco"), _expected())
    assert invoke(["kernels", "build", str(tmp_path / "nothing.ll")]) == 2
    assert "there is no such file" in capsys.readouterr().err
