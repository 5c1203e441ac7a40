"""Cases: signals, bodies, graphs, ciphers, divergence."""

from typing import Any

import numpy as np

from tests.corpus.case import HALF_ULP, Call, Close, case, covering, floats, groups, line, sum_error, zeros

Rng = np.random.Generator
UNREACHED = 0xFFFFFFFF


def _complex(rng: Rng, *shape: int) -> np.ndarray:
    return (floats(rng, *shape) + 1j * floats(rng, *shape)).astype(np.complex64)


@case("signal", (64, 1), (64, 8), (1024, 128), speed=(1 << 17, 256))
def fft_pass(rng: Rng, setting: Any) -> Call:
    """One pass of a Stockham transform: after it, blocks of twice the span are transformed."""
    n, span = setting
    x = _complex(rng, n)
    half = x.astype(np.complex128).reshape(2, n // 2 // span, span)
    turned = half[1] * np.exp(-2j * np.pi * np.arange(span) / (2 * span))
    expected = np.stack([half[0] + turned, half[0] - turned], 1).reshape(n)
    close = Close("native sine and cosine, six roundings", absolute=4e-6)
    buffers = {"in": x, "out": zeros(n, dtype=np.complex64)}
    return Call(buffers, ("in", "out", n // 2, span), **line(n // 2, 64), expected={"out": expected}, close=close)


@case("signal", 1, 3, speed=128)
def fft_256(rng: Rng, count: int) -> Call:
    x = _complex(rng, count, 256)
    expected = np.fft.fft(x.astype(np.complex128), axis=1)
    close = Close("four passes over values up to 60", absolute=1e-4)
    buffers = {"in": x, "out": zeros(count, 256, dtype=np.complex64)}
    return Call(buffers, ("in", "out"), **groups(count, 64), expected={"out": expected}, close=close)


@case("signal", (1, 1), (100, 7), (515, 33), speed=(1 << 15, 64))
def fir(rng: Rng, setting: Any) -> Call:
    n, count = setting
    x, taps = floats(rng, n), floats(rng, count)
    expected = np.convolve(x.astype(np.float64), taps)[:n]
    bound = sum_error(count, np.convolve(np.abs(x), np.abs(taps))[:n])
    buffers = {"in": x, "taps": taps, "out": zeros(n)}
    close = Close("roundings of products and sums", absolute=bound)
    return Call(buffers, ("in", "taps", "out", n, count), **line(n, 64), expected={"out": expected}, close=close)


@case("signal", (16, 16), (3, 3), (37, 21), speed=(512, 512))
def stencil_5(rng: Rng, size: Any) -> Call:
    height, width = size
    x = floats(rng, height, width)
    expected = x.astype(np.float64)
    around = expected[1:-1, :-2] + expected[1:-1, 2:] + expected[:-2, 1:-1] + expected[2:, 1:-1]
    expected = expected.copy()
    expected[1:-1, 1:-1] = 0.5 * expected[1:-1, 1:-1] + 0.125 * around
    return Call(
        {"in": x, "out": zeros(height, width)},
        ("in", "out", width, height, np.float32(0.5), np.float32(0.125)),
        (width, height, 1),
        (16, 4, 1),
        expected={"out": expected},
        close=Close("five roundings of sums below 16", absolute=16 * 5 * HALF_ULP),
    )


@case("signal", (16, 16), (1, 1), (37, 50), speed=(256, 256))
def stencil_box(rng: Rng, size: Any) -> Call:
    height, width = size
    x = floats(rng, height, width)
    padded = np.pad(x.astype(np.float64), 1)
    expected = sum(padded[dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3)) / 9
    close = Close("ten roundings of sums below 32", absolute=32 * 10 * HALF_ULP)
    grid = covering(width, height, 16, 16)
    buffers = {"in": x, "out": zeros(height, width)}
    return Call(buffers, ("in", "out", width, height), **grid, expected={"out": expected}, close=close)


@case("bodies", 1, 64, 150, speed=512)
def nbody(rng: Rng, n: int) -> Call:
    bodies = floats(rng, n, 4)
    bodies[:, 3] = np.abs(bodies[:, 3])
    wide = bodies.astype(np.float64)
    d = wide[None, :, :3] - wide[:, None, :3]
    weights = wide[None, :, 3] / ((d**2).sum(2) + 0.01) ** 1.5
    expected = np.zeros((n, 4))
    expected[:, :3] = (d * weights[:, :, None]).sum(1)
    bound = (np.abs(d) * weights[:, :, None]).sum(1).max() * (n + 20) * HALF_ULP
    return Call(
        {"b": bodies, "a": zeros(n, 4)},
        ("b", "a", n, np.float32(0.01)),
        **groups(-(-n // 64), 64),
        expected={"a": expected},
        close=Close("native root cubed, sum of n terms", absolute=bound),
    )


def _points(rng: Rng, size: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, clusters, dimensions = size
    centres = (rng.permutation(clusters * dimensions).reshape(clusters, dimensions) * 10).astype(np.float32)
    nearest = rng.integers(0, clusters, n).astype(np.uint32)
    points = (centres[nearest] + floats(rng, n, dimensions)).astype(np.float32)
    distances = ((points[:, None, :].astype(np.float64) - centres[None]) ** 2).sum(2)
    return points.T.copy(), centres, distances.argmin(1).astype(np.uint32)


@case("bodies", (1, 1, 1), (200, 5, 3), speed=(1 << 14, 8, 4))
def kmeans_assign(rng: Rng, size: Any) -> Call:
    n, clusters, dimensions = size
    points, centres, nearest = _points(rng, size)
    buffers = {"p": points, "c": centres, "near": zeros(n, dtype=np.uint32)}
    arguments = ("p", "c", "near", n, clusters, dimensions)
    return Call(buffers, arguments, **line(n, 64), expected={"near": nearest})


@case("bodies", (1, 1, 1), (150, 5, 3), speed=(2048, 16, 4))
def kmeans_accumulate(rng: Rng, size: Any) -> Call:
    n, clusters, dimensions = size
    points, _, nearest = _points(rng, size)
    points = np.rint(points)  # sums of whole numbers are exact in any order
    sums = np.zeros((clusters, dimensions))
    np.add.at(sums, nearest, points.T.astype(np.float64))
    counts = np.bincount(nearest, minlength=clusters)
    buffers = {"p": points, "near": nearest, "sums": zeros(clusters, dimensions), "n": zeros(clusters, dtype=np.uint32)}
    expected = {"sums": sums, "n": counts}
    return Call(buffers, ("p", "near", "sums", "n", n, dimensions), **line(n, 64), expected=expected)


def _graph(rng: Rng, n: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts of the rows and the columns of a random sparse matrix, some rows empty."""
    lengths = rng.integers(0, 2 * degree + 1, n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    return starts, rng.integers(0, n, max(1, int(starts[-1]))).astype(np.uint32)


def _sparse_product(rng: Rng, n: int, grid: Any, with_rows: bool) -> Call:
    starts, columns = _graph(rng, n, 20)
    values, x = floats(rng, columns.size), floats(rng, n)
    terms = values.astype(np.float64) * x[columns]
    row = np.repeat(np.arange(n), np.diff(starts.astype(np.int64)))
    used = terms[: starts[-1]]
    expected, bound = np.bincount(row, used, n), np.bincount(row, np.abs(used), n)
    buffers = {"s": starts, "c": columns, "v": values, "x": x, "y": np.full(n, 9, np.float32)}
    close = Close("roundings of products and sums", absolute=sum_error(50, bound))
    arguments = ("s", "c", "v", "x", "y") + ((n,) if with_rows else ())
    return Call(buffers, arguments, **grid, expected={"y": expected}, close=close)


@case("graph", 1, 64, 333, speed=4096)
def spmv_rows(rng: Rng, n: int) -> Call:
    return _sparse_product(rng, n, line(n, 64), True)


@case("graph", 1, 70, speed=2048)
def spmv_wavefront(rng: Rng, n: int) -> Call:
    return _sparse_product(rng, n, groups(n, 64), False)


@case("graph", 1, 200, speed=8192)
def pagerank_step(rng: Rng, n: int) -> Call:
    starts, sources = _graph(rng, n, 6)
    degrees, rank = rng.integers(1, 30, n).astype(np.uint32), rng.random(n).astype(np.float32) / n
    page = np.repeat(np.arange(n), np.diff(starts.astype(np.int64)))
    terms = (rank.astype(np.float64) / degrees)[sources][: starts[-1]]
    expected = (1 - np.float64(np.float32(0.85))) / n + np.float64(np.float32(0.85)) * np.bincount(page, terms, n)
    buffers = {"s": starts, "f": sources, "d": degrees, "r": rank, "next": zeros(n)}
    arguments = ("s", "f", "d", "r", "next", n, np.float32(0.85))
    close = Close("positive terms: twenty roundings at most", relative=20 * HALF_ULP)
    return Call(buffers, arguments, **line(n, 64), expected={"next": expected}, close=close)


@case("graph", (1, 0), (40, 17), speed=(512, 100))
def floyd_warshall_step(rng: Rng, size: Any) -> Call:
    n, middle = size
    d = rng.integers(1, 1000, (n, n)).astype(np.int32)
    np.fill_diagonal(d, 0)
    expected = np.minimum(d, d[:, middle, None] + d[None, middle])
    grid = {"global_size": (n, n, 1), "local_size": (16, 4, 1)}
    return Call({"d": d}, ("d", n, middle), **grid, expected={"d": expected})


@case("graph", (1, 0), (300, 2), speed=(8192, 4))
def bfs_step(rng: Rng, size: Any) -> Call:
    n, level = size
    starts, neighbours = _graph(rng, n, 3)
    distance = rng.choice(np.array([level, level + 1, UNREACHED], np.uint32), n)
    sources = np.repeat(np.arange(n), np.diff(starts.astype(np.int64)))
    reached = neighbours[: starts[-1]][distance[sources] == level]
    expected = distance.copy()
    expected[reached] = np.minimum(expected[reached], level + 1)
    found = np.array([np.count_nonzero(expected != distance)], np.uint32)
    buffers = {"s": starts, "t": neighbours, "d": distance, "found": zeros(1, dtype=np.uint32)}
    expected_all = {"d": expected, "found": found}
    return Call(buffers, ("s", "t", "d", "found", n, level), **line(n, 64), expected=expected_all)


def _substitution() -> np.ndarray:
    """FIPS 197, section 5.1.1: the inverse in GF(2^8), then an affine map."""
    powers, value = [], 1
    for _ in range(255):  # 3 generates the field
        powers.append(value)
        value ^= value << 1 ^ (0x11B if value & 0x80 else 0)
    inverse = np.zeros(256, np.uint16)
    inverse[powers] = [powers[-k % 255] for k in range(255)]
    turned = [inverse << k | inverse >> (8 - k) for k in range(5)]
    return ((np.bitwise_xor.reduce(turned) ^ 0x63) & 0xFF).astype(np.uint8)


SUBSTITUTION = _substitution()


def _twice(x: np.ndarray) -> np.ndarray:
    return (x << 1 ^ np.where(x & 0x80, 0x1B, 0)).astype(np.uint8)


def aes_round(state: np.ndarray, key: np.ndarray, last: bool) -> np.ndarray:
    """One round on blocks [n, column, row] of bytes (FIPS 197, section 5.1)."""
    s = SUBSTITUTION[state]
    s = np.stack([np.roll(s[:, :, r], -r, 1) for r in range(4)], 2)
    if not last:
        next_row = np.roll(s, -1, 2)
        s = _twice(s) ^ _twice(next_row) ^ next_row ^ np.roll(s, -2, 2) ^ np.roll(s, -3, 2)
    return s ^ key.reshape(4, 4)


def aes_keys(key: np.ndarray) -> np.ndarray:
    """The eleven round keys (FIPS 197, section 5.2), [11, 16]."""
    words, constant = list(key.reshape(4, 4)), 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = SUBSTITUTION[np.roll(word, -1)] ^ np.array([constant, 0, 0, 0], np.uint8)
            constant = constant << 1 ^ (0x11B if constant & 0x80 else 0)
        words.append(words[-4] ^ word)
    return np.array(words, np.uint8).reshape(11, 16)


def aes_blocks(blocks: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """AES-128 of blocks [n, 16]."""
    state = (blocks ^ keys[0]).reshape(-1, 4, 4)
    for r in range(1, 11):
        state = aes_round(state, keys[r], r == 10)
    return state.reshape(-1, 16)


@case("aes", 1, 100, speed=4096)
def aes_encrypt(rng: Rng, n: int) -> Call:
    blocks = rng.integers(0, 256, (n, 16)).astype(np.uint8)
    keys = aes_keys(rng.integers(0, 256, 16).astype(np.uint8))
    buffers = {"in": blocks, "keys": keys, "out": zeros(n, 16, dtype=np.uint8)}
    return Call(buffers, ("in", "keys", "out", n), **line(n, 64), expected={"out": aes_blocks(blocks, keys)})


@case("aes", 1, 100, speed=1 << 15)
def aes_round_words(rng: Rng, n: int) -> Call:
    blocks, key = rng.integers(0, 256, (n, 16)).astype(np.uint8), rng.integers(0, 256, 16).astype(np.uint8)
    expected = aes_round(blocks.reshape(-1, 4, 4), key, False).reshape(n, 16)
    buffers = {"in": blocks, "out": zeros(n, 16, dtype=np.uint8)}
    return Call(buffers, ("in", np.void(key.tobytes()), "out", n), **line(n, 64), expected={"out": expected})


@case("divergent", (8, 8), (40, 30), speed=(128, 128))
def mandelbrot(rng: Rng, size: Any) -> Call:
    width, height = size
    f = np.float32
    cr = f(-2) + f(3) * np.arange(width, dtype=f) / f(width)
    ci = f(-1) + f(2) * np.arange(height, dtype=f) / f(height)
    steps = zeros(height, width, dtype=np.uint32)
    for y in range(height):
        r, i, alive = np.zeros(width, f), np.zeros(width, f), np.ones(width, bool)
        for _ in range(50):
            rr, ii = r * r, i * i
            alive &= rr + ii <= 4
            # the compiler fuses 2 r i + ci or not; points near the border may differ by it: the grid has none
            i, r = np.where(alive, f(2) * r * i + ci[y], i), np.where(alive, rr - ii + cr, r)
            steps[y] += alive
    grid = {"global_size": (width, height, 1), "local_size": (16, 8, 1)}
    buffers = {"s": zeros(height, width, dtype=np.uint32)}
    return Call(buffers, ("s", width, height, 50), **grid, expected={"s": steps})


@case("divergent", 1, 130, speed=4096)
def greatest_divisor(rng: Rng, n: int) -> Call:
    a, b = (rng.integers(0, 1 << 32, n) >> rng.integers(0, 31, n) for _ in range(2))
    a, b = a.astype(np.uint32), b.astype(np.uint32)
    buffers = {"a": a, "b": b, "out": zeros(n, dtype=np.uint32)}
    return Call(buffers, ("a", "b", "out", n), **line(n, 64), expected={"out": np.gcd(a, b)})


def _int32(value: int) -> int:
    return (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


def _run_machine(program: list[int], lane: int) -> int:
    a, b, at, steps = lane, 1, 0, 0
    while at < len(program) and steps < 200:
        code = program[at]
        operation = code & 15
        if operation == 1:
            a = _int32(a + b)
        elif operation == 2:
            a = _int32(a - 3)
        elif operation == 3:
            b = _int32(b * 3 + a)
        elif operation == 4:
            if a & 1:
                a = _int32(-a)
                b = _int32(b + 1) if b & 1 else b
            else:
                a >>= 1
        elif operation == 5:
            for k in range(a & 7, 0, -1):
                if k == 3:
                    continue
                b ^= k << (a & 3)
                if b & 64:
                    break
        elif operation == 6:
            if b > 1000000:
                return -1
            b += 17
        elif operation == 7:
            at = 0 if a > 0 and b & 1 else at
        elif operation > 7:
            a ^= code
        at, steps = at + 1, steps + 1
    return _int32(a * 31 + b)


@case("divergent", (1, 4), (100, 24), speed=(1024, 64))
def small_machine(rng: Rng, size: Any) -> Call:
    n, length = size
    programs = rng.integers(0, 256, (n, length)).astype(np.uint8)
    expected = np.array([_run_machine(p, k) for k, p in enumerate(programs.tolist())], np.int32)
    buffers = {"p": programs, "out": zeros(n, dtype=np.int32)}
    return Call(buffers, ("p", "out", length, n), **line(n, 64), expected={"out": expected})
