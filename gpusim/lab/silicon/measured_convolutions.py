"""Points of `gpusim correlate` that are convolutions: rows of MIOpen's find databases, a time for each of its solvers.

A row of the CSV file is a convolution, a pass and a batch, with the milliseconds of each solver. What becomes of it is
the table's to say (`solver`):

- `gemm`: the solver of rocBLAS's products (ROCm/MIOpen, src/solver/gemm*.cpp). With im2col (or col2im) images are
  computed one after another, so that rows of one convolution and pass are one point, an image, measured as often as
  there are batches. What a call holds once (`call_us` of the table) is shared by its images. Those of 1 x 1 filters are
  timed with their batch: a point a row.
- `own`: the fastest of all solvers, beside the fastest of our algorithms: a point a row.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import dist
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.progress import current_reporter
from workloads.networks.kind import Pass
from workloads.operators.convolution import Convolution
from workloads.vendor.kernel_selection import KernelSelection
from workloads.vendor.tensile import is_compiled

GEMM, OWN = "gemm", "own"
PASSES = {"F": Pass.FORWARD, "B": Pass.BACKWARD_DATA, "W": Pass.BACKWARD_WEIGHTS}
# MIOpen's solvers of rocBLAS's products: im2col or col2im and a product for each image; all images' products in one
# launch (strided batched); one after another, added up; one wide product of images that are put side by side before it
# and back behind it
BY_IMAGE = ("GemmFwdRest", "GemmBwdRest", "GemmWrwUniversal")
IN_ONE = ("GemmFwd1x1_0_1", "GemmBwd1x1_stride1")
IN_TURN = ("GemmWrw1x1_stride1",)
SIDE_BY_SIDE = ("GemmFwd1x1_0_2", "GemmBwd1x1_stride2")
GEMM_SOLVERS = (*BY_IMAGE, *IN_ONE, *IN_TURN, *SIDE_BY_SIDE)
SIZES = (
    "batch",
    "channels",
    "height",
    "width",
    "filters",
    "kernel_h",
    "kernel_w",
    "out_h",
    "out_w",
    "pad_h",
    "pad_w",
    "stride_h",
    "stride_w",
    "dilation_h",
    "dilation_w",
)
COLUMNS = ("network", "direction", *SIZES, "solver_ms")
CHOSEN_COLUMNS = ("transposes", "m", "n", "k", "batch", "kernel")


@dataclass(frozen=True)
class LibraryKernelChoice:
    """A column-major product C [m, n] = op(A) [m, k] op(B) [k, n] and the kernel that a library selects for it."""

    transposes: str
    """Transposition of A and B: 'N' or 'T' each."""
    m: int
    """Rows of C."""
    n: int
    """Columns of C."""
    k: int
    """Length of the sum."""
    kernel: str
    """Name of the selected kernel."""
    batch: int = 1
    """Number of such products in a launch, which share one B."""


@dataclass(frozen=True)
class ConvolutionPoint:
    """A measured pass of a convolution."""

    direction: str
    """Pass: 'F' (forward), 'B' (backward data) or 'W' (backward weights)."""
    convolution: Convolution
    """Shape of the convolution."""
    time_us: float
    """Time of a call in microseconds: the median of `measured_us`."""
    solver: str
    """Measured solver of MIOpen."""
    same_solver: bool
    """Simulate the same solver, one of GEMM_SOLVERS; otherwise our fastest algorithm is compared."""
    kernel: str = ""
    """Kernel of its matrix product."""
    measured_us: tuple[float, ...] = ()
    """Individual measurements in microseconds."""
    networks: tuple[str, ...] = ()
    """Networks with this convolution."""
    own_launch_us: float | None = None
    """Overhead of the call outside kernels, in microseconds; None: the table's value."""
    element_bytes: int = 4
    """Size of an element in bytes."""
    is_guessed: bool = False
    """The kernel is that of the nearest product known, and the library may select another one."""
    call_us: float = 0.0
    """Share of this point in what a call of its solver holds once, in microseconds."""

    @property
    def gflop(self) -> float:
        """Work of the definition in 10^9 floating point operations."""
        return 2e-9 * self.convolution.macs

    @property
    def is_compiled(self) -> bool:
        """Whether the kernel of its product is compiled, not assembly."""
        return is_compiled(self.kernel)

    @property
    def label(self) -> str:
        """The point as text, such as 'F 64x56x56 to 128, 3x3/2 x32'."""
        c = self.convolution
        stride = f"/{c.stride[0]}" if c.stride[0] == c.stride[1] else f"/{c.stride[0]}x{c.stride[1]}"
        apart = f" dilated {c.dilation[0]}x{c.dilation[1]}" if c.dilation != (1, 1) else ""
        padded = f" pad {c.padding[0]}x{c.padding[1]}" if any(c.padding) else ""
        return (
            f"{self.direction} {'x'.join(map(str, c.shape[1:]))} to {c.filters}, {c.kernel[0]}x{c.kernel[1]}"
            f"{'' if stride == '/1' else stride}{padded}{apart} x{c.shape[0]}"
        )

    @property
    def what(self) -> Pass:
        """The pass that was measured."""
        return PASSES[self.direction]

    @property
    def of_model(self) -> "ConvolutionPoint":
        """The point without what the model's time does not depend on."""
        solver = self.solver if self.same_solver else ""
        return replace(self, time_us=0.0, measured_us=(), networks=(), solver=solver, is_guessed=False, call_us=0.0)

    @property
    def product(self) -> tuple[str, int, int, int, int]:
        """Transposes, M, N and K of the product that a launch of its solver computes, and how many of them."""
        transposes, m, n, k = build_pass_product(self.convolution, self.direction)
        images = self.convolution.shape[0]
        if self.solver in SIDE_BY_SIDE:
            return transposes, images * m, n, k, 1
        return transposes, m, n, k, images if self.solver in IN_ONE else 1

    def said(self) -> dict[str, Any]:
        """Return the point as plain data."""
        c = self.convolution
        pairs = {"kernel": c.kernel, "stride": c.stride, "dilation": c.dilation}
        return {
            "direction": self.direction,
            "shape": list(c.shape),
            "filters": c.filters,
            **{name: list(pair) for name, pair in pairs.items()},
            "padding": list(c.padding),
            "solver": self.solver,
            "same_solver": self.same_solver,
            "product": self.kernel,
            **({"guessed": True} if self.is_guessed else {}),
            **({"call_us": self.call_us} if self.call_us else {}),
            "measurements_us": list(self.measured_us),
            "networks": list(self.networks),
        }


