"""Measured against modelled performance as a picture. Matplotlib is imported when one is drawn, and only then."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.formats import GENERAL
from gpusim.base.picture import Picture
from gpusim.lab.silicon.compare import CorrelationPoint, has_even_stride
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import EXTRAPOLATED, SAMPLED, WHOLE

MARKS = {"NN": "o", "NT": "s", "TN": "^", "TT": "v", "F": "o", "B": "s", "W": "^"}  # by transposes or pass
IN_PART = {SAMPLED: ("+", "sampled, with its half-width"), EXTRAPOLATED: ("x", "extrapolated, half-width unknown")}
BAND = 2.0  # the dashed lines: modelled twice as fast, and half as fast
_BANDS = f"modelled {GENERAL(BAND)} times as fast as measured, and 1/{GENERAL(BAND)} as fast."


def picture(rows: Sequence[CorrelationPoint], title: str) -> Picture:
    """Make a picture with a mark for each point, GFLOPS on both axes.

    Args:
        rows: Points with their predictions.
        title: Title of the picture.
    """
    heads = ("point", "rows an even stride apart", "run", "measured, GFLOPS", "modelled, GFLOPS", "±, GFLOPS")
    numbers = [
        (
            r.prediction.point.label,
            has_even_stride(r),
            r.prediction.how,
            _rate(r, r.prediction.point.time_us),
            _rate(r, r.modelled_us),
            _half_width(r),
        )
        for r in rows
    ]
    whole = sum(r.prediction.how == WHOLE for r in rows)
    said = f"{len(rows)} points, {whole} of them run whole; dashed lines: {_BANDS}"
    size = (6.4, 6.0)
    return Picture(
        name="correlation",
        title=title,
        alt=said,
        heads=heads,
        rows=numbers,
        draw=lambda figure: _draw(figure, rows, title),
        size=size,
        framed=True,
    )


def draw_tables(tables: Mapping[str, Sequence[CorrelationPoint]]) -> Picture:
    """Make one picture of the points of several tables, by title: GFLOPS on both axes, a colour a table."""
    heads = ("table", "product", "measured, GFLOPS", "modelled, GFLOPS")
    numbers = [
        (title, r.prediction.point.label, _rate(r, r.prediction.point.time_us), _rate(r, r.modelled_us))
        for title, rows in tables.items()
        for r in rows
    ]
    description = f"{len(numbers)} products of {len(tables)} tables, measured against modelled; dashed lines: {_BANDS}"

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        for title in tables:
            rates = [row[2:] for row in numbers if row[0] == title]
            axes.plot(*zip(*rates, strict=True), ".", label=f"{title} ({len(rates)})")
        _finish(axes, "Measured against modelled")

    return Picture(
        name="cards",
        title="Measured against modelled",
        alt=description,
        heads=heads,
        rows=numbers,
        draw=draw,
        size=(6.4, 6.0),
        framed=True,
    )


def _kind(row: CorrelationPoint) -> str:
    """Return a product's transposes, or a convolution's pass."""
    point = row.prediction.point
    return point.direction if isinstance(point, ConvolutionPoint) else point.transposes


def _rate(row: CorrelationPoint, time_us: float) -> float:
    """Return the rate of a point in GFLOPS."""
    return 1e3 * row.prediction.point.gflop / time_us * 1e3


def _half_width(row: CorrelationPoint) -> float | None:
    """Return the half-width of a point's modelled rate; None where it is not known."""
    width_us = row.prediction.half_width_us
    return None if width_us is None else _rate(row, row.modelled_us) * width_us / row.modelled_us


def _draw(figure: Any, rows: Sequence[CorrelationPoint], title: str) -> None:
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    for which, mark in MARKS.items():
        for even, filled in ((False, "none"), (True, "full")):
            members = [r for r in rows if _kind(r) == which and has_even_stride(r) == even]
            if members:
                axes.plot(
                    [_rate(r, r.prediction.point.time_us) for r in members],
                    [_rate(r, r.modelled_us) for r in members],
                    mark,
                    fillstyle=filled,
                    label=which + (", rows a multiple of 2 KiB apart" if even else ""),
                )
    for how, (mark, label) in IN_PART.items():
        members = [r for r in rows if r.prediction.how == how]
        if members:
            measured = [_rate(r, r.prediction.point.time_us) for r in members]
            modelled = [_rate(r, r.modelled_us) for r in members]
            widths = [_half_width(r) for r in members] if how == SAMPLED else None
            axes.errorbar(measured, modelled, widths, fmt=mark, color="black", linewidth=1, label=label, zorder=3)
    _finish(axes, title)


def _finish(axes: Any, title: str) -> None:
    """Draw the lines of equal speed and of BAND times it, and name what is shown."""
    low, high = axes.get_xlim()
    ends = [max(low, 1.0), high]
    axes.plot(ends, ends, color="gray", linewidth=1)
    for factor in (BAND, 1 / BAND):
        axes.plot(ends, [factor * end for end in ends], color="gray", linewidth=1, linestyle="--")
    axes.set(xscale="log", yscale="log", xlabel="measured, GFLOPS", ylabel="modelled, GFLOPS", title=title)
    axes.legend()
