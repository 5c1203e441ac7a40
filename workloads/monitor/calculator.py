"""The sparsity calculator: the share of zeros of an activation map, counted on the host or where the map lies."""

from enum import StrEnum
from typing import Any


class Place(StrEnum):
    """Where zeros are counted.

    HOST: the map is copied to the host first, as Dong 2020 does. DEVICE: by a reduction on the device, of which the
    count alone is copied; either way the caller waits for it.
    """

    HOST = "host"
    DEVICE = "device"


def zero_share(maps: Any, place: Place) -> float:
    """Zeros of a PyTorch tensor / its elements, both zeros counted, NaN not; 0 for a tensor without elements."""
    held = maps.detach()
    if place is Place.HOST:
        held = held.cpu()
    elements = held.numel()
    return 1.0 - int(held.count_nonzero()) / elements if elements else 0.0
