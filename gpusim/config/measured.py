"""The file of `gpusim correlate`: points measured on a real card, how they came about, what may be fitted to them."""

import csv
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import layered
from gpusim.config.tree import Sets, assignments
from gpusim.core.gpu_spec import GpuSpec

FOLDER = "measured"
COLUMNS = ("transposes", "m", "n", "k", "measured_gflops", "kernel")
MAX_POINTS = 10_000


class KernelsSpec(Spec):
    """The place where the kernels that were measured are found."""

    package: str = param("", "what to install or unpack, for people", "user")
    folders: tuple[str, ...] = param((), "where an installed package has them; patterns as a shell's", "user")
    files: tuple[str, ...] = param(..., "code objects in such a folder, by name", "user", min_length=1)
    multiply_accumulate: bool = param(
        False, "run v_fma_f32 d, a, b, d as v_mac_f32, as the kernels had it when they were measured", ""
    )


class FitSpec(Spec):
    """The values to fit, and their ranges."""

    most_gflop: float | None = param(
        None, "points with more work take no part in the search; null: all do", "user", gt=0
    )
    launch_us: tuple[float, float] = param((0.0, 40.0), "least and most of launch_us", "user")
    model: dict[str, tuple[bool | int | float | str | tuple[int, ...], ...]] = param(
        {}, "values of the GPU's configuration by their paths; the first is where the search begins", "user"
    )

    @model_validator(mode="after")
    def _ranges_have_values(self) -> "FitSpec":
        if not 0 <= self.launch_us[0] <= self.launch_us[1]:
            raise ValueError(f"launch_us {list(self.launch_us)}: the least comes first, and is not negative")
        for path, values in self.model.items():
            if not values:
                raise ValueError(f"model {path}: no value to try")
        return self


class MeasuredTable(Spec):
    """The values that a comparison with measured points depends on."""

    title: str = param(..., "what was measured", "user")
    card: str = param(..., "on what", "user")
    source: str = param(..., "where the figures come from", "user")
    points: str = param(..., "CSV file with the points, beside this file", "user")
    gpu: GpuSpec = param(..., "the card's model", "user")
    clock_ghz: float | None = param(
        None, "the card's clock while it was measured; null: the model's", "user", gt=0, le=10
    )
    launch_us: float = param(0.0, "time of a measurement that no kernel takes, in microseconds", "user", ge=0, le=1e6)
    alpha: float = param(1.0, "of C = alpha A B + beta C", "user")
    beta: float = param(0.0, "the same; with 0 C is not read", "user")
    warm_below_gflop: float = param(
        0.0, "problems with less work are run twice, and the second run counts", "user", ge=0
    )
    kernels: KernelsSpec = param(..., "the kernels that were measured", "user")
    fit: FitSpec = FitSpec()


@dataclass(frozen=True)
class Point:
    """A measured product: C [m, n] = op(A) [m, k] op(B) [k, n]; time_us: of one call."""

    transposes: str
    m: int
    n: int
    k: int
    time_us: float
    kernel: str

    @property
    def gflop(self) -> float:
        """Work of the definition in 10^9 floating point operations."""
        return 2e-9 * self.m * self.n * self.k

    @property
    def label(self) -> str:
        """The point as text, such as 'NN 512x1500x2048'."""
        return f"{self.transposes} {self.m}x{self.n}x{self.k}"


def load_measured(given: files.Given, sets: Sets = ()) -> tuple[MeasuredTable, files.Document]:
    """Load the table with `sets` applied in order; return it and its file. Raise UserError."""
    document = files.opened(given, FOLDER)
    files.require(document, FOLDER)
    return checked(MeasuredTable, layered(document, assignments(sets), MeasuredTable)), document


def read_points(path: Path) -> list[Point]:
    """Read the points of a CSV file with the columns of COLUMNS; raise UserError with the line of the problem."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(f"{path}: no column '{missing[0]}' (needed: {', '.join(COLUMNS)})")
            points = [_point(path, reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not 0 < len(points) <= MAX_POINTS:
        raise UserError(f"{path}: {len(points)} points; a table has 1 to {MAX_POINTS}")
    return points


def _point(path: Path, line: int, row: dict[str, str | None]) -> Point:
    def number(name: str, kind: type[int] | type[float]) -> int | float:
        text = row[name] or ""
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < 1e12:
            raise UserError(f"{path}:{line}: {name}: '{text}' is no positive number")
        return value

    transposes = row["transposes"] or ""
    if transposes not in ("NN", "NT", "TN", "TT"):
        raise UserError(f"{path}:{line}: transposes: '{transposes}' is none of NN, NT, TN, TT")
    m, n, k = (int(number(name, int)) for name in "mnk")
    gflops = number("measured_gflops", float)
    return Point(transposes, m, n, k, 2e-3 * m * n * k / gflops, row["kernel"] or "")
