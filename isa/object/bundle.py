"""Bundles: files that hold code objects of several GPUs (clang's documentation, clang-offload-bundler).

What HIP's compiler writes is one of: an AMDGPU ELF file alone, a bundle of them, a compressed bundle, or a program or
library of the host whose section `.hip_fatbin` holds a bundle for each translation unit. A bundle names each of its
entries by a target, such as `hipv4-amdgcn-amd-amdhsa--gfx803`.
"""

import io
import mmap
import re
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from isa.object.elf_image import EM_AMDGPU, MAX_IMAGE_BYTES, MalformedError
from isa.object.targets import is_runnable, supported, target_features
from isa.object.zstandard import ZstandardError, ZstandardMissingError, decompressed
from isa.opcodes import ARCHITECTURES

ELF_MAGIC = b"\x7fELF"
BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
FAT_SECTION = ".hip_fatbin"
_FAT_ALIGNMENT = 4096  # of each translation unit's bundle in the section
MAX_FILE_BYTES = 1 << 30  # but for a fat binary, of which only parts are read
_MAX_ENTRIES, _MAX_TARGET_BYTES = 1024, 1024
_ZLIB, _ZSTD = 0, 1
# of a compressed bundle's header by version, after magic, version and method: how its sizes are stored, and which of
# them is that of the bundle when decompressed; a hash of 64 bits follows
_SIZES = {1: ("<I", 0), 2: ("<II", 1), 3: ("<QQ", 1)}


class BundleEntry(NamedTuple):
    """An entry of a bundle."""

    target: str
    """Target of the entry."""
    start: int
    """Offset in the bytes that hold the bundle."""
    size: int
    """Bytes."""

    @property
    def gpu(self) -> str | None:
        """The GPU's name, without features such as xnack; None for the host's entry."""
        found = re.search(r"-(gfx[0-9a-z]+(?:-[0-9]+)*(?:-generic)?)(?::.*)?$", self.target)
        return found[1] if found else None


def code_objects(file: BinaryIO, gpu: str | None = None) -> list[bytes]:
    """Return a GPU's code objects in an open file; a file that is no bundle is returned as it is.

    Args:
        file: the file.
        gpu: the GPU's name; None: the first of ARCHITECTURES that has some.

    Returns:
        At least one code object.

    Raises:
        MalformedError: there is none; the message says which other GPUs have one.
    """
    magic = file.read(len(BUNDLE_MAGIC))
    if magic[:4] == ELF_MAGIC and int.from_bytes(magic[18:20], "little") not in (0, EM_AMDGPU):
        return _chosen(_fat_section(file), _FAT_ALIGNMENT, gpu)
    data = magic + file.read(MAX_FILE_BYTES)  # not all of what ends nowhere, as a device does
    if len(data) > MAX_FILE_BYTES:
        raise MalformedError(f"a code object has at most {MAX_FILE_BYTES >> 20} MiB; this file has more")
    if magic == BUNDLE_MAGIC or magic[:4] == COMPRESSED_MAGIC:
        return _chosen(memoryview(data), 0, gpu)
    return [data]


def _fat_section(file: BinaryIO) -> memoryview:
    from elftools.elf.elffile import ELFFile  # of programs and libraries alone: a code object starts sooner without it

    file.seek(0)
    machine = int.from_bytes(file.read(20)[18:], "little")
    try:
        section = ELFFile(file).get_section_by_name(FAT_SECTION)
    except Exception as error:  # the parser raises all kinds on damaged files
        raise MalformedError(f"damaged ELF file ({type(error).__name__}: {error})") from None
    if section is None:
        raise MalformedError(
            f"ELF machine {machine}, not AMDGPU ({EM_AMDGPU}), and without a section {FAT_SECTION} that would hold"
            " GPU code"
        )
    start, size = section["sh_offset"], section["sh_size"]
    # libraries may have gigabytes of GPU code: only what is looked at is read
    whole = memoryview(file.getvalue() if isinstance(file, io.BytesIO) else _mapped(file))
    if section["sh_type"] == "SHT_NOBITS" or start + size > len(whole):
        raise MalformedError(f"truncated: the section {FAT_SECTION} ends after the end of the file")
    return whole[start : start + size]


def _mapped(file: BinaryIO) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _chosen(data: memoryview, alignment: int, gpu: str | None) -> list[bytes]:
    """Return a GPU's entries of one bundle, or with an alignment, of all bundles that lie one after another."""
    bundled: dict[str, list[bytes]] = {}
    others = set()
    for bundle in _bundles(data, alignment):
        for name, entry in _by_gpu(entries(bundle)).items():
            if name in ARCHITECTURES and gpu in (None, name):
                bundled.setdefault(name, []).append(bytes(bundle[entry.start : entry.start + entry.size]))
            else:
                others.add(name)
    if not bundled:
        wanted = gpu or supported()
        there = f"code objects for {', '.join(sorted(others))}, none for {wanted}" if others else "no GPU's code object"
        raise MalformedError(f"the bundle holds {there}")
    return next(bundled[name] for name in ARCHITECTURES if name in bundled)


