"""Figures of products, and their points: the runs that they need, each a configuration of `gpusim run`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import model_validator

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import FIXED_1
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.run import RunConfig, load_run
from gpusim.config.tree import assignments
from gpusim.lab.papers.long_table import Where
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.specs.reproduction import PathSpec, ReproductionSpec
from workloads.operators.convolution import Convolution
from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvolutionShape, GemmShape, gemm_shape

_GIB = 1 << 30
ANY_DATA = "any"  # of ways that take equally long whatever the values are
# layers that a case may name as TABLE/LAYER
LAYER_TABLES: dict[str, tuple[ConvolutionShape, ...]] = {"alexnet": ALEXNET, "vgg16": VGGNET16, "resnet18": RESNET18}
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


class CaseSpec(Spec):
    """The layer that a product belongs to. Exactly one of `run` and `layer` names it."""

    run: str | None = param(None, "configuration of gpusim run", "user")
    layer: str | None = param(None, "a layer of one of the tables: alexnet/conv2", "workloads/shapes.py")
    sets: dict[str, Any] = param({}, "values laid over it, by their paths", "user")
    batches: tuple[int, ...] = param((), "batches of this case; none: the figure's", "user")
    count: int = param(1, "layers of equal shape that it stands for, in means too", "user", ge=1)
    data: dict[str, dict[str, Any]] = param({}, "values of this case by the name of the figure's data", "user")

    @model_validator(mode="after")
    def _names_one_layer(self) -> "CaseSpec":
        if (self.run is None) == (self.layer is None):
            raise ValueError("a case has one of run and layer")
        if self.layer is not None:
            table, _, name = self.layer.partition("/")
            if table not in LAYER_TABLES:
                raise ValueError(unknown_name("table of layers", table, LAYER_TABLES))
            layers = [layer.name.rpartition(" ")[2] for layer in LAYER_TABLES[table]]
            if name not in layers:
                raise ValueError(unknown_name("layer", name, layers))
        return self

    def document(self, gpu: str) -> files.Document:
        """Return the configuration that values are laid over."""
        if self.run is not None:
            return files.opened(self.run)
        assert self.layer is not None
        table, _, name = self.layer.partition("/")
        layer = next(layer for layer in LAYER_TABLES[table] if layer.name.rpartition(" ")[2] == name)
        described = {"name": layer.name, **{field: getattr(layer, field) for field in LAYER_FIELDS}}
        return files.Document(Path(self.layer), {"gpu": gpu, "workload": {"layer": described}})


class RunsFigure(Figure):
    """A figure of runs: every case with every batch and data, by each way that it names."""

    cases: dict[str, CaseSpec] = param(..., "layers by their names", "user", min_length=1)
    batches: tuple[int, ...] = param(..., "images", "user", min_length=1)
    source_batches: tuple[int, ...] = param((), "the publication's, where they are others", "the publication")
    data: dict[str, dict[str, Any]] = param(..., "values of a run by the data's name", "user", min_length=1)
    paths: tuple[str, ...] = param(..., "ways to compute the product", "user", min_length=1)

    @model_validator(mode="after")
    def _has_data(self) -> "RunsFigure":
        for name, case in self.cases.items():
            for data in case.data:
                if data not in self.data:
                    raise ValueError(f"case {name}: {unknown_name('data', data, self.data)}")
        self.check_ways()
        return self

    def check_ways(self) -> None:
        """Raise ValueError for options that name a way which the figure does not have."""

    def require_ways(self, *ways: str, option: str = "") -> None:
        """Raise ValueError for the first of these ways that the figure does not have. option: its name, for errors."""
        for way in ways:
            if way not in self.paths:
                problem = unknown_name("path of the figure", way, self.paths)
                raise ValueError(f"{option}: {problem}" if option else problem)

    def check(self, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
        """Raise UserError for a way that the publication does not have, or one of whose parts is missing."""
        for path in self.paths:
            if path not in spec.paths:
                raise UserError(f"paths: {unknown_name('path', path, spec.paths)}")
            missing = [way for way in spec.paths[path].made_of if way not in self.paths]
            if missing:
                raise UserError(f"paths: {path} is made of ways of which {', '.join(missing)} is missing")

    def places(self) -> Iterator[tuple[str, int, str]]:
        """Yield case, batch and data of all combinations in order."""
        for case, spec in self.cases.items():
            for batch in spec.batches or self.batches:
                for data in self.data:
                    yield case, batch, data

    def variations(self, path: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Yield further labels of a way's points with the values that they stand for."""
        yield {}, {}

    def points(self, spec: ReproductionSpec, exact: bool = False) -> Iterator[ReproductionPoint]:
        """Yield the figure's points in order, each once.

        Args:
            spec: The publication's file.
            exact: Simulate in whole.
        """
        seen = set[str]()
        for name, batch, data in self.places():
            case = self.cases[name]
            for path in (path for path in self.paths if not spec.paths[path].made_of):
                way = spec.paths[path]
                labels = build_labels(name, batch, data, path, way.sparse)
                values = {**self.data[data], **case.data.get(data, {})} if way.sparse else spec.dense_data
                sets = {**spec.sets, **case.sets, **values, **way.sets, **_run_options(way, batch, spec, exact)}
                for extra, varied in self.variations(path):
                    point = ReproductionPoint({**labels, **extra}, case.document(spec.gpu), {**sets, **varied})
                    if point.key not in seen:
                        seen.add(point.key)
                        yield point

    def list_missing(self, publication: Publication, where: Where, column: str) -> list[str]:
        """List all points that have not been run."""
        return [p.key for p in self.points(publication.spec) if p.key not in publication.results.points]


