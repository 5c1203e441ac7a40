"""Operands by their text: functions that read 64 values of a kind, or write them under EXEC."""

import re
from collections.abc import Callable

import numpy as np

from tests.support.oracle_isa.numbers import bits
from tests.support.oracle_isa.state import ALL, LANE, LANES, VCC, Wave, lanes_of, mask_of, scalar_code
from tests.support.oracle_isa.text import Line, NotStatedError

Read = Callable[[Wave], np.ndarray]
Write = Callable[[Wave, np.ndarray], None]
TYPES = {f"{letter}{size}": np.dtype(f"{letter}{size // 8}") for letter in "uif" for size in (16, 32, 64)}
_INLINE = {
    "0.5": (0x3800, 0x3F000000, 0x3FE0000000000000),
    "1.0": (0x3C00, 0x3F800000, 0x3FF0000000000000),
    "2.0": (0x4000, 0x40000000, 0x4000000000000000),
    "4.0": (0x4400, 0x40800000, 0x4010000000000000),
    "0.15915494": (0x3118, 0x3E22F983, 0x3FC45F306DC9C882),
    "0.15915494309189532": (0x3118, 0x3E22F983, 0x3FC45F306DC9C882),
}
_SIZES = {16: 0, 32: 1, 64: 2}
_NUMBER = re.compile(r"^-?(\d+|0x[0-9a-f]+)$")


def vector_number(token: str) -> int | None:
    """The number of a vector register, of a range its first; None for anything else."""
    found = re.match(r"^v(\d+)$|^v\[(\d+):\d+\]$|^v\[(\d+)\]$", token)
    return int(next(g for g in found.groups() if g)) if found else None


def constant(token: str, kind: str) -> int | None:
    """The bits of a constant for an operand of a kind; None for a register."""
    size = int(kind[1:])
    if token.lstrip("-") in _INLINE:
        if size == 16 and kind[0] != "f":  # the low half of FP32's (LLVM bug 46302)
            return _INLINE[token.lstrip("-")][1] & 0xFFFF
        held = _INLINE[token.lstrip("-")][_SIZES[size]]
        return held | 1 << size - 1 if token.startswith("-") else held
    if not _NUMBER.match(token):
        return None
    value = int(token, 0)
    if kind == "f64" and "0x" in token:
        return (value << 32) & ALL
    return value & (1 << size) - 1


def scalar_reader(token: str, words: int = 1) -> Callable[[Wave], int]:
    """A scalar source of one or two dwords as a number."""
    if token in ("scc", "src_scc"):
        return lambda w: w.scc
    if token in ("vccz", "src_vccz"):
        return lambda w: int(w.pair(VCC) == 0)
    if token in ("execz", "src_execz"):
        return lambda w: int(not w.active.any())
    held = constant(token, f"u{32 * words}")
    if held is not None:
        return lambda w: held
    code = scalar_code(token)
    if words == 1:
        return lambda w: w.s[code]
    return lambda w: w.pair(code)


def mask_writer(token: str) -> Callable[[Wave, np.ndarray], None]:
    """A lane mask in a scalar pair: bits of lanes that do not run are 0."""
    code = scalar_code(token)
    return lambda w, lanes: w.set_scalar(code, mask_of(lanes & w.active), 2)


def mask_reader(token: str) -> Read:
    """A lane mask as truth values."""
    read = scalar_reader(token, 2)
    return lambda w: lanes_of(read(w))


def _dpp(line: Line) -> tuple[np.ndarray, np.ndarray] | None:
    """Of each lane the one that it reads, and whether there is one; None without DPP."""
    held = line.modifiers
    row, place = LANE & ~15, LANE & 15
    if "quad_perm" in held:
        quad = np.array([int(x) for x in held["quad_perm"].split(",")])
        return (LANE & ~3) | quad[LANE & 3], np.ones(LANES, bool)
    if "row_shl" in held:
        n = int(held["row_shl"])
        return row | (place + n & 15), place + n < 16
    if "row_shr" in held:
        n = int(held["row_shr"])
        return row | (place - n & 15), place - n >= 0
    if "row_ror" in held:
        return row | (place - int(held["row_ror"]) & 15), np.ones(LANES, bool)
    if "row_mirror" in held:
        return row | 15 - place, np.ones(LANES, bool)
    if "row_half_mirror" in held:
        return (LANE & ~7) | 7 - (LANE & 7), np.ones(LANES, bool)
    if "wave_shl" in held:
        return (LANE + 1) % LANES, LANE < 63
    if "wave_shr" in held:
        return (LANE - 1) % LANES, LANE > 0
    if "wave_rol" in held:
        return (LANE + 1) % LANES, np.ones(LANES, bool)
    if "wave_ror" in held:
        return (LANE - 1) % LANES, np.ones(LANES, bool)
    if "row_bcast" in held:
        if held["row_bcast"] == "15":
            return np.maximum((LANE & ~15) - 1, 0), LANE >= 16
        return np.full(LANES, 31), LANE >= 32
    return None


