"""What vector instructions compute (GCN3 ISA manual, chapter 12), by mnemonic."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.support.oracle_isa import numbers
from tests.support.oracle_isa.numbers import div_fixup, div_fmas, div_scale, fma, larger, ldexp, middle, to_integer
from tests.support.oracle_isa.operands import (
    TYPES,
    mask_reader,
    mask_writer,
    reader,
    scalar_reader,
    vector_number,
    writer,
)
from tests.support.oracle_isa.state import LANE, LANES, VCC, Wave, lanes_of, scalar_code
from tests.support.oracle_isa.text import Line, NotStatedError

Step = Callable[[Wave], None]
_IEEE, _DX10 = 1 << 9, 1 << 8
U32, U64 = np.uint32, np.uint64


class Row(NamedTuple):
    """An instruction: kinds of destination and sources, what it computes, how it treats denormals.

    how: "mode" (as MODE says), "bits" (as they are), "zero" (FP32 always flushed); old: the destination is
    a source too.
    """

    result: str
    sources: tuple[str, ...]
    function: Callable[..., np.ndarray]
    how: str = "mode"
    old: bool = False


TABLE: dict[str, Row] = {}


def _add(names: str, kinds: str, function: Callable[..., np.ndarray], how: str = "mode", old: bool = False) -> None:
    sources, _, result = kinds.partition("->")
    for name in names.split():
        TABLE[name] = Row(result.strip(), tuple(sources.split()), function, how, old)


def _shift(n: np.ndarray, size: int) -> np.ndarray:
    return n & n.dtype.type(size - 1)


def _i64(a: np.ndarray) -> np.ndarray:
    return a.astype(np.int64)


def _u64(a: np.ndarray) -> np.ndarray:
    return a.astype(np.uint64)


def _low(a: np.ndarray, bits: int = 24) -> np.ndarray:
    return a & U32((1 << bits) - 1)


def _signed24(a: np.ndarray) -> np.ndarray:
    return _i64((a << U32(8)).view(np.int32) >> 8)


def _to32(a: np.ndarray) -> np.ndarray:
    return (a & (np.uint64(0xFFFFFFFF) if a.dtype == np.uint64 else 0xFFFFFFFF)).astype(U32)


def _bfe(a: np.ndarray, at: np.ndarray, size: np.ndarray) -> np.ndarray:
    at, size = _u64(at & U32(31)), _u64(size & U32(31))
    return _to32(_u64(a) >> at & ((np.uint64(1) << size) - np.uint64(1)))


def _bfe_signed(a: np.ndarray, at: np.ndarray, size: np.ndarray) -> np.ndarray:
    at, size = _i64(at & U32(31)), _i64(size & U32(31))
    part = _i64(a.view(np.int32)) >> at & (1 << size) - 1
    return _to32(np.where((size > 0) & (part >> np.maximum(size - 1, 0) & 1 == 1), part - (1 << size), part))


def _reverse(a: np.ndarray) -> np.ndarray:
    held = np.unpackbits(a.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")[:, ::-1]
    return np.packbits(held, axis=1, bitorder="little").view(U32).ravel()


def _first_high(a: np.ndarray) -> np.ndarray:
    return np.array([32 - int(x).bit_length() if x else 0xFFFFFFFF for x in a], U32)


def _first_high_signed(a: np.ndarray) -> np.ndarray:
    return _first_sign(a)


def _first_sign(a: np.ndarray) -> np.ndarray:
    found = []
    for x in a.view(np.int32).tolist():
        y = ~x if x < 0 else x
        found.append(0xFFFFFFFF if y == 0 else 32 - y.bit_length())
    return np.array(found, U32)


def _first_low(a: np.ndarray) -> np.ndarray:
    return np.array([(int(x) & -int(x)).bit_length() - 1 if x else 0xFFFFFFFF for x in a], U32)


def _count(a: np.ndarray) -> np.ndarray:
    return np.array([int(x).bit_count() for x in a], U32)


def _perm(a: np.ndarray, b: np.ndarray, select: np.ndarray) -> np.ndarray:
    found = np.zeros(LANES, U32)
    whole = _u64(a) << U64(32) | _u64(b)
    for k in range(4):
        at = _u64(select >> U32(8 * k) & U32(0xFF))
        byte = whole >> (np.minimum(at, U64(7)) * U64(8)) & U64(0xFF)
        for which, place in ((8, 15), (9, 31), (10, 47), (11, 63)):
            byte = np.where(at == which, np.where(whole >> U64(place) & U64(1), U64(0xFF), U64(0)), byte)
        byte = np.where(at == 12, U64(0), np.where(at > 12, U64(0xFF), byte))
        found |= byte.astype(U32) << U32(8 * k)
    return found


def _sad(size: int) -> Callable[..., np.ndarray]:
    def sad(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        total = _i64(c)
        for at in range(0, 32, size):
            mask = U32((1 << size) - 1)
            total = total + np.abs(_i64(a >> U32(at) & mask) - _i64(b >> U32(at) & mask))
        return _to32(total)

    return sad


def _frexp(part: str) -> Callable[..., np.ndarray]:
    def of(a: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(a.astype(np.float64))
        plain = np.isfinite(a)
        if part == "exp":
            return np.where(plain, exponent, 0).astype(np.int32).view(U32)
        return np.where(plain, fraction, numbers.quiet(a)).astype(a.dtype)

    return of


def _fract(a: np.ndarray) -> np.ndarray:
    least = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.minimum(a - np.floor(a), least)


def _legacy(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    return np.where((a == 0) | (b == 0), np.float32(0), product).astype(np.float32)


def _pack_rtz(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    def half(x: np.ndarray) -> np.ndarray:
        near = x.astype(np.float16)
        over = (np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))) & np.isfinite(x)
        word = near.view(np.uint16)
        word = np.where(over, word - np.uint16(1), word).astype(U32)
        nan = numbers.bits(x) >> U32(16) & U32(0x8000) | U32(0x7E00) | numbers.bits(x) >> U32(13) & U32(0x3FF)
        return np.where(np.isnan(x), nan, word)

    return half(a) | half(b) << U32(16)


def _round_even(a: np.ndarray) -> np.ndarray:
    return np.rint(a)


for _size in (16, 32, 64):
    _f = f"f{_size}"
    _t = "bits"
    _add(f"v_add_{_f}", f"{_f} {_f} -> {_f}", lambda a, b: a + b)
    _add(f"v_mul_{_f}", f"{_f} {_f} -> {_f}", lambda a, b: a * b)
    _add(f"v_fma_{_f}", f"{_f} {_f} {_f} -> {_f}", fma)
    for _name, _what in (("trunc", np.trunc), ("ceil", np.ceil), ("rndne", _round_even), ("floor", np.floor)):
        _add(f"v_{_name}_{_f}", f"{_f} -> {_f}", _what)
    _add(f"v_fract_{_f}", f"{_f} -> {_f}", _fract)
    _add(f"v_div_fixup_{_f}", f"{_f} {_f} {_f} -> {_f}", div_fixup, "bits")
    _add(f"v_frexp_mant_{_f}", f"{_f} -> {_f}", _frexp("mant"), "bits")
    for _name in ("rcp", "rsq", "sqrt") + (("exp", "log", "sin", "cos") if _size < 64 else ()):
        _add(
            f"v_{_name}_{_f}",
            f"{_f} -> {_f}",
            lambda a, name=_name: numbers.transcendental(name, a),
            "zero" if _size == 32 else "mode",
        )
for _f in ("f16", "f32"):
    _add(f"v_sub_{_f}", f"{_f} {_f} -> {_f}", lambda a, b: a - b)
    _add(f"v_subrev_{_f}", f"{_f} {_f} -> {_f}", lambda a, b: b - a)
_add("v_rcp_iflag_f32", "f32 -> f32", lambda a: numbers.transcendental("rcp", a), "zero")
_add("v_exp_legacy_f32", "f32 -> f32", lambda a: numbers.transcendental("exp", a), "zero")
_add("v_log_legacy_f32", "f32 -> f32", lambda a: numbers.transcendental("log", a), "zero")
_add("v_mul_legacy_f32", "f32 f32 -> f32", lambda a, b: _legacy(a, b, a * b))
_add("v_mad_f32 v_madak_f32", "f32 f32 f32 -> f32", lambda a, b, c: _flush(a * b) + c, "zero")
_add("v_mac_f32", "f32 f32 -> f32", lambda a, b, c: _flush(a * b) + c, "zero", old=True)
_add("v_madmk_f32", "f32 f32 f32 -> f32", lambda a, k, b: _flush(a * k) + b, "zero")
_add("v_ldexp_f32", "f32 i32 -> f32", ldexp)
_add("v_ldexp_f64", "f64 i32 -> f64", ldexp)
_add("v_ldexp_f16", "f16 i16 -> f16", ldexp)
_add("v_frexp_exp_i32_f32", "f32 -> u32", _frexp("exp"), "bits")
_add("v_frexp_exp_i32_f64", "f64 -> u32", _frexp("exp"), "bits")
_flush = numbers.flushed

_add("v_cvt_f32_f64", "f64 -> f32", lambda a: a.astype(np.float32))
_add("v_cvt_f64_f32", "f32 -> f64", lambda a: a.astype(np.float64))
_add("v_cvt_f16_f32", "f32 -> f16", lambda a: a.astype(np.float16))
_add("v_cvt_f32_f16", "f16 -> f32", lambda a: a.astype(np.float32))
_add("v_cvt_f32_i32", "i32 -> f32", lambda a: a.astype(np.float32))
_add("v_cvt_f32_u32", "u32 -> f32", lambda a: a.astype(np.float32))
_add("v_cvt_f64_i32", "i32 -> f64", lambda a: a.astype(np.float64))
_add("v_cvt_f64_u32", "u32 -> f64", lambda a: a.astype(np.float64))
_add("v_cvt_f16_i16", "i16 -> f16", lambda a: a.astype(np.float16))
_add("v_cvt_f16_u16", "u16 -> f16", lambda a: a.astype(np.float16))
_add("v_cvt_u32_f32", "f32 -> u32", lambda a: _to32(to_integer(a, 0, 0xFFFFFFFF)))
_add("v_cvt_u32_f64", "f64 -> u32", lambda a: _to32(to_integer(a, 0, 0xFFFFFFFF)))
_add("v_cvt_i32_f32", "f32 -> u32", lambda a: _to32(to_integer(a, -(1 << 31), (1 << 31) - 1)))
_add("v_cvt_i32_f64", "f64 -> u32", lambda a: _to32(to_integer(a, -(1 << 31), (1 << 31) - 1)))
_add("v_cvt_i16_f16", "f16 -> i16", lambda a: to_integer(a, -32768, 32767).astype(np.int16))
_add("v_cvt_u16_f16", "f16 -> u16", lambda a: to_integer(a, 0, 65535).astype(np.uint16))
_add(
    "v_cvt_rpi_i32_f32",
    "f32 -> u32",
    lambda a: _to32(to_integer(np.floor(a + np.float32(0.5)), -(1 << 31), (1 << 31) - 1)),
)
_add(
    "v_cvt_flr_i32_f32",
    "f32 -> u32",
    lambda a: _to32(to_integer(np.floor(a.astype(np.float64)), -(1 << 31), (1 << 31) - 1)),
)
_add("v_cvt_pkrtz_f16_f32", "f32 f32 -> u32", _pack_rtz)
for _k in range(4):
    _add(f"v_cvt_f32_ubyte{_k}", "u32 -> f32", lambda a, k=_k: (a >> U32(8 * k) & U32(255)).astype(np.float32))

_add("v_mov_b32", "u32 -> u32", lambda a: a)
_add("v_not_b32", "u32 -> u32", lambda a: ~a)
_add("v_bfrev_b32", "u32 -> u32", _reverse)
_add("v_ffbh_u32", "u32 -> u32", _first_high)
_add("v_ffbh_i32", "u32 -> u32", _first_sign)
_add("v_ffbl_b32", "u32 -> u32", _first_low)
_add("v_and_b32", "u32 u32 -> u32", lambda a, b: a & b)
_add("v_or_b32", "u32 u32 -> u32", lambda a, b: a | b)
_add("v_xor_b32", "u32 u32 -> u32", lambda a, b: a ^ b)
_add("v_lshlrev_b32", "u32 u32 -> u32", lambda n, a: a << _shift(n, 32))
_add("v_lshrrev_b32", "u32 u32 -> u32", lambda n, a: a >> _shift(n, 32))
_add("v_ashrrev_i32", "u32 i32 -> i32", lambda n, a: a >> _shift(n, 32).view(np.int32))
_add("v_lshlrev_b64", "u32 u64 -> u64", lambda n, a: a << _u64(_shift(n, 64)))
_add("v_lshrrev_b64", "u32 u64 -> u64", lambda n, a: a >> _u64(_shift(n, 64)))
_add("v_ashrrev_i64", "u32 i64 -> i64", lambda n, a: a >> _i64(_shift(n, 64)))
_add("v_lshlrev_b16", "u16 u16 -> u16", lambda n, a: a << _shift(n, 16))
_add("v_lshrrev_b16", "u16 u16 -> u16", lambda n, a: a >> _shift(n, 16))
_add("v_ashrrev_i16", "u16 i16 -> i16", lambda n, a: a >> _shift(n, 16).view(np.int16))
_add("v_add_u16", "u16 u16 -> u16", lambda a, b: a + b)
_add("v_sub_u16", "u16 u16 -> u16", lambda a, b: a - b)
_add("v_subrev_u16", "u16 u16 -> u16", lambda a, b: b - a)
_add("v_mul_lo_u16", "u16 u16 -> u16", lambda a, b: a * b)
_add("v_mad_u16", "u16 u16 u16 -> u16", lambda a, b, c: a * b + c)
_add("v_mad_i16", "i16 i16 i16 -> i16", lambda a, b, c: a * b + c)
for _kind in ("u16", "i16", "u32", "i32"):
    _add(f"v_max_{_kind}", f"{_kind} {_kind} -> {_kind}", np.maximum)
    _add(f"v_min_{_kind}", f"{_kind} {_kind} -> {_kind}", np.minimum)
for _kind in ("u32", "i32"):
    _three = f"{_kind} {_kind} {_kind} -> {_kind}"
    _add(f"v_max3_{_kind}", _three, lambda a, b, c: np.maximum(np.maximum(a, b), c))
    _add(f"v_min3_{_kind}", _three, lambda a, b, c: np.minimum(np.minimum(a, b), c))
    _add(f"v_med3_{_kind}", _three, lambda a, b, c: np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c)))
_add("v_mul_u32_u24", "u32 u32 -> u32", lambda a, b: _low(a) * _low(b))
_add("v_mul_hi_u32_u24", "u32 u32 -> u32", lambda a, b: (_u64(_low(a)) * _u64(_low(b)) >> U64(32)).astype(U32))
_add("v_mul_i32_i24", "u32 u32 -> u32", lambda a, b: _to32(_signed24(a) * _signed24(b)))
_add("v_mul_hi_i32_i24", "u32 u32 -> u32", lambda a, b: _to32(_signed24(a) * _signed24(b) >> 32))
_add("v_mul_lo_u32", "u32 u32 -> u32", lambda a, b: a * b)
_add("v_mul_hi_u32", "u32 u32 -> u32", lambda a, b: (_u64(a) * _u64(b) >> U64(32)).astype(U32))
_add("v_mul_hi_i32", "i32 i32 -> u32", lambda a, b: _to32(_i64(a) * _i64(b) >> 32))
_add("v_mad_u32_u24", "u32 u32 u32 -> u32", lambda a, b, c: _low(a) * _low(b) + c)
_add("v_mad_i32_i24", "u32 u32 u32 -> u32", lambda a, b, c: _to32(_signed24(a) * _signed24(b) + _i64(c)))
_add("v_bfe_u32", "u32 u32 u32 -> u32", _bfe)
_add("v_bfe_i32", "u32 u32 u32 -> u32", _bfe_signed)
_add("v_bfi_b32", "u32 u32 u32 -> u32", lambda m, a, b: m & a | ~m & b)
_add("v_bfm_b32", "u32 u32 -> u32", lambda a, b: ((U32(1) << _shift(a, 32)) - U32(1)) << _shift(b, 32))
_add("v_bcnt_u32_b32", "u32 u32 -> u32", lambda a, b: _count(a) + b)
_add("v_mbcnt_lo_u32_b32", "u32 u32 -> u32", lambda m, a: _count(m & _BELOW[0]) + a)
_add("v_mbcnt_hi_u32_b32", "u32 u32 -> u32", lambda m, a: _count(m & _BELOW[1]) + a)
_add(
    "v_alignbit_b32", "u32 u32 u32 -> u32", lambda a, b, n: _to32((_u64(a) << U64(32) | _u64(b)) >> _u64(_shift(n, 32)))
)
_add(
    "v_alignbyte_b32",
    "u32 u32 u32 -> u32",
    lambda a, b, n: _to32((_u64(a) << U64(32) | _u64(b)) >> _u64(_shift(n, 4) * U32(8))),
)
_add("v_perm_b32", "u32 u32 u32 -> u32", _perm)
_add("v_sad_u8", "u32 u32 u32 -> u32", _sad(8))
_add("v_sad_u16", "u32 u32 u32 -> u32", _sad(16))
_add("v_sad_u32", "u32 u32 u32 -> u32", _sad(32))
_add(
    "v_lerp_u8",
    "u32 u32 u32 -> u32",
    lambda a, b, c: sum(
        ((a >> U32(k) & U32(255)) + (b >> U32(k) & U32(255)) + (c >> U32(k) & U32(1)) >> U32(1)) << U32(k)
        for k in (0, 8, 16, 24)
    ).astype(U32),
)  # type: ignore[attr-defined]
_BELOW = (
    np.array([(1 << min(int(n), 32)) - 1 for n in LANE], U32),
    np.array([(1 << max(int(n) - 32, 0)) - 1 for n in LANE], U32),
)
_SAME_SIGN = ("f16", "f32", "f64")
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_UNSIGNED_FLOAT = {"nlt": "lt", "neq": "eq", "nle": "le", "ngt": "gt", "nge": "ge"}


def _comparison(name: str, kind: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def nan(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.isnan(a) | np.isnan(b)

    if name in _COMPARE:
        return _COMPARE[name]
    if name in ("f", "t", "tru"):
        return lambda a, b: np.full(LANES, name != "f")
    if kind[0] != "f":
        if name == "ne":
            return lambda a, b: a != b
        raise NotStatedError(f"comparison {name} of {kind}")
    if name in _UNSIGNED_FLOAT:
        held = _COMPARE[_UNSIGNED_FLOAT[name]]
        return lambda a, b: ~held(a, b)
    others = {"lg": lambda a, b: (a < b) | (a > b), "nlg": lambda a, b: ~((a < b) | (a > b))}
    return others.get(name) or {"o": lambda a, b: ~nan(a, b), "u": nan}[name]


def _keep(w: Wave, kind: str, out: bool) -> bool:
    """Whether MODE keeps denormals of a kind, as sources or as results."""
    return bool(w.mode >> ((4 if kind == "f32" else 6) + out) & 1)


def _sources(w: Wave, reads: list, kinds: tuple[str, ...], how: str) -> list[np.ndarray]:
    found = []
    for read, kind in zip(reads, kinds, strict=True):
        value = read(w)
        if kind[0] == "f" and how != "bits":
            if (how == "zero" and kind == "f32") or not _keep(w, kind, out=False):
                value = numbers.flushed(value)
        found.append(value)
    return found


def _finished(w: Wave, value: np.ndarray, kind: str, how: str, line: Line) -> np.ndarray:
    """A float result with denormals, output modifier and clamp."""
    if w.mode & (3 if kind == "f32" else 12) and how != "bits":
        raise NotStatedError("a rounding mode other than to nearest")
    value = numbers.quiet(value)
    keeps = _keep(w, kind, out=True)
    if how == "zero" or (how == "mode" and not keeps):
        value = numbers.flushed(value)
    factor = float(line.modifiers["mul"]) if "mul" in line.modifiers else 0.5 if "div" in line.modifiers else 0.0
    if factor and not w.mode & _IEEE and not keeps:
        value = numbers.flushed((value * value.dtype.type(factor)).astype(value.dtype)) + value.dtype.type(0)
    if "clamp" in line.modifiers:
        nan = np.isnan(value)
        clamped = np.clip(value, 0, 1) + value.dtype.type(0)
        value = np.where(nan, value.dtype.type(0) if w.mode & _DX10 else value, clamped).astype(value.dtype)
    return value


def _ordinary(line: Line, row: Row) -> Step:
    kinds = row.sources
    if len(line.operands) != 1 + len(kinds):
        raise NotStatedError(f"{line.text}: {len(line.operands)} operands")
    if "clamp" in line.modifiers and row.result[0] != "f":
        raise NotStatedError(f"{line.text}: clamp")
    reads = [reader(line, 1 + k, kind, k) for k, kind in enumerate(kinds)]
    write = writer(line, 0, row.result)
    function, how, result, dtype = row.function, row.how, row.result, TYPES[row.result]
    if row.old:
        reads.append(reader(Line(0, 0, "", line.operands), 0, result, 2))
        kinds = (*kinds, result)

    def step(w: Wave) -> None:
        value = function(*_sources(w, reads, kinds, how))
        value = value.astype(dtype, copy=False)
        write(w, _finished(w, value, result, how, line) if result[0] == "f" else value)

    return step


def _extreme(line: Line) -> Step:
    """v_min, v_max, v_min3, v_max3, v_med3 of floats: on bits, by MODE's IEEE bit."""
    what, kind = line.name[2:].rsplit("_", 1)
    reads = [reader(line, 1 + k, kind, k) for k in range(len(line.operands) - 1)]
    write = writer(line, 0, kind)

    def step(w: Wave) -> None:
        values, ieee = [read(w) for read in reads], bool(w.mode & _IEEE)
        if what == "med3":
            value = middle(values[0], values[1], values[2], ieee)
        else:
            value = values[0]
            for other in values[1:]:
                value = larger(value, other, ieee, 1 if what.startswith("max") else -1)
        write(w, _finished(w, value, kind, "bits", line))

    return step


