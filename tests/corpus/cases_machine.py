"""Cases: what the machine itself offers: arithmetic of every width, private memory, calls, places, lanes."""

from typing import Any

import numpy as np

from tests.corpus.case import EXACT, HALF_ULP, Call, Close, case, floats, line, zeros

Rng = np.random.Generator


@case("arithmetic", 4, 100, speed=1 << 14)
def long_integers(rng: Rng, n: int) -> Call:
    a, b = (rng.integers(0, 1 << 64, n, np.uint64) >> rng.integers(0, 60, n).astype(np.uint64) for _ in range(2))
    a, b = a | 1, b | 1
    a[0], b[0] = 1 << 63, 7
    x, y = a.view(np.int64), b.view(np.int64)
    sign = np.sign(x) * np.sign(y)
    absolute = np.where(x < 0, np.uint64(0) - a, a), np.where(y < 0, np.uint64(0) - b, b)
    quotient = (absolute[0] // absolute[1]).view(np.int64) * sign
    rows = [
        a * b,
        a // b,
        a % b,
        quotient.view(np.uint64),
        (x - quotient * y).view(np.uint64),
        a << (b & np.uint64(63)),
    ]
    rows += [(x >> (y & 63)).view(np.uint64), (a > b).astype(np.uint64) + np.uint64(2) * (x > y)]
    buffers = {"a": a, "b": b, "out": zeros(8, n, dtype=np.uint64)}
    return Call(buffers, ("a", "b", "out", n), **line(n, 64), expected={"out": np.stack(rows)})


@case("arithmetic", 4, 100, speed=1 << 15)
def integers(rng: Rng, n: int) -> Call:
    a, b = (rng.integers(-(1 << 31), 1 << 31, n) >> rng.integers(0, 30, n) for _ in range(2))
    b = np.where(b == 0, 5, b)
    a[0], b[0] = -(1 << 31), 3
    u, v = a & 0xFFFFFFFF, b & 0xFFFFFFFF
    bits = [f"{k:032b}" for k in u]
    counts = [s.count("1") for s in bits]
    leading = [32 - int(k | 1).bit_length() for k in u]
    trailing = [(int(k | 1 << 31) & -int(k | 1 << 31)).bit_length() - 1 for k in u]
    shift = v & 31
    quotient = np.trunc(a / b).astype(np.int64)

    def narrow(x: np.ndarray, width: int) -> np.ndarray:
        return (x + (1 << width - 1) & (1 << width) - 1) - (1 << width - 1)

    rows = [
        quotient,
        a - quotient * b,
        a * b >> 32,
        (u.astype(np.uint64) * v.astype(np.uint64) >> np.uint64(32)).astype(np.int64),
    ]
    rows += [np.array(counts) | np.array(leading) << 8 | np.array(trailing) << 16, u << shift | u >> (-v & 31)]
    rows += [narrow(a, 16) * narrow(b, 16) + narrow(a >> 3, 8) - (b & 255), u // 10 ^ np.trunc(b / 7).astype(np.int64)]
    rows += [np.maximum(a, b) - np.minimum(a, 100) + np.abs(a), (a >> 5 & 0x3FF) | (b & 0x3FF) << 10]
    swapped = v.astype(np.uint32).byteswap().astype(np.int64)
    rows += [np.array([int(s[::-1], 2) for s in bits]) ^ swapped]
    a, b = a.astype(np.int32), b.astype(np.int32)
    buffers = {"a": a, "b": b, "out": zeros(11, n, dtype=np.int32)}
    expected = np.stack(rows).astype(np.uint32).view(np.int32)
    return Call(buffers, ("a", "b", "out", n), **line(n, 64), expected={"out": expected})


@case("arithmetic", 4, 100, speed=1 << 15)
def single_floats(rng: Rng, n: int) -> Call:
    f = np.float32
    x, y = floats(rng, n) * f(100), floats(rng, n) * f(30) + f(0.01)
    x[:3], y[:3] = [0.0, 2.5, -3.5], [1.0, 2.5, 0.5]
    lane = np.arange(n)
    rows = [x / y, np.sqrt(np.abs(x)), np.floor(x) + np.ceil(y), np.trunc(x) - np.rint(y), np.clip(x, -1, 1) * -y]
    rows += [f(x.astype(np.float64) * y - x), (x * f(0.01)).astype(np.float16), np.ldexp(x, lane % 20 - 10)]
    compared = np.select([x < y, x == y], [1, 2], 4)
    whole = [x.astype(np.int32), np.abs(y).astype(np.int32), compared, np.abs(x).astype(np.int32) & 255]
    buffers = {"a": x, "b": y, "out": zeros(8, n), "whole": zeros(4, n, dtype=np.int32)}
    expected = {"out": np.stack(rows), "whole": np.stack(whole)}
    # OpenCL allows 2.5 ulp for single-precision division and 3 for the root
    close = Close("division and root within 3 ulp, the others are exact", absolute=0, relative=6 * HALF_ULP)
    return Call(buffers, ("a", "b", "out", "whole", n), **line(n, 64), expected=expected, close=close)


@case("arithmetic", 4, 100, speed=1 << 14)
def doubles(rng: Rng, n: int) -> Call:
    x, y = rng.standard_normal(n) * 1000, rng.standard_normal(n) * 10 + 0.001
    x[:2], y[:2] = [2.5, -0.0], [1e-200, 3.0]
    product = np.array([_fused(p, q, -p) for p, q in zip(x.tolist(), y.tolist(), strict=True)])
    rows = [x / y, np.sqrt(np.abs(x)), np.floor(x) + np.ceil(y), product - np.rint(x)]
    rows += [x.astype(np.float32).astype(np.float64) + np.trunc(y), np.fmax(x, y) - np.fmin(x, 0.5)]
    rows += [np.trunc(x * 1048576)]
    whole = [np.trunc(x * 1e6).astype(np.int64), np.where(x < y, np.abs(y).astype(np.int64), -1)]
    buffers = {"a": x, "b": y, "out": zeros(7, n, dtype=np.float64), "whole": zeros(2, n, dtype=np.int64)}
    expected = {"out": np.stack(rows), "whole": np.stack(whole)}
    return Call(buffers, ("a", "b", "out", "whole", n), **line(n, 64), expected=expected, close=EXACT)


def _fused(a: float, b: float, c: float) -> float:
    from fractions import Fraction

    return float(Fraction(a) * Fraction(b) + Fraction(c))


@case("arithmetic", 4, 100, speed=1 << 16)
def halves(rng: Rng, n: int) -> Call:
    x, y = (rng.standard_normal(n).astype(np.float16) for _ in range(2))
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    rows = [
        wide_x + wide_y,
        wide_x * wide_y - 1,
        np.where(x > y, wide_x, -wide_y),
        np.trunc((wide_x * 8).astype(np.float16)),
    ]
    rows += [wide_x / wide_y]
    buffers = {"a": x, "b": y, "out": zeros(5, n, dtype=np.float16)}
    expected = {"out": np.stack(rows).astype(np.float16)}
    close = Close("x y - 1 may be fused or not; the quotient is rounded twice", absolute=2.0**-10, relative=2.0**-10)
    return Call(buffers, ("a", "b", "out", n), **line(n, 64), expected=expected, close=close)


@case("scratch", 1, 130, speed=1 << 13)
def spilling(rng: Rng, n: int) -> Call:
    x = floats(rng, 32, n) * np.float32(0.5)
    v, error = list(x.astype(np.float64)), [np.zeros(n)] * 32
    for round_ in range(4):
        for k in range(32):
            a, b, c = v[k], v[(k + 7) & 31], v[(k + 13 + round_) & 31]
            ea, eb, ec = error[k], error[(k + 7) & 31], error[(k + 13 + round_) & 31]
            v[k] = a * b + c
            error[k] = np.abs(a) * eb + np.abs(b) * ea + ec + ea * eb + 2 * HALF_ULP * (np.abs(a * b) + np.abs(c))
    close = Close("propagated bound of two roundings an update", absolute=np.stack(error) * 1.01)
    buffers = {"in": x, "out": zeros(32, n)}
    return Call(buffers, ("in", "out", n), **line(n, 64), expected={"out": np.stack(v)}, close=close)


@case("scratch", 1, 70, speed=1024)
def private_sort(rng: Rng, n: int) -> Call:
    x = rng.integers(-50, 1 << 20, (n, 24)).astype(np.int32)
    buffers = {"in": x, "out": zeros(n, 24, dtype=np.int32)}
    return Call(buffers, ("in", "out", n), **line(n, 64), expected={"out": np.sort(x, 1)})


def _structure(given: list[int]) -> float:
    data, shorts = list(given), [v * 7 - 900 for v in given]
    wide, total = [0.5 * k for k in range(8)], 0.0
    for k in range(8):
        at = given[k] & 7
        wide[at] += shorts[(at + k) & 7]
        data[at] ^= k
        total += wide[data[k] & 7] * data[at]
    return total


@case("scratch", 1, 70, speed=4096)
def private_structure(rng: Rng, n: int) -> Call:
    x = rng.integers(0, 256, (n, 8)).astype(np.uint8)
    expected = np.array([_structure(row) for row in x.tolist()])
    return Call(
        {"in": x, "out": zeros(n, dtype=np.float64)}, ("in", "out", n), **line(n, 64), expected={"out": expected}
    )


def _mix(a: Any, b: Any) -> Any:
    return ((a ^ b) * 0x9E3779B1 + (a >> 7)) & 0xFFFFFFFF


@case("scratch", 1, 70, speed=4096)
def calls(rng: Rng, n: int) -> Call:
    x = rng.integers(0, 1 << 32, n)
    expected = []
    for i in range(n):
        r = 1
        for k in range(1 + i % 10):
            r = _mix(r, int(x[(i + k * k) % n]))
        expected.append(_mix(r, i))
    buffers = {"in": x.astype(np.uint32), "out": zeros(n, dtype=np.uint32)}
    return Call(buffers, ("in", "out", n), **line(n, 64), expected={"out": np.array(expected, np.uint32)})


@case(
    "places",
    ((8, 6, 4), (4, 3, 2)),
    ((10, 7, 3), (4, 3, 2)),
    ((70, 1, 1), (33, 1, 1)),
    speed=((256, 64, 4), (64, 1, 1)),
)
def places(rng: Rng, size: Any) -> Call:
    """The size of a work-group is what the launch says, even in a partial one at the grid's end."""
    grid, local = size
    z, y, x = np.meshgrid(*(np.arange(k) for k in reversed(grid)), indexing="ij")
    linear = x % local[0] + local[0] * (y % local[1] + local[1] * (z % local[2]))
    group = x // local[0] | y // local[1] << 8 | z // local[2] << 16
    sizes = np.full_like(x, local[0] | local[1] << 8 | local[2] << 16)
    expected = np.stack([linear, group, sizes, np.full_like(x, grid[0])], -1).astype(np.uint32)
    buffers = {"out": zeros(*expected.shape, dtype=np.uint32)}
    return Call(buffers, ("out", grid[0], grid[1]), grid, local, expected={"out": expected})


# struct settings as clang lays it out: float2 is aligned to 8 bytes
SETTINGS = np.dtype(
    {
        "names": ["low", "step", "factor", "offset"],
        "formats": ["i1", "i2", "2f4", "i8"],
        "offsets": [0, 2, 8, 16],
        "itemsize": 24,
    }
)


@case("places", 1, 3, speed=512)
def arguments(rng: Rng, count: int) -> Call:
    n = 96 * count
    block = np.zeros((), SETTINGS)
    block["low"], block["step"], block["factor"], block["offset"] = -5, -300, (0.5, 0.25), -(1 << 33)
    four = np.array([1, 2, 3, 4], np.float32)
    x = np.arange(n)
    other = (x // 96 * 96 + 95 - x % 96) * 0.5 + 0.25
    f = np.float32
    expected = f(f(f(f(f(other) + f(1)) - f(-1200)) + f(-5 + 200)) + f(-(1 << 33))) + f(0.125)
    given = ("out", block[()], np.void(four.tobytes()), 0, 200, np.float64(0.125))
    grid = {"global_size": (n, 1, 1), "local_size": (96, 1, 1)}
    close = Close("order of the sum, one term is 2^33", absolute=4096)
    return Call({"out": zeros(n)}, given, **grid, expected={"out": expected}, close=close, dynamic_lds_bytes=4 * 96)


@case("places", 1, speed=1)
def generic_pointers(rng: Rng, _: int) -> Call:
    v = floats(rng, 64)
    x = np.arange(64)
    private = v[(x + (x & 3)) & 63] * np.float32(2)
    expected = np.select([x % 3 == 0, x % 3 == 1], [private, v[x & 3] + np.float32(100)], v[x & 3])
    buffers = {"v": v, "out": zeros(64)}
    return Call(buffers, ("v", "out"), (64, 1, 1), (64, 1, 1), expected={"out": expected})


@case("places", 64, 150, speed=1 << 16)
def lanes(rng: Rng, n: int) -> Call:
    v = rng.integers(-100, 100, n).astype(np.int32)
    whole = np.zeros(-(-n // 64) * 64, np.int32)
    whole[:n] = v
    waves = whole.reshape(-1, 64)
    negative = (waves < 0) & (np.arange(whole.size).reshape(-1, 64) < n)
    before = np.cumsum(negative, 1) - negative
    first = np.repeat(waves[:, :1], 64, 1)
    moved = np.where(np.arange(64) % 16 == 0, 0, np.roll(waves, 1, 1))
    swapped = waves[:, np.arange(64) ^ 1]
    expected = np.stack([k.reshape(-1)[:n] for k in (before, first, moved, swapped)]).astype(np.int32)
    buffers = {"in": v, "out": zeros(4, n, dtype=np.int32)}
    return Call(buffers, ("in", "out", n), **line(n, 64), expected={"out": expected})
