"""What can be set of the sparsity monitor; the defaults are those of Dong 2020, table 6.2, where it has them."""

from pydantic import model_validator

from gpusim.base.spec import Spec, param

_ONE_THRESHOLD = "Dong 2020, table 6.2: 'Sparsity Threshold', one number for what are three uses"


class MonitorSpec(Spec):
    """Settings of the monitor. Periods and durations are in training iterations, sparsities are shares of zeros."""

    max_history_length: int = param(
        10, "process results that a map's history holds", "Dong 2020, table 6.2", ge=1, le=10_000
    )
    dpaa_threshold: float = param(
        0.3, "a map whose sparsity moved by less over its history has its period doubled", _ONE_THRESHOLD, ge=0, le=1
    )
    ssda_threshold: float = param(
        0.3, "a map whose sparsity moved by as much ends hibernation for all maps", _ONE_THRESHOLD, ge=0, le=1
    )
    fast_termination_threshold: float = param(
        0.3, "a measurement below it ends its process; 0: none does", _ONE_THRESHOLD, ge=0, le=1
    )
    initial_period: int = param(
        500, "iterations from the start of a process to the start of the next, at first", "Dong 2020, table 6.2", ge=2
    )
    hibernation_period_unit: int = param(
        10_000, "the unit of the period in hibernation, in iterations", "Dong 2020, table 6.2", ge=2
    )
    hibernation_units: int = param(
        1, "units that the period in hibernation has", "assumed: table 6.2 gives the unit alone", ge=1, le=10_000
    )
    duration: int = param(
        50,
        "iterations of a process, each with a measurement of its map, unless one ends it",
        "assumed: Dong 2020 gives none; the overheads of table 6.6 imply about 50 for three of its five networks",
        ge=1,
    )
    first_iteration: int = param(
        500,
        "iteration in which the first process of every map begins",
        "assumed: one initial period goes by before it",
        ge=0,
    )
    sparse_threshold: float = param(
        0.3,
        "a layer whose input is believed to be at least as sparse takes the sparse kernel",
        "assumed: that of fast termination, below which Dong 2020 calls monitoring useless",
        ge=0,
        le=1,
    )

    @property
    def hibernation_period(self) -> int:
        """Iterations from process to process in hibernation, and the longest period of all."""
        return self.hibernation_period_unit * self.hibernation_units

    @model_validator(mode="after")
    def _ordered(self) -> "MonitorSpec":
        if self.duration >= self.initial_period:
            raise ValueError(
                f"duration: {self.duration} iterations; must be fewer than the initial period's {self.initial_period}"
            )
        if self.initial_period > self.hibernation_period:
            raise ValueError(
                f"initial_period: {self.initial_period} iterations; hibernation's {self.hibernation_period} "
                "(hibernation_period_unit x hibernation_units) must be at least as many"
            )
        return self
