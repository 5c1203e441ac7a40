"""The curves as a picture, one panel a group. Matplotlib is imported when a picture is drawn, and only then."""

from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import GENERAL
from gpusim.base.picture import Picture
from gpusim.lab.microbench.bench import Curve, MicrobenchResults
from gpusim.lab.microbench.references import published
from gpusim.lab.microbench.views import FAR_OFF
from gpusim.model.core.gpu_spec import GpuSpec

PANEL_INCHES = (6.4, 4.2)
COLUMNS = 2
# figures that a panel shows as bands or lines of published values
PUBLISHED_IN = {"latency": "latency.vector_dram"}
LOGARITHMIC = ("issue rates",)
SHOWN_FROM = 5  # percent


def picture(results: MicrobenchResults, gpu: GpuSpec) -> Picture:
    """Make a picture with a panel for each group.

    Args:
        results: The results.
        gpu: The GPU.

    Raises:
        UserError: Nothing that was measured is a curve.
    """
    groups = list(dict.fromkeys(curve.group for curve in results.curves))
    off = _deviations(results, gpu.architecture)
    count = len(groups) + bool(off)
    if not count:
        raise UserError("--picture: none of the microbenchmarks chosen with --only has a curve or a published figure")
    lines, width = -(-count // COLUMNS), min(COLUMNS, count)
    title = f"{gpu.name}, measured on the model"

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        panels = list(figure.subplots(lines, width, squeeze=False).flat)
        figure.suptitle(title)
        for panel, group in zip(panels, groups, strict=False):
            curves = [curve for curve in results.curves if curve.group == group]
            _draw_group(panel, group, curves, gpu.architecture)
        if off:
            _draw_deviations(panels[len(groups)], off)
        for panel in panels[count:]:
            panel.set_visible(False)

    rows: list[tuple[Any, ...]] = [
        (curve.group, curve.name, *point) for curve in results.curves for point in curve.points
    ]
    rows += [("deviation in %", name, None, share) for name, share in off]
    said = f"Curves of {', '.join(groups)}; {len(off)} figures are {SHOWN_FROM} % or more off published ones."
    size = (width * PANEL_INCHES[0], lines * PANEL_INCHES[1])
    return Picture(
        name="microbenchmarks",
        title=title,
        alt=said,
        heads=("group", "curve", "x", "y"),
        rows=rows,
        draw=draw,
        size=size,
        framed=True,
    )


def _draw_group(panel: Any, group: str, curves: list[Curve], architecture: str) -> None:
    spread = max(x for c in curves for x, _ in c.points) / max(1.0, min(x for c in curves for x, _ in c.points))
    for number, curve in enumerate(curves):
        x, y = zip(*curve.points, strict=True)
        style = ("-", "--", ":")[number // 10 % 3]  # there are ten colours
        panel.plot(x, y, style, marker=".", label=curve.name)
    if spread > 100:
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter(lambda x, _: _binary(x))
    panel.set_title(group)
    panel.set_xlabel(curves[0].x)
    panel.set_ylabel(curves[0].y)
    for row in published(PUBLISHED_IN.get(group, ""), architecture):
        panel.axhspan(row.low, row.high, alpha=0.15, color="grey", label=f"DRAM, published: {row.part}")
    if group in LOGARITHMIC:
        panel.set_yscale("log", base=2)
        panel.set_ylim(top=8 * max(y for c in curves for _, y in c.points))
    else:
        panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    if len(curves) > 1:
        panel.legend(fontsize="x-small", ncols=1 + len(curves) // 6)


def _deviations(results: MicrobenchResults, architecture: str) -> list[tuple[str, float]]:
    """Figures that are more than SHOWN_FROM off a published one, with the deviation in percent."""
    found = [
        (f"{figure.name}, {row.part}", 100 * row.deviation(figure.value))
        for figure in results.figures
        for row in published(figure.name, architecture)
    ]
    return [(name, share) for name, share in found if abs(share) >= SHOWN_FROM]


def _draw_deviations(panel: Any, off: list[tuple[str, float]]) -> None:
    names, shares = zip(*reversed(off), strict=True)
    panel.barh(names, shares, color=["tab:red" if abs(s) >= 100 * FAR_OFF else "tab:grey" for s in shares])
    panel.tick_params(axis="y", labelsize="xx-small")
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set_title(f"model against published, where more than {SHOWN_FROM} % apart")
    panel.set_xlabel("deviation in %")
    panel.grid(axis="x", alpha=0.3)


def _binary(size: float) -> str:
    """Format a size with a binary unit, as in 4096 → '4K'."""
    for letter, unit in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= unit:
            return f"{GENERAL(size / unit)}{letter}"
    return GENERAL(size)
