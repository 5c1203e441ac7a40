"""A figure or table of a publication: which points it has, what is shown of them, and what the publication says."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.spec import Spec, param
from gpusim.lab.papers.specs.claim import ClaimSpec, Label
from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvolutionShape

# layers that a case may name as TABLE/LAYER
LAYER_TABLES: dict[str, tuple[ConvolutionShape, ...]] = {"alexnet": ALEXNET, "vgg16": VGGNET16, "resnet18": RESNET18}


class CaseSpec(Spec):
    """The layer that a product belongs to. Exactly one of `run` and `layer` names it."""

    run: str | None = param(None, "configuration of gpusim run", "user")
    layer: str | None = param(None, "a layer of one of the tables: alexnet/conv2", "workloads/shapes.py")
    sets: dict[str, Any] = param({}, "values laid over it, by their paths", "user")
    batches: tuple[int, ...] = param((), "batches of this case; none: the figure's", "user")
    count: int = param(1, "layers of equal shape that it stands for, in means too", "user", ge=1)
    data: dict[str, dict[str, Any]] = param({}, "values of this case by the name of the figure's data", "user")

    @model_validator(mode="after")
    def _is_one(self) -> "CaseSpec":
        if (self.run is None) == (self.layer is None):
            raise ValueError("a case has one of run and layer")
        if self.layer is not None:
            table, _, name = self.layer.partition("/")
            if table not in LAYER_TABLES:
                raise ValueError(unknown_name("table of layers", table, LAYER_TABLES))
            layers = [one.name.rpartition(" ")[2] for one in LAYER_TABLES[table]]
            if name not in layers:
                raise ValueError(unknown_name("layer", name, layers))
        return self


def _found(figure: Path, file: str) -> str:
    """Return the path of a file that the figure's file names relative to its folder; raise UserError."""
    path = figure.parent / file
    if not path.is_file():
        raise UserError(f"{figure}: measured: {path}: there is no such file")
    return str(path)


class Figure(Spec):
    """Base of all figures and tables."""

    title: str = param(..., "for people", "user")
    source: str = param(..., "which figure or table of the publication", "the publication")
    note: str = param("", "what is different here, and why; may name means as the summary does", "user")
    claims: tuple[ClaimSpec, ...] = param((), "what the publication says", "the publication")

    def located(self, path: Path) -> Self:
        """Return the figure with the files found that its own file at `path` names; raise UserError."""
        return self


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
        return self


class ComparisonFigure(RunsFigure):
    """Bars: a group for each case, batch and data, a bar for each way, a panel for each measure."""

    kind: Literal["compared"] = param("compared", "what is shown", "")
    measures: tuple[str, ...] = param(("speedup",), "what is measured", "user", min_length=1)
    normalized_to: str | None = param(
        None, "the way that all bars are compared with; null: each comparison has its own", "user"
    )

    @model_validator(mode="after")
    def _has_base(self) -> "ComparisonFigure":
        if self.normalized_to is not None and self.normalized_to not in self.paths:
            raise ValueError(f"normalized_to: {unknown_name('path of the figure', self.normalized_to, self.paths)}")
        return self


class BreakdownFigure(RunsFigure):
    """Stacked bars: the time of each of a way's launches."""

    kind: Literal["breakdown"] = param("breakdown", "what is shown", "")
    base: str = param(..., "the dense way", "user")
    conversions: dict[str, tuple[str, ...]] = param({}, "what names of kernels that convert begin with, by way", "user")
    judged: dict[str, tuple[str, ...]] = param({}, "comparisons that a way's values belong to, by way", "user")

    @model_validator(mode="after")
    def _has_base(self) -> "BreakdownFigure":
        for path in (self.base, *self.conversions, *self.judged):
            if path not in self.paths:
                raise ValueError(unknown_name("path of the figure", path, self.paths))
        return self


class AxisSpec(Spec):
    """An axis of a map."""

    title: str = param(..., "what is varied, for people", "user")
    values: dict[str, dict[str, Any]] = param(
        ..., "values of the run's configuration by what is written at the axis, in order", "user", min_length=2
    )


class RatioSpec(Spec):
    """The colour of a heat map: the speed-up of one method over another."""

    title: str = param(..., "for people", "user")
    path: str = param(..., "the way", "user")
    base: str = param(..., "the other one", "user")
    comparison: str = param("ours", "the comparison that it belongs to", "user")


def _check_ratios(ratios: tuple[RatioSpec, ...], paths: tuple[str, ...]) -> None:
    for ratio in ratios:
        for path in (ratio.path, ratio.base):
            if path not in paths:
                raise ValueError(f"ratios: {unknown_name('path of the figure', path, paths)}")


class BreakEvenFigure(RunsFigure):
    """Maps over cases with their batches and over data, in order of their zeros: from which share on a way wins."""

    kind: Literal["break_even"] = param("break_even", "what is shown", "")
    ratios: tuple[RatioSpec, ...] = param(..., "a panel each", "user", min_length=1)

    @model_validator(mode="after")
    def _has_ways(self) -> "BreakEvenFigure":
        _check_ratios(self.ratios, self.paths)
        return self


