"""The sparsity calculator: the share of zeros of an activation map, counted on the host or where the map lies."""

from enum import StrEnum
from typing import Any


class Place(StrEnum):
    """The place where zeros are counted.

    HOST: the map is first copied to the host, as in Dong 2020. DEVICE: by a reduction on the device, of which the count
    alone is copied. Either way the caller waits for the count.
    """

    HOST = "host"
    DEVICE = "device"


def zero_share(maps: Any, place: Place) -> float:
    """Return zeros of a PyTorch tensor / its elements; -0 counts, NaN does not; 0 for a tensor without elements."""
    held = maps.detach()
    if place is Place.HOST:
        held = held.cpu()
    elements = held.numel()
    return 1.0 - int(held.count_nonzero()) / elements if elements else 0.0
