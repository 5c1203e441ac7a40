"""How accurate OpenCL's functions are, from gpusim's header and from AMD's device library: the table of docs/opencl.md.

python -m docs._site.library_accuracy    # builds its two code objects (needs clang 19 and rocm-device-libs)
python -m docs._site.sections reference/opencl      # renews the table

Each function runs on the simulated GPU on arguments of its own. Single and half precision are compared with FP64,
double precision with the host's extended precision.
"""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import gpusim
from gpusim.base.formats import EXPONENT_0, FIXED_2, GROUPED_0

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/accuracy"
SOURCE = DATA / "functions.cl"
HEADER, LIBRARY = DATA / "header.hsaco", DATA / "library.hsaco"
SAMPLES = 4096
TYPES = {"float": np.float32, "half": np.float16, "double": np.float64}


@dataclass(frozen=True)
class Function:
    """A function, its exact value, the range of its arguments by type (x, then y), and what OpenCL allows.

    allowed: largest error in single precision, units in the last place (OpenCL C specification 3.0, table 66).
    header: types for which gpusim's header has it.
    """

    name: str
    exact: Callable[..., np.ndarray]
    ranges: dict[str, tuple[tuple[float, float], ...]]
    allowed: str
    logarithmic: bool = False
    where: str = ""
    header: tuple[str, ...] = ()

    def arguments(self, kind: str) -> list[np.ndarray]:
        """One array for each parameter."""
        rng = np.random.default_rng(len(self.name))
        found = []
        for low, high in self.ranges[kind]:
            if self.logarithmic:
                values = np.exp(rng.uniform(np.log(low), np.log(high), SAMPLES))
            else:
                values = rng.uniform(low, high, SAMPLES)
            found.append(values.astype(TYPES[kind]))
        return found


def _all(*ranges: tuple[float, float]) -> dict[str, tuple[tuple[float, float], ...]]:
    return dict.fromkeys(TYPES, ranges)


def _by_type(single: tuple[float, float], half: tuple[float, float], double: tuple[float, float]):  # type: ignore[no-untyped-def]
    return {"float": (single,), "half": (half,), "double": (double,)}


_POSITIVE = _by_type((1e-37, 1e38), (1e-4, 6e4), (1e-300, 1e300))
_TURN, _FAR = (-2 * np.pi, 2 * np.pi), (-1e5, 1e5)
_FAR_RANGES = _by_type(_FAR, (-6e4, 6e4), _FAR)
_NO_DOUBLE = ("float", "half")
UNARY = (
    Function("sqrt", np.sqrt, _POSITIVE, "3", True, header=tuple(TYPES)),
    Function("rsqrt", lambda x: 1 / np.sqrt(x), _POSITIVE, "2", True, header=tuple(TYPES)),
    Function("exp2", np.exp2, _by_type((-126, 127), (-14, 15), (-1000, 1000)), "3", header=_NO_DOUBLE),
    Function("log", np.log, _POSITIVE, "3", True, header=_NO_DOUBLE),
    Function("log2", np.log2, _POSITIVE, "3", True, header=_NO_DOUBLE),
    Function("log10", np.log10, _POSITIVE, "3", True, header=_NO_DOUBLE),
    Function("exp", np.exp, _by_type((-87, 88), (-9, 11), (-700, 700)), "3"),
    Function("exp10", lambda x: 10**x, _by_type((-37, 38), (-4, 4), (-300, 300)), "3"),
    Function("sin", np.sin, _all(_TURN), "4", where="within ±2π"),
    Function("cos", np.cos, _all(_TURN), "4", where="within ±2π"),
    Function("tan", np.tan, _all(_TURN), "5", where="within ±2π"),
    Function("sin", np.sin, _FAR_RANGES, "4", where="to ±100 000"),
    Function("cos", np.cos, _FAR_RANGES, "4", where="to ±100 000"),
    Function("tan", np.tan, _FAR_RANGES, "5", where="to ±100 000"),
    Function("tanh", np.tanh, _all((-8, 8)), "5"),
)
_POWERS = {"float": ((1e-3, 1e3), (-10, 10)), "half": ((0.1, 10), (-3, 3)), "double": ((1e-3, 1e3), (-80, 80))}
_FRACTIONS = {"float": ((0, 1e9), (0.1, 10)), "half": ((0, 6e4), (0.1, 10)), "double": ((0, 1e15), (0.1, 10))}
_SIDES = {kind: (*ranges, *ranges) for kind, ranges in _POSITIVE.items()}
BINARY = (
    Function("hypot", np.hypot, _SIDES, "4", True, header=_NO_DOUBLE),
    Function("pow", np.power, _POWERS, "16"),
    Function("powr", np.power, _POWERS, "16"),
    Function("fmod", np.fmod, _FRACTIONS, "0"),
)


