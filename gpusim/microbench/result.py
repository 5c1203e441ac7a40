"""What a microbenchmark yields: single figures, which published ones may stand beside, and curves."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One measured number. name: 'latency.l1', the key of published figures; what: one line that says what it is."""

    name: str
    what: str
    value: float
    unit: str


@dataclass(frozen=True)
class Curve:
    """Measured points (x, y). group: curves of one group share their axes and a panel of the picture."""

    name: str
    group: str
    x: str
    y: str
    points: tuple[tuple[float, float], ...]


@dataclass
class Results:
    """Figures and curves in the order in which they were measured."""

    figures: list[Figure] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)

    def add(self, name: str, what: str, value: float, unit: str) -> None:
        """Note a figure."""
        self.figures.append(Figure(name, what, float(value), unit))

    def add_curve(self, name: str, group: str, axes: tuple[str, str], points: Sequence[tuple[float, float]]) -> None:
        """Note a curve; axes: what x and y are, with their units."""
        self.curves.append(Curve(name, group, *axes, tuple((float(x), float(y)) for x, y in points)))
