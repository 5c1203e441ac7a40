"""Runs lane operations on edge and random values and compares every lane with a plain Python definition.

A reference takes the bits of one lane's operands as integers (a mask as a bool), in the order of the operation's
signature, and returns the bits of its results.
"""

import struct
from contextlib import contextmanager
from fractions import Fraction
from math import inf, isnan

import numpy as np

from isa.lanes import call_from_python, library, python_library

LANES = 64
ROWS = 40
KEEP_MODE, FLUSH_MODE = 0xF0, 0xC0  # MODE: FP32 denormals kept, flushed
EXEC_MASKS = (-1, -1, 0, 0x5555_0000_FFFF_1234, -(1 << 63) + 1, -1)
FORMATS = {"f16": (10, -14), "f32": (23, -126), "f64": (52, -1022)}  # mantissa bits, least exponent
STRUCT = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}

_FLOAT_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, inf, -inf, 255.5, 65504.0, 65520.0, 1e-5, -1e-7)
_FLOAT_EDGES += (2147483648.0, -2147483648.0, 4294967296.0, 3e38, 1e-38, 1e-40, -1e-40, 256.0, 0.25)
_BIT_EDGES = {
    16: (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x7C00, 0x7C01, 0x7E00, 0xFC00, 0x03FF, 0x0400, 0x3BFF, 15, 16, 17),
    32: (0, 1, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7F800001, 0x7FC00000, 0x7F7FFFFF)
    + (0x00800000, 0x007FFFFF, 0x807FFFFF, 0xFFFFFF, 0x800000, 0xFFFF, 0x10000, 0x3F7FFFFF, 0x0C0D0908),
    64: (
        0,
        1,
        1 << 63,
        (1 << 63) - 1,
        (1 << 64) - 1,
        1 << 32,
        0x7FF0 << 48,
        0x7FF8 << 48,
        (0x7FF0 << 48) + 1,
        0xFFF0 << 48,
    )
    + ((1 << 52) - 1, 1 << 52, (0x7FF0 << 48) - 1, 0xFFFFFFFF),
}


def to_float(bits, kind):
    """A float's bits as a Python float."""
    return struct.unpack(STRUCT[kind][1], struct.pack(STRUCT[kind][0], bits))[0]


def infinity(kind):
    return {"f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF << 52}[kind]


def sign_bit(kind):
    return 1 << (int(kind[1:]) - 1)


def round_bits(exact, kind):
    """A non-zero rational rounded to nearest even, as bits; overflow gives infinity."""
    mantissa, least = FORMATS[kind]
    sign = sign_bit(kind) if exact < 0 else 0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, least)
    steps = round(size / Fraction(2) ** (exponent - mantissa))
    return sign | min(((exponent - least) << mantissa) + steps, infinity(kind))


def from_float(value, kind):
    """A Python float rounded once to a kind, as bits; NaN as the quiet pattern."""
    if isnan(value):
        return infinity(kind) | infinity(kind) >> 1
    if value in (inf, -inf):
        return infinity(kind) | (sign_bit(kind) if value < 0 else 0)
    if value == 0:
        return sign_bit(kind) if str(value)[0] == "-" else 0
    return round_bits(Fraction(value), kind)


def arithmetic(function, kind):
    """Reference of a rational function rounded once; specials and zeros as IEEE floats do them."""

    def reference(*bits):
        values = [to_float(b, kind) for b in bits]
        if all(abs(v) < inf for v in values):
            exact = function(*map(Fraction, values))
            if exact != 0:
                return round_bits(exact, kind)
        return from_float(function(*values), kind)

    return reference


def flushed(bits, kind):
    """FP32 denormals as zeros."""
    return bits & 0x80000000 if kind == "f32" and bits & 0x7F800000 == 0 else bits


def sample(rng, kind):
    """64 lanes of a kind: edges, random bits, random numbers."""
    width = 1 if kind == "b" else int(kind[1:])
    if kind == "b":
        return [bool(v) for v in rng.integers(0, 2, LANES)]
    edges = list(_BIT_EDGES[width])
    if kind[0] == "f":
        with np.errstate(over="ignore"):
            edges += [int(np.array(v, f"f{width // 8}").view(f"u{width // 8}")) for v in _FLOAT_EDGES]
            normal = (rng.normal(size=LANES) * 10.0 ** rng.integers(-3, 4, LANES)).astype(f"f{width // 8}")
        numbers = normal.view(f"u{width // 8}").tolist()
    else:
        numbers = rng.integers(0, 70, LANES).tolist()
    noise = [int(v) & ((1 << width) - 1) for v in rng.integers(0, 1 << 63, LANES, dtype=np.uint64) * np.uint64(3)]
    choice = rng.integers(0, 4, LANES)
    picked = rng.integers(0, len(edges), LANES)
    return [
        edges[p] if c < 2 else (n if c == 2 else r) for c, p, n, r in zip(choice, picked, noise, numbers, strict=True)
    ]