def _carry(line: Line) -> Step:
    """v_add_u32, v_sub_u32, v_subrev_u32 and those with a carry in."""
    name = line.name
    reads = [reader(line, 2 + k, "u32", k) for k in range(2)]
    if name.startswith("v_subrev") or name.startswith("v_subbrev"):
        reads.reverse()
    carry = mask_reader(line.operands[4]) if len(line.operands) > 4 else None
    write, write_mask = writer(line, 0, "u32"), mask_writer(line.operands[1])
    minus, clamp = "sub" in name, "clamp" in line.modifiers

    def step(w: Wave) -> None:
        a, b = (_i64(read(w)) for read in reads)
        more = carry(w).astype(np.int64) if carry else 0
        total = a - b - more if minus else a + b + more
        over = (total < 0) | (total > 0xFFFFFFFF)
        if clamp:
            total = np.clip(total, 0, 0xFFFFFFFF)
        write(w, _to32(total))
        write_mask(w, over)

    return step


def _compare(line: Line) -> Step:
    """v_cmp, v_cmpx and v_cmp_class."""
    extends = line.name.startswith("v_cmpx")
    what, kind = line.name.split("_", 2)[2].rsplit("_", 1)
    code = scalar_code(line.operands[0])
    kind_b = "u32" if what == "class" else kind
    a, b = reader(line, 1, kind, 0), reader(line, 2, kind_b, 1)
    write = mask_writer(line.operands[0])
    function = None if what == "class" else _comparison(what, kind)

    def step(w: Wave) -> None:
        if function is None:
            lanes = _class(a(w), b(w))
        else:
            lanes = function(*_sources(w, [a, b], (kind, kind), "mode"))
        write(w, lanes)
        if extends:
            w.set_exec(w.pair(code))

    return step