def build_pass_product(convolution: Convolution, direction: str) -> tuple[str, int, int, int]:
    """Return transposes, M, N and K of an image's product in a pass, column-major."""
    positions, depth, filters = convolution.positions, convolution.depth, convolution.filters
    return {
        "F": ("NN", positions, filters, depth),
        "B": ("NT", positions, depth, filters),
        "W": ("TN", depth, filters, positions),
    }[direction]


def has_convolutions(columns: Sequence[str]) -> bool:
    """Tell whether the points of a file with these columns are convolutions."""
    return "solver_ms" in columns


def read_chosen(path: Path) -> list[LibraryKernelChoice]:
    """Read which kernels a library takes; raise UserError with the line of the problem."""
    rows = _rows(path, CHOSEN_COLUMNS)
    found = []
    for line, row in rows:
        m, n, k, batch = (_number(path, line, row, name) for name in ("m", "n", "k", "batch"))
        found.append(LibraryKernelChoice(row["transposes"], m, n, k, row["kernel"], batch))
    return found


def read_convolutions(
    path: Path,
    solver: str,
    chosen: Sequence[LibraryKernelChoice],
    selection: KernelSelection | None = None,
    call_us: Mapping[str, float] = MappingProxyType({}),
) -> list[ConvolutionPoint]:
    """Read the points of a CSV file with the columns of COLUMNS.

    A product that is not among the known ones takes the kernel that the library's table selects. Without a table it
    takes that of the nearest known product of its transposes, by M, N, K and the batch: a guess.

    Args:
        path: Path of the CSV file.
        solver: GEMM or OWN.
        chosen: Products whose kernels are known.
        selection: The library's table of kernels.
        call_us: What a call holds once, in microseconds, by solver; others hold nothing.

    Returns:
        The points in the order of the file.

    Raises:
        UserError: A row is wrong, with its line, or no row has a solver that is run.
    """
    by_model: dict[ConvolutionPoint, list[ConvolutionPoint]] = {}
    left_out = 0
    for line, row in _rows(path, COLUMNS):
        direction = row["direction"]
        if direction not in PASSES:
            raise UserError(f"{path}:{line}: direction: {unknown_name('pass', direction, PASSES)}")
        times, convolution = _times(path, line, row["solver_ms"]), _convolution(path, line, row)
        if solver == GEMM:
            times = {name: ms for name, ms in times.items() if name in GEMM_SOLVERS}
        if not times:
            left_out += 1
            continue
        fastest = min(times, key=lambda name: times[name])
        time_us = 1e3 * times[fastest]
        share_us = call_us.get(fastest, 0.0) if solver == GEMM else 0.0
        if solver == GEMM and fastest in BY_IMAGE:
            time_us, share_us = time_us / convolution.shape[0], share_us / convolution.shape[0]
            convolution = replace(convolution, shape=(1, *convolution.shape[1:]))
        how = (solver == GEMM, "", (time_us,), (row["network"],))
        point = ConvolutionPoint(direction, convolution, time_us, fastest, *how)
        if solver == GEMM:
            kernel, is_guessed = _kernel_of(point.product, chosen, selection)
            point = replace(point, kernel=kernel, is_guessed=is_guessed, call_us=share_us)
        by_model.setdefault(point.of_model, []).append(point)
    if not by_model:
        raise UserError(f"{path}: no row has a solver of those that are run: {', '.join(GEMM_SOLVERS)}")
    if left_out:
        solvers = ", ".join(GEMM_SOLVERS)
        current_reporter().say_once(f"{path.name}: {left_out} rows are left out: they have no time of {solvers}")
    return [_joined(points) for points in by_model.values()]


