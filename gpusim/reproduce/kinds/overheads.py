"""Table 6.6: what measuring sparsity costs a training, the publication's figures beside the model's."""

from collections.abc import Iterator

from gpusim.config.figure import OverheadsFigure
from gpusim.config.reproduction import Reproduction
from gpusim.reproduce.kept import Results
from gpusim.reproduce.tables import Column, Table, amount, percent
from gpusim.reproduce.values import OURS, Value
from workloads.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead


def tables(reproduction: Reproduction, figure: OverheadsFigure, results: Results) -> Iterator[Table]:
    """A row for each network."""
    columns = [Column("network"), Column("iterations", amount), Column("exhaustive, published", percent)]
    columns += [Column("monitor, published", percent), Column("monitor, by the model", percent)]
    rows = []
    for name, held in TABLE_6_6.items():
        modelled = monitored_overhead(held.exhaustive, expected_share(held.iterations))
        rows.append([name, held.iterations, held.exhaustive, held.monitored, modelled])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: OverheadsFigure, results: Results) -> Iterator[Value]:
    """The monitor's overhead by the model."""
    for name, held in TABLE_6_6.items():
        modelled = monitored_overhead(held.exhaustive, expected_share(held.iterations))
        yield Value("overhead", OURS, {"network": name}, modelled)
