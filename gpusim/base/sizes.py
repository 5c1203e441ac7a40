"""What the memories of a configuration hold, by the endings of their paths."""

from collections.abc import Mapping
from typing import Any

KIB = {"_kib": 1.0, "_mib": 1024.0, "_bytes": 1 / 1024}  # ending of a path: KiB of one


def kib_of(path: str, value: Any) -> float | None:
    """Return the KiB of the memory whose size is at the path; None where the path is not that of a size."""
    factor = next((factor for end, factor in KIB.items() if path.endswith(end)), None)
    return None if factor is None or not isinstance(value, int | float) else factor * value


def sizes(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the KiB of each memory whose size is among the values, by path."""
    found = {path: kib_of(path, value) for path, value in values.items()}
    return {path: kib for path, kib in found.items() if kib is not None}
