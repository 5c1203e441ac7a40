"""A result as a piece of HTML for notebooks: what the terminal's screen says, without styles or scripts of its own."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.html import tag, written
from gpusim.report.page.parts import answers, rows, summary
from gpusim.report.result import read


def fragment(document: Mapping[str, Any]) -> str:
    """Return the HTML of a result, given as its JSON object: where the time goes, its summary, its rows."""
    result = read(document)
    parts = [tag("p", tag("strong", result.title)), answers(result), summary(result), rows(result)]
    return written(tag("div", *parts))
