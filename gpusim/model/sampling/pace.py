"""Where the pace along a grid changes for good: intervals of one pace are a stratum, as workgroups of alike work are.

A change that lasts is at least two intervals on either side whose means differ by more than a tolerance and more than
chance explains: binary segmentation (Scott and Knott 1974). A single interval that differs is chance, of which the
others know: it widens the bar of its stratum. Before the first skip nothing is divided: what changes there is a launch
that settles.
"""

from collections.abc import Sequence

import numpy as np

ALIKE = 0.02  # relative: paces that differ by less are one
_BY_CHANCE = 3.5  # standard errors of the difference of two means
_LEAST = 2  # intervals


def pace_strata(pace: np.ndarray, spread: float, before: int, alone: float = 0.0) -> np.ndarray:
    """Return the number of the stratum of each interval, in order along the grid.

    Args:
        pace: float64 [intervals], cycles an instruction.
        spread: standard deviation of an interval's pace by chance, as the windows within intervals have it; relative.
        before: intervals before the first skip, which belong together.
        alone: If the last place has one interval: what it differs by at least, relatively, to be of another pace by
            itself, as no place can follow. 0: it has several.
    """
    strata = np.zeros(len(pace), np.int64)
    for cut in change_points(pace, spread, ALIKE, _BY_CHANCE, max(before, _LEAST)):
        strata[cut:] += 1
    own = pace[:-1][strata[:-1] == strata[-1]]
    if alone and len(own):
        chance = np.sqrt((own.var(ddof=min(1, len(own) - 1)) + (spread * own.mean()) ** 2) * (1 + 1 / len(own)))
        strata[-1] += bool(abs(pace[-1] - own.mean()) > max(alone * own.mean(), _BY_CHANCE * chance))
    return strata


def change_points(
    values: np.ndarray, spread: float, alike: float, by_chance: float, before: int = _LEAST, start: int = 0
) -> list[int]:
    """Return where the mean of values changes for good.

    Args:
        values: float64, in order.
        spread: relative standard deviation of a value by chance, beside what is seen of it.
        alike: relative difference that is none.
        by_chance: standard errors of a difference that is none.
        before: values before the first change, at least.
        start: what is added to the places.
    """
    count = len(values)
    places = np.arange(max(_LEAST, before), count - _LEAST + 1)
    if not len(places):
        return []
    sums, squares = np.cumsum(values), np.cumsum(values**2)
    left, right = sums[places - 1] / places, (sums[-1] - sums[places - 1]) / (count - places)
    within = squares[-1] - places * left**2 - (count - places) * right**2
    best = int(np.argmin(within))
    k, apart = int(places[best]), abs(float(left[best] - right[best]))
    scale = min(float(left[best]), float(right[best]))
    residual = max(float(within[best]), 0.0) / max(count - 2, 1)
    chance = np.sqrt((residual + (spread * scale) ** 2) * (1 / k + 1 / (count - k)))
    if apart <= max(alike * scale, by_chance * chance, 1e-9 * float(np.abs(values).max())):
        return []
    earlier = change_points(values[:k], spread, alike, by_chance, before, start)
    return [*earlier, start + k, *change_points(values[k:], spread, alike, by_chance, before - k, start + k)]


def changed_region(values: np.ndarray, alike: float, by_chance: float) -> tuple[int, int] | None:
    """Return where a part begins and ends whose mean differs most from that of the rest; None: none differs enough.

    A short part in the middle moves the means on either side of a single cut too little to be seen by `change_points`
    (Olshen et al. 2004, circular binary segmentation).

    Args:
        values: float64, in order.
        alike: relative difference that is none.
        by_chance: standard errors of a difference that is none.
    """
    count = len(values)
    first, end = np.triu_indices(count + 1, _LEAST)
    some = count - (end - first) >= 2 * _LEAST
    first, end = first[some], end[some]
    if not len(first):
        return None
    sums, squares = np.append(0.0, np.cumsum(values)), float((values**2).sum())
    size, total = end - first, float(sums[-1])
    inside = (sums[end] - sums[first]) / size
    outside = (total - inside * size) / (count - size)
    within = squares - size * inside**2 - (count - size) * outside**2
    best = int(np.argmin(within))
    k, apart = int(size[best]), abs(float(inside[best] - outside[best]))
    chance = np.sqrt(max(float(within[best]), 0.0) / max(count - 2, 1) * (1 / k + 1 / (count - k)))
    least = alike * min(float(inside[best]), float(outside[best]))
    if apart <= max(least, by_chance * chance, 1e-9 * float(np.abs(values).max())):
        return None
    return int(first[best]), int(end[best])


def unsettled_intervals(
    pace: np.ndarray, counts: Sequence[int], tolerance: float, covariates: np.ndarray | None = None, alike: float = 0.0
) -> np.ndarray:
    """Return bool [intervals]: the intervals in which a skip still had an effect.

    Caches may hold what the place before used for longer than its workgroups run. That is the first interval of a place
    with several, where its pace is another than that of these, and its workgroups are not others.

    Args:
        pace: float64 [intervals], cycles an instruction.
        counts: Intervals of each place.
        tolerance: Relative difference that is none.
        covariates: float64 [intervals, covariates]; None: workgroups are alike.
        alike: Difference of covariates that is none.
    """
    unsettled = np.zeros(len(pace), bool)
    at = counts[0]
    for count in counts[1:]:
        if count > 1:
            others = slice(at + 1, at + count)
            later = pace[others].mean()
            unsettled[at] = abs(pace[at] - later) > tolerance * later
            if covariates is not None and (np.abs(covariates[at] - covariates[others].mean(axis=0)) > alike).any():
                unsettled[at] = False
        at += count
    return unsettled
