"""Figures whose points are runs of a network, or its memory plans, and whose columns are its layers."""

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.lab.papers.specs.claim import Label
from gpusim.lab.papers.specs.figure import Figure
from gpusim.lab.training.spec import FOLDER as TRAINING_FOLDER
from gpusim.lab.training.spec import GpuCount

Direction = Literal["forward", "backward", "update"]


class MeasureSpec(Spec):
    """What is measured of a layer: a metric, or the sum of some divided by the sum of others."""

    of: str = param(
        ..., "'a.b + a.c / d.e': metrics, or work.macs, .operations, .minimum_bytes, .images, .launches", "user"
    )
    title: str = param("", "for tables and axes; none: its name", "user")
    factor: float = param(1.0, "what it is multiplied by", "user", gt=0, le=1e15)
    shown: Literal["number", "percent", "times"] = param("number", "how it is written; shares in percent", "user")
    share: bool = param(False, "of the sum over the figure's rows of the same point", "user")
    of_largest: bool = param(False, "of the largest row of all points of a network and GPU", "user")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.share and self.of_largest:
            raise ValueError("a measure is a share of the sum or of the largest, not of both")
        return self


class NetworkFigure(Figure):
    """Base of figures of networks. Which of the publication's points it has: an empty choice stands for all."""

    networks: tuple[str, ...] = param((), "of the publication's", "user")
    batches: tuple[int, ...] = param((), "images; those of them that a network is run with", "the publication")
    gpus: tuple[int, ...] = param((), "places among the publication's GPUs, from 1", "the publication")
    ways: tuple[str, ...] = param((), "of the publication's; none: its first", "user")


class LayersFigure(NetworkFigure):
    """Base of figures that show measures of layers, of each pass or of several together."""

    by: Literal["pass", "direction", "layer", "kind", "network"] = param(
        "pass",
        "a row for each pass of a layer, its passes of a direction, all of them, layers of a kind, or all layers",
        "user",
    )
    of: tuple[Direction, ...] = param(("forward", "backward"), "directions that are shown", "user", min_length=1)
    layers: tuple[str, ...] = param((), "layers that are shown; none, or none that the network has: all", "user")
    kinds: tuple[str, ...] = param((), "kinds of layers that are shown; none: all", "user")
    measures: dict[str, MeasureSpec] = param(..., "what is measured, by name", "user", min_length=1)


class BarsFigure(LayersFigure):
    """Bars: a group for each layer, a bar for each point, a panel for each measure."""

    kind: Literal["layers"] = param("layers", "what is shown", "")


class StackFigure(LayersFigure):
    """Stacked bars: a bar for each layer of each point, a part for each measure."""

    kind: Literal["layer_stack"] = param("layer_stack", "what is shown", "")


class RatiosFigure(LayersFigure):
    """Bars: by which factor a layer's measure with one label is that with another label."""

    kind: Literal["layer_ratios"] = param("layer_ratios", "what is shown", "")
    label: Literal["gpu", "batch", "way", "part", "network"] = param(..., "in what the two points differ", "user")
    pairs: tuple[tuple[Label, Label], ...] = param(
        (),
        "labels of dividend and divisor, GPUs by place; none: the first GPU with each other one, the largest batch with"
        " each other one, each other way with the first",
        "the publication",
    )


class LaunchesFigure(NetworkFigure):
    """A table of the longest launches of each point."""

    kind: Literal["launches"] = param("launches", "what is shown", "")
    most: int = param(15, "launches that are listed", "the publication", ge=1, le=1000)


class LayerMemoryFigure(NetworkFigure):
    """Bars of device memory as an iteration's plan counts it; nothing is simulated."""

    kind: Literal["layer_memory"] = param("layer_memory", "what is shown", "")
    by: Literal["layer", "network", "way"] = param(
        "layer", "a bar for each layer, for each network, or for each way, with the workspaces of its kernels", "user"
    )


class StagesFigure(NetworkFigure):
    """Bars of the stages of a training, which a run's times of layers are part of, on several storages."""

    kind: Literal["stages"] = param("stages", "what is shown", "")
    training: str = param(..., "a training of gpusim train-phase: a shipped one's name, or a file", "user")
    storages: tuple[str, ...] = param(..., "storages: shipped ones' names, or files", "user", min_length=1)

    def located(self, path: Path) -> Self:
        """Return the figure with its training's file found; raise UserError."""
        return self.model_copy(update={"training": str(files.find(self.training, TRAINING_FOLDER, path))})


class ScalingFigure(NetworkFigure):
    """Bars of an iteration on several GPUs with the times of runs' layers: each way against the first."""

    kind: Literal["scaling"] = param("scaling", "what is shown", "")
    training: str = param(..., "a training of gpusim train-phase: a shipped one's name, or a file", "user")
    gpus_trained: tuple[GpuCount, ...] = param(
        ..., "numbers of GPUs, each with a batch of its own", "user", min_length=1
    )

    def located(self, path: Path) -> Self:
        """Return the figure with its training's file found; raise UserError."""
        return self.model_copy(update={"training": str(files.find(self.training, TRAINING_FOLDER, path))})


class FlowStagesFigure(NetworkFigure):
    """Bars of a layer's iteration with a GPU for each stage of its flow, beside one GPU, and a batch on each."""

    kind: Literal["flow_stages"] = param("flow_stages", "what is shown", "")
    training: str = param(..., "a training of gpusim train-phase, whose topology the GPUs have", "user")

    def located(self, path: Path) -> Self:
        """Return the figure with its training's file found; raise UserError."""
        return self.model_copy(update={"training": str(files.find(self.training, TRAINING_FOLDER, path))})


class GridSpec(Spec):
    """A kernel of the publication with its grid; results and tiles as (rows, columns)."""

    layer: str = param(..., "the layer", "the publication")
    kind: str = param(..., "its kind", "the publication")
    library: str = param(..., "whose kernel it is", "the publication")
    result: tuple[int, int] = param(..., "rows and columns of the result, as printed", "the publication")
    tile: tuple[int, int] = param(..., "of a block", "the publication")
    block_size: int = param(..., "threads of a block", "the publication", ge=1, le=1024)
    registers: int = param(..., "of a thread", "the publication", ge=1, le=255)
    grid: int = param(..., "blocks, as printed", "the publication", ge=1, le=1 << 31)

    @model_validator(mode="after")
    def _has_sizes(self) -> Self:
        if min(*self.result, *self.tile) < 1:
            raise ValueError("result, tile: rows and columns are at least 1")
        return self


class GridsFigure(Figure):
    """A table of how well printed grids fill the GPU that they ran on; nothing is run."""

    kind: Literal["grids"] = param("grids", "what is shown", "")
    multiprocessors: int = param(..., "of that GPU", "the publication", ge=1, le=4096)
    registers: int = param(..., "of a multiprocessor", "the publication", ge=1, le=1 << 24)
    kernels: tuple[GridSpec, ...] = param(..., "kernels, a row each", "the publication", min_length=1)
