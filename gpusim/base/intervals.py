"""Values with half-widths of their confidence intervals: which can be told apart, and which no other one beats."""

from collections.abc import Sequence

Estimate = tuple[float, float]  # a value and its half-width: 0 of what is exact


def differ(a: Estimate, b: Estimate) -> bool:
    """Whether two estimates can be told apart: exact ones that are equal cannot, nor intervals that overlap."""
    return abs(a[0] - b[0]) > a[1] + b[1]


def front(points: Sequence[Sequence[Estimate]]) -> list[bool]:
    """Which points are on the Pareto front of the smallest values: no other point beats them.

    A point beats another if none of its values is larger, and one of them is smaller by more than the half-widths: of
    points that only their noise tells apart none wins. points: of each the same number of values.
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


def _beats(a: Sequence[Estimate], b: Sequence[Estimate]) -> bool:
    return all(x[0] <= y[0] for x, y in zip(a, b, strict=True)) and any(
        x[0] < y[0] and differ(x, y) for x, y in zip(a, b, strict=True)
    )
