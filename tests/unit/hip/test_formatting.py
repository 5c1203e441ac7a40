"""Is what a kernel prints what C prints?"""

import ctypes
import struct

from hypothesis import given
from hypothesis import strategies as st

from gpusim.jobs.hip.formatting import formatted

libc = ctypes.CDLL(None)


def padded(text: bytes) -> bytes:
    text += b"\0"
    return text + bytes(-len(text) % 8)


def message(pattern: bytes, *values: object) -> bytes:
    out = padded(pattern)
    for value in values:
        if isinstance(value, bytes):
            out += padded(value)
        else:
            out += struct.pack("<d", value) if isinstance(value, float) else struct.pack("<q", value)
    return out


def printed(pattern: bytes, *values: object) -> bytes:
    text = ctypes.create_string_buffer(4096)
    libc.snprintf(text, ctypes.c_size_t(4096), pattern, *values)
    return text.value


def test_arguments_are_taken_in_order() -> None:
    given_ = message(b"%d of %s: %6.2f%% %c|%-8s|%x\n", 3, b"kernel", 1.5, 65, b"left", 255)
    assert formatted(given_) == b"3 of kernel:   1.50% A|left    |ff\n"


def test_strings_take_as_many_words_as_they_need() -> None:
    for length in range(20):
        text = b"x" * length
        assert formatted(message(b"%s,%d", text, 7)) == text + b",7"


def test_widths_that_are_arguments() -> None:
    assert formatted(message(b"[%*d] [%-*d] [%.*f]", 5, 42, 5, 42, 1, 2.25)) == b"[   42] [42   ] [2.2]"


def test_what_is_no_specification_stays() -> None:
    assert formatted(message(b"100 %! %q 5%%")) == b"100 %! %q 5%"
    assert formatted(message(b"%d")) == b"0"


LENGTHS = (b"", b"hh", b"h", b"l", b"ll")


@given(st.sampled_from(LENGTHS), st.sampled_from(b"diouxX"), st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_are_converted_as_in_c(length: bytes, kind: int, value: int) -> None:
    pattern = b"%" + length + bytes([kind])
    assert formatted(message(pattern, value)) == printed(pattern, ctypes.c_longlong(value))


@given(st.sampled_from([b"%f", b"%.3e", b"%g", b"%+010.2f", b"%a"]), st.floats())
def test_numbers_are_those_of_c(pattern: bytes, value: float) -> None:
    assert formatted(message(pattern, value)) == printed(pattern, ctypes.c_double(value))
