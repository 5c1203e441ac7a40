"""A publication: its figures, the results of its runs, and the long table of values that claims are judged by.

A figure has the options of its file, its tables, its picture, and its rows of the long table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import PERCENT
from gpusim.base.picture import Picture
from gpusim.base.spec import Spec, param
from gpusim.base.table import Table
from gpusim.lab.papers.claim_spec import ClaimSpec
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, Where, list_values
from gpusim.lab.papers.records import PointRecord, ReproductionResults
from gpusim.lab.papers.specs.network_runs import NetworkRunsSpec
from gpusim.lab.papers.specs.reproduction import ReproductionSpec


class Figure(Spec):
    """Base of all figures and tables."""

    title: str = param(..., "for people", "user")
    source: str = param(..., "which figure or table of the publication", "the publication")
    note: str = param("", "what is different here, and why; may name means as the summary does", "user")
    claims: tuple[ClaimSpec, ...] = param((), "what the publication says", "the publication")

    is_typed: ClassVar[bool] = False
    """Its numbers follow from its file alone: neither runs nor plans nor recordings can change them."""
    files: ClassVar[tuple[str, ...]] = ()
    """Options that name files in the folder of the figure's own file."""
    formats: ClassVar[Mapping[str, Callable[[float], str]]] = {}
    """Formats of the measures that are not written in percent."""

    def located(self, path: Path) -> Self:
        """Return the figure with the files found that its own file at `path` names; raise UserError."""
        return self.model_copy(update={name: locate_files(path, getattr(self, name)) for name in self.files})

    def check(self, spec: ReproductionSpec, figures: "Mapping[str, Figure]") -> None:
        """Raise UserError for options that the publication, or one of its figures, does not have."""

    def records(self, publication: "Publication") -> Iterable[FigureRecord]:
        """Return what is known of the figure's places; nothing where tables and values are made of something else."""
        return ()

    def tables(self, publication: "Publication") -> Iterator[Table]:
        """Return the tables in order."""
        return iter(())

    def picture(self, publication: "Publication") -> Picture | None:
        """Return the chart; None where nothing is known, or the figure is a table."""
        return None

    def values(self, publication: "Publication") -> Iterator[FigureValue]:
        """Yield the values that claims about the figure are judged by."""
        return list_values(self.records(publication))

    def format_of(self, measure: str) -> Callable[[float], str]:
        """Return the format of a measure."""
        return self.formats.get(measure, PERCENT)

    def draws(self, publication: "Publication") -> dict[str, dict[str, dict[str, PointRecord]]]:
        """Return ensembles of runs by way, point and change; of figures of changes alone."""
        return {}

    def list_missing(self, publication: "Publication", where: Where, column: str) -> list[str]:
        """List the points that have not been run and that values with some labels need, by one comparison."""
        return []


def locate_files(figure: Path, named: Any) -> Any:
    """Return the paths of files that a figure's file names relative to its folder; raise UserError.

    Args:
        figure: The figure's file.
        named: A name, or names in tuples and dictionaries.
    """
    if isinstance(named, dict):
        return {key: locate_files(figure, value) for key, value in named.items()}
    if isinstance(named, tuple):
        return tuple(locate_files(figure, value) for value in named)
    path = figure.parent / named
    if not path.is_file():
        raise UserError(f"{figure}: measured: {path}: there is no such file")
    return str(path)


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
            return {name: comparison.title for name, comparison in self.spec.comparisons.items()}
        return {name: name for name in self.spec.runs.gpu_files}

    def chosen(self, only: Sequence[str]) -> dict[str, Figure]:
        """Return figures by name; all if `only` is empty. Raise UserError that names the nearest one."""
        for name in only:
            if name not in self.figures:
                raise UserError(f"--only {name}: {unknown_name('figure', name, self.figures)}")
        return {name: figure for name, figure in self.figures.items() if not only or name in only}


@dataclass(frozen=True)
class Publication:
    """A publication with the results of its runs."""

    reproduction: Reproduction
    """Figures and how they are run."""
    results: ReproductionResults
    """Known results."""

    @property
    def spec(self) -> ReproductionSpec:
        """Contents of the publication's file."""
        return self.reproduction.spec

    @property
    def figures(self) -> dict[str, Figure]:
        """Figures by name, in order."""
        return self.reproduction.figures

    @cached_property
    def draws(self) -> Mapping[str, Mapping[str, Mapping[str, PointRecord]]]:
        """Ensembles of runs by way, point and the change that should not matter, the first run as it is."""
        draws: dict[str, dict[str, Mapping[str, PointRecord]]] = {}
        for name in self.spec.spread:
            for way, points in self.figures[name].draws(self).items():
                draws.setdefault(way, {}).update(points)
        return draws

    @cached_property
    def tables(self) -> Mapping[str, Sequence[Table]]:
        """Tables by figure."""
        return {name: list(figure.tables(self)) for name, figure in self.figures.items()}

    @cached_property
    def pictures(self) -> Mapping[str, Picture]:
        """Pictures by figure; none of a figure that has nothing to show."""
        drawn = {name: figure.picture(self) for name, figure in self.figures.items()}
        return {name: picture for name, picture in drawn.items() if picture is not None}

    @cached_property
    def long_table(self) -> Mapping[str, Sequence[FigureValue]]:
        """The values that claims are judged by, by figure."""
        return {name: self.list_values(name) for name in self.figures}

    @cached_property
    def _values(self) -> dict[str, Sequence[FigureValue]]:
        """The values of the figures that were asked for."""
        return {}

    def list_values(self, name: str) -> Sequence[FigureValue]:
        """List the values that the claims of a figure are judged by; none where it has no claims."""
        if name not in self._values:
            figure = self.figures[name]
            self._values[name] = list(figure.values(self)) if figure.claims else []
        return self._values[name]