def _by_gpu(listed: list[BundleEntry]) -> dict[str, BundleEntry]:
    """Return one entry for each GPU: of several, the one that names most of the device's settings.

    What needs another setting has its target ID instead of the GPU's name.
    """
    chosen: dict[str, BundleEntry] = {}
    for entry in listed:
        if not entry.gpu or not entry.size:
            continue
        features, architecture = target_features(entry.target), ARCHITECTURES.get(entry.gpu)
        if architecture and not is_runnable(features, architecture):
            chosen[entry.gpu + "".join(f":{name}{state}" for name, state in features.items())] = entry
        elif entry.gpu not in chosen or len(features) > len(target_features(chosen[entry.gpu].target)):
            chosen[entry.gpu] = entry
    return chosen


def _bundles(data: memoryview, alignment: int) -> Iterator[memoryview]:
    at = 0
    while at < len(data):
        rest = data[at:]
        if rest[:4] == COMPRESSED_MAGIC:
            bundle, size = _decompressed(rest)
            yield memoryview(bundle)
        elif rest[: len(BUNDLE_MAGIC)] == BUNDLE_MAGIC:
            yield rest
            size = max((entry.start + entry.size for entry in entries(rest)), default=len(BUNDLE_MAGIC))
        else:
            raise MalformedError(f"0x{at:x} in {FAT_SECTION}: no bundle begins there")
        if not alignment:
            return
        at += -(-size // alignment) * alignment


def entries(bundle: memoryview) -> list[BundleEntry]:
    """List the entries that a bundle's header names; MalformedError where they lie outside it."""
    at = len(BUNDLE_MAGIC)
    count = _unpack("<Q", bundle, at)[0]
    if count > _MAX_ENTRIES:
        raise MalformedError(f"the bundle lists {count} entries, more than the limit of {_MAX_ENTRIES}")
    at += 8
    parsed = []
    for _ in range(count):
        start, size, length = _unpack("<QQQ", bundle, at)
        at += 24
        if length > _MAX_TARGET_BYTES or at + length > len(bundle):
            raise MalformedError("truncated: the bundle ends within its list of entries")
        target = bytes(bundle[at : at + length]).decode("utf-8", "replace")
        at += length
        if start + size > len(bundle):
            raise MalformedError(f"truncated: the bundle's entry '{target}' ends after the end of the file")
        parsed.append(BundleEntry(target, start, size))
    return parsed


def _decompressed(data: memoryview) -> tuple[bytes, int]:
    """Return a compressed bundle's contents, and how many bytes it takes in the file."""
    version, method = _unpack("<HH", data, 4)
    if version not in _SIZES:
        raise MalformedError(f"a compressed bundle of version {version}; {', '.join(map(str, _SIZES))} can be read")
    layout, which = _SIZES[version]
    sizes = _unpack(layout, data, 8)
    start = 8 + struct.calcsize(layout) + 8
    whole = sizes[0] if which else len(data)
    size = sizes[which]
    if whole > len(data) or size > MAX_IMAGE_BYTES:
        raise MalformedError(f"a compressed bundle of {whole} bytes for {size} bytes is cut off, or too large")
    contents = data[start:whole]
    if method == _ZLIB:
        try:
            unpacker = zlib.decompressobj()
            bundle = unpacker.decompress(contents, max(size, 1))  # 0 would be without limit
        except zlib.error as error:
            raise MalformedError(f"the compressed bundle is damaged ({error})") from None
        whole = whole if which else whole - len(unpacker.unused_data)
    elif method == _ZSTD:
        bundle = _zstd(bytes(contents), size)
    else:
        raise MalformedError(f"a bundle compressed by method {method}; 0 (zlib) and 1 (Zstandard) are known")
    if len(bundle) != size or bundle[: len(BUNDLE_MAGIC)] != BUNDLE_MAGIC:
        raise MalformedError(f"the compressed bundle is damaged: {len(bundle)} of {size} bytes, or no bundle in it")
    return bundle, whole


def _zstd(contents: bytes, size: int) -> bytes:
    try:
        return decompressed(contents, size)
    except ZstandardMissingError:
        raise MalformedError(
            "the bundle is compressed with Zstandard, which neither Python (3.14 has it) nor the system (libzstd) can"
            " read here; build without --offload-compress, or unpack it with clang-offload-bundler"
        ) from None
    except ZstandardError as error:
        raise MalformedError(f"the compressed bundle is damaged ({error})") from None


def _unpack(layout: str, data: memoryview, at: int) -> tuple[int, ...]:
    if at + struct.calcsize(layout) > len(data):
        raise MalformedError("truncated: the bundle ends within its header")
    return struct.unpack_from(layout, data, at)
