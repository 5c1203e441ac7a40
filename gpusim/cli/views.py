"""Columns of the tables that commands print themselves."""

from gpusim.base.formats import FIXED_2, GROUPED_DIGITS_4
from gpusim.base.table import Column, TableCell, columns
from gpusim.base.view import View, column

METRICS = View([column("path"), column("unit"), column("definition")])
METRICS_IN_TWO = View(
    [
        column(
            lambda metric: TableCell(metric.path, f"{metric.path}\n  {metric.unit}".rstrip()), "path, unit", whole=True
        ),
        column("definition"),
    ]
)
CODE_FILES: list[Column] = [*columns("file"), *columns("kernels", "can be executed", "instructions", right=True)]

SWEEPS = View(
    [
        column("id", "sweep"),
        column("name"),
        column(lambda row: row["title"].removesuffix(f": {', '.join(row['axes'])}"), "title"),
        column(lambda row: ", ".join(path.rpartition(".")[2] for path in row["axes"]), "axes"),
        column("points"),
        column("known", "ended"),
        column("failed"),
        column("started"),
    ]
)
CODE = column("sources", "code")


_SUITE = [
    column("name"),
    column("verdict"),
    column("launches", right=True),
    column("cycles", right=True),
    column("kernel_us", "kernels", GROUPED_DIGITS_4, "us", right=True),
    column("host_us", "host", GROUPED_DIGITS_4, "us", right=True),
]
SUITE = View([*_SUITE, column("problem")])
SUITE_MEASURED = View(
    [
        *_SUITE,
        column("measured_us", "measured", GROUPED_DIGITS_4, "us", right=True),
        column("ratio", "model / measured", FIXED_2, right=True),
        column("problem"),
    ]
)
