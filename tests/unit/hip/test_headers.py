"""Are HIP's headers compiled ahead where that changes nothing, and given as text elsewhere?"""

import subprocess
from pathlib import Path

import pytest

from gpusim.jobs.hip import compilation, headers
from workloads.toolchain import compilers

SOURCE = 'extern "C" __global__ void add(float* a, int n) { int i = threadIdx.x; if (i < n) a[i] += __sinf(a[i]); }'
GPU = compilers.DEFAULT_GPU
NEEDS_HIP = pytest.mark.skipif(
    compilers.with_library() is None or compilers.hip_root() is None, reason="needs HIP's headers and device library"
)


@pytest.fixture
def ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache."""
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path))
    headers._compiled.cache_clear()
    return tmp_path


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def shared(held: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache of several tests, in which the first one puts headers."""
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(held))
    headers._compiled.cache_clear()
    return held


@NEEDS_HIP
def test_code_is_the_same_and_damaged_headers_are_made_anew(ahead: Path) -> None:
    request = compilation.CompileRequest(SOURCE, "program", options=("-std=c++14",))
    first = compilation.compile_program(request, GPU)
    (file,) = ahead.glob("headers-*/*.pch")
    text = compilation.compile_program(
        compilation.CompileRequest(SOURCE, "program", {"own.h": b""}, ("-std=c++14",)), GPU
    )
    assert first.code and first.code == text.code
    file.write_bytes(file.read_bytes()[:1000])
    assert compilation.compile_program(request, GPU).code == first.code
    assert not file.exists(), "what no program can be compiled with stays"


@NEEDS_HIP
def test_what_hiprtc_knows_compiles_at_once(ahead: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of CuPy use half; each further attempt takes longer than the one with compiled headers."""
    commands: list[list[str]] = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **how: commands.append(command) or run(command, **how))
    source = (
        '__device__ half twice(half x) { return x + x; }\nextern "C" __global__ void k(half* x) { *x = twice(*x); }'
    )
    assert compilation.compile_program(compilation.CompileRequest(source, "program"), GPU).code
    compilers = [command for command in commands if "program.co" in command]
    assert len(compilers) == 1 and "-include-pch" in compilers[0]


@NEEDS_HIP
def test_a_mistake_is_reported_in_the_programs_lines(shared: Path) -> None:
    done = compilation.compile_program(compilation.CompileRequest("\nint x = y;\n", "mine.cu"), GPU)
    assert not done.code and "mine.cu:2:9: error: use of undeclared identifier 'y'" in done.log
    assert list(shared.glob("headers-*/*.pch")), "headers that are right are removed"


@NEEDS_HIP
@pytest.mark.parametrize(
    "source",
    ["__constant__ double M_PI_2 = 1.5;", "#include <cmath>\n__device__ double x = M_PI;"],
    ids=["own", "host"],
)
def test_names_of_the_hosts_library_are_there_for_those_alone_who_include_it(shared: Path, source: str) -> None:
    done = compilation.compile_program(compilation.CompileRequest(f"{source}\n{SOURCE}", "program"), GPU)
    assert done.code, done.log


@NEEDS_HIP
def test_headers_of_another_compiler_are_left_out(tmp_path: Path) -> None:
    """CuPy gives the folders that hipcc's compiler names, which need not be the one that compiles."""
    folder = tmp_path / "lib/clang/15.0.6/include"
    folder.mkdir(parents=True)
    (folder / "stdint.h").write_text("#error of another release\n")
    request = compilation.CompileRequest(f"#include <stdint.h>\n{SOURCE}", "program", options=(f"-I{folder}",))
    done = compilation.compile_program(request, GPU)
    assert done.code, done.log


@pytest.mark.parametrize("option", ["-DHIP_ENABLE_WARP_SYNC_BUILTINS", "-UX", "-include", "-isystem/mine"])
def test_options_that_can_change_headers_get_their_text(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "_compiled", lambda *_: pytest.fail("compiled ahead"))
    assert headers.compiled_headers(("clang",), ("-O2", option)) is None


def test_a_compiler_that_reads_the_library_is_not_tried_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    calls, clang = tmp_path / "calls", tmp_path / "clang"
    for name in compilers._LIBRARY_FILES:
        (tmp_path / name).touch()
    clang.write_text(f'#!/bin/sh\necho >> "{calls}"\nexit $(cat "{tmp_path}/code")\n')
    clang.chmod(0o755)
    answers = []
    for code, changed in (("1", False), ("0", False), ("0", False), ("0", True)):
        (tmp_path / "code").write_text(code)
        if changed:
            (tmp_path / compilers._LIBRARY_FILES[0]).write_text("another release")
        compilers.can_read.cache_clear()
        answers.append((compilers.can_read(str(clang), tmp_path), len(calls.read_text().splitlines())))
    compilers.can_read.cache_clear()
    assert answers == [(False, 1), (True, 2), (True, 2), (True, 3)]
