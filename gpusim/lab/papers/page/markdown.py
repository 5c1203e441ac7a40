"""Pages: Markdown, tables and places of pictures, written as one Markdown file or as one HTML page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from gpusim.base.html import Element
from gpusim.base.picture import Picture
from gpusim.base.table import Table
from gpusim.results.report.page.frame import frame

TOP = 1  # level of a page's own heading
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True)
class FigureSlot:
    """A position for a figure's chart."""

    name: str
    """Name of the figure."""
    title: str
    """Title of the chart."""


Block = str | FigureSlot | Table


def heading(words: str, level: int = TOP + 1) -> str:
    """Write a heading. level: TOP for the title of the page."""
    return f"{'#' * level} {words}\n"


def text(*lines: str) -> str:
    """Write a paragraph that keeps its line breaks."""
    return "  \n".join(lines) + "\n"


def bullets(items: Iterable[str]) -> str:
    """Write a list of sentences."""
    return "".join(f"- {item}\n" for item in items)


def markdown(blocks: Iterable[Block]) -> str:
    """Write the blocks as Markdown, pictures as files of the figures' names."""
    return "\n".join(map(_markdown, blocks)).rstrip("\n") + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, FigureSlot):
        return f"![{block.title}]({block.name}.svg)\n"
    return block.markdown() if isinstance(block, Table) else block


def html(blocks: Sequence[Block], pictures: Mapping[str, Picture], links: Mapping[str, str], made_from: str) -> str:
    """Write the blocks as one HTML page that needs no other file; the first one is its title.

    Args:
        blocks: What the page consists of.
        pictures: Pictures by the names of their figures.
        links: Places on the page by what a text links to; links to other files become texts.
        made_from: What the foot names.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    title = plain(str(blocks[0]))
    elements: list[Element] = []
    for block in blocks[1:]:
        if isinstance(block, Table):
            elements.append(block.html())
        elif isinstance(block, str):
            elements += _elements(block, links)
        elif block.name in pictures:
            elements.append(pictures[block.name].element(anchor(block.name)))
    return frame(title, title, elements, made_from)


def _elements(block: str, links: Mapping[str, str]) -> list[Element]:
    """Return the elements of a text, its headings with their anchors."""
    parser = MarkdownIt("commonmark", {"xhtmlOut": True})
    parser.add_render_rule("hardbreak", lambda *_: "<br />")
    linked = _LINK.sub(lambda link: link[0] if "://" in link[2] else _linked(link[1], links.get(link[2])), block)
    made = list(ElementTree.fromstring(f"<div>{parser.render(linked)}</div>"))
    for element in (part for one in made for part in one.iter()):
        element.text, element.tail = (None if part == "\n" else part for part in (element.text, element.tail))
        if re.fullmatch(r"h\d", element.tag):
            element.set("id", anchor("".join(element.itertext())))
    return made


def _linked(words: str, target: str | None) -> str:
    return words if target is None else f"[{words}]({target})"


def anchor(words: str) -> str:
    """Return a name for a place on the page: letters, digits and hyphens."""
    return re.sub(r"\W+", "-", words.lower()).strip("-")


def plain(block: str) -> str:
    """Return a text without its marks; of links the words."""
    tokens = MarkdownIt("commonmark").parse(block)
    return "".join(part.content for token in tokens for part in token.children or ())
