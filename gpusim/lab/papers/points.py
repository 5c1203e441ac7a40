"""Points: the runs that figures need, each a configuration of `gpusim run`."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.run import RunConfig, load_run
from gpusim.config.tree import assignments
from gpusim.lab.papers.specs.figure import (
    LAYER_TABLES,
    AblationFigure,
    CaseSpec,
    Figure,
    MapFigure,
    RunsFigure,
    TrainingFigure,
)
from gpusim.lab.papers.specs.reproduction import PathSpec, Reproduction, ReproductionSpec
from workloads.shapes import ConvolutionShape, GemmShape, gemm_shape

_GIB = 1 << 30
ANY_DATA = "any"  # of ways that take equally long whatever the values are
LAYER_FIELDS = (
    "input_channels", "output_channels", "input_height", "input_width", "filter_size", "stride", "padding",
)  # fmt: skip


@dataclass(frozen=True)
class ReproductionPoint:
    """A run that a figure needs."""

    labels: Mapping[str, str]
    """Labels: case, batch, data and path; also x and y in a heat map, and the change in an ablation."""
    given: files.Document
    """Base configuration."""
    sets: Mapping[str, Any]
    """Values that override it, by path."""

    @property
    def key(self) -> str:
        """The unique name of the point, such as 'A 128 real engine'."""
        return " ".join(self.labels.values())

    def config(self) -> RunConfig:
        """Load the configuration; raise UserError."""
        ordered = sorted(self.sets.items(), key=lambda item: item[0].count("."))  # a section before its values
        try:
            return load_run(self.given, assignments(dict(ordered)))
        except UserError as error:
            raise UserError(*(f"{self.key}: {problem}" for problem in error.problems)) from None


def build_labels(case: str, batch: int, data: str, path: str, sparse: bool) -> dict[str, str]:
    """Return the labels of the point for a value; one run serves all data of a way that does not skip zeros."""
    return {"case": case, "batch": str(batch), "data": data if sparse else ANY_DATA, "path": path}


def list_points(reproduction: Reproduction, figure: RunsFigure, exact: bool = False) -> Iterator[ReproductionPoint]:
    """Yield the figure's points in order, each once. exact: simulated in whole."""
    spec, seen = reproduction.spec, set[str]()
    for case, held in figure.cases.items():
        document = build_case_document(held, spec.gpu)
        for batch in held.batches or figure.batches:
            for data in figure.data:
                for path in (one for one in figure.paths if not spec.paths[one].made_of):
                    way = spec.paths[path]
                    labels = build_labels(case, batch, data, path, way.sparse)
                    values = {**figure.data[data], **held.data.get(data, {})} if way.sparse else spec.dense_data
                    sets = {**spec.sets, **held.sets, **values, **way.sets, **_how(way, batch, spec, exact)}
                    for extra, varied in _varied(figure, path):
                        point = ReproductionPoint({**labels, **extra}, document, {**sets, **varied})
                        if point.key not in seen:
                            seen.add(point.key)
                            yield point


def _how(way: PathSpec, batch: int, spec: ReproductionSpec, exact: bool) -> dict[str, Any]:
    """Return how the point is run; what is sampled is computed in part, and cannot be compared with NumPy's."""
    in_whole = exact or not way.sampled
    return {
        "gpu": spec.gpu,
        "workload.batch": batch,
        "run.engine": "on" if way.sparse else "off",
        "run.verify": in_whole,
        "run.sampling": None if in_whole else spec.sampling.model_dump(mode="json"),
    }


def _varied(figure: RunsFigure, path: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield labels and values of a map's places, or of an engine's changes; without either, one place of a way."""
    if isinstance(figure, AblationFigure) and path != figure.base:
        yield from (({"change": name} if sets else {}, sets) for name, sets in figure.changes.items())
        return
    if not isinstance(figure, MapFigure):
        yield {}, {}
        return
    for y, laid in figure.y.values.items():
        for x, over in figure.x.values.items():
            yield {"x": x, "y": y}, {**laid, **over}


def build_case_document(case: CaseSpec, gpu: str) -> files.Document:
    """Return the configuration of a case, over which values are laid."""
    if case.run is not None:
        return files.opened(case.run)
    assert case.layer is not None
    table, _, name = case.layer.partition("/")
    layer = next(one for one in LAYER_TABLES[table] if one.name.rpartition(" ")[2] == name)
    described = {"name": layer.name, **{field: getattr(layer, field) for field in LAYER_FIELDS}}
    return files.Document(Path(case.layer), {"gpu": gpu, "workload": {"layer": described}})


def shape_of(config: RunConfig, batch: int | None = None) -> GemmShape:
    """Return the product of a point, or of the same layer with another batch."""
    workload: Any = config.workload
    layer: ConvolutionShape = workload.layer.shape
    return gemm_shape(layer, workload.batch if batch is None else batch)


def is_known(reproduction: Reproduction, figure: Figure, known: Collection[str], some: bool = False) -> bool:
    """Tell whether all points of a figure, or of those that it is made of, are known. some: whether any of them is."""
    if isinstance(figure, TrainingFigure):
        held = (reproduction.figures[one.figure] for one in figure.networks.values())
        return some or all(is_known(reproduction, one, known) for one in held)
    if not isinstance(figure, RunsFigure):
        return True
    return (any if some else all)(point.key in known for point in list_points(reproduction, figure))


def bytes_of(shape: GemmShape) -> int:
    """Count the bytes of A, B and C in the layout of the kernels."""
    return 4 * (shape.padded_k * shape.lda + shape.n * shape.ldb + shape.n * shape.ldc)


def does_fit(reproduction: Reproduction, figure: RunsFigure, case: str, batch: int) -> str:
    """Tell whether a case's matrices fit the GPU's memory at the publication's largest batch that `batch` replaces.

    Returns 'yes', or a text such as 'no: 7.4 of 4.0 GiB at 64'.
    """
    largest, spec = max(figure.source_batches or (batch,)), reproduction.spec
    sets = json.dumps({**spec.sets, **figure.cases[case].sets, "gpu": spec.gpu})
    needed, there = _needed(figure.cases[case].model_dump_json(), spec.gpu, sets, largest)
    if needed <= there:
        return "yes"
    return f"no: {needed / _GIB:.1f} of {there / _GIB:.1f} GiB at {largest}"


@cache
def _needed(case: str, gpu: str, sets: str, batch: int) -> tuple[int, int]:
    """Return the bytes of a case's matrices, and those of the GPU's memory. case, sets: as JSON."""
    config = load_run(build_case_document(CaseSpec.model_validate_json(case), gpu), assignments(json.loads(sets)))
    return bytes_of(shape_of(config, batch)), config.gpu.memory_mib << 20
