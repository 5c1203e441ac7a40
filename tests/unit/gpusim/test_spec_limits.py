"""Is every number of a configuration bounded on both sides, and does every default say where it comes from?"""

import types
import typing
from collections.abc import Iterator
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from gpusim.base.spec import Spec
from gpusim.config.models import collect_kinds
from gpusim.config.run import RunConfig
from gpusim.lab.training.spec import TrainPhaseSpec


def fields(spec: type[Spec], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, info in spec.model_fields.items():
        kinds = typing.get_args(info.annotation) if isinstance(info.annotation, types.UnionType) else (info.annotation,)
        for kind in (*kinds, *collect_kinds(info.annotation).values()):
            if isinstance(kind, type) and issubclass(kind, Spec):
                yield from fields(kind, f"{path}{name}.")
        yield f"{path}{name}", info


def is_number(annotation: Any) -> bool:
    parts = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return any(part in (int, float) for part in parts)


ALL = {**dict(fields(TrainPhaseSpec)), **dict(fields(RunConfig))}
NUMBERS = [path for path, info in ALL.items() if is_number(info.annotation)]


def test_there_are_numbers() -> None:
    assert {
        "gpu.clock_ghz",
        "gpu.l2.ways",
        "engine.sib_kib",
        "workload.batch",
        "workload.m",
        "gpu.dram.timing.trp_ns",
    } <= set(NUMBERS)


def test_every_number_is_bounded() -> None:
    limits = {path: ALL[path].metadata for path in NUMBERS}
    assert [path for path, held in limits.items() if not any(isinstance(x, Ge | Gt) for x in held)] == [], "below"
    assert [path for path, held in limits.items() if not any(isinstance(x, Le | Lt) for x in held)] == [], "above"


def test_every_value_of_the_machine_says_what_it_is_and_where_its_default_comes_from() -> None:
    untold = []
    for path, info in ALL.items():
        parts = isinstance(info.annotation, type) and issubclass(info.annotation, Spec)
        if path.startswith(("gpu.", "engine.")) and not parts:
            extra = info.json_schema_extra
            if not (info.description and isinstance(extra, dict) and extra.get("source")):
                untold.append(path)
    assert untold == []
