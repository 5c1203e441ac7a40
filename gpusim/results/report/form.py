"""The form of a result's JSON object, against which an object from a file is checked before it is shown.

Metrics come from their table; of what else an object has, the parts that reports read are listed here. Other keys are
left alone, so that what a later version adds does no harm.
"""

from collections import defaultdict
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from gpusim.base.errors import UserError
from gpusim.base.plain_data import parse_as
from gpusim.results import metrics
from gpusim.results.metrics.half_widths import SUFFIX
from gpusim.results.metrics.metric import Metric

Number = Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)]
NumberOrNone = Number | None


class _Gpu(BaseModel):
    name: str = ""
    shader_arrays: int = 1
    cus_per_array: int = 1
    clock_ghz: Number = 1.0
    l2: dict[str, Any] | None = None


class _Workload(BaseModel):
    layer: dict[str, int | str | float | bool | None] | None = None
    batch: int | None = None


class _Config(BaseModel):
    gpu: _Gpu | None = None
    only: list[str] | None = None
    table: dict[str, Any] | None = None
    program: list[str] | None = None
    workload: _Workload | None = None
    queue: list[Any] | None = None
    launch: dict[str, Any] | None = None
    global_size: int | list[int] | None = None
    local_size: int | list[int] | None = None


class _Spot(BaseModel):
    """An instruction: one of the costliest, or one that accesses memory, with counts by name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | float | str | None]
    kernel: str
    address: int
    instruction: str
    file: str | None = None
    line: int | None = None
    inlined: str = ""


class _WavefrontGroup(BaseModel):
    count: int
    address: int
    instruction: str
    state: str
    file: str | None = None
    line: int | None = None


class _Choice(BaseModel):
    kernel: str
    cycles: dict[str, Number]
    at_least: dict[str, Number]
    estimated: dict[str, Number] | None = None
    zeros: NumberOrNone = None


class _Sampling(BaseModel):
    method: str
    reason: str
    confidence: Number
    fraction: NumberOrNone = None
    speed_up: NumberOrNone = None
    rounds: NumberOrNone = None


class _Series(BaseModel):
    model_config = ConfigDict(extra="forbid")
    every: int
    ends: list[int]
    resident: list[int]
    counts: dict[str, list[Number]]


class _Commands(BaseModel):
    """Launches and copies of a network or program, as columns of equal lengths."""

    texts: list[str]
    name: list[int]
    place: list[int]
    direction: list[int]
    stream: list[int]
    number: list[int]
    copied_bytes: list[int]
    launched_ns: list[int]
    started_ns: list[int]
    ended_ns: list[int]

    @model_validator(mode="after")
    def _are_whole(self) -> "_Commands":
        columns = {name: column for name, column in self if name != "texts"}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns need equal lengths, but have {lengths}")
        for name in ("name", "place", "direction"):
            if any(not 0 <= number < len(self.texts) for number in columns[name]):
                raise ValueError(f"{name} needs numbers from 0 to {len(self.texts) - 1}, the places in texts")
        return self


class _Bound(BaseModel):
    name: str
    utilization: NumberOrNone


class _Finding(BaseModel):
    text: str


def _metric_field(metric: Metric) -> tuple[Any, None]:
    """Return the type of a metric's value: text or a flag where there is no unit, else numbers."""
    return (Number | list[Number] | None if metric.unit else str | bool | Number | None), None


@cache
def _metric_models() -> dict[str, Any]:
    """Return a model for each group of metrics."""
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for metric in metrics.METRICS:
        group, _, name = metric.path.partition(".")
        groups[group] |= {name: _metric_field(metric), name + SUFFIX: (Number | list[Number] | None, None)}
    return {name: (create_model(f"_Group_{name}", **fields) | None, None) for name, fields in groups.items()}


@cache
def _body() -> type[BaseModel]:
    """Return the model of a variant, or of a result of one variant."""
    launch: Any = create_model("_Launch", **_metric_models())
    validators: dict[str, Any] = {"timed": model_validator(mode="after")(_require_times)}
    group: Any = create_model("_LaunchGroup", launches=(int, ...), metrics=(launch, ...))
    row: Any = create_model(
        "_Row",
        name=(str, ...),
        launches=(int, ...),
        what=(str, Field("", alias="pass")),
        cycles=(NumberOrNone, None),
        time_us=(NumberOrNone, None),
        time_us_half_width=(NumberOrNone, None),
        share=(NumberOrNone, None),
        bound=(_Bound | None, None),
        metrics=(launch | None, None),
        launch_groups=(list[group] | None, None),
        sampling=(_Sampling | None, None),
        __validators__=validators,
    )
    return create_model(
        "_Body",
        **_metric_models(),
        hotspots=(list[_Spot] | None, None),
        access_patterns=(list[_Spot] | None, None),
        resident_wavefronts=(list[_WavefrontGroup] | None, None),
        choice=(_Choice | None, None),
        sampling=(_Sampling | None, None),
        series=(_Series | None, None),
        commands=(_Commands | None, None),
        launches=(list[launch] | None, None),
        launch_groups=(list[group] | None, None),
        rows=(list[row] | None, None),
    )


def _require_times(row: Any) -> Any:
    if row.cycles is not None and (row.time_us is None or "share" not in row.model_fields_set):
        raise ValueError("a row with cycles needs time_us and share")
    return row


class _Head(BaseModel):
    partial: bool
    config: _Config
    stopped_by: str = ""
    remarks: list[str] | None = None
    findings: list[_Finding] | None = None
    network: str | None = None
    phase: str | None = None
    batch: int | None = None


def check_form(document: dict[str, Any], source: str) -> None:
    """Check that a result's object has the form that reports read.

    Args:
        document: the object, of this version's schema.
        source: where it comes from, for messages.

    Raises:
        UserError: a value has another type, or is missing; names the place, the value and what is allowed.
    """
    hint = "the file is damaged"
    head = parse_as(_Head, document, source, hint)
    if head.network is not None and (head.phase is None or head.batch is None):
        raise UserError(f"{source}: phase, batch: are required where there is a network; {hint}")
    if "kernel" in document:
        parse_as(_body(), document, source, hint)
        return
    others = {name: body for name, body in document.items() if name not in _Head.model_fields}
    variants = {name: body for name, body in others.items() if isinstance(body, dict) and "kernel" in body}
    if not any(body["kernel"] is not None for body in variants.values()):
        raise UserError(f"{source}: kernel: is required but missing; {hint}")
    for name, body in variants.items():
        parse_as(_body(), body, f"{source}: {name}", hint)
