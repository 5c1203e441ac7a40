"""A picture: what it shows, its numbers, and how it becomes part of a page or files for a paper."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from gpusim.base.html import Element, clean, table, tag
from gpusim.base.pictures import rendered
from gpusim.report.values import number_text

KINDS = (".svg", ".png", ".pdf")
_INK = "#010203"  # stands for the page's own text colour until the drawing is part of it
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@dataclass(frozen=True)
class Picture:
    """name: of its files; title; alt: what it shows, in words, with its main figures; heads, rows: its numbers, all
    that is drawn; draw: draws onto a figure of Matplotlib's of `size` inches."""

    name: str
    title: str
    alt: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.2, 3.0)

    def file(self, kind: str) -> bytes:
        """The picture for a paper: black on white; kind: one of KINDS."""
        return rendered(self.draw, self.size, kind)

    def numbers(self) -> str:
        """What is drawn, as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([clean(head) for head in self.heads])
        writer.writerows([clean(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows)
        return out.getvalue()

    def element(self, prefix: str) -> Element:
        """The picture as part of a page, with its numbers below. prefix: keeps its names apart from other pictures'."""
        drawn = _inline(rendered(self.draw, self.size, ".svg", _INK), f"{prefix}-{self.name}", self.title, self.alt)
        rows = [[_cell(cell) for cell in row] for row in self.rows]
        numbers = tag("details", tag("summary", f"Numbers: {self.title}"), table(self.title, self.heads, rows))
        return tag("figure", drawn, tag("figcaption", self.title), numbers)


def _cell(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int | float):
        return (f"{value:,}" if isinstance(value, int) else number_text(value)), value
    return str(value)


def _inline(svg: bytes, prefix: str, title: str, alt: str) -> Element:
    """The drawing as an element of HTML: without namespaces, with names of its own, in the page's text colour."""
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
