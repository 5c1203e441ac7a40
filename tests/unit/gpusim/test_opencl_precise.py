"""Does the shipped header compute double, half and integers as NumPy does, or refuse what it does not have?"""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gpusim
from docs._site import library_accuracy
from docs._site.pages import DOCS, section

ROOT = Path(__file__).resolve().parents[3]
HEADER = ROOT / "workloads/toolchain/opencl.h"
SOURCE = ROOT / "tests/data/kernels/opencl_precise.cl"
FLAGS = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-nogpulib", "-O1", "-Wall"]
CLANGS = ["clang-14", "clang-15", "clang-19"]


def compile_(clang: str, source: Path, target: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    if shutil.which(clang) is None:
        pytest.skip(f"{clang} is not installed")
    command = [clang, *FLAGS, *flags, "-Werror", "-cl-kernel-arg-info", "-include", str(HEADER), "-c", str(source)]
    return subprocess.run([*command, "-o", str(target)], capture_output=True, text=True, check=False)


def built(by: str, source: Path, folder: Path) -> gpusim.Module:
    """Load the code object of a source, the committed one or a compiler's."""
    made = source.with_suffix(".hsaco")
    if by != "committed":
        made = folder / "made.hsaco"
        assert compile_(by, source, made.with_suffix(".o")).returncode == 0
        linker = shutil.which("ld.lld-19") or shutil.which("ld.lld") or pytest.skip("ld.lld is not installed")
        subprocess.run([linker, "-shared", "--no-undefined", made.with_suffix(".o"), "-o", made], check=True)
    return gpu().load(made)


@pytest.fixture(scope="module", params=["committed", *CLANGS])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> gpusim.Module:
    return built(request.param, SOURCE, tmp_path_factory.mktemp("precise"))


def gpu() -> gpusim.Device:
    return gpusim.Device(gpusim.GpuSpec(memory_mib=64), timing=False, quiet=True)


def launch(module: gpusim.Module, kernel: str, rows: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    device = gpu()
    out = device.zeros((rows, x.size), x.dtype)
    device.launch(device.load(module.source)[kernel], x.size, 64, [device.array(x), device.array(y), out, x.size])
    return out.numpy()


def rounded(value: Fraction) -> float:
    """The nearest double."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def doubles(hard_roots: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    edges = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 123456789.123, 1e-300, 5e-324, 1.7e308, 4.5e15, np.inf, -np.inf]
    sizes = rng.uniform(-1, 1, 178) * 10.0 ** rng.uniform(-12, 12, 178)
    # squares of what lies between two doubles: the roots that are hardest to round
    wide = rng.uniform(1, 4, hard_roots).astype(np.float64).astype(np.longdouble)
    hard = ((wide + np.spacing(wide.astype(np.float64)) / 2) ** 2).astype(np.float64)
    x = np.concatenate([edges, sizes, hard])
    return x, rng.permutation(np.where(np.isinf(x), 1.0, x))


@pytest.mark.parametrize("hard_roots", [1024, pytest.param(4096, marks=pytest.mark.nightly)])
def test_double_is_exact(module: gpusim.Module, hard_roots: int) -> None:
    x, y = doubles(hard_roots)
    got = launch(module, "doubles", 23, x, y)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = [
            np.floor(x),
            np.ceil(x),
            np.trunc(x),
            np.rint(x),
            np.trunc(x + np.copysign(0.5, x)),
            np.abs(x),
            np.sign(x),
            np.sqrt(x),
            np.fmin(x, y),
            np.fmax(x, y),
            np.copysign(x, y),
            np.where(y < x, 0.0, 1.0),
            None,  # fma: below
            None,
            None,
            np.maximum(x, y) - np.minimum(x, y),
            np.clip(x, -1, 1),
            np.where(np.isinf(x), 2, 4),
            np.where(x < y, y, x),
            np.sqrt(np.abs(x)) + np.sqrt(np.abs(y)),
            np.rint(np.clip(x, -1e9, 1e9)).astype(np.int32),
        ]
        for k, values in enumerate(expected):
            if values is not None:
                np.testing.assert_array_equal(got[k], values, str(k))
        finite = np.isfinite(x)
        pairs = [(Fraction(v), Fraction(w)) for v, w in zip(x[finite].tolist(), y[finite].tolist(), strict=True)]
        np.testing.assert_array_equal(got[12][finite], [rounded(v * w - v) for v, w in pairs])
        np.testing.assert_array_equal(got[13][finite], [rounded(2 * v + w) for v, w in pairs])
        mixed, largest = (x + (y - x) / 4)[finite], np.maximum(np.abs(x), np.abs(y))[finite]
        assert np.all(np.abs(got[14][finite] - mixed) <= np.spacing(largest))
    np.testing.assert_array_equal(got[21:].ravel(), np.stack([x, y], axis=1).ravel())


def test_half_is_rounded_once(module: gpusim.Module) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([[0.5, 1.5, -2.5, 6e-8, 65504, np.inf], rng.uniform(-9, 9, 186)]).astype(np.float16)
    y = rng.uniform(0.25, 3, 192).astype(np.float16)
    got = launch(module, "halves", 10, x, y)
    v, w = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = [
            np.floor(v),
            np.rint(v),
            np.abs(v),
            np.sqrt(v),
            np.fmin(v, w),
            v * w + 1,
            np.exp2(v),
            np.log(v),
            np.hypot(v, w),
            np.where(np.isinf(v), 2, 4),
        ]
        for k, values in enumerate(expected):
            np.testing.assert_array_equal(got[k], values.astype(np.float16), str(k))


def test_integers_of_every_width(module: gpusim.Module) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 1 << 64, 128, np.uint64, endpoint=False)
    x[:4] = 0, 1, (1 << 64) - 1, 1 << 63
    y = rng.integers(0, 1 << 64, 128, np.uint64, endpoint=False)
    got = launch(module, "integers", 40, x, y)
    k = 0
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            mask, pairs = (1 << bits) - 1, []
            for v, w in zip(x.tolist(), y.tolist(), strict=True):
                u, s = v & mask, w & mask
                a, b = (n - (1 << bits) if signed and n >> bits - 1 else n for n in (u, s))
                turn = s % bits
                pairs.append(
                    (
                        abs(a),
                        u.bit_count(),
                        bits - u.bit_length(),
                        u << turn | u >> bits - turn,
                        a * b >> bits,
                    )
                )
            for row in zip(*pairs, strict=True):
                np.testing.assert_array_equal(got[k], np.array([n & mask for n in row], np.uint64), f"{k} {bits}")
                k += 1


NOT_FOR_DOUBLE = (
    *("hypot(x, x)", "exp2(x)", "log(x)", "log2(x)", "log10(x)", "native_recip(x)", "native_divide(x, x)"),
    *("native_exp(x)", "native_exp10(x)", "native_sqrt(x)", "native_rsqrt(x)", "native_sin(x)", "native_powr(x, x)"),
)
NOWHERE = (
    *("exp(x)", "exp10(x)", "sin(x)", "cos(x)", "tan(x)", "tanh(x)", "pow(x, x)", "powr(x, x)", "pown(x, 3)"),
    *("fmod(x, x)", "asin(x)", "sincos(x, &x)", "normalize(x)", "half_sin(x)", "smoothstep(x, x, x)", "erf(x)"),
)
WHERE = "install Debian's rocm-device-libs .*GPUSIM_DEVICE_LIBRARY"


def refused(clang: str, type_: str, calls: tuple[str, ...], why: str, folder: Path) -> list[str]:
    """Compile one kernel for each call; returns the names that the compiler refuses for that reason, in order."""
    source = folder / "k.cl"
    half = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    kernels = (
        f"kernel void k{n}(global {type_} *p) {{ {type_} x = p[0]; p[0] = {c}; }}\n" for n, c in enumerate(calls)
    )
    source.write_text(half + "".join(kernels))
    done = compile_(clang, source, folder / "k.o", "-ferror-limit=0")
    assert done.returncode != 0
    return re.findall(rf"k\.cl:\d+:\d+: error: '(\w+)' is unavailable: only AMD's device library {why}", done.stderr)


@pytest.mark.parametrize("clang", CLANGS)
def test_what_double_does_not_have_does_not_compile(clang: str, tmp_path: Path) -> None:
    found = refused(clang, "double", NOT_FOR_DOUBLE, f"has it for double: {WHERE}", tmp_path)
    assert found == [call.partition("(")[0] for call in NOT_FOR_DOUBLE]


@pytest.mark.parametrize("type_", ["float", "half", "double", "float4", "half2", "double3"])
@pytest.mark.parametrize("clang", CLANGS)
def test_what_the_header_does_not_have_says_where_it_is(clang: str, type_: str, tmp_path: Path) -> None:
    assert refused(clang, type_, NOWHERE, f"has it: {WHERE}", tmp_path) == [call.partition("(")[0] for call in NOWHERE]


@pytest.mark.parametrize("clang", CLANGS)
def test_mixed_arguments_of_single_precision_stay_single(clang: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    calls = ("fmax(2.0f, get_local_id(0))", "hypot(x, 2)", "sqrt(x)", "clamp(x, 0.0f, 1.0f)", "fabs(x * 2)")
    source.write_text(f"kernel void k(global float *p) {{ float x = p[0]; p[0] = {' + '.join(calls)}; }}")
    assert compile_(clang, source, tmp_path / "k.o").returncode == 0


def test_the_page_has_the_measured_accuracy() -> None:
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("the host has no extended precision to compare double precision with")
    page = (DOCS / "reference" / "opencl.md").read_text(encoding="utf-8")
    assert library_accuracy.table() == section(page, "accuracy"), "run .ci/generate"
