"""What the memories of a configuration hold, by the endings of their paths."""

from collections.abc import Mapping
from typing import Any

KIB = {"_kib": 1.0, "_mib": 1024.0, "_bytes": 1 / 1024}  # ending of a path: KiB of one


def sizes(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the KiB of each memory whose size is among the values, by path."""
    return {
        path: factor * value
        for path, value in values.items()
        for end, factor in KIB.items()
        if path.endswith(end) and isinstance(value, int | float)
    }
