"""The file of `gpusim correlate`: points measured on a real card, how they came about, what may be fitted to them."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import dist
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import GPU_FOLDER, layered, load_gpu
from gpusim.config.network_run import AUTO
from gpusim.config.tree import Sets, assignments
from gpusim.lab.silicon.measured_convolutions import (
    GEMM,
    GEMM_SOLVERS,
    ConvolutionPoint,
    has_convolutions,
    read_chosen,
    read_convolutions,
)
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS
from workloads.vendor.kernel_selection import KernelSelection
from workloads.vendor.tensile import element_bytes_of, is_compiled, takes_pointers

FOLDER = "measured"
GENERAL_GPU = ("general", "gpu")
LIKE = "rocblas-r9nano"  # what a table of the user's own says nothing of is taken from this one
OWN = ("title", "card", "source", "points", "gpu", "campaign_launch_us")  # what no table takes from its base
# of a file of points without a table: times are of kernels alone, at the model's clock, and of a call after the first
ALONE = {"clock_ghz": None, "launch_us": 0.0, "alpha": 1.0, "beta": 0.0, "warm_below_gflop": 1.0}
# a point's columns, by one of their names each; beside them 'kernel', and 'batch' of strided batches
COLUMNS = (("m",), ("n",), ("k",), ("transposes", "transpose"), ("us", "measured_gflops", "efficiency_percent"))
MAX_POINTS = 10_000
CONTRADICTION = 3.0  # of a reading over the median of its neighbours, or of that over the reading


class RetunedSpec(Spec):
    """Sizes that the library's authors measured again later, in another way than the table's others."""

    sizes: str = param(..., "CSV file of their transposes, m, n, k, beside this file or a shipped one", "user")
    launch_us: float = param(..., "of a call of such a size; never fitted", "user", ge=0, le=1e6)


class MeasuredKernelsSpec(Spec):
    """The place where the kernels that were measured are found."""

    package: str = param("", "what to install or unpack, for people", "user")
    folders: tuple[str, ...] = param((), "where an installed package has them; patterns as a shell's", "user")
    files: tuple[str, ...] = param(..., "code objects in such a folder, by name", "user", min_length=1)
    shipped: bool = param(False, "they are this project's own, beside its other kernels", "user")
    selection: str = param(
        "", "file by which the library selects a kernel for an FP32 product that names none, in such a folder", "user"
    )
    like: str = param(
        LIKE, "table of measured points: without selection, one that names no kernel takes the nearest product's", ""
    )
    chosen: str = param(
        "", "CSV file with the kernels that a library takes for convolutions' products, beside this file", "user"
    )
    multiply_accumulate: bool = param(
        False, "run v_fma_f32 d, a, b, d as v_mac_f32, as the kernels had it when they were measured", ""
    )
    counted_waits: bool = param(
        False,
        "let later loads be on their way at writes to LDS, as the kernels did when they were measured: Tensile waits "
        "for all where it writes them without a GPU",
        "",
    )

    @property
    def changes(self) -> tuple[bool, bool]:
        """Whether kernels are run with multiply_accumulate, and with counted_waits."""
        return self.multiply_accumulate, self.counted_waits


class FitSpec(Spec):
    """The values to fit, and their ranges."""

    most_gflop: float | None = param(
        None, "points with more work take no part in the search; null: all do", "user", gt=0
    )
    launch_us: tuple[float, float] = param((0.0, 40.0), "least and most of launch_us, and of hip_launch_us", "user")
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


class GeneralSpec(Spec):
    """The points of kernels for general batches, which take matrices by pointers (_GB_ in their names), where these
    were measured at another time than the table's others."""

    batch: int = param(1, "products of a call", "user", ge=1, le=65536)
    alpha: float = param(1.0, "of C = alpha A B + beta C", "user")
    beta: float = param(0.0, "the same; with 0 C is not read", "user")
    launch_us: float = param(
        0.0, "time of a measurement that no kernel takes, in microseconds; never fitted", "user", ge=0, le=1e6
    )
    gpu: GpuSpec | None = param(None, "the model of the card on which they were; null: the table's", "user")
    clock_ghz: float | None = param(
        None,
        "the card's clock while they were measured; null: that of their own gpu, or else the table's; never fitted",
        "user",
        gt=0,
        le=10,
    )


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
    peak_gflops: float | None = param(
        None, "of a column efficiency_percent: GFLOPS of which it is the share", "user", gt=0, le=1e9
    )
    launch_us: float = param(0.0, "time of a measurement that no kernel takes, in microseconds", "user", ge=0, le=1e6)
    hip_launch_us: float | None = param(
        None,
        "the same of compiled kernels (_ISA000_ in their names), if it is another; null: it is launch_us",
        "user",
        ge=0,
        le=1e6,
    )
    campaign_launch_us: dict[str, float] = param(
        {},
        "launch_us of kernels whose names hold a part, such as GSUAMB, by that part, where their measurements are of a "
        "campaign of their own; the first part that is held counts; never fitted",
        "user",
    )
    launch_each: bool = param(
        False,
        "launch_us is of each kernel of a call, as where events stand before and behind each; never fitted",
        "user",
    )
    alpha: float = param(1.0, "of C = alpha A B + beta C", "user")
    beta: float = param(0.0, "the same; with 0 C is not read", "user")
    general: GeneralSpec = GeneralSpec()
    staggered: Literal["none", "pointers", "all"] = param(
        "none",
        "which kernels' workgroups begin apart in K, as far as their names say (SU), and not all at K = 0: none, those "
        "that take matrices by pointers, all",
        "user",
    )
    warm_below_gflop: float = param(
        0.0, "problems with less work are run twice, and the second run counts", "user", ge=0
    )
    invalidated: bool = param(
        False,
        "of problems that are run twice: L2 is written back and emptied between the runs, in no run's time, as where "
        "the host waits for each",
        "user",
    )
    retuned: RetunedSpec | None = param(None, "sizes with a launch_us of their own; null: none", "user")
    kernels: MeasuredKernelsSpec = param(..., "the kernels that were measured", "user")
    solver: Literal["gemm", "own"] | None = param(
        None,
        "of points that are convolutions: gemm: MIOpen's solvers of rocBLAS's products; own: its fastest solver, "
        "beside the fastest of our algorithms; null: points are products",
        "user",
    )
    call_us: dict[str, float] = param(
        {},
        "of solver gemm: time that a call holds once, beside launch_us of a product, in microseconds, by solver",
        "user",
    )
    convolution: str = param(
        AUTO, "of solver own: our algorithm, or auto: the fastest", "user", among=(*DENSE_ALGORITHMS, AUTO)
    )
    fit: FitSpec = FitSpec()

    @model_validator(mode="after")
    def _calls_are_of_solvers(self) -> "MeasuredTable":
        for solver, call_us in self.call_us.items():
            if solver not in GEMM_SOLVERS or not 0 <= call_us < 1e6:
                raise ValueError(f"call_us {solver}: {call_us}: 0 to 10^6, of one of {', '.join(GEMM_SOLVERS)}")
        return self

    @model_validator(mode="after")
    def _launches_take_time(self) -> "MeasuredTable":
        for part, us in self.campaign_launch_us.items():
            if not part or not 0 <= us < 1e6:
                raise ValueError(f"campaign_launch_us {part!r}: {us}: a part of kernels' names, and 0 to 10^6")
        return self

    @property
    def launches(self) -> "LaunchOverhead":
        """The times of a measurement that no kernel takes."""
        return LaunchOverhead(
            self.launch_us, self.hip_launch_us, tuple(self.campaign_launch_us.items()), self.launch_each
        )

    def check_fit(self) -> None:
        """Raise UserError if what a fit varies is not what the points' times are made of."""
        if self.campaign_launch_us:
            raise UserError(f"--fit: {self.title}: one launch_us is fitted, and the table has campaign_launch_us")
        if self.launch_each:
            raise UserError(f"--fit: {self.title}: launch_us of a call is fitted, and the table has launch_each: true")


