"""The files of `gpusim reproduce`: a publication, how its products or networks are run, and its figures, a file each.

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
from gpusim.config.tree import ConfigTree
from gpusim.lab.papers.specs.figure import (
    AblationFigure,
    AreaFigure,
    BreakdownFigure,
    BreakEvenFigure,
    ClosedLoopFigure,
    ComparisonFigure,
    CurvesFigure,
    Figure,
    LearningFigure,
    LibrariesFigure,
    MapFigure,
    MonitorFigure,
    OverheadsFigure,
    RunsFigure,
    TrainingFigure,
)
from gpusim.lab.papers.specs.layer_figure import (
    BarsFigure,
    FlowStagesFigure,
    GridsFigure,
    LaunchesFigure,
    LayerMemoryFigure,
    NetworkFigure,
    RatiosFigure,
    ScalingFigure,
    StackFigure,
    StagesFigure,
)
from gpusim.lab.papers.specs.network_runs import NetworkRunsSpec
from gpusim.model.sampling.spec import SamplingSpec

FOLDER = "reproductions"


class PathSpec(Spec):
    """A way to compute a product: the kernel and the machine."""

    title: str = param(..., "name in tables and pictures", "user")
    sparse: bool = param(..., "whether it skips zeros: kernels.sparse computes it, else kernels.dense", "user")
    sets: dict[str, Any] = param({}, "values of a run's configuration, by their paths", "user")
    sampled: bool = param(True, "whether its runs may be sampled; else they are simulated in whole", "user")
    seconds_per_gmac: float = param(
        0.0,
        "processor time of simulating 10^9 multiply-accumulates of the dense product in whole; none where it is made "
        "of others' runs",
        "measured",
        ge=0,
    )
    fastest_of: tuple[str, ...] = param(
        (), "ways whose fastest run stands for it; figures that have it have all of them", "user"
    )
    part_of: str | None = param(
        None,
        "the way whose runs it is without the launches that leaves_out names; figures that have it have that",
        "user",
    )
    leaves_out: tuple[str, ...] = param((), "with part_of: what names of kernels that are left out begin with", "user")

    @property
    def made_of(self) -> tuple[str, ...]:
        """The ways of whose runs it is made; none where it has runs of its own."""
        return self.fastest_of or ((self.part_of,) if self.part_of else ())

    @model_validator(mode="after")
    def _is_run_or_made(self) -> "PathSpec":
        if [bool(self.fastest_of), bool(self.part_of), bool(self.seconds_per_gmac)].count(True) != 1:
            raise ValueError("a way has one of seconds_per_gmac, of its own runs, fastest_of and part_of")
        if self.made_of and self.sets:
            raise ValueError("sets: a way that is made of others' runs has none of its own")
        if bool(self.part_of) != bool(self.leaves_out):
            raise ValueError("part_of and leaves_out belong together")
        return self


class ComparisonSpec(Spec):
    """A way whose results are shown next to the publication's."""

    title: str = param(..., "head of its column among the claims", "user")
    path: str = param(..., "the way, by its name", "user")
    base: str = param(..., "what it is compared with", "user")


class AnswerSpec(Spec):
    """A sentence of the page for each verdict on a claim.

    {found} is what was found, {why} what the counters say of the value in the middle; of products, {FIGURE | DATA |
    WHAT} is a mean (gpusim/lab/papers/page/quantities.py).
    """

    claim: str = param(..., "the claim, by its name", "user")
    holds: str = param(..., "what is said where it holds", "user")
    in_part: str = param("", "where it holds in part, or not everywhere; none: nothing but the verdict", "user")
    does_not: str = param("", "where it does not; none: nothing but the verdict", "user")


