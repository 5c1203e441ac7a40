"""Files of several GPUs' code objects, as clang's offload bundler and HIP's compiler lay them out."""

import struct
import zlib

from isa.object.bundle import BUNDLE_MAGIC

HOST = "host-x86_64-unknown-linux--"


def bundle(*contents: tuple[str, bytes]) -> bytes:
    """A bundle as clang-offload-bundler lays it out."""
    header = BUNDLE_MAGIC + struct.pack("<Q", len(contents))
    at = len(header) + sum(24 + len(target) for target, _ in contents)
    body = b""
    for target, data in contents:
        start = -(-(at + len(body)) // 4096) * 4096 if data else at + len(body)
        body = body.ljust(start - at, b"\0") + data
        header += struct.pack("<QQQ", start, len(data), len(target)) + target.encode()
    return header + body


def entry(gpu: str, data: bytes, kind: str = "hipv4-amdgcn-amd-amdhsa--") -> tuple[str, bytes]:
    """An entry of `bundle`: whose it is, and what."""
    return kind + gpu, data


def compressed(data: bytes, version: int = 2, method: int = 0, size: int | None = None) -> bytes:
    """A compressed bundle. size: what its header says, if not the truth."""
    packed = zlib.compress(data)
    size = len(data) if size is None else size
    layout = {1: "<I", 2: "<II", 3: "<QQ"}[version]
    whole = 8 + struct.calcsize(layout) + 8 + len(packed)
    sizes = (size,) if version == 1 else (whole, size)
    return b"CCOB" + struct.pack("<HH", version, method) + struct.pack(layout, *sizes) + bytes(8) + packed


def fat_binary(contents: bytes, name: bytes = b".hip_fatbin") -> bytes:
    """An x86-64 ELF file with one section beside its names."""
    names = b"\0" + name + b"\0.shstrtab\0"
    sections = bytes(64)
    at = 64
    for name_at, kind, data in ((1, 1, contents), (2 + len(name), 3, names)):
        sections += struct.pack("<IIQQQQIIQQ", name_at, kind, 0, 0, at, len(data), 0, 0, 1, 0)
        at += len(data)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 56, 0, 64, 3, 2)
    return header + contents + names + sections