class LaunchOverhead(NamedTuple):
    """Times of a measurement that no kernel takes."""

    us: float
    """Microseconds of all kernels, or of assembly kernels."""
    hip_us: float | None = None
    """Microseconds of compiled kernels; None: the same."""
    campaigns: tuple[tuple[str, float], ...] = ()
    """Microseconds of kernels whose names hold a part, by the part."""
    each: bool = False
    """Each kernel of a call takes it."""

    def of(self, point: "MeasuredPoint", kernels: int = 1) -> float:
        """Return the time of a point, a call of so many kernels, that has none of its own."""
        us = self.hip_us if self.hip_us is not None and point.is_compiled else self.us
        us = next((own for part, own in self.campaigns if part in point.kernel), us)
        return us * kernels if self.each else us


@dataclass(frozen=True)
class ProductPoint:
    """A measured product: C [m, n] = op(A) [m, k] op(B) [k, n]."""

    transposes: str
    """Transposition of A and B: 'N' or 'T' each."""
    m: int
    """Rows of C."""
    n: int
    """Columns of C."""
    k: int
    """Length of the sum."""
    time_us: float
    """Time of a call in microseconds; a call computes the whole batch."""
    kernel: str
    """Name of the library's kernel."""
    batch: int = 1
    """Number of products in a call."""
    own_launch_us: float | None = None
    """Overhead of the call outside kernels, in microseconds; None: the table's value."""
    is_guessed: bool = False
    """The kernel is that of the nearest product known, and the library may select another one."""
    over_neighbours: float | None = None
    """Measured time over the median of the table's products of the same work; None: there are too few."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the reading contradicts its neighbours' (gpusim.lab.silicon.neighbours)."""
        over = self.over_neighbours
        return over is not None and not 1 / CONTRADICTION < over < CONTRADICTION

    @property
    def gflop(self) -> float:
        """Work of the definition in 10^9 floating point operations."""
        return 2e-9 * self.m * self.n * self.k * self.batch

    @property
    def of_model(self) -> "ProductPoint":
        """The point without what the model's time does not depend on."""
        return replace(self, time_us=0.0, is_guessed=False, over_neighbours=None)

    @property
    def label(self) -> str:
        """The point as text, such as 'NN 512x1500x2048'."""
        batch = f" x{self.batch}" if self.batch > 1 else ""
        return f"{self.transposes} {self.m}x{self.n}x{self.k}{batch}"

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler wrote the kernel."""
        return is_compiled(self.kernel)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of the matrices."""
        return element_bytes_of(self.kernel)


