"""How well grids of blocks fill a GPU whose registers bound what it holds: Li, Zhang, Cao 2018, equations 9 to 11."""

from collections.abc import Iterator

from gpusim.base.progress import percent
from gpusim.base.table import Column, Table, amount
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.specs.layer_figure import GridsFigure, GridSpec
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue


def compute_blocks(kernel: GridSpec) -> int:
    """Return the blocks that the result needs (equation 9)."""
    (rows, columns), (tile_rows, tile_columns) = kernel.result, kernel.tile
    return -(-rows // tile_rows) * -(-columns // tile_columns)


def most_blocks(figure: GridsFigure, kernel: GridSpec) -> int:
    """Return the blocks that the GPU's registers hold at a time (equation 10)."""
    return figure.multiprocessors * (figure.registers // (kernel.block_size * kernel.registers))


def utilization(figure: GridsFigure, kernel: GridSpec) -> float:
    """Return the mean share of taken places over the waves of the printed grid (equation 11)."""
    most = most_blocks(figure, kernel)
    return kernel.grid / (-(-kernel.grid // most) * most)


def tables(reproduction: Reproduction, figure: GridsFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each kernel."""
    columns = [Column("layer"), Column("library"), Column("result"), Column("tile"), Column("block", amount)]
    columns += [Column("registers", amount), Column("grid as printed", amount), Column("grid by (9)", amount)]
    columns += [Column("blocks by (10)", amount), Column("utilisation by (11)", percent)]
    rows: list[list[object]] = [
        [
            one.layer,
            one.library,
            f"{one.result[0]}×{one.result[1]}",
            f"{one.tile[0]}×{one.tile[1]}",
            one.block_size,
            one.registers,
            one.grid,
            compute_blocks(one),
            most_blocks(figure, one),
            utilization(figure, one),
        ]
        for one in figure.kernels
    ]
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: GridsFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each kernel's utilisation, and whether (1) the equation gives its grid; the same for every GPU of ours."""
    for one in figure.kernels:
        for gpu in reproduction.columns:
            labels = {"layer": one.layer, "kind": one.kind, "library": one.library, "gpu": gpu}
            yield FigureValue("utilisation", gpu, labels, utilization(figure, one))
            yield FigureValue("grid_by_equation", gpu, labels, float(one.grid == compute_blocks(one)))
