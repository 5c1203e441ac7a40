"""HTML as a tree of elements, which the standard library escapes and writes."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Element = ElementTree.Element

# characters that neither XML nor an encoding has: control characters and halves of surrogate pairs
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Return the text with characters replaced that cannot be written."""
    return _UNWRITABLE.sub("\ufffd", text)


def tag(name: str, *children: Any, **attributes: str | None) -> Element:
    """Make an element.

    Args:
        name: the tag.
        children: elements, texts, None, or lists of them.
        attributes: as in HTML, or `class_`; None: left out.

    Returns:
        The element.
    """
    made = Element(name)
    for key, value in attributes.items():
        if value is not None:
            made.set(key.rstrip("_").replace("_", "-"), clean(value))
    add(made, *children)
    return made


def add(parent: Element, *children: Any) -> None:
    """Put children at the end of an element.

    Args:
        parent: the element.
        children: as for `tag`.
    """
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            text = clean(child)
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + text
            else:
                parent.text = (parent.text or "") + text
        elif isinstance(child, Element):
            parent.append(child)
        else:
            add(parent, *child)


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], sortable: bool = True) -> Element:
    """Make a table.

    Args:
        caption: its title.
        heads: column titles.
        rows: cells: a text, an element, or a pair (content, value by which it is sorted).
        sortable: its heads are buttons; it is scrolled with the keyboard where it is wider than the page.

    Returns:
        The element.
    """
    names = [tag("button", name, type="button") if sortable else name for name in heads]
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = tag("tbody")
    for row in rows:
        line = tag("tr")
        for number, cell in enumerate(row):
            shown, value = cell if isinstance(cell, tuple) else (cell, None)
            numeric = value is not None and not isinstance(value, str)
            is_head = number == 0
            line.append(
                tag(
                    "th" if is_head else "td", shown, scope="row" if is_head else None,
                    class_="number" if numeric else None, data_v=None if value is None else str(value),
                )
            )  # fmt: skip
        body.append(line)
    made = tag("table", tag("caption", caption), tag("thead", head), body, class_="sortable" if sortable else None)
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def written(element: Element) -> str:
    """Return the element as HTML."""
    return ElementTree.tostring(element, encoding="unicode", method="html")


def read_asset(module: str, name: str) -> str:
    """Read a text file beside a module.

    Args:
        module: the module's `__file__`.
        name: the file's name.

    Returns:
        Its text.
    """
    return Path(module).with_name(name).read_text(encoding="utf-8")


def hashed(text: str) -> str:
    """Return a script or a style as a source of a content security policy: by its SHA-256."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