def build_labels(case: str, batch: int, data: str, path: str, sparse: bool) -> dict[str, str]:
    """Return the labels of the point for a value; one run serves all data of a way that does not skip zeros.

    Args:
        case: Name of the case.
        batch: Images in a batch.
        data: Name of the data.
        path: Name of the way.
        sparse: The way skips zeros.
    """
    return {"case": case, "batch": str(batch), "data": data if sparse else ANY_DATA, "path": path}


def _run_options(way: PathSpec, batch: int, spec: ReproductionSpec, exact: bool) -> dict[str, Any]:
    """Return how the point is run; what is sampled is computed in part, and cannot be compared with NumPy's."""
    in_whole = exact or not way.sampled
    return {
        "gpu": spec.gpu,
        "workload.batch": batch,
        "run.engine": "on" if way.sparse else "off",
        "run.verify": in_whole,
        "run.sampling": None if in_whole else spec.sampling.model_dump(mode="json"),
    }


def shape_of(config: RunConfig, batch: int | None = None) -> GemmShape:
    """Return the product of a point, or of the same layer with another batch."""
    workload: Any = config.workload
    layer: ConvolutionShape = workload.layer.shape
    return gemm_shape(layer, workload.batch if batch is None else batch)


def padding_of(spec: ReproductionSpec, figure: RunsFigure, case: str) -> float:
    """Return the share of im2col's matrix that is padding, whatever the maps hold; 0 for a product without maps."""
    sets = json.dumps({**spec.sets, **figure.cases[case].sets, "gpu": spec.gpu})
    return _padding(figure.cases[case].model_dump_json(), spec.gpu, sets)


@cache
def _padding(case: str, gpu: str, sets: str) -> float:
    """Return the share of padding of a case.

    Args:
        case: As JSON.
        sets: As JSON.
    """
    workload = load_run(CaseSpec.model_validate_json(case).document(gpu), assignments(json.loads(sets))).workload
    layer = getattr(workload, "layer", None)
    if layer is None:
        return 0.0
    shape = (1, layer.input_channels, layer.input_height, layer.input_width)
    kernel, stride, sides = (layer.filter_size,) * 2, (layer.stride,) * 2, (layer.padding,) * 4
    convolution = Convolution(shape, layer.output_channels, kernel, stride, sides)
    return 1 - convolution.needed_macs / convolution.macs


def bytes_of(shape: GemmShape) -> int:
    """Count the bytes of A, B and C in the layout of the kernels."""
    return 4 * (shape.padded_k * shape.lda + shape.n * shape.ldb + shape.n * shape.ldc)


def does_fit(spec: ReproductionSpec, figure: RunsFigure, case: str, batch: int) -> str:
    """Tell whether a case's matrices fit the GPU's memory at the publication's largest batch that `batch` replaces.

    Returns: 'yes', or a text such as 'no: 7.4 of 4.0 GiB at 64'.

    Args:
        spec: The publication.
        figure: One of its figures.
        case: Name of the case.
        batch: Images in a batch.
    """
    largest = max(figure.source_batches or (batch,))
    sets = json.dumps({**spec.sets, **figure.cases[case].sets, "gpu": spec.gpu})
    needed, there = _needed(figure.cases[case].model_dump_json(), spec.gpu, sets, largest)
    if needed <= there:
        return "yes"
    return f"no: {FIXED_1(needed / _GIB)} of {FIXED_1(there / _GIB)} GiB at {largest}"


@cache
def _needed(case: str, gpu: str, sets: str, batch: int) -> tuple[int, int]:
    """Return the bytes of a case's matrices, and those of the GPU's memory.

    Args:
        case: As JSON.
        sets: As JSON.
    """
    config = load_run(CaseSpec.model_validate_json(case).document(gpu), assignments(json.loads(sets)))
    return bytes_of(shape_of(config, batch)), config.gpu.memory_mib << 20
