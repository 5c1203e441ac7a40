"""printf's format as C reads it, over arguments of eight bytes."""

import ctypes
import re
import struct

_SPECIFICATION = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")
_MOST_BYTES = 1 << 16
_NARROW = {b"hh": ctypes.c_byte, b"h": ctypes.c_short, b"": ctypes.c_int}
_NARROW_UNSIGNED = {b"hh": ctypes.c_ubyte, b"h": ctypes.c_ushort, b"": ctypes.c_uint}
_libc = ctypes.CDLL(None)


class _Arguments:
    """The bytes after the format, taken one argument at a time; missing arguments are 0."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def word(self) -> int:
        self._at += 8
        return int.from_bytes(self._data[self._at - 8 : self._at], "little")

    def string(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        text = self._data[self._at : end if end >= 0 else None]
        self._at += (len(text) + 8) // 8 * 8
        return text


def formatted(message: bytes) -> bytes:
    """Return the text of a message, which is a format up to its 0, padded to a multiple of eight bytes, and its
    arguments.
    """
    rest = _Arguments(message)
    pattern = rest.string()
    return _SPECIFICATION.sub(lambda found: _one(found, rest), pattern)


def _one(found: re.Match[bytes], rest: _Arguments) -> bytes:
    flags, width, precision, length, kind = found.groups()
    if kind == b"%":
        return b"%"
    width = b"%d" % _signed(rest.word()) if width == b"*" else width or b""
    precision = b"%d" % _signed(rest.word()) if precision == b"*" else precision
    head = b"%" + flags + width + (b"" if precision is None else b"." + precision)
    if kind == b"s":
        return _printed(head + b"s", ctypes.c_char_p(rest.string()))
    word = rest.word()
    if kind in b"eEfFgGaA":
        return _printed(head + kind, ctypes.c_double(struct.unpack("<d", struct.pack("<Q", word))[0]))
    if kind == b"c":
        return _printed(head + b"c", ctypes.c_int(word & 0xFF))
    if kind == b"p":
        return _printed(head + b"p", ctypes.c_void_p(word))
    kinds = _NARROW if kind in b"di" else _NARROW_UNSIGNED
    if (length or b"") in kinds:
        word = kinds[length or b""](word).value  # as C converts it
    return _printed(head + b"ll" + kind, ctypes.c_longlong(word))


def _signed(word: int) -> int:
    return ctypes.c_int(word).value


def _printed(specification: bytes, value: object) -> bytes:
    text = ctypes.create_string_buffer(_MOST_BYTES)
    size = _libc.snprintf(text, ctypes.c_size_t(_MOST_BYTES), specification, value)
    return text.raw[: min(max(size, 0), _MOST_BYTES - 1)]
