"""Are the functions of HIP that a file links read from its symbols, and told from those that gpusim has?"""

import shutil
from pathlib import Path

import pytest

from gpusim.jobs.hip.functions import functions
from tests.vendor.linked import linked, linked_in, linked_table

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests/hip/programs"
CODE = ROOT / "tests/data/kernels/hip_kernels.hsaco"
HEAD = "| library, or package of programs | files | functions | of them gpusim has | has not |\n"


def test_names_have_the_nodes_that_they_are_bound_to() -> None:
    five, six = linked(PROGRAMS / "runtime"), linked(PROGRAMS / "runtime6")
    assert five is not None and six is not None
    nodes = {function.name: function.node for function in functions()}
    for one in (five, six):
        assert all(nodes[name] == node for name, node in one.functions)
    assert ("hipMallocAsync", "hip_5.1") in five.functions
    newer = {name for name, _ in six.functions} - {name for name, _ in five.functions}
    assert newer == {"hipGetDevicePropertiesR0600"}
    assert not any(name in ("malloc", "printf", "_exit") for name, _ in five.functions), "the C library's"


@pytest.mark.parametrize("content", [b"", b"hipMalloc", b"\x7fELF", b"\x7fELF" + bytes(200)])
def test_what_is_no_program_takes_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert linked(tmp_path / "file") is None


def test_a_file_without_the_runtime_takes_nothing() -> None:
    assert linked(CODE) is None and linked(PROGRAMS / "runtime.hip") is None


def test_a_line_for_each_library_and_each_package_of_programs(tmp_path: Path) -> None:
    program = (PROGRAMS / "runtime").read_bytes()
    library, programs = tmp_path / "lib", tmp_path / "libexec" / "rocm" / "some-tests"
    for folder in (library, programs):
        folder.mkdir(parents=True)
    (library / "librocsome.so.0.1").write_bytes(program)
    (library / "librocsome.so.0").symlink_to("librocsome.so.0.1")
    shutil.copy(PROGRAMS / "runtime6", programs / "one")
    assert program.count(b"\0hipMallocAsync\0") == 1
    (programs / "two").write_bytes(program.replace(b"\0hipMallocAsync\0", b"\0hipMallocAsynk\0"))
    assert len(list(linked_in(tmp_path))) == 3, "a link is not another file"
    assert linked_table(tmp_path) == HEAD + (
        "| --- | --- | --- | --- | --- |\n"
        "| `librocsome.so.0.1` | 1 | 84 | 83 | `hipIpcGetMemHandle` |\n"
        "| `some-tests` | 2 | 86 | 84 | `hipIpcGetMemHandle`, `hipMallocAsynk` |\n"
        "| all | 3 | 86 | 84 | `hipIpcGetMemHandle`, `hipMallocAsynk` |"
    )