class Bench:
    """Register rows and calls into a library."""

    def __init__(self, lib):
        self.lib = lib
        self.buffer = np.zeros(LANES * (ROWS + 1), np.uint32)
        skip = -self.buffer.ctypes.data % 256 // 4
        self.rows = self.buffer[skip : skip + LANES * ROWS].reshape(ROWS, LANES)
        self.scc = np.zeros(1, np.int64)

    def address(self, row):
        return self.rows.ctypes.data + 256 * row

    def put(self, row, kind, bits):
        """Store lanes; the unused upper half of 16-bit ones holds rubbish."""
        if kind[1:] == "16":
            bits = [b | 0xABCD0000 for b in bits]
        for i in range(2 if kind[1:] == "64" else 1):
            self.rows[row + i] = [b >> (32 * i) & 0xFFFFFFFF for b in bits]

    def get(self, row, kind):
        low = self.rows[row].tolist()
        if kind[1:] != "64":
            return low
        return [word | above << 32 for word, above in zip(low, self.rows[row + 1].tolist(), strict=True)]

    def call(self, name, d, a=0, b=0, c=0, exec_mask=-1, mask_in=0, mode=KEEP_MODE):
        """Call on row numbers under a MODE."""
        destination = self.address(d)
        if self.lib.mode_with_destination(name):
            destination |= mode & 0xFF
        elif not self.lib.signature(name).reads_mask:
            mask_in = mode
        with self.host_mode(mode):
            return self.call_raw(name, destination, *map(self.address, (a, b, c)), exec_mask, mask_in)

    @contextmanager
    def host_mode(self, mode):
        """The host's floating-point mode set from MODE, restored afterwards."""
        host = self.call_raw("set_host_float_mode", mode, 0, 0, 0, 0, 0)
        try:
            yield
        finally:
            self.call_raw("restore_host_float_mode", host, 0, 0, 0, 0, 0)

    def call_raw(self, name, *arguments):
        return call_from_python(self.lib.address(name), *arguments)

    def scalar(self, name, a, b=0, old_d=0, scc=0):
        """Result as unsigned and SCC."""
        signed = [v - (1 << 64) if v >> 63 else v for v in (a, b, old_d)]
        self.scc[0] = 7
        result = call_from_python(self.lib.address(name), *signed, scc, self.scc.ctypes.data)
        return result & ((1 << 64) - 1), int(self.scc[0])


def benches():
    """One bench for each back end."""
    libs = [library(), python_library()]
    return [Bench(lib) for lib in ({id(lib): lib for lib in libs}).values()]


def same(got, wanted, kind, ulps=0):
    """Equal bits, or both NaN, or floats of one sign within some units in the last place."""
    if kind[0] != "f":
        return got == wanted
    size = sign_bit(kind) - 1
    if wanted & size > infinity(kind):
        return got & size > infinity(kind)
    return got == wanted or (ulps > 0 and abs(got - wanted) <= ulps)


def lanes_of(mask):
    return [bool(mask >> i & 1) for i in range(LANES)]


def check(name, reference, flush="never", ulps=0, trials=len(EXEC_MASKS), kinds=None):
    """Compare an operation in both back ends with its reference.

    flush: 'mode' where FP32 denormals follow MODE, 'always', 'never'; kinds: other sampling kinds for the sources.
    """
    for number, bench in enumerate(benches()):
        signature = bench.lib.signature(name)
        rng = np.random.default_rng(list(name.encode()))
        for trial in range(trials):
            mode = FLUSH_MODE if trial % 2 else KEEP_MODE
            live_mask = EXEC_MASKS[trial]
            _trial(bench, name, signature, reference, rng, live_mask, mode, flush, ulps, kinds, (number, trial))


def _trial(bench, name, signature, reference, rng, live_mask, mode, flush, ulps, kinds, where):
    flushing = flush == "always" or (flush == "mode" and mode == FLUSH_MODE)
    operands, arguments, mask_in = [], [], 0
    sampling = iter(kinds or [])
    destination = signature.destination
    dwords = signature.destination_dwords
    old_kind = f"u{32 * dwords}" if dwords in (1, 2) else "u32"
    row, alias = 8, int(rng.integers(0, 3))
    old = sample(rng, old_kind)
    bench.put(0, old_kind, old)
    for token in signature.operands:
        if token == "mask":
            lanes = sample(rng, "b")
            mask_in = sum(1 << i for i, v in enumerate(lanes) if v)
            mask_in -= (mask_in >> 63) << 64
        elif token == "mode":
            lanes = [mode] * LANES
        elif token.startswith("old:"):
            lanes = [v & ((1 << int(token[5:])) - 1) for v in old]
        else:
            lanes = sample(rng, next(sampling, token))
            # every third trial the destination is this source
            place = 0 if alias == len(arguments) and signature.source_dwords[alias] == dwords and dwords else row
            if place == 0 and not any(t.startswith("old:") for t in signature.operands):
                bench.put(0, token, lanes)
                old = bench.get(0, old_kind)
            else:
                place = row
                bench.put(row, token, lanes)
            arguments.append(place)
            row += 4
        kind = token.removeprefix("old:")
        if token != "mode":
            operands.append([flushed(v, kind) for v in lanes] if flushing else lanes)
    got_mask = bench.call(name, 0, *(arguments + [0, 0, 0])[:3], live_mask, mask_in, mode)
    got = bench.get(0, old_kind) if destination else [0] * LANES
    for lane, live in enumerate(lanes_of(live_mask)):
        values = [o[lane] for o in operands]
        context = f"{name} back end {where[0]} trial {where[1]} lane {lane} of {[hex(v) for v in values]}"
        if not live:
            assert got[lane] == old[lane] or not destination, context
            assert not got_mask >> lane & 1, context
            continue
        wanted = reference(*values)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for token, value in zip(signature.results, wanted, strict=True):
            if token == "mask":
                assert (got_mask >> lane & 1) == int(value), context
            else:
                value = flushed(value, token) if flushing else value
                assert same(got[lane], value, token, ulps), f"{context}: {got[lane]:#x}, not {value:#x}"
