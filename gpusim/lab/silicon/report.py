"""A comparison with measured points as plain data for JSON, and read from it again."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.plain_data import parse_as
from gpusim.lab.silicon.compare import CorrelationPoint, groups, totals
from gpusim.lab.silicon.fit import FitCandidate, ParameterFit
from gpusim.lab.silicon.measured import MeasuredPoint, MeasuredTable, ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import Prediction
from gpusim.lab.versions.model import FigureVersion
from gpusim.lab.versions.recorded import StoredVersion, encode_models, encode_version, parse_models, parse_version
from gpusim.results import metrics
from workloads.operators.convolution import Convolution

SCHEMA_VERSION = metrics.SCHEMA_VERSION
_HINT = "gpusim correlate --json writes such a file"


class SkippedPoint(NamedTuple):
    """A point that was not run."""

    name: str
    """Label of the point."""
    kernel: str
    """Name of its kernel."""
    why: str
    """Reason."""


class SavedComparison(NamedTuple):
    """A comparison that was read from a JSON object."""

    rows: list[CorrelationPoint]
    """Compared points."""
    fitted: ParameterFit | None
    """Fitted parameters; None: there was no fit."""
    partial: bool
    """Some points are missing."""
    stopped_by: str
    """Reason for the missing points; empty in earlier versions."""
    not_run: list[SkippedPoint]
    """Points that were not run."""
    versions: Mapping[str, FigureVersion] = {}
    """What made each row, by its label; a row that is not in it was made before versions were recorded."""


@dataclass(frozen=True, kw_only=True)
class _StoredPoint:
    """What a comparison's file has of every point."""

    measured_us: float
    launch_us: float
    kernels_us: float
    kernels_first_us: float | None
    kernels_half_width_us: float | None
    launches: int
    workgroups: int
    bound: str
    bound_utilization: float
    simulated_share: float
    table_launch_us: float | None = None
    im2col_us: float | None = None
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class _StoredProduct(_StoredPoint):
    """A matrix product."""

    transposes: str
    m: int
    n: int
    k: int
    kernel: str
    batch: int = 1
    guessed: bool = False
    over_neighbours: float | None = None

    def point(self) -> MeasuredPoint:
        """Return the measured point."""
        return ProductPoint(
            transposes=self.transposes,
            m=self.m,
            n=self.n,
            k=self.k,
            time_us=self.measured_us,
            kernel=self.kernel,
            batch=self.batch,
            is_guessed=self.guessed,
            over_neighbours=self.over_neighbours,
        )


@dataclass(frozen=True, kw_only=True)
class _StoredConvolution(_StoredPoint):
    """A pass of a convolution."""

    direction: str
    shape: tuple[int, ...]
    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    solver: str
    same_solver: bool
    product: str
    measurements_us: tuple[float, ...]
    networks: tuple[str, ...]
    guessed: bool = False
    call_us: float = 0.0

    def point(self) -> MeasuredPoint:
        """Return the measured point."""
        sizes: dict[str, Any] = {name: getattr(self, name) for name in ("kernel", "stride", "padding", "dilation")}
        return ConvolutionPoint(
            direction=self.direction,
            convolution=Convolution(self.shape, self.filters, **sizes),
            time_us=self.measured_us,
            solver=self.solver,
            same_solver=self.same_solver,
            kernel=self.product,
            measured_us=self.measurements_us,
            networks=self.networks,
            is_guessed=self.guessed,
            call_us=self.call_us,
        )


@dataclass(frozen=True)
class _StoredRow:
    """A row of a comparison's file."""

    point: _StoredProduct | _StoredConvolution


@dataclass(frozen=True, kw_only=True)
class _StoredFit:
    """A fit of a comparison's file."""

    values: dict[str, Any]
    launch_us: float
    launch_interval_us: tuple[float, float]
    mean_absolute_error: float
    tried: tuple[FitCandidate, ...]
    points: int
    hip_launch_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class _StoredComparison:
    """The part of a comparison's file that is read again."""

    partial: bool
    rows: list[_StoredRow] = field(default_factory=list)
    fit: _StoredFit | None = None
    stopped_by: str = ""
    not_run: list[SkippedPoint] = field(default_factory=list)
    models: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, StoredVersion] = field(default_factory=dict)


def restored(document: Any, source: str = "the result") -> SavedComparison:
    """Read the rows, the fit and the state of a JSON object of a comparison.

    Args:
        document: The JSON object.
        source: Where it comes from, for errors.

    Raises:
        UserError: It is no comparison.
    """
    version = document.get("schema_version") if isinstance(document, Mapping) else None
    if version != SCHEMA_VERSION:
        raise UserError(f"{source}: schema_version {version}: {SCHEMA_VERSION} can be read; {_HINT}")
    stored = parse_as(_StoredComparison, document, source, _HINT)
    fitted = None
    if stored.fit is not None:
        fitted = ParameterFit(
            values=stored.fit.values,
            launch_us=stored.fit.launch_us,
            launch_interval_us=stored.fit.launch_interval_us,
            error=stored.fit.mean_absolute_error,
            tried=stored.fit.tried,
            points=stored.fit.points,
            hip_launch_us=stored.fit.hip_launch_us,
        )
    rows = [_restored_row(row.point) for row in stored.rows]
    models = parse_models(stored.models, source)
    versions = {label: parse_version(version, models, "", source) for label, version in stored.versions.items()}
    return SavedComparison(rows, fitted, stored.partial, stored.stopped_by, stored.not_run, versions)


