"""Are code objects of every version read as the LLVM AMDGPU guide says, and everything else refused?"""

import io
import struct
import subprocess
from pathlib import Path
from shutil import which

import msgpack
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import strategies as st

from isa.encoding.control_flow import decode_kernel
from isa.encoding.decoder import DecodeError
from isa.encoding.disassembler import disassemble
from isa.object.code_object import CodeObjectError, Kernel, KernelArgument, load_code_object, load_kernels
from isa.object.elf_image import MalformedError, read_image
from isa.object.kernel_descriptor import read_descriptor, read_kernel_code
from isa.object.kernel_metadata import read_metadata
from isa.object.targets import supported
from isa.opcodes import GFX803
from tests.support.daily import given_daily

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

DATA = Path(__file__).parents[2] / "data" / "isa"
OBJECTS = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.hsaco"))}
BASIC = sorted(name for name in OBJECTS if name.startswith("basic"))
OBJDUMP = which("llvm-objdump-19") or which("llvm-objdump")


def kernels(name: str) -> dict[str, Kernel]:
    return load_code_object(DATA / name).kernels


@pytest.mark.parametrize("name", BASIC)
def test_every_version_tells_the_same(name: str) -> None:
    found = kernels(name)
    assert list(found) == ["add", "reverse", "spill", "calls"]
    assert {k.code_object_version for k in found.values()} == {int(name[-7])}
    add, reverse, spill, calls = found.values()
    assert [(a.kind, a.offset, a.size) for a in add.arguments] == [
        ("global_buffer", 0, 8),
        ("global_buffer", 8, 8),
        ("global_buffer", 16, 8),
        ("by_value", 24, 4),
    ]
    assert (add.kernarg_bytes, add.vgprs, add.lds_bytes, add.max_workgroup_size) == (28, 8, 0, 256)
    assert add.enable_kernarg_segment_ptr and add.enable_private_segment_buffer and add.user_sgprs == 6
    assert add.enable_workgroup_id == (True, False, False) and add.workitem_id_components == 1
    assert (add.float_mode, add.ieee_mode, add.dx10_clamp) == (0xC0, True, True)
    assert reverse.arguments[2].kind == "dynamic_shared_pointer" and reverse.lds_bytes == 256
    assert reverse.required_workgroup_size == (64, 1, 1)
    assert spill.private_segment_bytes == 132 and spill.enable_private_segment_wave_offset
    assert spill.enable_flat_scratch_init and spill.workitem_id_components == 2
    assert [(a.offset, a.size) for a in calls.arguments] == [(0, 8), (8, 8), (16, 8)]
    assert all(k.vgprs % 4 == 0 and k.sgprs % 8 == 0 for k in found.values())
    assert all(k.code == add.code and k.code_address == add.code_address for k in found.values())


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_kernels_decode_to_their_end(name: str) -> None:
    for kernel in kernels(name).values():
        instructions = decode_kernel(kernel)
        assert instructions[0].address == kernel.code_address + kernel.entry or kernel.functions
        assert any(i.opcode.mnemonic == "s_endpgm" for i in instructions)
        others = {k.code_address + k.entry for k in kernels(name).values()} - {kernel.code_address + kernel.entry}
        assert not others & {i.address for i in instructions}


