"""Do instructions name the lines that they were compiled from, and damaged line tables nothing at all?"""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from isa.encoding.control_flow import decode_kernel
from isa.execution.faults import ExecutionFault
from isa.object.code_object import Kernel, load_code_object
from isa.object.line_table import LineTable, SourceFile, is_library
from tests.support.daily import given_daily
from tests.support.functional import Device, kernel

LINES = Path(__file__).resolve().parents[2] / "data" / "lines"
OBJECTS = {version: LINES / f"lines_dwarf{version}.hsaco" for version in (4, 5)}


def of(version: int, name: str) -> Kernel:
    return load_code_object(OBJECTS[version]).kernels[name]


def line_of(k: Kernel, mnemonic: str) -> str:
    """The line of a kernel's first instruction of this name."""
    return str(k.source_line(next(i.address for i in decode_kernel(k) if i.opcode.mnemonic == mnemonic)))


@pytest.mark.parametrize("version", OBJECTS)
def test_instructions_have_the_lines_of_their_files(version: int) -> None:
    scale, waits = of(version, "scale"), of(version, "waits")
    assert line_of(scale, "flat_load_dword") == "lines.cl:6"
    assert line_of(scale, "v_mad_f32") == "scale.h:3"  # inlined from the header
    assert line_of(scale, "flat_store_dword") == "lines.cl:7"
    assert line_of(waits, "s_barrier") == "lines.cl:16"
    assert scale.source_line(scale.code_address + scale.entry) is None  # the compiler's own: DWARF's line 0
    assert scale.source_line(0) is None and scale.source_line(1 << 40) is None
    assert scale.lines is not None and scale.lines.problem == ""


@pytest.mark.parametrize("version", OBJECTS)
def test_code_of_a_library_has_the_line_of_the_users_call(version: int) -> None:
    calls = load_code_object(LINES / f"calls_dwarf{version}.hsaco").kernels["calls"]
    atomics = [i.address for i in decode_kernel(calls) if "atomic" in i.opcode.mnemonic]
    lines = [calls.source_line(address) for address in atomics]
    # two calls deep in the library; the second one within a function of the user's, of which the innermost line counts
    assert [(str(line), line.inlined) for line in lines if line] == [
        ("calls.cl:10", "library.h:3"),
        ("calls.cl:5", "library.h:3"),
    ]


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("/usr/include/hip/amd_detail/amd_hip_atomic.h", "", True),
        ("/opt/rocm-6.0/include/rocprim/block.hpp", "", True),
        ("../lib/clang/17/include/opencl-c-base.h", "/usr/x", True),
        ("dot.h", "/home/me/project", False),
        ("/home/me/usr/dot.h", "", False),
        ("/usr/src/app/main.hip", "", False),
    ],
)
def test_headers_of_the_installation_are_libraries(path: str, folder: str, expected: bool) -> None:
    assert is_library(SourceFile(path, folder)) is expected


def test_version_5_knows_the_contents_that_were_compiled() -> None:
    known = {}
    for version in OBJECTS:
        k = of(version, "waits")
        line = k.source_line(next(i.address for i in decode_kernel(k) if i.opcode.mnemonic == "s_barrier"))
        assert line is not None and (line.file.path, line.file.folder) == ("lines.cl", "/build")
        known[version] = line.file
    contents = (LINES / "lines.cl").read_bytes()
    assert known[4].md5 is None and known[5].md5 == hashlib.md5(contents).digest()
    assert known[5].is_contents(contents) and not known[5].is_contents(contents + b" ")
    assert known[4].is_contents(b"anything")


def test_an_object_compiled_without_lines_has_none() -> None:
    k = kernel("vector_add", "vector_add")
    assert k.lines is None and k.source_line(k.code_address) is None


def test_kernels_are_equal_whatever_their_lines() -> None:
    k = of(4, "scale")
    assert replace(k, lines=None) == k and hash(replace(k, lines=None)) == hash(k)


def test_a_file_is_looked_for_where_it_was_compiled_beside_the_object_and_here(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    for folder in ("compiled/src", "object/src", "object", "here/src"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    file = SourceFile("src/k.cl", str(tmp_path / "compiled"))
    beside = tmp_path / "object"
    found = []
    for place in (Path("k.cl"), Path("src/k.cl"), beside / "k.cl", beside / "src/k.cl", tmp_path / "compiled/src/k.cl"):
        place.write_text("")
        found.append(file.find(beside) == place)
    assert all(found)
    assert SourceFile("gone.cl", "/nowhere").find(beside) is None


@pytest.mark.compiled_tier  # nothing here is ever compiled
@given_daily(20, 60, st.data())
def test_damaged_tables_name_a_line_or_nothing(data: st.DataObject) -> None:
    whole = OBJECTS[5].read_bytes()
    start = whole.index(b"lines.cl") - 600  # the debug sections, roughly
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(start, len(whole) - 1))] = data.draw(st.integers(0, 255))
    table = LineTable(bytes(damaged))
    line = table.at(0x1834)
    assert line is None or line.number > 0
    if table.problem:
        assert line is None


def test_what_is_wrong_with_a_table_is_told() -> None:
    whole = OBJECTS[4].read_bytes()
    table = LineTable(whole[: len(whole) // 2])
    assert table.problem and table.at(0x1834) is None
    assert LineTable.of(b"no tables") is None


def test_a_fault_names_its_line() -> None:
    device = Device()
    device.put("a", np.zeros(64, np.float32))
    with pytest.raises(ExecutionFault) as caught:
        device.run(of(5, "scale"), 64, 64, "a", 0)
    assert str(caught.value.source) == "lines.cl:7"
    assert "(flat_store_dword v[0:1], v2) [lines.cl:7]: access outside every allocation" in str(caught.value)
