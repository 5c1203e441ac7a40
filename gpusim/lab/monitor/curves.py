"""Sparsity of activation maps over the iterations of a training: recorded curves from files, and made-up ones.

A CSV file has a column `iteration` and one for each map; or, as `gpusim capture` writes it, `steps` and
`sparsity_<map>`, beside which other columns are left alone. An .npz has the arrays `iterations` [rows], `maps` [maps]
(text) and `sparsity` [rows, maps]. Iterations rise from row to row; between rows a curve is a straight line.
"""

import csv
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpusim.base.errors import UserError, nearest
from workloads.data.operands import SHIPPED_ACTIVATIONS

SHIPPED = SHIPPED_ACTIVATIONS
MAX_ITERATION = 100_000_000
_CAPTURED = "sparsity_"


class CurvesError(UserError):
    """Curves are missing, broken or of another layout; the message names the file and the place in it."""


@dataclass(frozen=True)
class Curves:
    """True sparsity of maps over a training.

    Raises CurvesError for values outside these ranges.
    """

    name: str
    """Name of the training, for reports."""
    maps: tuple[str, ...]
    """Names of the maps."""
    iterations: np.ndarray
    """int64 [rows]: iteration of each row, ascending."""
    sparsity: np.ndarray
    """float64 [rows, maps]: share of zeros, from 0 to 1."""

    def __post_init__(self) -> None:
        if not self.maps or not len(self.iterations):
            raise CurvesError(f"{self.name}: no {'map' if len(self.iterations) else 'row'} in it")
        if self.sparsity.shape != (len(self.iterations), len(self.maps)):
            raise CurvesError(
                f"{self.name}: sparsity has shape {list(self.sparsity.shape)}; must be "
                f"{[len(self.iterations), len(self.maps)]}, iterations by maps"
            )
        for name in self.maps:
            if self.maps.count(name) > 1:
                raise CurvesError(f"{self.name}: two maps are named '{name}'")
        wrong = np.argwhere(~((self.sparsity >= 0.0) & (self.sparsity <= 1.0)))
        if len(wrong):
            row, column = wrong[0]
            raise CurvesError(
                f"{self.name}: map '{self.maps[column]}', iteration {self.iterations[row]}: sparsity "
                f"{self.sparsity[row, column]}; must be from 0 to 1"
            )
        if self.iterations[0] < 0 or self.iterations[-1] > MAX_ITERATION:
            raise CurvesError(f"{self.name}: iterations must be from 0 to {MAX_ITERATION}")
        falls = np.flatnonzero(np.diff(self.iterations) <= 0)
        if len(falls):
            first, second = self.iterations[falls[0]], self.iterations[falls[0] + 1]
            raise CurvesError(f"{self.name}: iteration {second} comes after {first}; they must rise from row to row")

    @property
    def length(self) -> int:
        """Iterations of the training, from 0 to that of the last row."""
        return int(self.iterations[-1]) + 1

    def line(self, name: str) -> np.ndarray:
        """Return a map's sparsity in each iteration, float64 [length]; before the first row it is the first row's."""
        return np.asarray(np.interp(np.arange(self.length), self.iterations, self.sparsity[:, self.maps.index(name)]))


