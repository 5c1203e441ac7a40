"""Columns of the table of what matters in a sweep."""

import math

from gpusim.base.formats import SHARE_0, SHARE_1
from gpusim.base.view import View, column
from gpusim.results.report.sweeps.effects import HARDLY, Effect


def change_text(value: float) -> str:
    """Write by how much a metric changes."""
    return "from 0" if math.isinf(value) else SHARE_1(value)


def _verdict(effect: Effect) -> str:
    if effect.has_none:
        return "no effect here"
    return "hardly any" if effect.most < HARDLY and effect.pairs else "matters"


# cells of effects with the values of their axes: shares are texts, which no table aligns as numbers
MATTERS = View(
    [
        column("effect.axis"),
        column("values"),
        column(lambda row: change_text(row["effect"].most) if row["effect"].pairs else None, "changes it by at most"),
        column(lambda row: change_text(row["effect"].typical) if row["effect"].pairs else None, "on average"),
        column(lambda row: None if row["effect"].share is None else SHARE_0(row["effect"].share), "of the variation"),
        column(lambda row: _verdict(row["effect"]), "verdict"),
    ],
    "matters",
)
