"""The long table of a publication: what is measured, one value a row, and the records of figures that it is made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpusim.base.errors import UserError, unknown_name

OURS = "ours"  # the comparison of values that need no run
Label = str | int | float
Where = Mapping[str, Label | list[Label]]


class RatioParts(NamedTuple):
    """The two numbers of a value that is a ratio, with the half-widths of their confidence intervals."""

    above: float
    """Dividend."""
    below: float
    """Divisor."""
    above_half_width: float = 0.0
    """Half-width of the dividend."""
    below_half_width: float = 0.0
    """Half-width of the divisor."""


@dataclass(frozen=True)
class FigureValue:
    """A row of a publication's long table."""

    measure: str
    """Name of the measure."""
    comparison: str
    """Comparison of the value; for networks, the GPU."""
    labels: Mapping[str, str]
    """Labels, such as case, batch and data."""
    value: float
    """Value."""
    limit: float | None = None
    """For a speed-up, the largest that the zeros allow; None: unknown."""
    explain: Callable[[], tuple[str, ...]] = tuple
    """Returns the metrics that changed with the value, the largest change first."""
    count: int = 1
    """Number of layers that the value represents."""
    half_width: float = 0.0
    """Half-width of its confidence interval; 0: unknown."""
    ratio: RatioParts | None = None
    """What it is the ratio of; None: it is no ratio of two measured numbers."""


@dataclass(frozen=True)
class FigureRecord:
    """What is known of one place of a figure: a row of its table, whose numbers are rows of the long table."""

    labels: Mapping[str, str]
    """Labels for claims."""
    values: Mapping[str, Any]
    """Numbers by measure, and what else tables show by name; None: unknown."""
    half_widths: Mapping[str, float] = field(default_factory=dict)
    """Half-widths of confidence intervals by measure; absent: unknown."""
    comparison: str = OURS
    """Comparison of the values; for networks, the GPU."""

    @property
    def row(self) -> dict[str, Any]:
        """Labels and values by name."""
        return {**self.labels, **self.values}


def repeat_on(gpus: Iterable[str], records: Iterable[FigureRecord]) -> Iterator[FigureRecord]:
    """Yield each record for each GPU, as what is the same on all of them.

    Args:
        gpus: Names of GPUs.
        records: Rows of the long table.
    """
    for record in records:
        for gpu in gpus:
            yield FigureRecord({**record.labels, "gpu": gpu}, record.values, record.half_widths, gpu)


def list_values(records: Iterable[FigureRecord]) -> Iterator[FigureValue]:
    """Yield the numbers of records as rows of the long table."""
    for record in records:
        for name, value in record.values.items():
            if isinstance(value, int | float):
                width = record.half_widths.get(name, 0.0)
                yield FigureValue(name, record.comparison, record.labels, value, half_width=width)


def matches(labels: Mapping[str, str], where: Where) -> bool:
    """Tell whether labels have the wanted values.

    Args:
        labels: Labels of a row.
        where: Wanted values by label.

    Raises:
        UserError: A label is unknown.
    """
    for label, wanted in where.items():
        if label not in labels:
            raise UserError(f"where: {unknown_name('label', label, labels)}")
        if labels[label] not in label_names(wanted):
            return False
    return True


def label_names(wanted: Label | list[Label]) -> set[str]:
    """Return the values that a label may have, as texts."""
    return {str(value) for value in (wanted if isinstance(wanted, list) else [wanted])}
