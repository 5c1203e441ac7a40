"""The long table of all recordings: a measured or simulated value a row, whichever command made it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.lab.versions.model import FigureVersion

if TYPE_CHECKING:
    from gpusim.lab.ages.recording import Recording


@dataclass(frozen=True, kw_only=True)
class RecordedValue:
    """A row of the long table."""

    publication: str
    """Name of the recording: a publication, a table of measured points, a GPU's microbenchmarks, a sampling suite."""
    figure: str
    """Figure of a publication; of other recordings, what their values have in common."""
    labels: Mapping[str, str]
    """Where in the figure it stands, such as case, batch and GPU."""
    measure: str
    """Name of what is measured."""
    value: float
    """Value."""
    half_width: float | None = None
    """Half-width of its confidence interval; None: unknown."""
    version: str = ""
    """Names of the models that made it, several where a figure's points are of several; empty: not recorded."""


def name_versions(versions: Iterable[FigureVersion]) -> str:
    """Return the names of the models of versions, each once."""
    return ", ".join(sorted({version.name for version in versions} - {""}))


def numbers_of(data: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, float]:
    """Return those of some values that are known numbers, by name."""
    return {name: data[name] for name in names if isinstance(data.get(name), int | float)}


LONG_TABLE = View(
    (
        column("publication"),
        column("figure"),
        column(lambda row: "; ".join(f"{name}={value}" for name, value in row.labels.items()), "labels"),
        column("measure"),
        column("value", write=repr, right=True),
        column("half_width", "half-width", repr, right=True),
        column("version"),
    ),
    "long_table",
)


def make_long_table(recordings: Iterable["Recording"]) -> Table:
    """Return the values of recordings as one table; raise UserError for a file that cannot be read."""
    return LONG_TABLE.table(value for recording in recordings for value in recording.values())