MeasuredPoint = ProductPoint | ConvolutionPoint


def load_measured(given: files.Given, sets: Sets = ()) -> tuple[MeasuredTable, files.Document]:
    """Load the table with `sets` applied in order; return it and its file.

    A CSV file is a table by itself, whose GPU `sets` must name. One in `sets` is that of general batches, too.

    Args:
        given: Path of a file, a shipped one's name, or a mapping.
        sets: Changed values as `path=value`, in order.

    Raises:
        UserError: The table cannot be read, or names no GPU.
    """
    if isinstance(given, str | Path) and Path(given).suffix == ".csv":
        document = _alone(Path(given).expanduser().absolute())
    else:
        document = files.opened(given, FOLDER)
    files.require(document, FOLDER)
    laid = []
    for a in assignments(sets):
        laid += [a] if a.path != GENERAL_GPU else [replace(a, value=_own_gpu(a.value, Path("--set")))]
        if a.path == ("gpu",):
            laid.append(replace(a, path=GENERAL_GPU, value=None))
    return checked(MeasuredTable, layered(_with_general(_on_base(document)), laid, MeasuredTable)), document


def _with_general(document: files.Document) -> files.Document:
    """Put the values of the GPU that general batches have in place of its name."""
    general = document.data.get("general")
    if not isinstance(general, Mapping) or "gpu" not in general:
        return document
    own = {**general, "gpu": _own_gpu(general["gpu"], document.path)}
    return replace(document, data={**document.data, "general": own})