def _class(a: np.ndarray, which: np.ndarray) -> np.ndarray:
    """v_cmp_class: signalling, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    kind = numbers.kind_of(a)
    word = numbers.bits(a)
    size = np.dtype(word.dtype).type
    negative = word >> size(numbers.BITS[kind] - 1) != 0
    is_quiet = word >> size(numbers.MANTISSA[kind] - 1) & size(1) != 0
    small = numbers.exponent_field(a) == 0
    nan, infinite, zero = np.isnan(a), np.isinf(a), word << size(1) == 0
    place = np.where(zero, 5, np.where(small, 4, np.where(infinite, 2, 3)))
    place = np.where(negative, place, 11 - place)
    place = np.where(nan, np.where(is_quiet, 1, 0), place)
    return (which >> place.astype(U32) & U32(1)).astype(bool)


def _select(line: Line) -> Step:
    """v_cndmask_b32: bits, whose sign VOP3 may change."""
    reads = [reader(line, 1, "f32", 0), reader(line, 2, "f32", 1)]
    mask = mask_reader(line.operands[3] if len(line.operands) > 3 else "vcc")
    write = writer(line, 0, "u32")
    return lambda w: write(w, np.where(mask(w), reads[1](w).view(U32), reads[0](w).view(U32)))


def _division(line: Line) -> Step:
    kind = line.name.rsplit("_", 1)[1]
    scale = line.name.startswith("v_div_scale")
    reads = [reader(line, (2 if scale else 1) + k, kind, k) for k in range(3)]
    write = writer(line, 0, kind)
    if scale:
        write_mask = mask_writer(line.operands[1])

        def scaled(w: Wave) -> None:
            value, flag = div_scale(*(read(w) for read in reads))
            write(w, _finished(w, value, kind, "bits", line))
            write_mask(w, flag)

        return scaled

    def joined(w: Wave) -> None:
        a, b, c = _sources(w, reads, (kind,) * 3, "mode")
        write(w, _finished(w, div_fmas(a, b, c, lanes_of(w.pair(VCC))), kind, "mode", line))

    return joined


def _wide(line: Line) -> Step:
    """v_mad_u64_u32 and v_mad_i64_i32."""
    kind = "u32" if "u64" in line.name else "i32"
    reads = [reader(line, 2, kind, 0), reader(line, 3, kind, 1), reader(line, 4, kind[0] + "64", 2)]
    write, write_mask = writer(line, 0, kind[0] + "64"), mask_writer(line.operands[1])
    clamp = "clamp" in line.modifiers

    def step(w: Wave) -> None:
        a, b, c = (read(w).tolist() for read in reads)
        totals = [x * y + z for x, y, z in zip(a, b, c, strict=True)]
        low, high = (0, (1 << 64) - 1) if kind == "u32" else (-(1 << 63), (1 << 63) - 1)
        carry = np.array([bool(t >> 64 & 1) for t in totals])  # bit 64 of the sum
        if clamp:
            totals = [min(max(t, low), high) for t in totals]
        write(w, np.array([t & (1 << 64) - 1 for t in totals], np.uint64))
        write_mask(w, carry)

    return step


def _first_lane(w: Wave) -> int:
    lanes = np.flatnonzero(w.active)
    return int(lanes[0]) if len(lanes) else 0


def _read_lane(line: Line) -> Step:
    """v_readfirstlane_b32, v_readlane_b32."""
    v, code = vector_number(line.operands[1]), scalar_code(line.operands[0])
    if v is None:
        raise NotStatedError(line.text)
    if line.name == "v_readfirstlane_b32":
        return lambda w: w.set_scalar(code, int(w.v[v, _first_lane(w)]))
    lane = scalar_reader(line.operands[2])
    return lambda w: w.set_scalar(code, int(w.v[v, lane(w) & 63]))


def _write_lane(line: Line) -> Step:
    v = vector_number(line.operands[0])
    value, lane = scalar_reader(line.operands[1]), scalar_reader(line.operands[2])

    def step(w: Wave) -> None:
        w.v[v, lane(w) & 63] = value(w)

    return step


def _moved(line: Line) -> Step:
    """v_movreld_b32, v_movrels_b32: a register by M0."""
    to, source = vector_number(line.operands[0]), vector_number(line.operands[1])
    if line.name == "v_movreld_b32":
        read = reader(line, 1, "u32", 0)
        return lambda w: np.copyto(w.v[to + w.s[124]], read(w), where=w.active)
    return lambda w: np.copyto(w.v[to], w.v[source + w.s[124]], where=w.active)


def step_of(line: Line) -> Step | None:
    """What a vector instruction does; None for another one. NotStatedError for one that is not known."""
    name = line.name
    if not name.startswith("v_"):
        return None
    if name in TABLE:
        return _ordinary(line, TABLE[name])
    stem, _, kind = name[2:].rpartition("_")
    if stem in ("min", "max", "min3", "max3", "med3") and kind in ("f16", "f32", "f64"):
        return _extreme(line)
    if name in ("v_add_u32", "v_sub_u32", "v_subrev_u32", "v_addc_u32", "v_subb_u32", "v_subbrev_u32"):
        return _carry(line)
    if name.startswith("v_cmp"):
        return _compare(line)
    if name == "v_cndmask_b32":
        return _select(line)
    if name.startswith(("v_div_scale", "v_div_fmas")):
        return _division(line)
    if name in ("v_mad_u64_u32", "v_mad_i64_i32"):
        return _wide(line)
    if name in ("v_readfirstlane_b32", "v_readlane_b32"):
        return _read_lane(line)
    if name == "v_writelane_b32":
        return _write_lane(line)
    if name in ("v_movreld_b32", "v_movrels_b32"):
        return _moved(line)
    if name == "v_nop":
        return lambda w: None
    raise NotStatedError(f"{line.text}: not stated")