class MapFigure(RunsFigure):
    """Heat maps over two values of the machine or the layer: where one way wins over another."""

    kind: Literal["map"] = param("map", "what is shown", "")
    x: AxisSpec = param(..., "from left to right", "user")
    y: AxisSpec = param(..., "from bottom to top", "user")
    ratios: tuple[RatioSpec, ...] = param(..., "a panel each", "user", min_length=1)

    @model_validator(mode="after")
    def _is_one_point(self) -> "MapFigure":
        if len(self.cases) * len(self.batches) * len(self.data) != 1:
            raise ValueError("a map is of one case, one batch and one kind of data")
        _check_ratios(self.ratios, self.paths)
        return self


class AblationFigure(RunsFigure):
    """The engine with one part changed at a time: what each part is worth."""

    kind: Literal["ablation"] = param("ablation", "what is shown", "")
    base: str = param(..., "the dense way, which has no engine to change", "user")
    changes: dict[str, dict[str, Any]] = param(
        ..., "values of the engine by the change's name; the first one, without any, is the engine as it is", "user"
    )

    @model_validator(mode="after")
    def _has_base(self) -> "AblationFigure":
        if self.base not in self.paths:
            raise ValueError(f"base: {unknown_name('path of the figure', self.base, self.paths)}")
        empty = [name for name, sets in self.changes.items() if not sets]
        if empty != list(self.changes)[:1]:
            raise ValueError(f"changes: the first one, and no other, is without values; without are {empty}")
        return self


class CurvesFigure(Figure):
    """Sparsity of a map over a training."""

    kind: Literal["curves"] = param("curves", "what is shown", "")
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture")
    maps: tuple[str, ...] = param((), "maps that are shown; none: all", "user")


class LearningFigure(Figure):
    """Loss and accuracy over trainings, several of each network, from different seeds."""

    kind: Literal["learning"] = param("learning", "what is shown", "")
    trainings: dict[str, tuple[str, ...]] = param(
        ..., "files of curves by name, one for each seed; others are compared with the first name", "gpusim capture",
        min_length=2,
    )  # fmt: skip

    def located(self, path: Path) -> Self:
        """Return the figure with its files found; raise UserError."""
        found = {name: tuple(_found(path, file) for file in files) for name, files in self.trainings.items()}
        return self.model_copy(update={"trainings": found})


class MonitorFigure(Figure):
    """The sparsity monitor's measurements along recorded curves."""

    kind: Literal["monitor"] = param("monitor", "what is shown", "")
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture")
    map: str = param(..., "the map that is shown", "user")
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user")


class OverheadsFigure(Figure):
    """Table 6.6: the cost of measuring sparsity in a training, by the model and as measured on a real GPU."""

    kind: Literal["overheads"] = param("overheads", "what is shown", "")
    measured: dict[str, tuple[str, ...]] = param(
        {},
        "files of `gpusim monitor --train MODEL --json FILE`, by network; the first one's cost is what counts",
        "a real GPU",
    )

    def located(self, path: Path) -> Self:
        """Return the figure with its files found; raise UserError."""
        found = {name: tuple(_found(path, file) for file in files) for name, files in self.measured.items()}
        return self.model_copy(update={"measured": found})


class ClosedLoopFigure(Figure):
    """Whole trainings in which the monitor decides layer by layer, beside other ways to decide."""

    kind: Literal["closed_loop"] = param("closed_loop", "what is shown", "")
    trainings: dict[str, str] = param(
        ..., "files with `closed_loop` of what `gpusim net --monitor` writes, by name", "gpusim net", min_length=1
    )
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user")

    def located(self, path: Path) -> Self:
        """Return the figure with its files found; raise UserError."""
        return self.model_copy(update={"trainings": {name: _found(path, one) for name, one in self.trainings.items()}})


class LibrariesFigure(Figure):
    """Vendor libraries' products and conversions, as measured on a real GPU."""

    kind: Literal["libraries"] = param("libraries", "what is shown", "")
    measured: str = param(..., "what `python -m gpusim.lab.capture.library_products` writes", "a real GPU")

    def located(self, path: Path) -> Self:
        """Return the figure with its file found; raise UserError."""
        return self.model_copy(update={"measured": _found(path, self.measured)})


class NetworkSpec(Spec):
    """A column of table 6.7."""

    figure: str = param(..., "the figure that has the layers' speed-ups", "user")
    where: dict[str, Label | list[Label]] = param({}, "labels of the speed-ups that count", "user")
    iteration: str | None = param(
        None,
        "file with the times of a simulated iteration's convolutions, by layer and pass, and of all of it; none: P is "
        "the published one, and a layer's forward pass a third of its time, as of its multiply-accumulates",
        "gpusim net",
    )


class TrainingFigure(Figure):
    """Equation 6.1: the speed-up of a training from those of its layers."""

    kind: Literal["training"] = param("training", "what is shown", "")
    networks: dict[str, NetworkSpec] = param(..., "networks of table 6.7 by name", "user", min_length=1)

    def located(self, path: Path) -> Self:
        """Return the figure with its files found; raise UserError."""
        found = {
            name: one.model_copy(update={"iteration": _found(path, one.iteration)}) if one.iteration else one
            for name, one in self.networks.items()
        }
        return self.model_copy(update={"networks": found})


class AreaFigure(Figure):
    """The engine's hardware cost."""

    kind: Literal["area"] = param("area", "what is shown", "")
    engines: dict[str, dict[str, Any]] = param(..., "values of engines by their names", "user", min_length=1)