@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump (LLVM 19) is not installed: the oracle cannot be asked")
@pytest.mark.parametrize("name", BASIC)
def test_disassembly_is_llvm_objdumps(name: str) -> None:
    assert OBJDUMP is not None
    command = [OBJDUMP, "-d", "--mcpu=gfx803", str(DATA / name)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = {}
    for line in output.splitlines():
        text, mark, rest = line.partition("//")
        if mark and line.startswith("\t"):
            expected[int(rest.split(":")[0], 16)] = " ".join(text.split())
    for kernel in kernels(name).values():
        for instruction in decode_kernel(kernel):
            assert disassemble(instruction) == expected[instruction.address]


def test_calls_include_the_called_function() -> None:
    kernel = kernels("basic_clang19_v5.hsaco")["calls"]
    addresses = {i.address - kernel.code_address for i in decode_kernel(kernel)}
    assert kernel.functions and set(kernel.functions) <= addresses


def test_image_holds_constants_where_they_are_linked() -> None:
    kernel = kernels("basic_clang19_v5.hsaco")["calls"]
    at = kernel.code_address - kernel.image_address
    assert kernel.image[at : at + len(kernel.code)] == kernel.code
    table = b"".join(bytes.fromhex(x) for x in ("0000803f", "00000040", "00004040", "0000a040"))
    assert table in kernel.image


def test_relocations_move_with_the_load_address() -> None:
    kernel = kernels("pointers.hsaco")["pick"]
    assert len(kernel.relocations) == 2
    base = 0x12_3456_7000
    moved = kernel.image_at(base)
    for offset, value in kernel.relocations:
        assert int.from_bytes(kernel.image[offset : offset + 8], "little") == value
        assert int.from_bytes(moved[offset : offset + 8], "little") == value + base
        row = value - kernel.image_address
        assert int.from_bytes(kernel.image[row + 4 : row + 8], "little") in (2, 4)


def patched(name: str, offset: int, value: bytes) -> bytes:
    data = bytearray(OBJECTS[name])
    data[offset : offset + len(value)] = value
    return bytes(data)


V5 = "basic_clang19_v5.hsaco"


def relocatable_of_another_gpu() -> bytes:
    data = bytearray(OBJECTS[V5])
    data[16], data[48] = 1, 0x36
    return bytes(data)


def of_gfx90a(features: int) -> bytes:
    return patched(V5, 48, (0x3F | features).to_bytes(4, "little"))


def test_code_for_the_devices_setting_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits of EF_AMDGPU_FEATURE_XNACK_V4 and ..._SRAMECC_V4: none, any, off, on."""
    for features in (0, 0x100, 0x200, 0x500, 0xC00, 0xE00):
        assert load_code_object(of_gfx90a(features)).kernels["add"].gpu == "gfx90a"
    monkeypatch.setenv("HSA_XNACK", "1")
    assert load_code_object(of_gfx90a(0xF00)).kernels
    with pytest.raises(CodeObjectError, match=r"gfx90a:sramecc\+:xnack-, and the device is gfx90a:sramecc\+:xnack\+"):
        load_code_object(of_gfx90a(0xE00))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an ELF file"),
        (b"hello, world", "not an ELF file"),
        (OBJECTS[V5][:40], "truncated: the ELF header ends after the end of the file"),
        (OBJECTS[V5][:3000], "truncated"),
        (patched(V5, 18, b"\x3e"), "ELF machine 62, not AMDGPU"),
        (patched(V5, 7, b"\x00"), "OS ABI 0"),
        (patched(V5, 48, b"\x36"), f"built for gfx1030, not {supported()}"),
        (patched(V5, 48, b"\xfe"), "built for an unknown GPU (EF_AMDGPU_MACH 0xfe), not gfx803"),
        (patched(V5, 48, b"\x02"), "names no GPU, neither in its header's flags nor in a note"),
        (relocatable_of_another_gpu(), f"built for gfx1030, not {supported()}"),
        (of_gfx90a(0x300), "built for gfx90a:xnack+, and the device is gfx90a:sramecc+:xnack-; "),
        (of_gfx90a(0xA00), "built for gfx90a:sramecc-:xnack-, and the device is gfx90a:sramecc+:xnack-; "),
        (patched(V5, 16, b"\x01"), "relocatable object: link it first"),
        (patched(V5, 8, b"\x09"), "ABI version 9"),
        (patched(V5, 4, b"\x01"), "64-bit"),
    ],
)
def test_foreign_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError) as caught:
        load_code_object(data)
    assert message in str(caught.value) and "in memory" in str(caught.value)


def test_arguments_in_scalar_registers_lie_within_those_of_the_metadata() -> None:
    """hipBLASLt's descriptors leave the number of bytes of arguments out."""
    path = Path(__file__).parents[2] / "data/kernels/matrix_product.gfx90a.hsaco"
    symbol = next(one for one in read_image(path.read_bytes()).symbols if one.name == "product.kd")
    for first, message in ((0, ""), (8, r"kernel 'product': asks for arguments .* past its 32 bytes of them")):
        data = bytearray(path.read_bytes())
        at = data.index(read_image(bytes(data)).read(symbol.address, 64, ""))
        data[at + 8 : at + 12] = bytes(4)  # bytes of arguments
        data[at + 58 : at + 60] = (first << 7 | 2).to_bytes(2, "little")
        resources = int.from_bytes(data[at + 52 : at + 56], "little") & ~(31 << 1) | 16 << 1  # user SGPRs
        data[at + 52 : at + 56] = resources.to_bytes(4, "little")
        if message:
            with pytest.raises(MalformedError, match=message):
                dict(load_kernels(bytes(data)))
        else:
            assert load_kernels(bytes(data))["product"].preloaded_arguments == (0, 2)


def test_the_note_is_believed_where_the_header_names_no_gpu() -> None:
    """What was built before EF_AMDGPU_MACH has flags for features alone: 2 is version 2's trap handler."""
    version_2 = "basic_clang14_v2.hsaco"
    old = patched(version_2, 48, (2).to_bytes(4, "little"))
    assert [k.code for k in load_code_object(old).kernels.values()] == [k.code for k in kernels(version_2).values()]
    machine = struct.pack("<HHIII", 4, 7, 8, 0, 3)
    for numbers, name in (((8, 0, 1), "gfx801"), ((9, 0, 4), "gfx904")):
        other = old.replace(machine, struct.pack("<HHIII", 4, 7, *numbers))
        with pytest.raises(CodeObjectError, match=f"built for {name}, not gfx803"):
            load_code_object(other)
    unnamed = old.replace(machine, bytes(16), 1)
    assert unnamed != old
    with pytest.raises(CodeObjectError, match="built for gfx000, not gfx803"):
        load_code_object(unnamed)


def test_missing_file_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(CodeObjectError, match=r"nothing\.hsaco: cannot be read: No such file"):
        load_code_object(tmp_path / "nothing.hsaco")


def descriptor(**changes: tuple[int, int]) -> bytes:
    """A plausible 64-byte descriptor with (offset: value) words replaced."""
    data = bytearray(64)
    data[48:52] = (0xC0 << 12 | 1 << 6 | 3).to_bytes(4, "little")
    data[52:56] = (6 << 1).to_bytes(4, "little")
    data[56:58] = (1 | 8).to_bytes(2, "little")
    for offset, value in changes.values():
        data[offset : offset + 4] = value.to_bytes(4, "little")
    return bytes(data)


def test_register_counts_are_granulated() -> None:
    read = read_descriptor(descriptor(), GFX803)
    assert (read.vgprs, read.sgprs) == (16, 16)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 65537), "65537 LDS bytes"),
        ((4, 1 << 20), "private segment bytes"),
        ((8, 1 << 24), "kernel argument bytes"),
        ((48, 15 << 6), "128 SGPRs"),
        ((52, 17 << 1), "17 user SGPRs"),
        ((52, 2 << 1), "enables 6 user SGPRs but states 2"),
        ((52, 3 << 11 | 6 << 1), "work-item ids"),
        ((56, 1 << 10), "wavefronts of 32 lanes"),
    ],
)
def test_descriptors_out_of_range_are_refused(change: tuple[int, int], message: str) -> None:
    with pytest.raises(MalformedError) as caught:
        read_descriptor(descriptor(change=change), GFX803)
    assert message in str(caught.value)