class ReproductionSpec(Spec):
    """A publication's figures and tables: of matrix products by several paths, or of networks' runs."""

    title: str = param(..., "for people", "user")
    source: str = param(..., "the publication", "user")
    runs: NetworkRunsSpec | None = param(None, "runs of networks, whose layers are the figures' columns", "user")
    question: str = param("", "what the answers answer; {networks} are their names", "user")
    answers: tuple[AnswerSpec, ...] = param((), "sentences by verdict, in the page's order", "user")
    gpu: str = param("mi6", "the GPU of all runs", "Dong 2020, table 6.3")
    sets: dict[str, Any] = param({}, "values that all runs have, by their paths", "user")
    dense_data: dict[str, Any] = param(
        {}, "data of ways that do not skip zeros, whose time is the same for any", "user"
    )
    sampling: SamplingSpec = SamplingSpec()
    sampled_gmac: float = param(
        2.0, "10^9 multiply-accumulates that a sampled run simulates, about, where there are more", "measured", gt=0
    )
    paths: dict[str, PathSpec] = param({}, "ways to compute a product", "user")
    comparisons: dict[str, ComparisonSpec] = param({}, "ways that claims are judged by", "user")
    spread: str | None = param(
        None,
        "figure of changes that do not matter: how far a way's time moves with them is the interval of its values",
        "user",
    )
    engine_share: ComparisonSpec | None = param(None, "ways with the engine, and with software in its place", "user")
    figures: tuple[str, ...] = param(..., "figures and tables in their order, a file each", "user", min_length=1)

    @model_validator(mode="after")
    def _names_its_paths(self) -> "ReproductionSpec":
        if bool(self.paths) == (self.runs is not None):
            raise ValueError("a publication has one of paths (of matrix products) and runs (of networks)")
        runs = [name for name, way in self.paths.items() if not way.made_of]
        for name, way in self.paths.items():
            for among in way.made_of:
                if among not in runs:
                    how = "fastest_of" if way.fastest_of else "part_of"
                    raise ValueError(f"paths.{name}.{how}: {unknown_name('way that is run', among, runs)}")
        held = {**self.comparisons, **({"engine_share": self.engine_share} if self.engine_share else {})}
        for name, one in held.items():
            for path in (one.path, one.base):
                if path not in self.paths:
                    raise ValueError(f"{name}: {unknown_name('path', path, self.paths)}")
        return self


AnyFigure = Annotated[
    Annotated[ComparisonFigure, Tag("compared")]
    | Annotated[BreakdownFigure, Tag("breakdown")]
    | Annotated[MapFigure, Tag("map")]
    | Annotated[BreakEvenFigure, Tag("break_even")]
    | Annotated[AblationFigure, Tag("ablation")]
    | Annotated[CurvesFigure, Tag("curves")]
    | Annotated[LearningFigure, Tag("learning")]
    | Annotated[MonitorFigure, Tag("monitor")]
    | Annotated[OverheadsFigure, Tag("overheads")]
    | Annotated[ClosedLoopFigure, Tag("closed_loop")]
    | Annotated[LibrariesFigure, Tag("libraries")]
    | Annotated[TrainingFigure, Tag("training")]
    | Annotated[AreaFigure, Tag("area")]
    | Annotated[BarsFigure, Tag("layers")]
    | Annotated[StackFigure, Tag("layer_stack")]
    | Annotated[RatiosFigure, Tag("layer_ratios")]
    | Annotated[LaunchesFigure, Tag("launches")]
    | Annotated[LayerMemoryFigure, Tag("layer_memory")]
    | Annotated[GridsFigure, Tag("grids")]
    | Annotated[ScalingFigure, Tag("scaling")]
    | Annotated[FlowStagesFigure, Tag("flow_stages")]
    | Annotated[StagesFigure, Tag("stages")],
    Discriminator("kind"),
]


class _FigureOnly(Spec):
    figure: AnyFigure = param(..., "the figure", "user")


