"""Which code of a HIP program runs: of modules, of other GPUs, compiled while the program runs, recorded."""

import ctypes.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.jobs.hip.recording import HostWrite, record
from gpusim.jobs.hip.supervisor import HostProgram
from gpusim.jobs.vendor import library_product
from isa.execution.emulator import run_functional
from isa.object.bundle import code_objects
from tests.support.bundles import HOST, bundle, compressed, entry
from tests.support.daily import parametrize_daily
from tests.support.hip_programs import PROGRAMS, case, pytestmark, run
from workloads.data.operands import SyntheticOperands
from workloads.shapes import GemmShape
from workloads.toolchain.compilers import find_hip_tools, without_library
from workloads.toolchain.errors import KernelBuildError
from workloads.vendor.libraries import VENDOR_PRODUCTS

__all__ = ["pytestmark"]


def test_modules_are_loaded_and_begin_anew(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime").open("rb") as file:
        (code,) = code_objects(file)
    (tmp_path / "module.co").write_bytes(code)
    case("module", more=(tmp_path / "module.co",))


def test_programs_are_compiled_while_they_run() -> None:
    try:
        find_hip_tools()
    except KernelBuildError as missing:
        done = run(["--timing", "off"], PROGRAMS / "runtime", "compile")
        assert done.returncode == 1 and str(missing).split(";")[0] in done.stdout
    else:
        assert case("compile") == "_Z5twiceIiEvPT_\n"


def objects(*more: str) -> "subprocess.CompletedProcess[str]":
    done = run(["--timing", "off", "--quiet"], sys.executable, PROGRAMS / "objects.py", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.skipif(without_library() is None, reason="no clang with lld")
def test_code_objects_are_made_by_actions_of_comgr() -> None:
    done = objects()
    assert done.stdout.startswith("0 \n10 12 14\n1 twice.hip:3:")
    assert ": error: use of undeclared identifier 'two'" in done.stdout
    assert "no code can be made for amdgcn-amd-amdhsa--gfx1100; there is amdgcn-amd-amdhsa--gfx803 alone" in done.stderr


def test_comgr_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    case("basic")  # the runtime library is built, or was, before no compiler is found
    monkeypatch.setenv("PATH", "/nonexistent")
    assert objects().stdout.startswith("1 gpusim: this action needs clang-19 with ld.lld-19")


def test_a_spawned_process_that_inherits_nothing_is_served() -> None:
    said = "0 \n10 12 14\n" if without_library() else "1 gpusim: this action needs clang-19"
    assert objects("child").stdout.startswith(said)


@pytest.mark.parametrize(
    ("gpu", "instead"), [("gfx906", ", or run it with --gpu mi50 or mi60"), ("gfx942", ""), ("gfx942:xnack+", "")]
)
def test_code_for_another_gpu_alone_is_no_code(tmp_path: Path, gpu: str, instead: str) -> None:
    (tmp_path / "module.co").write_bytes(bundle(entry(gpu, b"\x7fELF" + bytes(100)), (HOST, b"")))
    done = run(["--timing", "off"], PROGRAMS / "runtime", "module", tmp_path / "module.co")
    assert done.returncode == 1 and done.stdout.endswith("hipErrorNoBinaryForGpu\n")
    built = f"no code for gfx803: the program was built for {gpu}; build it with --offload-arch=gfx803"
    assert f"{built}{instead}\n" in done.stderr


def test_a_single_code_object_for_another_gpu_is_no_code(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime_gfx9").open("rb") as file:
        (code,) = code_objects(file, "gfx906")
    (tmp_path / "module.co").write_bytes(code)
    done = run(["--timing", "off"], PROGRAMS / "runtime", "module", tmp_path / "module.co")
    assert done.returncode == 1 and done.stdout.endswith("hipErrorNoBinaryForGpu\n")
    assert "no code for gfx803: the program was built for gfx906; " in done.stderr


# a program, a case, a GPU: parts for gfx900 and for gfx906:sramecc+:xnack- lie in one fat binary
GFX9_CASES = [
    ("runtime_gfx9", "basic", "mi25", "sum 249750.0\n"),
    ("runtime_gfx9", "device", "mi50", "gpusim MI50, gfx906:sramecc+:xnack-, 3 CUs"),
    ("runtime_gfx9", "print", "mi50", "before\nlane 0 of kernel: 0.00\n"),
    ("runtime_gfx9", "compile", "mi50", "_Z5twiceIiEvPT_\n"),
    ("edges_gfx9", "launches", "mi25", ""),
    ("edges_gfx9", "deep", "mi25", ""),  # private memory by flat addresses and by SCRATCH, of a depth not known before
    ("edges_gfx9", "deep", "mi50", ""),
    ("edges_gfx9", "heap", "mi50", ""),
]


@parametrize_daily(
    "program, name, gpu, told", GFX9_CASES, [0, 1, 2, 3, 4, 6], ids=[" ".join(c[:3]) for c in GFX9_CASES]
)
def test_a_program_of_gfx9_computes(program: str, name: str, gpu: str, told: str) -> None:
    if name == "compile":
        try:
            find_hip_tools("gfx906")
        except KernelBuildError as missing:
            pytest.skip(str(missing))
    assert case(name, "--gpu", gpu, program=program).startswith(told)


@pytest.mark.parametrize("options", [(), ("--check",)], ids=["timed", "checked"])
def test_a_grid_of_gfx9_synchronizes(options: tuple[str, ...]) -> None:
    done = run([*options, "--quiet", "--gpu", "mi50"], PROGRAMS / "edges_gfx9", "grid", 8)
    assert done.returncode == 0 and done.stdout == "hipSuccess\n", done.stdout + done.stderr


def test_a_program_for_gfx803_alone_has_no_code_for_gfx906() -> None:
    done = run(["--timing", "off", "--gpu", "mi60"], PROGRAMS / "runtime", "basic")
    assert done.returncode != 0
    assert "no code for gfx906: the program was built for gfx803; build it with --offload-arch=gfx906" in done.stderr


def test_a_compressed_module_is_decompressed(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime").open("rb") as file:
        (code,) = code_objects(file)
    (tmp_path / "module.co").write_bytes(compressed(bundle(entry("gfx803", code))))
    case("module", more=(tmp_path / "module.co",))


@pytest.mark.parametrize("execute", [True, False])
def test_what_was_recorded_runs_again(execute: bool) -> None:
    gpu = load_gpu("mi6", ["memory_mib=64"])
    program = HostProgram([str(PROGRAMS / "runtime"), "rewrite"])
    recording = record(program, gpu, Reporter(quiet=True), execute)
    assert len(recording.launches) == 2 and recording.memory is not None
    assert recording.code_of_exit == (0 if execute else 1)  # it looks at what was not computed
    if not execute:
        return
    *_, held = recording.allocations  # although it was freed
    for _ in range(2):
        recording.begin()
        for step in recording.steps:
            if isinstance(step, HostWrite):
                step.again()
            else:
                run_functional(step)
        found = recording.memory.view(held, np.int32)
        assert found[4] == 2 and found[5] == 101


@pytest.mark.skipif(ctypes.util.find_library("rocblas") is not None, reason="rocBLAS is installed")
def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSIM_VENDOR_ROOT", raising=False)
    data = SyntheticOperands(0.5, 1)
    for product in VENDOR_PRODUCTS.values():
        with pytest.raises(UserError, match=rf"{product.library} is not there: .*apt install {product.package}"):
            library_product(product, GemmShape(4, 4, 4), data, load_gpu("mi6", ["memory_mib=64"]))