def _own_gpu(said: Any, beside: Path) -> Any:
    """Return the values of a GPU that is named; anything else as it is."""
    return load_gpu(files.find(said, GPU_FOLDER, beside)).model_dump(mode="json") if isinstance(said, str) else said


def _alone(path: Path) -> files.Document:
    said = {"title": path.stem, "card": "a card of the user's", "source": str(path), "points": str(path)}
    return files.Document(path, {**said, "base": LIKE, **ALONE})


def _on_base(document: files.Document) -> files.Document:
    """Lay the file's values over those of the table that it names as its base."""
    data = dict(document.data)
    name = data.pop("base", None)
    if name is None:
        return document
    if not isinstance(name, str):
        raise UserError(f"{document.path}: base: {name!r}: must be the name or path of a table of measured points")
    base = files.opened(files.find(name, FOLDER, document.path), FOLDER)
    files.require(base, FOLDER)
    if "base" in base.data:
        raise UserError(f"{document.path}: base: {name}: has a base itself; name that one")
    for key, value in base.data.items():
        own = data.get(key)
        if isinstance(value, Mapping) and isinstance(own, Mapping):
            data[key] = {**value, **own}
        elif key not in (*OWN, *data):
            data[key] = value
    return replace(document, data=data, files=[*document.files, *base.files])


def read_points(
    path: Path,
    like: str = LIKE,
    general: GeneralSpec = GeneralSpec(),
    selection: KernelSelection | None = None,
    peak_gflops: float | None = None,
) -> list[ProductPoint]:
    """Read the points of a CSV file with the columns of COLUMNS.

    Args:
        path: Path of the CSV file.
        like: Table whose nearest product gives a point its kernel where neither the file nor `selection` does: a guess.
        general: As of MeasuredTable.
        selection: The library's table of kernels, for points whose kernel the file does not name.
        peak_gflops: As of MeasuredTable.

    Returns:
        The points in the order of the file.

    Raises:
        UserError: The file or a row is wrong, with its line.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            for names in COLUMNS:
                if not set(names) & set(reader.fieldnames or ()):
                    needed = ", ".join(" or ".join(each) for each in COLUMNS)
                    raise UserError(f"{path}: no column '{' or '.join(names)}' (needed: {needed}; allowed: kernel)")
            if "efficiency_percent" in (reader.fieldnames or ()) and peak_gflops is None:
                raise UserError(f"{path}: column efficiency_percent: peak_gflops of the table must say of what")
            percent_gflops = (peak_gflops or 0.0) / 100
            rows = [(reader.line_num, _point(path, reader.line_num, row, general, percent_gflops)) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not 0 < len(rows) <= MAX_POINTS:
        raise UserError(f"{path}: {len(rows)} points; a table has 1 to {MAX_POINTS}")
    known = [] if selection is not None or all(point.kernel for _, point in rows) else _products_of(like)
    found: dict[ProductPoint, int] = {}
    for line, measured in rows:
        point = measured if measured.kernel else _with_kernel(measured, known, selection)
        if found.setdefault(point, line) != line:
            raise UserError(f"{path}:{line}: {point.label}: the same point as in line {found[point]}")
    return list(found)


def read_table(
    table: MeasuredTable, document: files.Document, path: Path, selection: Path | None = None
) -> list[MeasuredPoint]:
    """Read a table's points.

    Args:
        table: The table.
        document: Its file.
        path: Path of the CSV file of points.
        selection: Path of the file by which the library selects kernels; None: there is none.

    Returns:
        The points in the order of the file.

    Raises:
        UserError: A file is wrong or missing.
    """
    library = None if selection is None else KernelSelection(selection, table.gpu.architecture, table.gpu.cus)
    if has_convolutions(_columns(path)) != (table.solver is not None):
        said = "are convolutions: solver must say which of their times is compared" if table.solver is None else ""
        raise UserError(f"{path}: its points {said or 'are products, which have no solver'} ({document.path})")
    if table.solver is None:
        points = read_points(path, table.kernels.like, table.general, library, table.peak_gflops)
        return [*_with_launch_times(points, table.retuned, document)]
    known = read_chosen(_beside(document, "kernels.chosen", table.kernels.chosen)) if table.solver == GEMM else []
    return [*read_convolutions(path, table.solver, known, library, table.call_us)]


def _with_launch_times(
    points: list[ProductPoint], retuned: RetunedSpec | None, document: files.Document
) -> list[ProductPoint]:
    """Give points of retuned sizes the time of a launch that those were measured with."""
    if retuned is None:
        return points
    path = _beside(document, "retuned.sizes", retuned.sizes)
    with path.open(newline="", encoding="utf-8") as file:
        sizes = {tuple(row[name] for name in ("transposes", "m", "n", "k")) for row in csv.DictReader(file)}
    return [
        replace(point, own_launch_us=retuned.launch_us)
        if (point.transposes, str(point.m), str(point.n), str(point.k)) in sizes
        else point
        for point in points
    ]


def _beside(document: files.Document, key: str, name: str) -> Path:
    """Return the file that a table names, beside it or a shipped one. Raise UserError."""
    for folder in (document.path.parent, files.SHIPPED / FOLDER):
        if name and (folder / name).is_file():
            return folder / name
    raise UserError(f"{document.path}: {key}: '{name}': there is no such file beside it")


def _columns(path: Path) -> list[str]:
    """Return the columns of a CSV file; none where it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def _products_of(table: str) -> list[ProductPoint]:
    document = files.opened(table, FOLDER)
    path = document.path.parent / str(document.data.get("points"))
    return read_points(path, peak_gflops=document.data.get("peak_gflops"))


