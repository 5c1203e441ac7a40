"""The files of `gpusim reproduce`: a publication, how its matrix products are computed, and its figures, a file each.

`sim_configs/reproductions/NAME.yaml` names the figures, which lie in the folder of the same name beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Tag, model_validator

from gpusim.base.errors import UserError, nearest, unknown_name
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.figure import (
    AreaFigure,
    BreakdownFigure,
    ComparedFigure,
    CurvesFigure,
    Figure,
    LibrariesFigure,
    MapFigure,
    MonitorFigure,
    OverheadsFigure,
    RunsFigure,
    TrainingFigure,
)
from gpusim.config.tree import Tree
from gpusim.sampling.spec import SamplingSpec

FOLDER = "reproductions"


class PathSpec(Spec):
    """A way to compute a product: the kernel and the machine."""

    title: str = param(..., "name in tables and pictures", "user")
    sparse: bool = param(..., "whether it skips zeros: kernels.sparse computes it, else kernels.dense", "user")
    sets: dict[str, Any] = param({}, "values of a run's configuration, by their paths", "user")
    sampled: bool = param(True, "whether its runs may be sampled; else they are simulated in whole", "user")
    seconds_per_gmac: float = param(
        ..., "processor time of simulating 10^9 multiply-accumulates of the dense product in whole", "measured", gt=0
    )


class ComparisonSpec(Spec):
    """A way whose results are shown next to the publication's."""

    title: str = param(..., "head of its column among the claims", "user")
    path: str = param(..., "the way, by its name", "user")
    base: str = param(..., "what it is compared with", "user")


class ReproductionSpec(Spec):
    """A publication's figures and tables."""

    title: str = param(..., "for people", "user")
    source: str = param(..., "the publication", "user")
    gpu: str = param("mi6", "the GPU of all runs", "Dong 2020, table 6.3")
    sets: dict[str, Any] = param({}, "values that all runs have, by their paths", "user")
    dense_data: dict[str, Any] = param(
        {}, "data of ways that do not skip zeros, whose time is the same for any", "user"
    )
    sampling: SamplingSpec = SamplingSpec()
    sampled_gmac: float = param(
        2.0, "10^9 multiply-accumulates that a sampled run simulates, about, where there are more", "measured", gt=0
    )
    paths: dict[str, PathSpec] = param(..., "ways to compute a product", "user", min_length=1)
    comparisons: dict[str, ComparisonSpec] = param({}, "ways that claims are judged by", "user")
    engine_share: ComparisonSpec | None = param(None, "ways with the engine, and with software in its place", "user")
    summary: str = param(
        "",
        "what it comes to, in words; {FIGURE | DATA | WHAT} is a mean found (gpusim/reproduce/page/quantities.py)",
        "user",
    )
    figures: tuple[str, ...] = param(..., "figures and tables in their order, a file each", "user", min_length=1)

    @model_validator(mode="after")
    def _names_its_paths(self) -> "ReproductionSpec":
        held = {**self.comparisons, **({"engine_share": self.engine_share} if self.engine_share else {})}
        for name, one in held.items():
            for path in (one.path, one.base):
                if path not in self.paths:
                    raise ValueError(f"{name}: {unknown_name('path', path, self.paths)}")
        return self


AnyFigure = Annotated[
    Annotated[ComparedFigure, Tag("compared")]
    | Annotated[BreakdownFigure, Tag("breakdown")]
    | Annotated[MapFigure, Tag("map")]
    | Annotated[CurvesFigure, Tag("curves")]
    | Annotated[MonitorFigure, Tag("monitor")]
    | Annotated[OverheadsFigure, Tag("overheads")]
    | Annotated[LibrariesFigure, Tag("libraries")]
    | Annotated[TrainingFigure, Tag("training")]
    | Annotated[AreaFigure, Tag("area")],
    Discriminator("kind"),
]


class _FigureOnly(Spec):
    figure: AnyFigure = param(..., "the figure", "user")


@dataclass(frozen=True)
class Reproduction:
    """A publication with its figures. name: that of its file; figures: by name, in order."""

    name: str
    spec: ReproductionSpec
    figures: dict[str, Figure]

    def chosen(self, only: Sequence[str]) -> dict[str, Figure]:
        """Return figures by name; all if `only` is empty. Raise UserError that names the nearest one."""
        for name in only:
            if name not in self.figures:
                raise UserError(f"--only {name}: {unknown_name('figure', name, self.figures)}")
        return {name: figure for name, figure in self.figures.items() if not only or name in only}


def load_reproduction(name: str) -> Reproduction:
    """Load a publication's file, or a shipped one by name, with all its figures; raise UserError."""
    document = files.opened(name, FOLDER)
    files.require(document, FOLDER)
    spec = checked(ReproductionSpec, _tree(document.path, document.data))
    folder = document.path.with_suffix("")
    figures = {figure: _figure(folder / f"{figure}.yaml", spec) for figure in spec.figures}
    for figure, held in figures.items():
        if isinstance(held, TrainingFigure):
            _check_speedups(folder / f"{figure}.yaml", held, figures)
    return Reproduction(document.path.stem, spec, figures)


def _tree(path: Path, data: dict[str, Any]) -> Tree:
    tree = Tree(origins={(): (str(path), ())}, files=[path])
    tree.merge(data, str(path))
    return tree


def _figure(path: Path, spec: ReproductionSpec) -> Figure:
    if not path.is_file():
        known = [p.stem for p in path.parent.glob("*.yaml")]
        guess = nearest(path.stem, known)
        raise UserError(f"{path}: there is no such figure" + (f"; did you mean '{guess}'?" if guess else ""))
    tree = Tree(origins={(): (str(path), ())}, files=[path])
    tree.merge(files.read(path), str(path), ("figure",))
    figure = checked(_FigureOnly, tree).figure
    if isinstance(figure, RunsFigure):
        for one in figure.paths:
            if one not in spec.paths:
                raise UserError(f"{path}: paths: {unknown_name('path', one, spec.paths)}")
    return figure.located(path)


def _check_speedups(path: Path, figure: TrainingFigure, figures: dict[str, Figure]) -> None:
    for network, held in figure.networks.items():
        if not isinstance(figures.get(held.figure), ComparedFigure):
            raise UserError(
                f"{path}: networks.{network}.figure: '{held.figure}' is no figure of speed-ups of this publication"
            )
