"""What the site's tables are made with: folders, tables in Markdown, sections between two markers that name them."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "results"
"""Stored results, from which the site's figures are made."""
SWEEPS = RESULTS / "sweeps"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def section(page: str, name: str) -> str:
    """The text between a section's markers; ValueError if it is not there once."""
    found = re.findall(f"<!-- {re.escape(name)} -->\n(.*?)\n<!-- end of {re.escape(name)} -->", page, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{len(found)} sections '{name}'")
    return str(found[0])


def renewed(page: str, sections: Mapping[str, Callable[[], str]]) -> str:
    """The page with these sections made anew; ValueError if one is not in it."""
    for name, make in sections.items():
        old, text = section(page, name), make()
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        page = page.replace(f"{begin}{old}{end}", f"{begin}{text}{end}")
    return page


def slot(name: str) -> str:
    """The marker at which the site's build puts a table."""
    return f"<!-- build: {name} -->"


def filled(page: str, sections: Mapping[str, Callable[[], str]]) -> str:
    """The page with the tables that the site's build makes; ValueError if one has no place, or a place no table."""
    for name, make in sections.items():
        if page.count(slot(name)) != 1:
            raise ValueError(f"{page.count(slot(name))} places for '{name}'")
        page = page.replace(slot(name), make())
    if left := re.findall(r"<!-- build: .*? -->", page):
        raise ValueError(f"nothing fills {', '.join(left)}")
    return page
