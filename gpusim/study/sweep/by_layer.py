"""A sweep of a network's iteration, row by row: each layer's pass at each value of the axis, and where less is enough.

With the core's clock as the axis it answers where a lower clock would cost nothing (Dong et al. 2018, section 5): DRAM
keeps its own clock, so that what waits for it hardly takes longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpusim.base.errors import UserError
from gpusim.config.sweep import SweepSpec
from gpusim.results.store.reading import StoreReader

TIME = "kernel.time_us"
_ROWS = """
    SELECT axes.value, subjects.variant, layers.name, subjects.pass, metric_values.value
    FROM points
    JOIN axes ON axes.sweep = points.sweep AND axes.number = points.number AND axes.path = ?
    JOIN subjects ON subjects.run = points.run AND subjects.launch IS NULL
    JOIN layers ON layers.id = subjects.layer
    JOIN metric_values ON metric_values.subject = subjects.id
    JOIN metric_names ON metric_names.id = metric_values.metric AND metric_names.name = ?
    WHERE points.sweep = ?
    ORDER BY points.number, subjects.id
"""
LayerPassKey = tuple[str, str, str]  # variant, layer, pass


@dataclass(frozen=True)
class LayerPassTimes:
    """A layer's pass: its time in microseconds by the axis' value, ascending."""

    key: LayerPassKey
    """Variant, layer and pass."""
    times_us: Mapping[float, float]
    """Microseconds by value of the axis."""

    def least(self, loss: float) -> float:
        """Return the lowest value from which on none takes longer than the highest by more than this share."""
        values = list(self.times_us)
        allowed = self.times_us[values[-1]] * (1 + loss)
        enough = values[-1]
        for value in reversed(values):
            if self.times_us[value] > allowed:
                break
            enough = value
        return enough


def check(spec: SweepSpec) -> str:
    """Return the one axis of a sweep whose rows can be set side by side; raises UserError for any other sweep."""
    if spec.net is None:
        raise UserError("--by-layer: belongs to a sweep of a network (net: ...); this one has no layers")
    if len(spec.axes) != 1:
        raise UserError(f"--by-layer: needs one axis, such as gpu.clock_ghz; this sweep has {', '.join(spec.axes)}")
    return next(iter(spec.axes))


def load_layer_passes(results: StoreReader, sweep: int, axis: str) -> list[LayerPassTimes]:
    """Return the layers' passes that all points of a sweep have, in the network's order.

    Args:
        results: the store.
        sweep: the sweep's number.
        axis: path of the axis.

    Returns:
        Times of each layer's pass by the axis's value.

    Raises:
        UserError: the axis has no numbers.
    """
    times_by_key: dict[LayerPassKey, dict[float, float]] = {}
    values: set[float] = set()
    for value, variant, layer, what, time_us in results.rows(_ROWS, [axis, TIME, sweep]).rows:
        if not isinstance(value, int | float):
            raise UserError(f"--by-layer: {axis}: {value!r} is no number: values in order are needed")
        values.add(float(value))
        times_by_key.setdefault((variant, layer, what), {})[float(value)] = time_us
    ordered = sorted(values)
    whole = [(key, times) for key, times in times_by_key.items() if len(times) == len(ordered)]
    return [LayerPassTimes(key, {value: times[value] for value in ordered}) for key, times in whole]
