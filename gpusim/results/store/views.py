"""Columns of the tables of a store."""

from gpusim.base.formats import GROUPED_0, GROUPED_1
from gpusim.base.view import View, column

COSTS = View(
    [
        column("what"),
        column("cost.cpu_s", "processor", GROUPED_1, "s"),
        column("cost.cycles", write=GROUPED_0),
        column("cost.memory_mb", "memory", GROUPED_0, "MB"),
    ],
    "costs",
    "estimated costs",
)
