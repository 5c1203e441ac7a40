"""The fitted correction and rates as a file: the one that ships, and others of the same form.

`gpusim fit-estimates` writes it: coefficients, what they were fitted to, and how far off launches and iterations of
each network were by a fit to all other networks.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.errors import ErrorBreakdown
from gpusim.jobs.estimates.model import FEATURES, Correction, Feature

SHIPPED = Path(__file__).parent / "fitted.json"
FORMAT = 1


@dataclass(frozen=True)
class FitOrigin:
    """Data from which the correction was fitted."""

    version: str
    """Version of gpusim."""
    processor: str
    """Processor of the host."""
    points: tuple[Mapping[str, Any], ...]
    """Network, phase, batch, convolution algorithm, GPU and number of launches of each fitted iteration."""

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
    errors: ErrorBreakdown
    rates: Rates
    origin: FitOrigin

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "version": self.origin.version,
            "processor": self.origin.processor,
            "points": [dict(point) for point in self.origin.points],
            "errors": asdict(self.errors),
            "rates": asdict(self.rates),
            "correction": asdict(self.correction),
        }


def load_fitted(path: Path = SHIPPED) -> EstimateFit:
    """Read a file of `gpusim fit-estimates`; raises UserError."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: no JSON: {error}; `gpusim fit-estimates --to FILE` writes such a file") from None
    try:
        if data["format"] != FORMAT:
            raise UserError(f"{path}: format {data['format']!r}; this version reads format {FORMAT}")
        correction = data["correction"]
        if set(correction["features"]) != set(FEATURES):
            raise UserError(f"{path}: fitted by another version of gpusim: `gpusim fit-estimates --to` makes it anew")
        fitted = EstimateFit(
            Correction(
                float(correction["constant"]),
                {name: Feature(**_numbers(row)) for name, row in correction["features"].items()},
                _numbers(correction["kernels"]),
            ),
            ErrorBreakdown.of(data["errors"]),
            Rates(**_numbers(data["rates"])),
            FitOrigin(str(data["version"]), str(data["processor"]), tuple(data["points"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: not as `gpusim fit-estimates --to FILE` writes it: {error!r}") from None
    return fitted


def _numbers(held: Mapping[str, Any]) -> dict[str, float]:
    found = {name: float(value) for name, value in held.items()}
    for name, value in found.items():
        if not isfinite(value):
            raise ValueError(f"{name} is {value}")
    return found