def build() -> None:
    """Compile the two code objects."""
    from workloads.toolchain.build import OPENCL_LIBRARY
    from workloads.toolchain.compilers import DEFAULT_GPU, opencl_flags, target_flags, with_library

    tools = with_library()
    assert tools is not None, "needs rocm-device-libs and a clang that reads it"
    header = (*opencl_flags(None), "-DHEADER", "-include", str(OPENCL_LIBRARY))
    for flags, target in ((header, HEADER), (opencl_flags(tools.library), LIBRARY)):
        relocatable = target.with_suffix(".o")
        command = [tools.clang, *flags, *target_flags(DEFAULT_GPU), "-mcode-object-version=5", "-c", SOURCE.name]
        subprocess.run([*command, "-o", str(relocatable)], cwd=DATA, check=True)
        subprocess.run([tools.linker, "-shared", "--no-undefined", relocatable, "-o", target], check=True)
        relocatable.unlink()


@cache
def errors(code_object: Path, kind: str) -> dict[tuple[str, str], float]:
    """The largest error of each function of a type, units in the last place, by name and range; NaN where one is."""
    gpu = gpusim.Device(gpusim.GpuSpec(memory_mib=64), timing=False, quiet=True)
    module = gpu.load(code_object)
    found = {}
    for parameters, every in ((1, UNARY), (2, BINARY)):
        functions = [f for f in every if code_object == LIBRARY or kind in f.header]
        if not functions:
            continue
        given = [np.stack(rows) for rows in zip(*(f.arguments(kind) for f in functions), strict=True)]
        out = gpu.zeros((len(functions), SAMPLES), TYPES[kind])
        gpu.launch(module[f"{kind}_{parameters}"], SAMPLES, 256, [*map(gpu.array, given), out, SAMPLES])
        wide = np.longdouble if kind == "double" else np.float64
        for function, got, *rows in zip(functions, out.numpy(), *given, strict=True):
            found[function.name, function.where] = _error(got, function.exact(*(row.astype(wide) for row in rows)))
    return found


def _error(got: np.ndarray, exact: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        rounded = exact.astype(got.dtype)
    usable = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(got.dtype).tiny)
    spacing = np.spacing(np.abs(rounded[usable])).astype(exact.dtype)
    return float(np.max(np.abs(got[usable].astype(exact.dtype) - exact[usable]) / spacing))


def _text(error: float | None) -> str:
    if error is None:
        return "–"
    if np.isnan(error):
        return "NaN"
    return FIXED_2(error) if error < 10 else GROUPED_0(error).replace(",", " ") if error < 1e6 else EXPONENT_0(error)


def table() -> str:
    """The table in Markdown."""
    columns = [errors(code, kind) for kind in TYPES for code in (HEADER, LIBRARY)]
    lines = [
        "| function | single: header | AMD's | allowed | half: header | AMD's | double: header | AMD's |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for function in (*UNARY, *BINARY):
        cells = [_text(column.get((function.name, function.where))) for column in columns]
        cells.insert(2, function.allowed)
        where = f" {function.where}" if function.where else ""
        lines.append(f"| `{function.name}`{where} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    build()
