"""Are gfx803's code objects found in bundles and fat binaries, and is everything else refused with the reason?"""

import importlib.util
import io
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.object import zstandard
from isa.object.bundle import BUNDLE_MAGIC, BundleEntry, code_objects, entries
from isa.object.code_object import CodeObjectError, load_code_object
from isa.object.targets import supported
from tests.support.bundles import HOST, bundle, compressed, entry, fat_binary

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

DATA = Path(__file__).parents[2] / "data"
V5 = (DATA / "isa/basic_clang19_v5.hsaco").read_bytes()
V4 = (DATA / "isa/basic_clang19_v4.hsaco").read_bytes()
OTHER = (DATA / "kernels/reduction.hsaco").read_bytes()


def of(gpu: str, data: bytes = V5, kind: str = "hipv4-amdgcn-amd-amdhsa--") -> tuple[str, bytes]:
    return entry(gpu, data, kind)


@pytest.mark.parametrize(
    "data",
    [
        bundle((HOST, b""), of("gfx803")),
        bundle((HOST, b""), of("gfx900", V4), of("gfx803", kind="hip-amdgcn-amd-amdhsa--")),
        bundle(of("gfx803", kind="openmp-amdgcn-amd-amdhsa--"), of("gfx90a:xnack+", V4)),
        bundle(of("gfx803", kind="hip-amdgcn-amd-amdhsa-unknown-")),
        compressed(bundle(of("gfx803")), 1),
        compressed(bundle(of("gfx803")), 2),
        compressed(bundle(of("gfx803")), 3),
        fat_binary(bundle((HOST, b""), of("gfx803"))),
        fat_binary(compressed(bundle(of("gfx900", V4), of("gfx803")))),
    ],
)
def test_the_code_object_is_found_by_its_gpu(data: bytes, tmp_path: Path) -> None:
    expected = load_code_object(V5).kernels
    assert load_code_object(data).kernels == expected
    (tmp_path / "file").write_bytes(data)
    assert load_code_object(tmp_path / "file").kernels == expected


def test_an_entry_is_chosen_by_the_devices_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that it can take, the one that names most of its settings, as ROCm's loader does."""

    def elf(features: int, data: bytes = V5) -> bytes:
        return data[:48] + (0x3F | features).to_bytes(4, "little") + data[52:]

    off, on, either = elf(0x200), elf(0x300, V4), elf(0x100, OTHER)
    both = bundle(of("gfx90a:xnack+", on), of("gfx90a", either), of("gfx90a:sramecc+:xnack-", off))
    assert set(load_code_object(both).kernels) == set(load_code_object(V5).kernels)
    assert set(load_code_object(bundle(of("gfx90a", either), of("gfx90a:xnack+", on))).kernels) == {"reduce_sum"}
    with pytest.raises(CodeObjectError, match=r"holds code objects for gfx90a:xnack\+, none for gfx803"):
        load_code_object(bundle(of("gfx90a:xnack+", on)))
    monkeypatch.setenv("HSA_XNACK", "1")
    assert load_code_object(both).kernels["add"].code_object_version == 4


@pytest.mark.parametrize("gpu", ["gfx906", "gfx908", "gfx90a"])
def test_of_several_the_one_with_the_gpus_features_is_taken(gpu: str) -> None:
    targets = [f"{gpu}:sramecc{ecc}:xnack{xnack}" for ecc in "+-" for xnack in "+-"]
    for order in (targets, targets[::-1]):
        data = bundle(*(of(target, target.encode()) for target in order))
        assert code_objects(io.BytesIO(data), gpu) == [f"{gpu}:sramecc+:xnack-".encode()]


def padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 4096) * 4096, b"\0")


