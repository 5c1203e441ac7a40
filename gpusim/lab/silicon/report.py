"""A comparison with measured points as plain data for JSON, and read from it again."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.lab.silicon.compare import CorrelationPoint, groups, totals
from gpusim.lab.silicon.fit import FitCandidate, ParameterFit
from gpusim.lab.silicon.measured import MeasuredPoint, MeasuredTable, ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import Prediction
from gpusim.results import metrics

SCHEMA_VERSION = metrics.SCHEMA_VERSION


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


def restored(document: Mapping[str, Any]) -> SavedComparison:
    """Read the rows, the fit and the state of a JSON object of a comparison; raises UserError for another one."""
    try:
        version = document["schema_version"]
        if version != SCHEMA_VERSION:
            raise UserError(f"schema_version {version}: {SCHEMA_VERSION} can be read")
        points = [row["point"] for row in document.get("rows", ())]
        held = document.get("fit")
        fitted = None if held is None else _restored_fit(held)
        rows, stopped_by = [_restored_row(point) for point in points], document.get("stopped_by", "")
        not_run = [SkippedPoint(**one) for one in document.get("not_run", ())]
        return SavedComparison(rows, fitted, document["partial"], stopped_by, not_run)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a result of gpusim correlate --json: {error}") from None


def _restored_fit(held: Mapping[str, Any]) -> ParameterFit:
    low, high = held["launch_interval_us"]
    tried = tuple(FitCandidate(**one) for one in held["tried"])
    fixed = (held["values"], held["launch_us"], (low, high), held["mean_absolute_error"], tried, held["points"])
    return ParameterFit(*fixed, held.get("hip_launch_us"))


def _restored_row(document: Mapping[str, Any]) -> CorrelationPoint:
    point = _restored_point(document)
    launch_us = document["launch_us"]
    table_launch_us = document.get("table_launch_us", launch_us)  # earlier versions had one for all, and no batches
    each_us = launch_us - getattr(point, "call_us", 0.0)
    own_launch_us = None if math.isclose(each_us, table_launch_us, abs_tol=1e-9) else each_us
    point = replace(point, own_launch_us=own_launch_us)
    simulated = document["simulated_share"]
    prediction = Prediction(
        point=point,
        time_us=document["kernels_us"],
        first_us=document["kernels_first_us"],
        launches=document["launches"],
        workgroups=document["workgroups"],
        bound=document["bound"],
        utilization=document["bound_utilization"],
        simulated=simulated,
        half_width_us=document["kernels_half_width_us"],
        im2col_us=document.get("im2col_us"),
        by=document.get("by", ""),
    )
    return CorrelationPoint(prediction, table_launch_us)


def _restored_point(document: Mapping[str, Any]) -> MeasuredPoint:
    if "direction" in document:
        return ConvolutionPoint.restored(document)
    transposes, m, n, k = (document[name] for name in ("transposes", "m", "n", "k"))
    return ProductPoint(
        transposes=transposes,
        m=m,
        n=n,
        k=k,
        time_us=document["measured_us"],
        kernel=document["kernel"],
        batch=document.get("batch", 1),
        is_guessed=document.get("guessed", False),
        over_neighbours=document.get("over_neighbours"),
    )


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


def document(table: MeasuredTable, saved: SavedComparison) -> dict[str, Any]:
    """Return the JSON object of points that were read from a file, without their metrics."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "correlate",
        "partial": saved.partial,
        **({"stopped_by": saved.stopped_by} if saved.stopped_by else {}),
        "config": {"gpu": table.gpu.model_dump(mode="json")},
        **serialize_comparison(table, saved.rows, saved.fitted, saved.not_run),
        "rows": [{"name": row.prediction.point.label, "point": serialize_point(row)} for row in saved.rows],
    }
