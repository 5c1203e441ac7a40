"""How a sweep of a network is shown: times of each layer's pass by the axis."""

from collections.abc import Sequence

from gpusim.base.formats import GENERAL, GROUPED_1, PERCENT, PERCENT_GENERAL
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.study.sweep.by_layer import LayerPassTimes


def by_layer(places: Sequence[LayerPassTimes], axis: str, loss: float) -> Table:
    """Make a table of layers' passes by an axis.

    Args:
        places: a row for each.
        axis: path of the axis.
        loss: share of the time at the highest value that does not matter.

    Returns:
        Times at each value, and the lowest value that loses no more.
    """
    values = list(places[0].times_us) if places else []
    variants = any(place.key[0] for place in places)
    heads = columns(*["variant"] * variants, "layer", "pass")
    heads += columns(*(f"us at {GENERAL(value)}" for value in values), write=GROUPED_1)
    heads += columns(f"{axis} within {PERCENT_GENERAL(loss)}", write=GENERAL)
    rows = [(*place.key[0 if variants else 1 :], *place.times_us.values(), place.least(loss)) for place in places]
    notes = [_note(places, axis, values[-1], loss)] if len(values) > 1 else []
    return Table(heads, rows, "by-layer", f"time of each layer's pass by {axis}", notes=notes)


def _note(places: Sequence[LayerPassTimes], axis: str, highest: float, loss: float) -> str:
    fastest = plain_sum(place.times_us[highest] for place in places)
    chosen = [(place.times_us, place.least(loss)) for place in places]
    taken = plain_sum(times[least] for times, least in chosen)
    lower = plain_sum(times[highest] for times, least in chosen if least < highest)
    return (
        f"rows with {PERCENT(lower / fastest)} of the time can go below {GENERAL(highest)}; each at its own {axis}, "
        f"all kernels take {PERCENT(taken / fastest - 1)} longer"
    )