def _with_kernel(point: ProductPoint, known: Sequence[ProductPoint], selection: KernelSelection | None) -> ProductPoint:
    """Give a point the kernel that the library selects, or that of the nearest known product. One without a product of
    its transposes stays without a kernel, which its check then says."""
    size = (point.m, point.n, point.k)
    if selection is not None:
        return replace(point, kernel=selection.select(point.transposes, *size))
    alike = [one for one in known if one.transposes == point.transposes]
    if not alike:
        return point
    nearest = min(alike, key=lambda one: dist((one.m, one.n, one.k), size))
    return replace(point, kernel=nearest.kernel, is_guessed=(nearest.m, nearest.n, nearest.k) != size)


def _point(
    path: Path, line: int, row: dict[str, str | None], general: GeneralSpec, percent_gflops: float
) -> ProductPoint:
    def number(name: str, kind: type[int] | type[float]) -> int | float:
        text = row[name] or ""
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < 1e12:
            raise UserError(f"{path}:{line}: {name}: '{text}' is no positive number")
        return value

    column = "transposes" if "transposes" in row else "transpose"
    transposes = (row[column] or "").upper()
    if transposes not in ("NN", "NT", "TN", "TT"):
        raise UserError(f"{path}:{line}: {column}: '{transposes}' is none of NN, NT, TN, TT")
    m, n, k = (int(number(name, int)) for name in "mnk")
    kernel = row.get("kernel") or ""
    batch, own_launch_us = (general.batch, general.launch_us) if takes_pointers(kernel) else (1, None)
    if "batch" in row:
        batch = int(number("batch", int))
    mflop = 2e-3 * m * n * k * batch
    if "us" in row:
        time_us = number("us", float)
    elif "measured_gflops" in row:
        time_us = mflop / number("measured_gflops", float)
    else:
        time_us = mflop / (percent_gflops * number("efficiency_percent", float))
    return ProductPoint(
        transposes=transposes, m=m, n=n, k=k, time_us=time_us, kernel=kernel, batch=batch, own_launch_us=own_launch_us
    )
