"""Zstandard, by which newer compilers compress code: through Python's own library from 3.14 on, else the system's.

The system's is libzstd (facebook/zstd, zstd.h), which a Linux distribution's package manager itself needs.
"""

import ctypes
import ctypes.util
from functools import cache


class ZstandardMissingError(Exception):
    """Neither Python nor the system has Zstandard."""


class ZstandardError(Exception):
    """Contents that cannot be decompressed; the message is the library's."""


def decompressed(contents: bytes, size: int) -> bytes:
    """Decompress `contents` to at most `size` bytes; raises ZstandardError, ZstandardMissingError."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        return _by_system(contents, size)
    try:
        return bytes(zstd.ZstdDecompressor().decompress(contents, size))
    except zstd.ZstdError as error:
        raise ZstandardError(str(error)) from None


def _by_system(contents: bytes, size: int) -> bytes:
    library = _library()
    if library is None:
        raise ZstandardMissingError
    buffer = ctypes.create_string_buffer(max(size, 1))
    done = library.ZSTD_decompress(buffer, size, contents, len(contents))
    if library.ZSTD_isError(done):
        raise ZstandardError(library.ZSTD_getErrorName(done).decode())
    return buffer.raw[:done]


@cache
def _library() -> ctypes.CDLL | None:
    for name in ("libzstd.so.1", ctypes.util.find_library("zstd")):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library is not None:
            library.ZSTD_decompress.restype = ctypes.c_size_t
            library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
            library.ZSTD_isError.argtypes = library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
            library.ZSTD_getErrorName.restype = ctypes.c_char_p
            return library
    return None
