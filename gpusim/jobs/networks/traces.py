"""A network's run as an execution trace of Chakra: a step for each layer's pass, as long as its kernels take."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.base.chakra import compute_trace
from gpusim.base.errors import UserError
from gpusim.results.report.result import read


def network_trace(document: Mapping[str, Any], file: Path) -> bytes:
    """Return the trace of a network's result; where engine and none were compared, of the run with the engine.

    Args:
        document: JSON object of the result.
        file: File that the trace is for, for messages.

    Returns:
        The trace: each step needs the one before it.

    Raises:
        UserError: Not all layers' passes were timed.
    """
    result = read(document)
    rows = [row for row in result.rows if row.variant == result.last.name]
    unknown = [row.measured.name for row in rows if row.values.get("time_us") is None]
    if unknown or result.stopped_by:
        why = result.stopped_by or f"'{unknown[0]}' was not timed"
        raise UserError(f"--chakra {file}: the trace would not be of the whole network: {why}")
    return compute_trace((f"{row.values['name']} {row.values['pass']}", row.values["time_us"]) for row in rows)
