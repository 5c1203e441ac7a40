"""Measured against modelled performance as a picture. Matplotlib is imported when one is drawn, and only then."""

from collections.abc import Sequence

from gpusim.base.pictures import require_matplotlib, saved
from gpusim.correlation.compare import Compared, has_even_stride

MARKS = {"NN": "o", "NT": "s", "TN": "^", "TT": "v"}
BAND = 2.0  # the dashed lines: modelled twice as fast, and half as fast


def draw(rows: Sequence[Compared], title: str, kind: str) -> bytes:
    """The picture as a file of `kind`, '.svg' or '.png': a mark for each point, GFLOPS on both axes."""
    plt = require_matplotlib("correlate")
    figure, axes = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    for which, mark in MARKS.items():
        for even, filled in ((False, "none"), (True, "full")):
            held = [r for r in rows if r.prediction.point.transposes == which and has_even_stride(r) == even]
            if held:
                work = [1e3 * r.prediction.point.gflop for r in held]
                axes.plot(
                    [w / r.prediction.point.time_us * 1e3 for w, r in zip(work, held, strict=True)],
                    [w / r.modelled_us * 1e3 for w, r in zip(work, held, strict=True)],
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
    return saved(plt, figure, kind)
