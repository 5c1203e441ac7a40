"""Values with half-widths of their confidence intervals: which can be told apart, and which no other one beats."""

from collections.abc import Sequence
from typing import Literal

Estimate = tuple[float, float]  # a value and its half-width: 0 of what is exact


def differ(left: Estimate, right: Estimate) -> bool:
    """Tell whether two estimates differ: their intervals do not overlap, or exact values are not equal.

    Args:
        left: A value with its half-width.
        right: Another one.

    Returns:
        Whether they differ.
    """
    return abs(left[0] - right[0]) > left[1] + right[1]


def front(points: Sequence[Sequence[Estimate]]) -> list[bool]:
    """Tell which points are on the Pareto front of the smallest values: no other point beats them.

    A point beats another if none of its values is larger, and one of them is smaller by more than the half-widths: of
    points that only their noise tells apart, none wins. points: each has the same number of values.
    """
    order = sorted(range(len(points)), key=lambda number: [value for value, _ in points[number]])
    chosen = [False] * len(points)
    rivals: list[int] = []
    for number in order:  # whoever beats a point comes before it
        point = points[number]
        chosen[number] = not any(_beats(points[other], point) for other in rivals)
        if chosen[number] or any(width for _, width in point):  # whom an exact one beats, those beat who beat it
            rivals.append(number)
    return chosen


Standing = Literal["front", "not distinguishable", ""]


def standings(points: Sequence[Sequence[Estimate]]) -> list[Standing]:
    """Tell for each point whether it is on the front (`front`), and whether more than noise keeps it there.

    'not distinguishable': compared with another point of the front, it is nowhere smaller by more than the half-widths;
    '': another point beats it.
    """
    found: list[Standing] = ["front" if chosen else "" for chosen in front(points)]
    chosen = [number for number, standing in enumerate(found) if standing]
    for one in chosen:
        if any(_by_noise(points[one], points[other]) for other in chosen if other != one):
            found[one] = "not distinguishable"
    return found


def _by_noise(left: Sequence[Estimate], right: Sequence[Estimate]) -> bool:
    """Tell whether nothing but noise makes one point better than another, anywhere; exact points have no noise."""
    noisy = any(width for _, width in (*left, *right))
    return noisy and not any(x[0] < y[0] and differ(x, y) for x, y in zip(left, right, strict=True))


def _beats(left: Sequence[Estimate], right: Sequence[Estimate]) -> bool:
    pairs = list(zip(left, right, strict=True))
    return all(x[0] <= y[0] for x, y in pairs) and any(differ(x, y) for x, y in pairs)