@dataclass(frozen=True)
class Reproduction:
    """A publication with its figures."""

    name: str
    """Name of its file, with any networks, GPUs or batches that replace its own."""
    spec: ReproductionSpec
    """Contents of the file."""
    figures: dict[str, Figure]
    """Figures by name, in order."""
    asked: str = ""
    """Arguments of `gpusim reproduce` that select it; empty: its name."""

    @property
    def command(self) -> str:
        """What follows `gpusim reproduce` to make it."""
        return self.asked or self.name

    @property
    def runs(self) -> NetworkRunsSpec:
        """The runs of a publication of networks."""
        assert self.spec.runs is not None
        return self.spec.runs

    @property
    def columns(self) -> dict[str, str]:
        """What claims are judged by: the titles of the comparisons, or of networks' GPUs, by name."""
        if self.spec.runs is None:
            return {name: one.title for name, one in self.spec.comparisons.items()}
        return {name: name for name in self.spec.runs.gpu_files}

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
    if spec.runs is not None:
        spec = spec.model_copy(update={"runs": spec.runs.located(document.path)})
    folder = document.path.with_suffix("")
    figures = {figure: _figure(folder / f"{figure}.yaml", spec) for figure in spec.figures}
    for figure, held in figures.items():
        if isinstance(held, TrainingFigure):
            _check_speedups(folder / f"{figure}.yaml", held, figures)
    _check_answers(document.path, spec, figures)
    if spec.spread is not None and not isinstance(figures.get(spec.spread), AblationFigure):
        changing = [name for name, held in figures.items() if isinstance(held, AblationFigure)]
        raise UserError(f"{document.path}: spread: {unknown_name('figure of changes', spec.spread, changing)}")
    return Reproduction(document.path.stem, spec, figures)


def _tree(path: Path, data: dict[str, Any]) -> ConfigTree:
    tree = ConfigTree(origins={(): (str(path), ())}, files=[path])
    tree.merge(data, str(path))
    return tree


def _figure(path: Path, spec: ReproductionSpec) -> Figure:
    if not path.is_file():
        known = [p.stem for p in path.parent.glob("*.yaml")]
        guess = nearest(path.stem, known)
        raise UserError(f"{path}: there is no such figure" + (f"; did you mean '{guess}'?" if guess else ""))
    tree = ConfigTree(origins={(): (str(path), ())}, files=[path])
    tree.merge(files.read(path), str(path), ("figure",))
    figure = checked(_FigureOnly, tree).figure
    if isinstance(figure, RunsFigure):
        for one in figure.paths:
            if one not in spec.paths:
                raise UserError(f"{path}: paths: {unknown_name('path', one, spec.paths)}")
            missing = [way for way in spec.paths[one].made_of if way not in figure.paths]
            if missing:
                raise UserError(f"{path}: paths: {one} is made of ways of which {', '.join(missing)} is missing")
    if isinstance(figure, NetworkFigure):
        _check_points(path, figure, spec)
    return figure.located(path)


def _check_points(path: Path, figure: NetworkFigure, spec: ReproductionSpec) -> None:
    """Raise UserError for a figure of networks that names what the publication's runs do not have."""
    runs = spec.runs
    if runs is None:
        raise UserError(f"{path}: a figure of networks needs the publication's runs, which has paths")
    for name in figure.networks:
        if name not in runs.networks:
            raise UserError(f"{path}: networks: {unknown_name('network', name, runs.networks)}")
    for way in figure.ways:
        if way not in runs.ways:
            raise UserError(f"{path}: ways: {unknown_name('way', way, runs.ways)}")
    for place in figure.gpus:
        if not 1 <= place <= len(runs.gpus):
            raise UserError(f"{path}: gpus: {place} is not allowed; the publication has {len(runs.gpus)}, from 1")


def _check_answers(path: Path, spec: ReproductionSpec, figures: dict[str, Figure]) -> None:
    names = [claim.name for figure in figures.values() for claim in figure.claims if claim.name]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: two claims are called '{name}'")
    for answer in spec.answers:
        if answer.claim not in names:
            raise UserError(f"{path}: answers: {unknown_name('claim', answer.claim, names)}")


def _check_speedups(path: Path, figure: TrainingFigure, figures: dict[str, Figure]) -> None:
    for network, held in figure.networks.items():
        if not isinstance(figures.get(held.figure), ComparisonFigure):
            raise UserError(
                f"{path}: networks.{network}.figure: '{held.figure}' is no figure of speed-ups of this publication"
            )
