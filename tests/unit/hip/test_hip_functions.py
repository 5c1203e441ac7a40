"""Does the runtime library export what the table of functions says, under AMD's version nodes, and nothing else?"""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from docs._site.hip_pages import functions_table
from docs._site.pages import DOCS, section
from gpusim.jobs.hip import built
from gpusim.jobs.hip.building import CHECKSUMS, COMGR_LIBRARY, COMPILERS, LIBRARY, MAJORS, SOURCES, is_whole, name
from gpusim.jobs.hip.built import libraries
from gpusim.jobs.hip.functions import (
    BRIDGE,
    BRIDGE_NODE,
    COMGR_TABLE,
    OPENCL_TABLE,
    TABLE,
    functions,
    opencl_dispatch,
    runtime_script,
    stubs,
    version_script,
)

compiled = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C++ compiler")


def test_names_are_unique_and_nodes_are_amds() -> None:
    names = [f.name for f in functions()]
    assert len(set(names)) == len(names) == 497 + 4 + 3  # surfaces by their names of C++, and those of ROCm 7
    releases = [f"hip_{n}" for n in ("4.2", "4.3", "4.4", "4.5", "5.0", "5.1", "5.2", "5.3", "5.5", "5.6")]
    assert {f.node for f in functions()} == {*releases, "hip_6.0", "hip_6.1", "hip_6.2", "hip_6.4", "hip_6.5"}
    by_name = {f.name: f.node for f in functions()}
    assert by_name["hipMallocAsync"] == "hip_5.1" and by_name["hipGetDevicePropertiesR0600"] == "hip_6.0"


@pytest.mark.parametrize("table", [TABLE, COMGR_TABLE, OPENCL_TABLE], ids=["hip_", "amd_comgr_", "OPENCL_"])
def test_each_node_inherits_the_one_before(table: Path, request: pytest.FixtureRequest) -> None:
    text = version_script(table)
    begins = request.node.callspec.id
    heads = [line for line in text.splitlines() if line.startswith((begins, "}"))]
    nodes = [line.split()[0] for line in heads if line.startswith(begins) and line.endswith("{")]
    before = [line.strip("};").strip() for line in heads if line.startswith("}")]
    assert before == ["", *nodes[:-1]] and len(nodes) > 4
    assert text.count("local: *;") == 1
    assert runtime_script().count("local: *;") == 1 and "gpusim {" in runtime_script()