def _restored_row(stored: _StoredProduct | _StoredConvolution) -> CorrelationPoint:
    # earlier versions had one launch time for all, and no batches
    table_launch_us = stored.launch_us if stored.table_launch_us is None else stored.table_launch_us
    point = stored.point()
    each_us = stored.launch_us - getattr(point, "call_us", 0.0)
    own_launch_us = None if math.isclose(each_us, table_launch_us, abs_tol=1e-9) else each_us
    prediction = Prediction(
        point=replace(point, own_launch_us=own_launch_us),
        time_us=stored.kernels_us,
        first_us=stored.kernels_first_us,
        launches=stored.launches,
        workgroups=stored.workgroups,
        bound=stored.bound,
        utilization=stored.bound_utilization,
        simulated=stored.simulated_share,
        half_width_us=stored.kernels_half_width_us,
        im2col_us=stored.im2col_us,
        by=stored.by,
    )
    return CorrelationPoint(prediction, table_launch_us)


def serialize_point(row: CorrelationPoint) -> dict[str, Any]:
    """Return a point as plain data: times in microseconds, the ratio of modelled to measured time."""
    p = row.prediction
    return {
        **_point_said(p),
        "measured_us": p.point.time_us,
        "modelled_us": row.modelled_us,
        "launch_us": row.launch_us,
        "table_launch_us": row.table_launch_us,
        "kernels_us": p.time_us,
        "kernels_half_width_us": p.half_width_us,
        "kernels_first_us": p.first_us,
        "ratio": row.ratio,
        "launches": p.launches,
        "workgroups": p.workgroups,
        "bound": p.bound,
        "bound_utilization": p.utilization,
        "run": p.how,
        "simulated_share": p.simulated,
    }


def _point_said(p: Prediction) -> dict[str, Any]:
    if isinstance(p.point, ConvolutionPoint):
        return {**p.point.said(), "im2col_us": p.im2col_us, "by": p.by}
    fields = ("transposes", "m", "n", "k", "batch", "kernel")
    over = p.point.over_neighbours
    return {
        **{name: getattr(p.point, name) for name in fields},
        **({"guessed": True} if p.point.is_guessed else {}),
        **({"over_neighbours": over} if over is not None else {}),
    }


def serialize_comparison(
    table: MeasuredTable, rows: Sequence[CorrelationPoint], fitted: ParameterFit | None, not_run: Sequence[SkippedPoint]
) -> dict[str, Any]:
    """Return what a comparison says of all its points, as plain data."""
    out: dict[str, Any] = {
        "table": {"title": table.title, "card": table.card, "source": table.source},
        "clock_ghz": table.clock_ghz,
        "groups": {name: asdict(s) for name, s in groups(rows).items()},
        **({"totals": [asdict(s) | {"ratio": s.ratio} for s in held]} if (held := totals(rows)) else {}),
        "not_run": [one._asdict() for one in not_run],
    }
    if fitted is not None:
        out["fit"] = {
            "values": fitted.values,
            "launch_us": fitted.launch_us,
            **({} if fitted.hip_launch_us is None else {"hip_launch_us": fitted.hip_launch_us}),
            "launch_interval_us": list(fitted.launch_interval_us),
            "mean_absolute_error": fitted.error,
            "points": fitted.points,
            "tried": [asdict(tried) for tried in fitted.tried],
        }
    return out


def serialize_versions(versions: Mapping[str, FigureVersion]) -> dict[str, Any]:
    """Return the versions of rows by label as plain data; nothing without any."""
    if not versions:
        return {}
    encoded = {label: encode_version(version) for label, version in versions.items()}
    return {"models": encode_models(versions.values()), "versions": encoded}


def document(table: MeasuredTable, saved: SavedComparison) -> dict[str, Any]:
    """Return the JSON object of points that were read from a file, without their metrics.

    Args:
        table: Table of the points.
        saved: Rows, fit and state.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "correlate",
        "partial": saved.partial,
        **({"stopped_by": saved.stopped_by} if saved.stopped_by else {}),
        "config": {"gpu": table.gpu.model_dump(mode="json")},
        **serialize_comparison(table, saved.rows, saved.fitted, saved.not_run),
        **serialize_versions(saved.versions),
        "rows": [{"name": row.prediction.point.label, "point": serialize_point(row)} for row in saved.rows],
    }
