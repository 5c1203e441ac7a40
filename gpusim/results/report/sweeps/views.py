"""Columns of the table of what matters in a sweep."""

import math
from collections.abc import Mapping
from typing import Any

from gpusim.base.formats import DIGITS_3, SHARE_0, SHARE_1
from gpusim.base.view import View, column
from gpusim.results.report.sweeps.effects import HARDLY, Effect


def change_text(value: float, absolute: bool = False) -> str:
    """Write by how much a metric changes: as a share of its least value, or the difference of a rate."""
    if absolute:
        return f"{DIGITS_3(value)} (a difference)"
    return "from 0" if math.isinf(value) else SHARE_1(value)


def _verdict(row: Mapping[str, Any]) -> str:
    effect: Effect | None = row.get("effect")
    if effect is None:
        return str(row["verdict"])
    if effect.has_none:
        return "no effect here"
    return "hardly any" if effect.most < HARDLY and effect.pairs else "matters"


def _change(row: Mapping[str, Any], name: str) -> str | None:
    effect = row.get("effect")
    return change_text(getattr(effect, name), row["absolute"]) if effect is not None and effect.pairs else None


# cells of effects with the values of their axes: shares are texts, which no table aligns as numbers
MATTERS = View(
    [
        column("axis"),
        column("values"),
        column(lambda row: _change(row, "most"), "changes it by at most"),
        column(lambda row: _change(row, "typical"), "on average"),
        column(lambda row: None if row["share"] is None else SHARE_0(row["share"]), "of the variation"),
        column(_verdict, "verdict"),
    ],
    "matters",
)
