"""What a page consists of: headings, paragraphs, lists, pictures and tables, written as Markdown or as one HTML page.

Texts are Markdown of a line: **strong**, *stressed*, `code`, [links](somewhere).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpusim.base.html import Element, tag
from gpusim.base.picture import Picture
from gpusim.base.table import Table
from gpusim.results.report.page.frame import frame

_MARKED = re.compile(r"\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*|`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)")
TOP = 1  # level of a page's own heading


@dataclass(frozen=True)
class Heading:
    """A heading of a page."""

    text: str
    """Text."""
    level: int = TOP + 1
    """Level; TOP: the title of the page."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a page."""

    lines: tuple[str, ...]
    """Text; several lines keep their line breaks."""


@dataclass(frozen=True)
class BulletList:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class FigureSlot:
    """A position for a figure's chart."""

    name: str
    """Name of the figure."""
    title: str
    """Title of the chart."""


Block = Heading | Paragraph | BulletList | FigureSlot | Table


def text(*lines: str) -> Paragraph:
    """Make a paragraph."""
    return Paragraph(lines)


def markdown(blocks: Iterable[Block]) -> str:
    """Write the blocks as Markdown, pictures as files of the figures' names."""
    return "\n".join(_markdown(block) for block in blocks).rstrip("\n") + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}\n"
    if isinstance(block, Paragraph):
        return "  \n".join(block.lines) + "\n"
    if isinstance(block, BulletList):
        return "".join(f"- {item}\n" for item in block.items)
    if isinstance(block, FigureSlot):
        return f"![{block.title}]({block.name}.svg)\n"
    return block.markdown()


def html(blocks: Sequence[Block], pictures: Mapping[str, Picture], links: Mapping[str, str], made_from: str) -> str:
    """Write the blocks as one HTML page that needs no other file.

    pictures: by the names of their figures; links: where on the page what a text links to stands, others are texts
    alone; made_from: for the foot. Raises MissingExtraError without Matplotlib.
    """
    title = next(block.text for block in blocks if isinstance(block, Heading) and block.level == TOP)
    held = [_element(block, pictures, links) for block in blocks if block != Heading(title, TOP)]
    return frame(title, title, [one for one in held if one is not None], made_from)


def _element(block: Block, pictures: Mapping[str, Picture], links: Mapping[str, str]) -> Element | None:
    if isinstance(block, Heading):
        return tag(f"h{block.level}", *_marked(block.text, links), id=anchor(block.text))
    if isinstance(block, Paragraph):
        parts: list[str | Element] = []
        for line in block.lines:
            parts += [*([tag("br")] if parts else []), *_marked(line, links)]
        return tag("p", *parts)
    if isinstance(block, BulletList):
        return tag("ul", *(tag("li", *_marked(item, links)) for item in block.items))
    if isinstance(block, FigureSlot):
        picture = pictures.get(block.name)
        return None if picture is None else picture.element(anchor(block.name))
    return block.html()


def anchor(words: str) -> str:
    """Return a name for a place on the page: letters, digits and hyphens."""
    return re.sub(r"\W+", "-", words.lower()).strip("-")


def plain(line: str) -> str:
    """Return a text without its marks; of links the words."""
    return _MARKED.sub(lambda found: next(words for words in found.groups() if words), line)


def _marked(line: str, links: Mapping[str, str]) -> list[str | Element]:
    """Split a text at its marks."""
    parts: list[str | Element] = []
    place = 0
    for found in _MARKED.finditer(line):
        parts.append(line[place : found.start()])
        place = found.end()
        strong, stressed, code, words, target = found.groups()
        if words is None:
            name, held = next(
                (name, held) for name, held in (("strong", strong), ("em", stressed), ("code", code)) if held
            )
            parts.append(tag(name, held))
        elif target in links:
            parts.append(tag("a", words, href=links[target]))
        else:
            parts.append(tag("a", words, href=target) if "://" in target else words)
    return [*parts, line[place:]]
