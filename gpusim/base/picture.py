"""A picture as one value: what it shows, its numbers, and how it becomes a file, or part of a page.

Matplotlib draws it, and is imported when one is drawn, and only then.
"""

import importlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.base.files import write_together
from gpusim.base.formats import amount
from gpusim.base.html import Element, clean, tag
from gpusim.base.table import Table, columns

FORMATS = (".svg", ".png")
_RC = {"svg.hashsalt": "gpusim", "svg.fonttype": "none", "pdf.fonttype": 42}  # 42: fonts that publishers take
_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same figure gives the same file
KINDS = (".svg", ".png", ".pdf")
_INK = "#010203"  # stands for the page's own text colour until the drawing is part of it
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@dataclass(frozen=True)
class Picture:
    """A chart with its data."""

    name: str
    """Stem of its file names."""
    title: str
    """Title."""
    alt: str
    """Alternative text: what the chart shows, with its main figures."""
    heads: Sequence[str]
    """Heads of the data's columns."""
    rows: Sequence[Sequence[Any]]
    """Data: every value that is drawn."""
    draw: Callable[[Any], None]
    """Draws the chart onto a Matplotlib figure."""
    size: tuple[float, float] = (7.2, 3.0)
    """Width and height in inches."""
    framed: bool = False
    """Matplotlib's own style on white, for a document; otherwise transparent, for any page."""
    font_size: float = 9
    """Font size in points."""
    note: str = ""
    """Note for readers, shown below the chart on a page."""

    def file(self, kind: str) -> bytes:
        """Draw the picture into a file, black on its ground; kind: one of KINDS."""
        return rendered(self.draw, self.size, kind, framed=self.framed, font_size=self.font_size)

    def save(self, path: str | Path) -> None:
        """Write the picture, as the file's ending says, and its numbers next to it as CSV; raise UserError."""
        target = Path(path)
        if target.suffix.lower() not in KINDS:
            raise UserError(f"{target}: a picture's name ends in {', '.join(KINDS)}")
        write_together({target: self.file(target.suffix.lower()), target.with_suffix(".csv"): self.numbers.csv()})

    def _repr_svg_(self) -> str:
        """Return the drawing for notebooks."""
        return self.file(".svg").decode()

    @property
    def numbers(self) -> Table:
        """What is drawn."""
        return Table(columns(*self.heads, write=amount), self.rows, self.name, self.title)

    def element(self, prefix: str) -> Element:
        """Make a part of a page, with the numbers below. prefix: keeps its names apart from other pictures'."""
        drawing = rendered(self.draw, self.size, ".svg", _INK, font_size=self.font_size)
        drawn = _inline(drawing, f"{prefix}-{self.name}", self.title, self.alt)
        numbers = tag("details", tag("summary", f"Numbers: {self.title}"), self.numbers.html())
        note = tag("p", self.note, class_="tells") if self.note else None
        return tag("figure", drawn, tag("figcaption", self.title, note), numbers)


def _inline(svg: bytes, prefix: str, title: str, alt: str) -> Element:
    """Make the drawing an element of HTML: without namespaces, with names of its own, in the page's text colour."""
    root = ElementTree.fromstring(svg)
    for child in root.findall(f"{_SVG}metadata"):
        root.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            if key == "id":
                value = f"{prefix}-{value}"
            elif key == _LINK:
                key, value = "href", value.replace("#", f"#{prefix}-", 1)
            elif key.startswith("{"):
                continue
            value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
            element.set(key, value.replace(_INK, "currentColor"))
        if element.text is not None and not element.text.strip() and element.tag != "text":
            element.text = None
        if element.tail is not None and not element.tail.strip():
            element.tail = None
    root.set("role", "img")
    root.set("aria-label", clean(f"{title}. {alt}"))
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("focusable", "false")
    return root


def check_format(path: Path) -> None:
    """Raise UserError unless the picture's name ends in .svg or .png."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--picture {path}: a picture's name ends in {' or '.join(FORMATS)}")


def require_matplotlib(command: str, option: str = " --picture") -> Any:
    """Import Matplotlib, drawing into files, for `gpusim COMMAND` with an option.

    Args:
        command: Name of the command.
        option: The option that needs it.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise MissingExtraError(f"gpusim {command}{option} (Matplotlib)", "plot") from error


def rendered(
    draw: Callable[[Any], None],
    size: tuple[float, float],
    kind: str,
    ink: str = "black",
    framed: bool = False,
    font_size: float = 9,
) -> bytes:
    """Draw into a file of `kind` ('.svg', '.png' or '.pdf') what `draw` draws onto a figure of `size` inches.

    Raises MissingExtraError.

    Args:
        ink: Colour of text and axes; without a ground, so that it lies on any page.
        framed: Matplotlib's own style instead.
        font_size: Size of the font in points.
    """
    plt = require_matplotlib("report", "")
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.edgecolor")
    style = {
        **dict.fromkeys(inked, ink), "font.size": font_size, "axes.spines.top": False, "axes.spines.right": False,
        "legend.frameon": False, "savefig.transparent": True,
        "savefig.dpi": 300 if font_size < 9 else 150, "axes.titlesize": font_size,
        "legend.fontsize": font_size - 1, "legend.title_fontsize": font_size - 1, "lines.markersize": font_size / 2,
        "lines.linewidth": font_size / 7,
    }  # fmt: skip
    out = io.BytesIO()
    with plt.rc_context(_RC if framed else {**_RC, **style}):
        figure = plt.figure(figsize=size)
        draw(figure)
        figure.savefig(out, format=kind[1:], metadata=_UNDATED.get(kind, {}))
    plt.close(figure)
    return out.getvalue()
