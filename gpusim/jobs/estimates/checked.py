"""How far off the estimates of whole runs are that rest on bounds alone: a record of shipped runs, estimated and run.

`gpusim check-estimates --to FILE` writes it: what was estimated of each, what it took, and what memory is reckoned by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_2
from gpusim.base.plain_data import parse_as, read_json

SHIPPED = Path(__file__).parent / "checked.json"
FORMAT = 1
_HINT = "`gpusim check-estimates --to FILE` writes such a file"
MEASURES = ("cycles", "cpu_s", "memory_mb")
NAMES = ("cycles", "processor time", "memory")


@dataclass(frozen=True)
class CheckedRun:
    """A run that was estimated and then simulated."""

    what: str
    """Command."""
    engine: bool
    """The compaction engine takes part in some variant."""
    device_mb: float
    """Device memory in use, in megabytes."""
    estimated: Mapping[str, float]
    """Estimated values by MEASURES."""
    taken: Mapping[str, float]
    """Simulated values by MEASURES."""

    def factor(self, measure: str) -> float:
        """Return by which factor a measure was off, 1 or more."""
        return exp(abs(log(self.estimated[measure] / self.taken[measure])))


@dataclass(frozen=True)
class EstimateValidation:
    """The stored record of checked estimates."""

    version: str
    """Version of gpusim."""
    processor: str
    """Processor of the host."""
    base_mb: float
    """Memory of a process without device memory, in megabytes."""
    per_device_mb: float
    """Memory of a process for each megabyte of device memory."""
    runs: Sequence[CheckedRun]
    """Checked runs."""

    def memory_mb(self, device_mb: float) -> float:
        """Return the memory of a process that simulates so many megabytes of device memory."""
        return self.base_mb + self.per_device_mb * device_mb

    def notes(self) -> list[str]:
        """Return how far off such estimates were, as lines below a table."""
        lines = []
        for measure, name in zip(MEASURES, NAMES, strict=True):
            off = [run.factor(measure) for run in self.runs]
            said = f"a factor of {FIXED_2(median(off))} in the median, {FIXED_2(max(off))} at most"
            lines.append(f"{name} by bounds: off by {said}, of {len(off)} shipped runs")
        return lines

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"format": FORMAT, **asdict(self)}


def fit_memory(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit the memory of processes to device memory, neither part negative. pairs: of both, in MB."""
    device, taken = np.array(pairs, float).T
    slope = float(np.polyfit(device, taken, 1)[0]) if len(set(device)) > 1 else 0.0
    slope = max(slope, 0.0)
    return max(float(np.mean(taken - slope * device)), 0.0), slope


@cache
def load_checked(path: Path = SHIPPED) -> EstimateValidation:
    """Read a record; raises UserError."""
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{path}: another format; this version reads format {FORMAT}")
    record = parse_as(EstimateValidation, content, str(path), _HINT)
    for number, run in enumerate(record.runs):
        for name, values in (("estimated", run.estimated), ("taken", run.taken)):
            if missing := [measure for measure in MEASURES if measure not in values]:
                raise UserError(f"{path}: runs.{number}.{name}: lacks {', '.join(missing)}")
    return record
