"""Does every mathematical function of the shipped header keep OpenCL's limit of error, for any argument?

Arguments are random patterns of bits, all of half precision, ranges where a function is not trivial, and edges. What
is exact comes from NumPy in a wider type. As OpenCL allows, a subnormal number of single precision may count as zero,
as an argument and as a result.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import gpusim
from tests.unit.gpusim.test_opencl_precise import CLANGS, ROOT, built, gpu

SOURCE = ROOT / "tests/data/kernels/opencl_bounds.cl"
TYPES = {"float": np.float32, "half": np.float16, "double": np.float64}
WIDE = {"float": np.float64, "half": np.float64, "double": np.longdouble}
SAMPLES, FEWER = 1 << 16, 1 << 13  # at night, of each change
ALLOWED = {"float": 0, "half": 1, "double": 2}  # column of the limits below
# (name, number of parameters, exact value, limits): OpenCL C specification 3.0, section 7.4, which is
# nowhere wider than those of 1.2 and 2.0; of half precision those of cl_khr_fp16
FUNCTIONS: tuple[tuple[str, int, Callable[..., np.ndarray], tuple[float, ...]], ...] = (
    ("fabs", 1, np.abs, (0, 0, 0)),
    ("floor", 1, np.floor, (0, 0, 0)),
    ("ceil", 1, np.ceil, (0, 0, 0)),
    ("trunc", 1, np.trunc, (0, 0, 0)),
    ("rint", 1, np.rint, (0, 0, 0)),
    ("round", 1, lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), (0, 0, 0)),
    ("sign", 1, lambda x: np.where(np.isnan(x), 0, np.copysign(np.where(x == 0, 0, 1), x)), (0, 0, 0)),
    ("sqrt", 1, np.sqrt, (3, 0.5, 0.5)),
    ("rsqrt", 1, lambda x: 1 / np.sqrt(x), (2, 1, 2)),
    ("fmin", 2, np.fmin, (0, 0, 0)),
    ("fmax", 2, np.fmax, (0, 0, 0)),
    ("copysign", 2, np.copysign, (0, 0, 0)),
    ("step", 2, lambda x, y: np.where(y < x, 0, 1), (0, 0, 0)),
    ("fma", 3, lambda x, y, z: x * y + z, (0.5, 0.5)),  # of double: test_double_is_exact
    ("exp2", 1, np.exp2, (3, 2)),
    ("log", 1, np.log, (3, 2)),
    ("log2", 1, np.log2, (3, 2)),
    ("log10", 1, np.log10, (3, 2)),
    ("hypot", 2, np.hypot, (4, 2)),
    ("length of 2", 2, np.hypot, (3.75,)),
    ("length of 3", 3, lambda x, y, z: np.hypot(np.hypot(x, y), z), (4.25,)),
    ("length of 4", 3, lambda x, y, z: np.hypot(np.hypot(x, y), np.hypot(z, y)), (4.75,)),
    ("distance of 2", 3, lambda x, y, z: np.hypot(x - y, y - z), (6.5,)),
    ("distance of 3", 3, lambda x, y, z: np.hypot(np.hypot(x - y, y - z), z - x), (8.5,)),
    ("distance of 4", 3, lambda x, y, z: np.hypot(np.hypot(x - y, y - z), np.hypot(z - x, x - z)), (10.5,)),
)
# (exact value, limit as a multiple of the largest argument's square and epsilon), after the rows of FUNCTIONS
SUMS: tuple[tuple[Callable[..., np.ndarray], int], ...] = (
    (lambda x, y, z: x * z + y * x, 3),  # dot
    (lambda x, y, z: x * y + y * z + z * x, 5),
    (lambda x, y, z: x * z + y * x + z * y + x * x, 7),
    (lambda x, y, z: y * x - z * z, 3),  # cross
    (lambda x, y, z: z * y - x * x, 3),
    (lambda x, y, z: x * z - y * y, 3),
)
SLACK = 1e-6  # of a unit: what the wider type rounds


EARLIER = [pytest.param(name, marks=pytest.mark.nightly) for name in CLANGS[:-1]]


@pytest.fixture(scope="module", params=["committed", *EARLIER, *CLANGS[-1:]])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> gpusim.Module:
    return built(request.param, SOURCE, tmp_path_factory.mktemp("bounds"))


def arguments(kind: str, samples: int) -> list[np.ndarray]:
    """Return three arrays of arguments: edges with each other, then what is random."""
    type_, rng = TYPES[kind], np.random.default_rng(4)
    facts = np.finfo(type_)
    edges = [0, 0.3, 0.5, 1, 1.5, 2, 2.5, 1e4, facts.max, facts.tiny, facts.smallest_subnormal, facts.tiny / 2, np.inf]
    edges += [1 + facts.eps, 1 - facts.epsneg, 2 / facts.eps, 1 / facts.eps - 0.5, facts.maxexp, facts.minexp - 1]
    with np.errstate(over="ignore"):
        values = np.array([*edges, *(-np.array(edges, type_)), np.nan], type_)
    third = values[::3]
    cube = [part.ravel() for part in np.meshgrid(values, values, third, indexing="ij")]
    bits = np.dtype(f"u{values.itemsize}")
    found = []
    for k, edge in enumerate(cube):
        if kind == "half":
            every = np.arange(1 << 16, dtype=bits).view(type_)
            patterns = every if k == 0 else rng.permutation(every)
        else:
            patterns = rng.integers(0, np.iinfo(bits).max, samples, bits, endpoint=True).view(type_)
        span = rng.uniform(facts.minexp - facts.nmant - 2, facts.maxexp + 1, samples)  # exp2's and rounding's
        near_one = 1 + rng.uniform(-1, 1, samples) * 2.0 ** rng.uniform(-facts.nmant, 0, samples)  # logarithms'
        found.append(np.concatenate([edge, patterns, span.astype(type_), near_one.astype(type_)]))
    # a signalling NaN may be taken for a quiet one, or not
    return [np.where(np.isnan(part), type_(np.nan), part) for part in found]


def errors(got: np.ndarray, exact: np.ndarray, limit: float, flushes: bool) -> np.ndarray:
    """Return by how many units in the last place each result is off; 0 where it need not be the number."""
    facts = np.finfo(got.dtype)
    largest = exact.dtype.type(2.0) ** (facts.maxexp - 1) * 2
    _, exponent = np.frexp(exact)
    unit = np.ldexp(np.ones_like(exact), np.clip(exponent, facts.minexp + 1, facts.maxexp) - facts.nmant - 1)
    wide = np.where(np.isinf(got), np.copysign(largest, got), got.astype(exact.dtype))
    off = np.abs(wide - np.clip(exact, -largest, largest)) / unit
    off[np.isnan(off)] = np.inf
    off[np.isinf(exact)] = np.inf
    off[(exact == 0) & (np.signbit(got) != np.signbit(exact))] = np.inf
    if flushes:
        off[(got == 0) & (exact != 0) & (np.abs(exact) < facts.tiny + limit * unit)] = 0
    off[(np.isnan(exact) & np.isnan(got)) | (np.isinf(exact) & (got == exact))] = 0
    return off


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


@pytest.mark.parametrize("samples", [FEWER, pytest.param(SAMPLES, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", TYPES)
def test_every_function_keeps_its_limit(module: gpusim.Module, kind: str, samples: int) -> None:
    if kind == "double" and np.finfo(np.longdouble).nmant < 63:
        pytest.skip("the host has no extended precision to compare double precision with")
    given = arguments(kind, samples)
    functions = [f for f in FUNCTIONS if len(f[3]) > ALLOWED[kind]]
    device, n = gpu(), given[0].size
    sums = SUMS if kind == "float" else ()
    out = device.zeros((len(functions) + len(sums), n), TYPES[kind])
    device.launch(device.load(module.source)[f"of_{kind}"], n, 256, [*map(device.array, given), out, n])
    choices = [[part, flushed(part)] if kind == "float" else [part] for part in given]
    rows = out.numpy()
    for (name, parameters, of, limits), got in zip(functions, rows, strict=False):
        limit = limits[ALLOWED[kind]]
        off = np.full(n, np.inf)
        with np.errstate(all="ignore"):
            for way in product(*choices[:parameters]):
                exact = of(*(part.astype(WIDE[kind]) for part in way)).astype(WIDE[kind])
                if name in ("fmin", "fmax"):  # either zero is the smaller one
                    exact = np.where(exact == 0, np.copysign(0, got), exact)
                np.minimum(off, errors(got, exact, limit, kind == "float"), out=off)
        worst = int(np.argmax(off))
        what = f"{name}({', '.join(repr(a[worst]) for a in given)}) = {got[worst]!r}: off by {off[worst]}"
        assert off[worst] <= limit + SLACK, what
    wide = [part.astype(np.float64) for part in given]
    largest = np.max(np.abs(wide), axis=0)
    usable = largest < 1e18  # nothing overflows, NaN is left out
    for (exact_of, factor), got in zip(sums, rows[len(functions) :], strict=True):
        exact = exact_of(*(part[usable] for part in wide))
        tolerance = factor * largest[usable] ** 2 * np.finfo(np.float32).eps + 4 * np.finfo(np.float32).tiny
        assert np.all(np.abs(got[usable] - exact) <= tolerance)