def _joined(points: Sequence[ConvolutionPoint]) -> ConvolutionPoint:
    """Make one point of several measurements of the same."""
    measured = tuple(point.time_us for point in points)
    networks = tuple(dict.fromkeys(name for point in points for name in point.networks))
    call_us = median(point.call_us for point in points)
    return replace(points[0], time_us=median(measured), measured_us=measured, networks=networks, call_us=call_us)


def _rows(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(f"{path}: no column '{missing[0]}' (needed: {', '.join(needed)})")
            return [(reader.line_num, {name: row[name] or "" for name in needed}) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _number(path: Path, line: int, row: Mapping[str, str], name: str) -> int:
    text = row[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UserError(f"{path}:{line}: {name}: '{text}' is no number below 10^9")
    return int(text)


def _times(path: Path, line: int, text: str) -> dict[str, float]:
    """Return the milliseconds of each solver, as 'NAME=MS NAME=MS' says them."""
    times = {}
    for part in text.split():
        name, _, ms = part.partition("=")
        try:
            times[name] = float(ms)
        except ValueError:
            times[name] = 0.0
        if not 0 < times[name] < 1e9:
            raise UserError(f"{path}:{line}: solver_ms: '{part}' is no solver with its milliseconds, as fft=2.29")
    return times


def _convolution(path: Path, line: int, row: Mapping[str, str]) -> Convolution:
    n = {name: _number(path, line, row, name) for name in SIZES}
    padding = (n["pad_h"], n["pad_w"]) * 2
    kernel, stride = ((n[f"{name}_h"], n[f"{name}_w"]) for name in ("kernel", "stride"))
    try:
        made = Convolution(
            (n["batch"], n["channels"], n["height"], n["width"]),
            n["filters"],
            kernel,
            stride,
            padding,
            (n["dilation_h"], n["dilation_w"]),
        )
    except UserError as error:
        raise UserError(f"{path}:{line}: {error}") from None
    if made.outputs != (n["out_h"], n["out_w"]):
        raise UserError(
            f"{path}:{line}: out_h, out_w: {n['out_h']} x {n['out_w']}; the other sizes give"
            f" {made.outputs[0]} x {made.outputs[1]}"
        )
    return made


def _kernel_of(
    product: tuple[str, int, int, int, int], chosen: Sequence[LibraryKernelChoice], selection: KernelSelection | None
) -> tuple[str, bool]:
    """Return the name of a product's kernel, and whether it is guessed; no name where nothing is alike."""
    transposes, m, n, k, batch = product
    alike = [one for one in chosen if one.transposes == transposes]
    same = [one for one in alike if (one.m, one.n, one.k) == (m, n, k)]  # the library's table knows no batches
    nearest = min(same or alike, key=lambda one: dist((one.m, one.n, one.k, one.batch), (m, n, k, batch)), default=None)
    if nearest is not None and same:
        return nearest.kernel, False
    if selection is not None:
        return selection.select(transposes, m, n, k), False
    return (nearest.kernel, True) if nearest is not None else ("", False)
