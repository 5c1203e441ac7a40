"""A result as a piece of HTML for notebooks: what the terminal's screen says, without styles or scripts of its own."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.html import tag, written
from gpusim.report.page.parts import layers, summary
from gpusim.report.result import read


def fragment(document: Mapping[str, Any]) -> str:
    """The HTML of a result, given as its JSON object: its summary, what the rules say, a network's layers."""
    result = read(document)
    rows = tag("details", tag("summary", "Layers and passes"), layers(result)) if result.is_network else None
    return written(tag("div", tag("p", tag("strong", result.title)), summary(result), rows))
