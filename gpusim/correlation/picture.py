"""Measured against modelled performance as a picture. Matplotlib is imported when one is drawn, and only then."""

from collections.abc import Sequence
from typing import Any

from gpusim.base.picture import Picture
from gpusim.correlation.compare import Compared, has_even_stride

MARKS = {"NN": "o", "NT": "s", "TN": "^", "TT": "v"}
BAND = 2.0  # the dashed lines: modelled twice as fast, and half as fast


def picture(rows: Sequence[Compared], title: str) -> Picture:
    """Make a picture with a mark for each point, GFLOPS on both axes."""
    heads = ("product", "rows an even stride apart", "measured, GFLOPS", "modelled, GFLOPS")
    numbers = [
        (r.prediction.point.label, has_even_stride(r), _rate(r, r.prediction.point.time_us), _rate(r, r.modelled_us))
        for r in rows
    ]
    said = f"{len(rows)} products; dashed lines: modelled {BAND:g} times as fast as measured, and 1/{BAND:g} as fast."
    size = (6.4, 6.0)
    return Picture(
        "correlation", title, said, heads, numbers, lambda figure: _draw(figure, rows, title), size, framed=True
    )


def _rate(row: Compared, time_us: float) -> float:
    """Return the rate of a point in GFLOPS."""
    return 1e3 * row.prediction.point.gflop / time_us * 1e3


def _draw(figure: Any, rows: Sequence[Compared], title: str) -> None:
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    for which, mark in MARKS.items():
        for even, filled in ((False, "none"), (True, "full")):
            held = [r for r in rows if r.prediction.point.transposes == which and has_even_stride(r) == even]
            if held:
                axes.plot(
                    [_rate(r, r.prediction.point.time_us) for r in held],
                    [_rate(r, r.modelled_us) for r in held],
                    mark,
                    fillstyle=filled,
                    label=which + (", rows a multiple of 2 KiB apart" if even else ""),
                )
    low, high = axes.get_xlim()
    ends = [max(low, 1.0), high]
    axes.plot(ends, ends, color="gray", linewidth=1)
    for factor in (BAND, 1 / BAND):
        axes.plot(ends, [factor * end for end in ends], color="gray", linewidth=1, linestyle="--")
    axes.set(xscale="log", yscale="log", xlabel="measured, GFLOPS", ylabel="modelled, GFLOPS", title=title)
    axes.legend()
