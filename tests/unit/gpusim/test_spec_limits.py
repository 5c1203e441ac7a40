"""Is every number of a configuration bounded on both sides, and does every default say where it comes from?"""

import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from gpusim.base.spec import Spec
from gpusim.config.models import kinds_in
from gpusim.config.run import RunConfig
from gpusim.config.train_phase import TrainPhaseSpec


def fields(spec: type[Spec], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, info in spec.model_fields.items():
        kinds = typing.get_args(info.annotation) if isinstance(info.annotation, types.UnionType) else (info.annotation,)
        for kind in (*kinds, *kinds_in(info.annotation).values()):
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


@pytest.mark.parametrize("path", NUMBERS)
def test_every_number_is_bounded(path: str) -> None:
    limits = ALL[path].metadata
    assert any(isinstance(x, Ge | Gt) for x in limits), f"{path} has no lower bound"
    assert any(isinstance(x, Le | Lt) for x in limits), f"{path} has no upper bound"


@pytest.mark.parametrize("path", [p for p in ALL if p.startswith(("gpu.", "engine."))])
def test_every_value_of_the_machine_says_what_it_is_and_where_its_default_comes_from(path: str) -> None:
    info = ALL[path]
    if isinstance(info.annotation, type) and issubclass(info.annotation, Spec):
        return
    extra = info.json_schema_extra
    assert info.description and isinstance(extra, dict) and extra.get("source"), path