def test_version_2_headers_for_other_machines_are_refused() -> None:
    header = bytearray(256)
    header[0:4] = (1).to_bytes(4, "little")
    header[8:16] = b"\x01\x00\x09\x00\x00\x00\x00\x00"
    with pytest.raises(MalformedError, match="for machine"):
        read_kernel_code(bytes(header), GFX803)


def test_broken_metadata_is_refused() -> None:
    packed = msgpack.packb("amdhsa.kernels")
    at = OBJECTS[V5].index(packed)
    with pytest.raises(CodeObjectError, match=r"amdhsa\.kernels: expected a list"):
        load_code_object(patched(V5, at, msgpack.packb("amdhsa.kernelz")))


def test_an_object_linked_from_several_has_the_metadata_of_each() -> None:
    image = read_image(OBJECTS[V5])
    owner, kind, contents = next(note for note in image.notes if note[0] == "AMDGPU")
    whole = msgpack.unpackb(contents)
    notes = tuple(
        (owner, kind, msgpack.packb({**whole, "amdhsa.kernels": [kernel]})) for kernel in whole["amdhsa.kernels"]
    )
    assert len(notes) == 4
    assert read_metadata(image._replace(notes=notes)) == read_metadata(image)


def test_argument_defaults() -> None:
    assert KernelArgument("n", "by_value", 8, 4) == KernelArgument("n", "by_value", 8, 4, "", 0)


@given_daily(
    40,
    150,
    name=st.sampled_from(sorted(OBJECTS)),
    changes=st.lists(st.tuples(st.integers(0, 9000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6),
    cut=st.one_of(st.none(), st.integers(0, 9000)),
)
def test_damaged_objects_are_read_or_refused(name: str, changes: list[tuple[int, bytes]], cut: int | None) -> None:
    data = bytearray(OBJECTS[name])
    for offset, value in changes:
        data[offset : offset + len(value)] = value
    try:
        loaded = load_code_object(bytes(data[:cut]))
    except CodeObjectError as error:
        assert "\n" not in str(error)
        return
    for kernel in loaded.kernels.values():
        try:
            decode_kernel(kernel)
        except DecodeError:
            continue


def test_an_absolute_relocation_adds_the_symbol_s_address_and_needs_a_defined_one() -> None:
    data = OBJECTS["pointers.hsaco"]
    relative = struct.pack("<QQq", 0x2668, 13, 1344)  # offset, type R_AMDGPU_RELATIVE64, addend
    assert data.count(relative) == 1
    (dynsym,) = (s for s in _dynamic_symbols(data) if s[0] == 1)
    changed = data.replace(relative, struct.pack("<QQq", 0x2668, 1 << 32 | 3, 8))  # symbol 1, R_AMDGPU_ABS64
    assert read_image(changed).relocations[0] == (9832, 8 + dynsym[1])
    with pytest.raises(MalformedError, match="refers to the undefined symbol ''"):
        read_image(data.replace(relative, struct.pack("<QQq", 0x2668, 3, 8)))  # symbol 0 is none


def _dynamic_symbols(data: bytes) -> list[tuple[int, int]]:
    """Numbers and addresses of the dynamic symbols, as pyelftools reads them."""
    table = ELFFile(io.BytesIO(data)).get_section_by_name(".dynsym")
    return [(number, symbol["st_value"]) for number, symbol in enumerate(table.iter_symbols())]
