"""The gallery of how-to/gallery.md: fourteen figures of the sweeps in results/sweeps.

A figure is a choice, as the options of `gpusim report --figure` make it; the page shows the command.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docs._site.pages import SWEEPS
from docs._site.swept_csv import swept_of
from gpusim.results.report.page.figures import Style, draw_figure
from gpusim.results.report.sweeps.points import SweepData
from gpusim.results.report.sweeps.series import FigureChoice

SIB, BUFFER, SHARE = "engine.sib_kib", "engine.prefetch_buffer_kib", "engine.l2_share"
SUM = f"{SIB} + {BUFFER}"


@dataclass(frozen=True)
class Figure:
    """name: of its file; source: of its sweep's points; choice, style: how it is drawn."""

    name: str
    source: str
    choice: FigureChoice
    style: Style = "paper"

    @property
    def command(self) -> str:
        """The command that draws it."""
        c = self.choice
        words = [f"--metric {_quoted(text)}" for text in c.metrics]
        words += [f"--{name} {path}" for name, path in (("x", c.x), ("y", c.y), ("by", c.by)) if path]
        words += [f"--{name} {path}={value}" for name in ("at", "baseline") for path, value in getattr(c, name).items()]
        words += [f"--draw {c.kind}"] if c.kind else []
        style = [] if self.style == "screen" else [f"--style {self.style}"]
        return " ".join(["gpusim report sweep:1 --figure", f"{self.name}.svg", *words, *style])


FIGURES = (
    Figure("l2-hit-rate", "sizes/sgemm_dib_tiled", FigureChoice(["l2.hit_rate"], x=SIB, by="config", at={SHARE: 0.5})),
    Figure("sib-speed-up", "sizes/sgemm_dib_tiled", FigureChoice(x=SIB, by=SHARE, baseline={SIB: 16}), "wide"),
    Figure("sizes", "sizes/sgemm_dib_tiled", FigureChoice(x=SIB, y=BUFFER, at={SHARE: 0.5}), "wide"),
    Figure("share-of-l2", "sizes/sgemm_dib_tiled", FigureChoice(x=SHARE, baseline={SHARE: 0.5}, kind="bars")),
    Figure("front", "sizes/sgemm_dib_tiled", FigureChoice(kind="front"), "wide"),
    Figure("front-of-a-search", "sizes/search", FigureChoice(["kernel.cycles"], kind="front"), "wide"),
    Figure("entries-lost", "sizes/sgemm_dib_tiled", FigureChoice(["engine.sib_evictions"], x=SIB, by=SHARE), "wide"),
    Figure(
        "workgroups",
        "gallery/workgroups",
        FigureChoice(["kernel.time_us"], x="local_size", by="gpu.l2.size_kib"),
        "wide",
    ),
    Figure(
        "zeros",
        "gallery/zeros",
        FigureChoice(x="workload.sparsity", by="variant", baseline={"variant": "dense"}),
        "wide",
    ),
    Figure(
        "sampled",
        "gallery/sampled",
        FigureChoice(["kernel.time_us"], x="local_size", by="gpu.l2.size_kib", baseline={"local_size": "[64]"}),
    ),
    Figure(
        "sizes-contour", "sizes/sgemm_dib_tiled", FigureChoice(x=SIB, y=BUFFER, at={SHARE: 0.5}, kind="contour"), "wide"
    ),
    Figure("importance", "sizes/sgemm_dib_tiled", FigureChoice(kind="importance"), "ieee"),
    Figure("slices", "sizes/sgemm_dib_tiled", FigureChoice(kind="slice"), "wide"),
    Figure("parallel", "sizes/sgemm_dib_tiled", FigureChoice(kind="parallel"), "ieee-wide"),
)
TITLES = {
    "sizes/sgemm_dib_tiled": "SIB, prefetch buffer and share of L2", "sizes/search": "The same by search",
    "gallery/workgroups": "Workgroups of vector_add", "gallery/zeros": "Sparse against dense over zeros",
    "gallery/sampled": "Workgroups of a long vector_add, sampled",
}  # fmt: skip


def sweep(source: str) -> SweepData:
    """The points of a stored sweep."""
    return swept_of(SWEEPS / f"{source}.csv", TITLES[source], **{"kernel.cycles": "minimize"})


def files() -> dict[str, bytes]:
    """All figures by the names of their files."""
    return {f"{one.name}.svg": draw_figure(sweep(one.source), one.choice, one.style).file(".svg") for one in FIGURES}


def listed() -> str:
    """The figures with their commands and what they show, in words that follow from their points."""
    parts = []
    for one in FIGURES:
        picture = draw_figure(sweep(one.source), one.choice, one.style)
        parts.append(
            f"### {one.name}\n\n`{one.command}`\n\n![{picture.title}](gallery/{one.name}.svg)\n\n{picture.alt}"
        )
    return "\n\n".join(parts)


def _quoted(text: str) -> Any:
    return f'"{text}"' if " " in text else text


SECTIONS: dict[str, Callable[[], str]] = {"figures": listed}