@pytest.mark.parametrize("pack", [lambda data: data, compressed], ids=["plain", "compressed"])
def test_a_fat_binary_has_a_bundle_for_each_translation_unit(pack) -> None:  # type: ignore[no-untyped-def]
    units = [bundle(of("gfx803", data), of("gfx1100", V4)) for data in (V5, OTHER, V4)]
    found = load_code_object(fat_binary(b"".join(padded(pack(unit)) for unit in units))).kernels
    basic, other = load_code_object(V5).kernels, load_code_object(OTHER).kernels
    numbered = {f"{name}@{number}" for name in basic for number in (0, 2)}
    assert set(found) == numbered | set(other)
    assert found["add@0"].name == "add@0" and found["add@0"].code == basic["add"].code
    assert (found["add@0"].code_object_version, found["add@2"].code_object_version) == (5, 4)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            bundle((HOST, b""), of("gfx902"), of("gfx942:xnack+")),
            f"gfx902, gfx942:xnack+, none for {supported()}",
        ),
        (bundle((HOST, b"x")), "the bundle holds no GPU's code object"),
        (bundle(of("gfx803", V5))[:-1], "'hipv4-amdgcn-amd-amdhsa--gfx803' ends after the end of the file"),
        (bundle(of("gfx803", V5))[:40], "ends within its header"),
        (BUNDLE_MAGIC, "ends within its header"),
        (BUNDLE_MAGIC + bytes([255] * 8), "more than the limit of 1024"),
        (fat_binary(b"", b".text"), "ELF machine 62, not AMDGPU (224), and without a section .hip_fatbin"),
        (fat_binary(bytes(4096)), "0x0 in .hip_fatbin: no bundle begins there"),
        (fat_binary(bundle(of("gfx1030"))), "code objects for gfx1030, none for gfx803"),
        (compressed(b"x", method=7), "compressed by method 7"),
        (compressed(bundle(of("gfx803")), size=100), "ends after the end of the file"),
        (compressed(bundle(of("gfx803")), size=1 << 20), "of 1048576 bytes, or no bundle in it"),
        (compressed(bytes(1 << 20), size=0), "1 of 0 bytes, or no bundle in it"),  # no more is unpacked than is said
        (compressed(bundle(of("gfx803")))[:-40], "cut off"),
        (compressed(bundle(of("gfx803"))).replace(b"\x78\x9c", b"\x00\x00", 1), "is damaged"),
        (b"CCOB\x09\x00\x00\x00" + bytes(40), "of version 9; 1, 2, 3 can be read"),
    ],
)
def test_what_holds_no_code_of_gfx803_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError) as caught:
        load_code_object(data)
    assert message in str(caught.value)


def by_zstandard(plain: bytes) -> bytes:
    """A compressed bundle; its one block is raw, which any compressor may write (RFC 8878)."""
    block = len(plain) << 3 | 1
    packed = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(plain)) + block.to_bytes(3, "little") + plain
    return b"CCOB" + struct.pack("<HHII", 2, 1, 24 + len(packed), len(plain)) + bytes(8) + packed


def test_zstandard_is_read_by_python_or_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = bundle(of("gfx803"))
    in_python = importlib.util.find_spec("compression") is not None
    if in_python or zstandard._library() is not None:
        assert set(load_code_object(by_zstandard(plain)).kernels) == set(load_code_object(V5).kernels)
        with pytest.raises(CodeObjectError, match="damaged"):
            load_code_object(compressed(plain, method=1))
    if not in_python:
        monkeypatch.setattr(zstandard, "_library", lambda: None)
        with pytest.raises(CodeObjectError, match=r"compressed with Zstandard, which neither .*libzstd"):
            load_code_object(by_zstandard(plain))


@pytest.mark.parametrize(
    ("target", "gpu"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx803", "gfx803"),
        ("hip-amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-", "gfx90a"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        (HOST, None),
        ("gfx803", None),
    ],
)
def test_targets(target: str, gpu: str | None) -> None:
    assert BundleEntry(target, 0, 1).gpu == gpu


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_never_ends_in_anything_but_one_error(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(400, len(whole)) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for damaged in (bytes(whole), bytes(whole[:cut])):
        try:
            load_code_object(damaged)
        except CodeObjectError as error:
            assert str(error)


WHOLE = [bundle((HOST, b""), of("gfx803")), compressed(bundle(of("gfx803"))), fat_binary(bundle(of("gfx803")))]


def test_entries_are_what_the_header_lists() -> None:
    data = bundle((HOST, b""), of("gfx803", b"abc"))
    listed = entries(memoryview(data))
    assert [(e.target, data[e.start : e.start + e.size]) for e in listed] == [(HOST, b""), of("gfx803", b"abc")]
    assert io.BytesIO(data).read(8) == b"__CLANG_"
