"""Ratios of the model's times to measured ones, and what they amount to: bias, spread, error, rank correlation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.base.formats import GENERAL
from gpusim.lab.silicon.measured import ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import EXTRAPOLATED, SAMPLED, WHOLE, Prediction
from workloads.operators.convolution import Convolution
from workloads.vendor.tensile import takes_pointers

LARGE_GFLOP = 0.5  # from here on a launch's overhead hardly counts
KIB = 1 << 10
PASS_TITLES = {"F": "forward", "B": "backward data", "W": "backward weights"}
GUESSED = "guessed kernels, in no other line"
UNCONTRADICTED = "all but readings that their neighbours contradict"
STRIDE_KIB = 2  # operands whose rows lie a multiple of it apart share few sets, channels and banks


@dataclass(frozen=True)
class CorrelationPoint:
    """A measured point beside its prediction."""

    prediction: Prediction
    """Prediction of the point."""
    table_launch_us: float
    """Overhead outside kernels in the table's measurements with such a kernel, in microseconds."""

    @property
    def launch_us(self) -> float:
        """What this measurement holds beside the kernels."""
        point = self.prediction.point
        launch_us = self.table_launch_us if point.own_launch_us is None else point.own_launch_us
        return launch_us + (point.call_us if isinstance(point, ConvolutionPoint) else 0.0)

    @property
    def modelled_us(self) -> float:
        """Kernels and overhead."""
        return self.prediction.time_us + self.launch_us

    @property
    def ratio(self) -> float:
        """Modelled time / measured time."""
        return self.modelled_us / self.prediction.point.time_us


@dataclass(frozen=True)
class RatioSummary:
    """Summary of a group's ratios."""

    count: int
    """Number of ratios."""
    geometric_mean: float
    """Their geometric mean."""
    spread: float
    """Exponential of the standard deviation of their logarithms."""
    mean_absolute_error: float
    """Mean of |ratio - 1|."""
    least: float
    """Least ratio."""
    most: float
    """Largest ratio."""
    rank_correlation: float | None
    """Spearman's rank correlation of modelled with measured GFLOPS; None for fewer than three points."""


def is_large(row: CorrelationPoint) -> bool:
    """Tell whether the point has enough work for its launch not to matter."""
    return row.prediction.point.gflop >= LARGE_GFLOP


def has_even_stride(row: CorrelationPoint) -> bool:
    """Tell whether the rows of an operand are a multiple of STRIDE_KIB apart."""
    p = row.prediction.point
    if isinstance(p, ConvolutionPoint):
        return False
    strides = (p.m if p.transposes[0] == "N" else p.k, p.k if p.transposes[1] == "N" else p.n)
    return any(stride * p.element_bytes % (STRIDE_KIB * KIB) == 0 for stride in strides)


def _transposed(which: str) -> Callable[[CorrelationPoint], bool]:
    return lambda row: getattr(row.prediction.point, "transposes", "") == which


def _found(how: str) -> Callable[[CorrelationPoint], bool]:
    return lambda row: row.prediction.how == how


def classify_kernel(row: CorrelationPoint) -> str:
    """Return of which kind the point's kernel is, by its name."""
    if takes_pointers(row.prediction.point.kernel):
        return "general batches"
    return "HIP kernels" if row.prediction.point.is_compiled else "assembly kernels"


KINDS = ("assembly kernels", "HIP kernels", "general batches")


def _of_kind(kind: str) -> Callable[[CorrelationPoint], bool]:
    return lambda row: classify_kernel(row) == kind


GROUPS: dict[str, Callable[[CorrelationPoint], bool]] = {
    "all": lambda row: True,
    "run whole": _found(WHOLE),
    SAMPLED: _found(SAMPLED),
    EXTRAPOLATED: _found(EXTRAPOLATED),
    f"{GENERAL(LARGE_GFLOP)} GFLOP and more": is_large,
    f"less than {GENERAL(LARGE_GFLOP)} GFLOP": lambda row: not is_large(row),
    f"rows a multiple of {STRIDE_KIB} KiB apart": has_even_stride,
    "other rows": lambda row: not has_even_stride(row),
    **{which: _transposed(which) for which in ("NN", "NT", "TN", "TT")},
    **{kind: _of_kind(kind) for kind in KINDS},
}


def summary(rows: Sequence[CorrelationPoint]) -> RatioSummary:
    """Summarise the ratios of a group of at least one point."""
    ratios = np.array([row.ratio for row in rows])
    logarithms = np.log(ratios)
    measured = [row.prediction.point.gflop / row.prediction.point.time_us for row in rows]
    modelled = [row.prediction.point.gflop / row.modelled_us for row in rows]
    return RatioSummary(
        count=len(rows),
        geometric_mean=float(np.exp(logarithms.mean())),
        spread=float(np.exp(logarithms.std())),
        mean_absolute_error=float(np.abs(ratios - 1).mean()),
        least=float(ratios.min()),
        most=float(ratios.max()),
        rank_correlation=rank_correlation(measured, modelled) if len(rows) > 2 else None,
    )