def dpp_lanes(line: Line) -> Callable[[Wave], np.ndarray] | None:
    """The lanes that a DPP instruction writes; None for all that run."""
    found = _dpp(line)
    if found is None:
        return None
    source, there = found
    rows, banks = int(line.modifiers.get("row_mask", "0xf"), 0), int(line.modifiers.get("bank_mask", "0xf"), 0)
    written = (rows >> LANE // 16 & 1).astype(bool) & (banks >> LANE % 16 // 4 & 1).astype(bool)
    if "bound_ctrl" in line.modifiers:
        return lambda w: w.active & written
    return lambda w: w.active & written & there & w.active[source]


_SELECT = {"BYTE": 8, "WORD": 16}


def _selected(word: np.ndarray, how: str, signed: bool) -> np.ndarray:
    """A byte or half of dwords, extended to 32 bits."""
    if how == "DWORD":
        return word
    kind, _, number = how.partition("_")
    size = _SELECT[kind]
    part = word >> np.uint32(size * int(number)) & np.uint32((1 << size) - 1)
    if signed:
        part = (part << np.uint32(32 - size)).view(np.int32) >> np.int32(32 - size)
    return part.view(np.uint32)


def reader(line: Line, number: int, kind: str, place: int) -> Read:
    """Source `number` of an instruction's text as 64 values of a kind; place: 0, 1, 2, its place as a source."""
    token = line.operands[number]
    negative = absolute = extended = False
    if token.startswith("-") and constant(token, kind) is None:
        negative, token = True, token[1:]
    if token.startswith("neg("):
        negative, token = True, token[4:-1]
    if token.startswith("|") or token.startswith("abs("):
        absolute, token = True, token.strip("|").removeprefix("abs(").removesuffix(")")
    if token.startswith("sext("):
        extended, token = True, token[5:-1]
    if (negative or absolute) and kind[0] != "f":
        raise NotStatedError(f"{line.text}: a sign modifier of an integer")
    plain = _plain(line, token, kind, place, extended)
    if not (negative or absolute):
        return plain
    sign = np.dtype(f"u{int(kind[1:]) // 8}").type(1 << int(kind[1:]) - 1)

    def signed(w: Wave) -> np.ndarray:
        word = bits(plain(w))
        word = word & ~sign if absolute else word
        return (word ^ sign if negative else word).view(TYPES[kind])

    return signed


def _plain(line: Line, token: str, kind: str, place: int, extended: bool) -> Read:
    """A source without modifiers of its sign."""
    dtype, size = TYPES[kind], int(kind[1:])
    how = line.modifiers.get(f"src{place}_sel", "DWORD")
    v = vector_number(token)
    if v is None:
        held = constant(token, kind)
        if held is not None:
            values = np.full(LANES, held, f"u{size // 8}").view(dtype)
            return lambda w: values
        read = scalar_reader(token, max(1, size // 32))
        unsigned = np.dtype(f"u{size // 8}")
        wide = (1 << size) - 1
        if how != "DWORD":
            raise NotStatedError(f"{line.text}: part of a scalar register")
        return lambda w: np.full(LANES, read(w) & wide, unsigned).view(dtype)
    if size == 64:
        return lambda w: (w.v[v] | w.v[v + 1].astype(np.uint64) << np.uint64(32)).view(dtype)
    moved = _dpp(line) if place == 0 else None

    def word(w: Wave) -> np.ndarray:
        held = w.v[v]
        if moved is not None:
            source, there = moved
            held = np.where(there & w.active[source], held[source], np.uint32(0))
        return _selected(held, how, extended)

    if size == 16:
        return lambda w: word(w).astype(np.uint16).view(dtype)
    return lambda w: word(w).view(dtype)


def writer(line: Line, number: int, kind: str) -> Write:
    """The vector destination of an instruction: values of a kind, written under EXEC."""
    v = vector_number(line.operands[number])
    if v is None:
        raise NotStatedError(f"{line.text}: {line.operands[number]} as a destination")
    lanes = dpp_lanes(line)
    size = int(kind[1:])
    if size == 64:

        def write_pair(w: Wave, values: np.ndarray) -> None:
            word = values.view(np.uint64)
            np.copyto(w.v[v], word.astype(np.uint32), where=w.active)
            np.copyto(w.v[v + 1], (word >> np.uint64(32)).astype(np.uint32), where=w.active)

        return write_pair
    how, unused = line.modifiers.get("dst_sel", "DWORD"), line.modifiers.get("dst_unused", "UNUSED_PAD")

    def write(w: Wave, values: np.ndarray) -> None:
        word = values.view(f"u{size // 8}").astype(np.uint32)
        if how != "DWORD":
            word = _placed(word, w.v[v], how, unused)
        np.copyto(w.v[v], word, where=w.active if lanes is None else lanes(w))

    return write


def _placed(word: np.ndarray, old: np.ndarray, how: str, unused: str) -> np.ndarray:
    """A result in a part of a dword, the rest as the instruction says."""
    kind, _, number = how.partition("_")
    size, at = _SELECT[kind], _SELECT[kind] * int(number)
    mask = (1 << size) - 1
    part = (word & np.uint32(mask)) << np.uint32(at)
    if unused == "UNUSED_PRESERVE":
        return part | old & np.uint32(~(mask << at) & 0xFFFFFFFF)
    if unused == "UNUSED_SEXT":
        above = np.uint32(0xFFFFFFFF & ~((1 << at + size) - 1))
        return part | np.where(word >> np.uint32(size - 1) & np.uint32(1), above, np.uint32(0))
    return part