def load_curves(given: str) -> Curves:
    """Read the curves of a file, or those recorded with the shipped maps (vggnet11, resnet10); raise CurvesError."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.csv"))}
    path = shipped.get(given, Path(given))
    if not path.is_file():
        names = [*shipped, *SYNTHETIC]
        guess = nearest(given, names)
        hint = f"; did you mean '{guess}'?" if guess else ""
        raise CurvesError(f"{given}: there is no such file{hint} (shipped: {', '.join(names)})")
    try:
        return replace(_from_npz(path) if path.suffix == ".npz" else _from_csv(path), name=given)
    except (OSError, EOFError, ValueError, csv.Error, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise CurvesError(f"{path}: cannot be read as curves: {reason}") from None


def _from_csv(path: Path) -> Curves:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    columns = [c for c in rows[0] if c is not None] if rows else []
    captured = [c for c in columns if c.startswith(_CAPTURED)]
    key = "steps" if captured else "iteration"
    if key not in columns:
        raise CurvesError(f"{path}: no row with a column '{key}' (columns: {', '.join(columns) or 'none'})")
    maps = captured or [c for c in columns if c != key]
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise CurvesError(f"{path}: line {number}: has not the {len(columns)} values of the header")
    iterations = [_number(path, n, key, row[key], int) for n, row in enumerate(rows, start=2)]
    sparsity = [[_number(path, n, m, row[m], float) for m in maps] for n, row in enumerate(rows, start=2)]
    names = tuple(name.removeprefix(_CAPTURED) for name in maps)
    return Curves(str(path), names, _whole(path, iterations), np.array(sparsity, np.float64).reshape(len(rows), -1))


def _number(path: Path, line: int, column: str, text: str, kind: Callable[[str], float]) -> float:
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise CurvesError(f"{path}: line {line}, column '{column}': '{text}' is not {expected}") from None


def _whole(path: Path, iterations: Sequence[float]) -> np.ndarray:
    for iteration in iterations:
        if not 0 <= iteration <= MAX_ITERATION:
            raise CurvesError(f"{path}: iteration {iteration}; must be from 0 to {MAX_ITERATION}")
    return np.array(iterations, np.int64)


def _from_npz(path: Path) -> Curves:
    with np.load(path, allow_pickle=False) as stored:
        names = ("iterations", "maps", "sparsity")
        if missing := [name for name in names if name not in stored.files]:
            raise CurvesError(f"{path}: cannot be read as curves: no array '{missing[0]}'")
        iterations, maps, sparsity = (stored[name] for name in names)
    if iterations.dtype.kind not in "iu" or iterations.ndim != 1 or maps.ndim != 1:
        raise CurvesError(f"{path}: iterations must be whole numbers and maps texts, each along one axis")
    if sparsity.dtype.kind != "f":
        raise CurvesError(f"{path}: sparsity holds {sparsity.dtype}; must be floating point numbers")
    map_names = tuple(str(name) for name in maps)
    return Curves(str(path), map_names, iterations.astype(np.int64), sparsity.astype(np.float64))


def find_curves(name: str) -> Curves:
    """Return synthetic curves by name, or else a file's or shipped ones as `load_curves` does; raise CurvesError."""
    return SYNTHETIC[name]() if name in SYNTHETIC else load_curves(name)


def rising(iterations: int, first: float, last: float, rise: int, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """Return a curve, float64 [iterations], that rises within `rise` iterations and then stays (observations 3 and 4).

    It approaches `last` up to the share 1/e³ of the rise; noise: standard deviation from iteration to iteration.
    Clipped to 0..1.
    """
    time = np.minimum(np.arange(iterations) / max(1, rise), 1.0)
    level = first + (last - first) * (1.0 - np.exp(-3.0 * time))
    level += noise * np.random.default_rng(seed).standard_normal(iterations)
    return np.clip(level, 0.0, 1.0)


def with_jump(curve: np.ndarray, iteration: int, height: float) -> np.ndarray:
    """Return the curve, higher by `height` from an iteration on and clipped to 0..1."""
    return np.asarray(np.clip(curve + np.where(np.arange(len(curve)) >= iteration, height, 0.0), 0.0, 1.0))


def observed(length: int = 50_000, seed: int = 0) -> Curves:
    """Make four maps after the observations of Dong 2020, 6.1.1: layers differ, little noise, a rise, then a plateau.

    Levels are those of its text: about 70 % after CifarNet's second convolution, 65 % and 45 % as AlexNet's extremes,
    and a map below the thresholds, for which there is fast termination.
    """
    levels = {"sparse": (0.5, 0.70), "denser": (0.4, 0.65), "late": (0.3, 0.45), "dense": (0.1, 0.2)}
    lines = [
        rising(length, first, last, length // 10 * (1 + number), 0.01, seed + number)
        for number, (first, last) in enumerate(levels.values())
    ]
    return Curves("observed", tuple(levels), np.arange(length), np.stack(lines, axis=1))


def jumping() -> Curves:
    """Make `observed` with a jump of the first map by -0.4 at three fifths of the training, which ends hibernation."""
    curves = observed()
    sparsity = curves.sparsity.copy()
    sparsity[:, 0] = with_jump(sparsity[:, 0], 3 * len(sparsity) // 5, -0.4)
    return Curves("jumping", curves.maps, curves.iterations, sparsity)


SYNTHETIC: dict[str, Callable[[], Curves]] = {"observed": observed, "jumping": jumping}
