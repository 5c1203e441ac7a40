"""Entry points in the cache: loaded without the compiler, and not at all if they are not what was written."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED, entry_points

compiled = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")

# compiles, or loads, two entry points of a small machine; says what they did and what was imported for it
PROBE = """
import json, os, resource, sys
from gpusim.base.jit.compile_lock import compile_lock
from gpusim.base.jit import Field, State, address_in, ctz, equal_4, function_address, jit, ld_i64, load, new_record
from gpusim.base.jit import popcount, record_dtype
from gpusim.base.jit import address_of, call_i64_4
import numpy as np

PART = State("part", {"count": Field((), "calls"), "row": Field((8,), "sums"), "tag": Field((4,), "", np.uint32)})
RECORD = record_dtype([PART])

@jit(inline=True)
def _add(m, k, value):
    m.part.row[k & 7] += value
    m.part.count += 1

@jit(cold=True)
def _rarely(m, k):
    m.part.row[7] -= k

@jit
def drive(m, n):
    for k in range(n):
        _add(m, k, 3 * k)
        if k % 100 == 99:
            _rarely(m, popcount(k))
    return ctz(equal_4(address_in(m.part.tag, 0), 7))

@jit
def reset(m, value) -> None:
    m.part.count = value

@jit
def second(a, b, c, d):
    return ld_i64(a, b) + c * d

ENTRIES = (drive, reset, second)
if limit := os.environ.get("GPUSIM_TEST_FILE_LIMIT"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
compiled, optimized = not load(ENTRIES), []
if compiled:
    with compile_lock():
        compiled = not load(ENTRIES)
        if compiled:
            from gpusim.base.jit.compile import compile_entry_points
            from numba.core.codegen import CPUCodeLibrary

            optimize = CPUCodeLibrary._optimize_final_module

            def note_and_optimize(library):
                optimized.extend({library.name} - {"nrt"})  # Numba's own
                optimize(library)

            CPUCodeLibrary._optimize_final_module = note_and_optimize
            compile_entry_points("timing", ENTRIES, new_record(RECORD))
m = new_record(RECORD)
m.part.tag[:] = (1, 5, 7, 9)
m.part.tag[3] = 7
way = drive(m, 1000)
counted, row = m.part.count, m.part.row.tolist()
reset(m, np.int64(5))
words = np.array([10, 20], np.int64)
found = second(address_of(words), 1, 3, 4), function_address(second) > 0
print(json.dumps({
    "compiled": compiled, "found": [way, counted, row, m.part.count, found], "numba": "numba" in sys.modules,
    "optimized": sorted(optimized),
}))
"""


def started(tmp_path: Path, **flags: str) -> "subprocess.Popen[str]":
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    environment = {**os.environ, "GPUSIM_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), **flags}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, str(script)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: "subprocess.Popen[str]") -> dict[str, Any]:
    text, errors = process.communicate()
    assert process.returncode == 0, errors
    out: dict[str, Any] = json.loads(text)
    return out


def probe(tmp_path: Path, **flags: str) -> dict[str, Any]:
    return outcome(started(tmp_path, **flags))


def expected() -> list[Any]:
    row = [sum(3 * k for k in range(1000) if k & 7 == column) for column in range(8)]
    row[7] -= sum(k.bit_count() for k in range(1000) if k % 100 == 99)
    return [2, 1000, row, 5, [20 + 3 * 4, True]]


def code_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.code"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder whose cache holds the entry points, and what the first start did, which compiled them."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, probe(folder)


@compiled
def test_they_are_compiled_once_and_then_loaded_without_the_compiler(filled: tuple[Path, dict[str, Any]]) -> None:
    (folder, first), again = filled, probe(filled[0])
    # what they call is optimized as a part of them, and not by itself before
    names = ["drive", "reset", "second"]
    assert first == {"compiled": True, "found": expected(), "numba": True, "optimized": names}
    assert again == {"compiled": False, "found": expected(), "numba": False, "optimized": []}
    assert [path.name for path in code_files(folder)] == [f"__main__.{n}.code" for n in names]


@compiled
def test_without_hooks_they_stay_numbas(tmp_path: Path) -> None:
    first = probe(tmp_path, GPUSIM_PLAIN_NUMBA="1")
    assert (first["compiled"], first["found"]) == (True, expected())
    assert code_files(tmp_path) == []  # the next start finds none


@compiled
def test_a_damaged_one_is_compiled_again(filled: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    shutil.copytree(filled[0] / "cache", tmp_path / "cache")
    path = code_files(tmp_path)[1]
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    again = probe(tmp_path)
    assert (again["compiled"], again["found"]) == (True, expected())
    assert path.read_bytes() == whole  # which is loaded, as the test above shows


@compiled
def test_of_two_cold_starts_at_once_one_compiles(tmp_path: Path) -> None:
    both = [started(tmp_path) for _ in range(2)]
    found = [outcome(process) for process in both]
    assert [one["found"] for one in found] == [expected()] * 2
    assert sorted(one["compiled"] for one in found) == [False, True]


@compiled
def test_a_disk_that_fills_up_while_it_is_written_costs_a_line_and_no_result(tmp_path: Path) -> None:
    process = started(tmp_path, GPUSIM_TEST_FILE_LIMIT="300")  # bytes a file: no entry point fits
    text, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(text)["found"] == expected()
    assert code_files(tmp_path) == [] and "Traceback" not in errors
    assert [line for line in errors.splitlines() if "is not kept" in line and "File too large" in line] != []


class Named:
    """As much of a function as its file needs."""

    __module__, __name__ = "memory.nothing", "nobody"


@given(st.binary(max_size=200), st.text("abc_.$0", min_size=1, max_size=20))
def test_what_is_saved_is_read(code: bytes, symbol: str) -> None:
    function: Any = Named()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUSIM_CACHE_DIR", folder)
        assert entry_points.read(function) is None
        entry_points.save(function, symbol, code)
        assert entry_points.read(function) == (symbol, code)
