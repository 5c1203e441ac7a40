"""The fitted correction and rates as a file: the one that ships, and others of the same form.

`gpusim fit-estimates` writes it: coefficients, what they were fitted to, and how far off launches and iterations of
each network were by a fit to all other networks.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.plain_data import parse_as, read_json
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.errors import ErrorBreakdown
from gpusim.jobs.estimates.model import FEATURES, Correction

SHIPPED = Path(__file__).parent / "fitted.json"
FORMAT = 1
_HINT = "`gpusim fit-estimates --to FILE` writes such a file"


@dataclass(frozen=True)
class FitOrigin:
    """Data from which the correction was fitted."""

    version: str
    """Version of gpusim."""
    processor: str
    """Processor of the host."""
    points: tuple[Mapping[str, Any], ...]
    """Network, phase, batch, convolution algorithm, GPU and number of launches of each fitted iteration."""
    products: tuple[Mapping[str, Any], ...] = ()
    """Table, GPU and number of launches of each table of matrix products to which the matrix unit's part is fitted."""

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks' names."""
        return tuple(dict.fromkeys(str(point["network"]) for point in self.points))

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs' names."""
        return tuple(dict.fromkeys(str(point["gpu"]) for point in self.points))


@dataclass(frozen=True)
class EstimateFit:
    """A correction, its errors by leaving one network out, the rates of simulating, and what all that was fitted to."""

    correction: Correction
    """Correction of the bounds."""
    errors: ErrorBreakdown
    """Errors by leaving one network out."""
    rates: Rates
    """Rates of simulating."""
    origin: FitOrigin
    """What it was fitted to."""

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "version": self.origin.version,
            "processor": self.origin.processor,
            "points": [dict(point) for point in self.origin.points],
            "products": [dict(table) for table in self.origin.products],
            "errors": asdict(self.errors),
            "rates": asdict(self.rates),
            "correction": asdict(self.correction),
        }


@dataclass(frozen=True)
class _StoredFit:
    """A fit as its file has it."""

    version: str
    processor: str
    points: tuple[Mapping[str, Any], ...]
    errors: ErrorBreakdown
    rates: Rates
    correction: Correction
    products: tuple[Mapping[str, Any], ...] = ()


def load_fitted(path: Path = SHIPPED) -> EstimateFit:
    """Read a file of `gpusim fit-estimates`; raises UserError."""
    content = read_json(path)
    if isinstance(content, dict) and content.get("format") != FORMAT:
        raise UserError(f"{path}: format {content.get('format')!r}; this version reads format {FORMAT}; {_HINT}")
    correction = content.get("correction") if isinstance(content, dict) else None
    features = correction.get("features") if isinstance(correction, dict) else None
    if isinstance(features, dict) and set(features) != set(FEATURES):
        raise UserError(f"{path}: fitted by another version of gpusim: `gpusim fit-estimates --to` makes it anew")
    stored = parse_as(_StoredFit, content, str(path), _HINT)
    origin = FitOrigin(stored.version, stored.processor, stored.points, stored.products)
    return EstimateFit(stored.correction, stored.errors, stored.rates, origin)