def _is_of(rows: Sequence[CorrelationPoint]) -> dict[str, Callable[[CorrelationPoint], bool]]:
    """Return the groups of points that are convolutions: by pass, by network, by how often they were measured."""
    points = [row.prediction.point for row in rows if isinstance(row.prediction.point, ConvolutionPoint)]
    return {
        **{name: GROUPS[name] for name in ("all", "run whole", SAMPLED)},
        **{title: _in_pass(direction) for direction, title in PASS_TITLES.items()},
        **{name: _in_network(name) for name in dict.fromkeys(name for point in points for name in point.networks)},
    }


def _in_pass(direction: str) -> Callable[[CorrelationPoint], bool]:
    return lambda row: getattr(row.prediction.point, "direction", "") == direction


def _in_network(name: str) -> Callable[[CorrelationPoint], bool]:
    return lambda row: name in getattr(row.prediction.point, "networks", ())


def groups(rows: Sequence[CorrelationPoint]) -> dict[str, RatioSummary]:
    """Return the summaries of the groups that have points, by group.

    Points with a guessed kernel are a group of its own, and in no other. Where neighbours contradict readings, all
    points stand beside those without these.
    """
    kinds = _is_of(rows) if _are_convolutions(rows) else GROUPS
    members = {name: [row for row in _with_own_kernel(rows) if belongs(row)] for name, belongs in kinds.items()}
    sound = [row for row in members["all"] if not is_contradicted(row)]
    if len(sound) < len(members["all"]):
        members[UNCONTRADICTED] = sound
    members[GUESSED] = [row for row in rows if row.prediction.point.is_guessed]
    return {name: summary(group) for name, group in members.items() if group}


def is_contradicted(row: CorrelationPoint) -> bool:
    """Tell whether a measured time contradicts those of its neighbours in the table; of products alone."""
    point = row.prediction.point
    return isinstance(point, ProductPoint) and point.is_contradicted


def _with_own_kernel(rows: Sequence[CorrelationPoint]) -> list[CorrelationPoint]:
    return [row for row in rows if not row.prediction.point.is_guessed]


def _are_convolutions(rows: Sequence[CorrelationPoint]) -> bool:
    return any(isinstance(row.prediction.point, ConvolutionPoint) for row in rows)


@dataclass(frozen=True)
class NetworkTotal:
    """Total time of a network's convolutions."""

    network: str
    """Name of the network."""
    what: str
    """Pass of the convolutions, or 'all'."""
    points: int
    """Number of convolution passes."""
    measured_us: float
    """Measured time in microseconds per image."""
    modelled_us: float
    """Modelled time in microseconds per image."""
    half_width_us: float
    """Half-width of the modelled time in microseconds, with independent points."""
    launch_us: float
    """Share of the modelled time outside kernels, in microseconds per image."""

    @property
    def ratio(self) -> float:
        """Modelled time / measured time."""
        return self.modelled_us / self.measured_us

    @property
    def kernels_ratio(self) -> float:
        """Time of the modelled kernels / measured time."""
        return (self.modelled_us - self.launch_us) / self.measured_us


def totals(rows: Sequence[CorrelationPoint]) -> list[NetworkTotal]:
    """Return the sums of convolutions by network and pass, and of all passes; none where points are products.

    A convolution that was measured with several batches counts once, by the mean of its times an image. Those whose
    kernel is guessed do not count.
    """
    if not _are_convolutions(rows):
        return []
    rows, made = _with_own_kernel(rows), []
    for network in (name for name in _is_of(rows) if any(_in_network(name)(row) for row in rows)):
        held = [row for row in rows if _in_network(network)(row)]
        for title, chosen in (
            *((title, [row for row in held if _in_pass(d)(row)]) for d, title in PASS_TITLES.items()),
            ("all", held),
        ):
            if chosen:
                made.append(_total(network, title, chosen))
    return made


def reduce_to_one_image(convolution: Convolution) -> Convolution:
    """Return a convolution with a batch of one image."""
    return replace(convolution, shape=(1, *convolution.shape[1:]))


def _total(network: str, what: str, rows: Sequence[CorrelationPoint]) -> NetworkTotal:
    by_pass: dict[tuple[Convolution, str], list[tuple[float, float, float, float]]] = {}
    for row in rows:
        point = row.prediction.point
        assert isinstance(point, ConvolutionPoint)
        times = (point.time_us, row.modelled_us, row.prediction.half_width_us or 0.0, row.launch_us)
        by_batch = by_pass.setdefault((reduce_to_one_image(point.convolution), point.direction), [])
        by_batch.append(tuple(time / point.convolution.shape[0] for time in times))  # type: ignore[arg-type]
    measured, modelled, launch = (
        math.fsum(math.fsum(times[of] for times in held) / len(held) for held in by_pass.values()) for of in (0, 1, 3)
    )
    widths = [math.hypot(*(times[2] for times in held)) / len(held) for held in by_pass.values()]
    return NetworkTotal(
        network=network,
        what=what,
        points=len(by_pass),
        measured_us=measured,
        modelled_us=modelled,
        half_width_us=math.hypot(*widths),
        launch_us=launch,
    )


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rank correlation, where equal values share the mean of their ranks; 0 where all are equal."""
    ranks = [_ranks(np.asarray(values)) for values in (a, b)]
    deviations = [rank - rank.mean() for rank in ranks]
    size = math.sqrt(float((deviations[0] ** 2).sum() * (deviations[1] ** 2).sum()))
    return float((deviations[0] * deviations[1]).sum()) / size if size else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]