def exported(library: str) -> tuple[str, dict[str, str]]:
    """The library's name for the linker, and the node of each function that it exports."""
    with (libraries() / library).open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        (soname,) = (tag.soname for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_SONAME")
        versions, defined = elf.get_section_by_name(".gnu.version"), elf.get_section_by_name(".gnu.version_d")
        names = {v["vd_ndx"]: next(iter(aux)).name for v, aux in defined.iter_versions()}
        found = {}
        for number, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC":
                found[symbol.name] = names[versions.get_symbol(number)["ndx"] & 0x7FFF]
    return soname, found


@compiled
@pytest.mark.parametrize("major", MAJORS)
def test_exports_are_those_of_the_table(major: int) -> None:
    soname, found = exported(LIBRARY.format(major))
    assert soname == f"libamdhip64.so.{major}"
    both = {f.name: f.node for f in (*functions(), *functions(OPENCL_TABLE)) if f.exported}
    assert found == {**both, **dict.fromkeys(BRIDGE, BRIDGE_NODE)}


def test_opencl_s_functions_are_those_of_its_loaders() -> None:
    table = functions(OPENCL_TABLE)
    # CL/cl_icd.h of OpenCL 3.0: slots, and the places of some functions in it
    assert len(table) == 149 and [n for n, f in enumerate(table) if f.name == "clEnqueueFillBuffer"] == [102]
    assert [table[n].name for n in (0, 59, 75, 148)] == [
        *("clGetPlatformIDs", "clEnqueueNDRangeKernel", "clGetDeviceIDsFromD3D10KHR", "clSetContextDestructorCallback"),
    ]
    assert not any(f.exported for f in table if "D3D" in f.name) and table[5].implemented
    source = opencl_dispatch()
    assert "REFUSED_OBJECT(clCreatePipe, (long, long, long, long, long, int* code), code)" in source
    assert "REFUSED_OBJECT(clSVMAlloc, (), nullptr)" in source and "REFUSED(clCreateSubDevices)" in source


@compiled
def test_exports_of_comgr_are_those_of_its_table() -> None:
    soname, found = exported(COMGR_LIBRARY)
    assert soname == "libamd_comgr.so.2"
    assert found == {f.name: f.node for f in functions(COMGR_TABLE)}


@compiled
def test_what_the_table_calls_implemented_is_in_the_sources() -> None:
    # a stub and a definition of one name would not link; a missing one would not be exported, see above
    text = "".join(path.read_text() for path in SOURCES.glob("*.cpp"))
    missing = [
        f.name
        for f in (*functions(), *functions(COMGR_TABLE), *functions(OPENCL_TABLE))
        if f.implemented and f.name not in text
    ]
    assert missing == []
    assert "hipMalloc," not in stubs() and "STUB(hipIpcGetMemHandle," in stubs()


@compiled
def test_nothing_but_the_c_library_is_needed() -> None:
    shown = subprocess.run(
        ["readelf", "-d", str(libraries() / LIBRARY.format(5))], capture_output=True, text=True, check=True
    ).stdout
    needed = [line.split("[")[1].rstrip("]") for line in shown.splitlines() if "NEEDED" in line]
    assert set(needed) <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def test_the_page_has_the_table() -> None:
    page = (DOCS / "how-to" / "hip.md").read_text(encoding="utf-8")
    assert section(page, "functions") == functions_table()


def test_the_wheel_s_library_is_taken_where_it_is_of_these_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "PREBUILT", tmp_path)
    monkeypatch.setattr(built.cache_folders, "readable", lambda: iter(()))
    monkeypatch.setattr(built.cache_folders, "writable", lambda: None)
    (tmp_path / "hip-0123456789abcdef").mkdir()
    with pytest.raises(built.HipBuildError, match="can be kept nowhere"):
        libraries()
    (tmp_path / name()).mkdir()
    with pytest.raises(built.HipBuildError, match="can be kept nowhere"):
        libraries()  # an empty one is not whole
    (tmp_path / name() / LIBRARY.format(5)).write_bytes(b"code")
    checksum = hashlib.sha256(b"code").hexdigest()
    (tmp_path / name() / CHECKSUMS).write_text(f"{checksum}  {LIBRARY.format(5)}\n")
    assert libraries() == tmp_path / name()


@compiled
def test_a_damaged_library_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, folder = libraries(), tmp_path / name()
    shutil.copytree(whole, folder, symlinks=True)
    monkeypatch.setattr(built, "build", lambda _, into: shutil.copytree(whole, into / "built", symlinks=True))
    monkeypatch.setattr(built, "PREBUILT", tmp_path / "none")
    monkeypatch.setattr(built.cache_folders, "readable", lambda: iter((tmp_path,)))
    monkeypatch.setattr(built.cache_folders, "writable", lambda: tmp_path)
    assert libraries() == folder and "damaged" not in capsys.readouterr().err
    path = folder / LIBRARY.format(5)
    wrong = bytearray(path.read_bytes())
    wrong[len(wrong) // 2] ^= 1
    path.write_bytes(wrong)
    assert libraries() == folder
    assert f"{folder}: the library there is damaged; it is built again" in capsys.readouterr().err
    assert is_whole(folder) and path.read_bytes() != wrong


def test_a_library_without_its_development_package_is_found_by_both_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, kept = tmp_path / "lib", tmp_path / "kept"
    library.mkdir(), kept.mkdir()
    monkeypatch.setattr(built.cache_folders, "writable", lambda: kept)
    assert built.unnumbered_folder([library]) is None, "nothing is there"
    for file in ("libhipfft.so.0.1", "libhipfft.so.0"):
        (library / file).touch()
    folder = built.unnumbered_folder([tmp_path / "missing", library])
    assert folder is not None and [path.name for path in folder.iterdir()] == ["libhipfft.so"]
    assert (folder / "libhipfft.so").resolve() == library / "libhipfft.so.0"
    (library / "librocblas.so.5").touch()
    folder = built.unnumbered_folder([library])
    assert folder is not None and {path.name for path in folder.iterdir()} == {"libhipfft.so", "librocblas.so"}
    (library / "libhipfft.so").touch(), (library / "librocblas.so").touch()
    assert built.unnumbered_folder([library]) is None, "the package's own is there"
