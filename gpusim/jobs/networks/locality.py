"""How near to one another values lie that a workgroup's work-items use, and how many use the same (Dong 2020, 7.3.2).

Seen in the trace of a launch's first workgroup (isa.trace), which is executed once more for it: its lines, and the
bytes that lanes ask for. Of a range, the least is taken that touches its lines.
"""

from bisect import bisect_right
from collections import defaultdict
from ctypes import c_int64
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gpusim.base.counters import Counts
from isa.execution.context_pool import ContextPool
from isa.execution.emulator import run_functional
from isa.trace import (
    ASKED_MASK,
    ASKED_SHIFT,
    LINE_BYTES,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_SCALAR,
    RECORD_STORE,
    TRACE_WORDS,
    taken_records,
)

if TYPE_CHECKING:
    from isa.launch import Launch


@dataclass
class _Array:
    """What a workgroup does to an array: bytes that its lanes ask for, lines that they touch."""

    asked_bytes: int = 0
    lines: set[int] = field(default_factory=set)

    def range_bytes(self, value_bytes: int) -> int:
        """Return the least range that touches these lines, between which values may lie."""
        return LINE_BYTES * (max(self.lines) - min(self.lines)) + value_bytes

    @property
    def users(self) -> float:
        """Work-items for each of the array's values, at least one: lines may have others too."""
        return max(1.0, self.asked_bytes / (LINE_BYTES * len(self.lines)))


def locality(launch: "Launch", value_bytes: int) -> Counts:
    """Return the counts `data_reuse`, `read_distance` and `write_distance` of gpusim.model.core.counters.LAYER.

    value_bytes: of one of the values that work-items load and store. The workgroup is executed on the launch's memory.
    """
    pool = ContextPool()
    address = pool.context(launch, launch.workgroup_at_a_time).trace_address
    trace = np.ctypeslib.as_array((c_int64 * TRACE_WORDS).from_address(address))
    begins = sorted(launch.pointers)
    read, written = defaultdict[int, _Array](_Array), defaultdict[int, _Array](_Array)
    lds_bytes = {True: 0, False: 0}  # bytes of LDS that are stored, loaded

    def note() -> None:
        for header, lines in taken_records(trace):
            if header & RECORD_SCALAR:
                continue
            asked = header >> ASKED_SHIFT & ASKED_MASK
            stores = bool(header & (RECORD_STORE | RECORD_ATOMIC))
            if header & RECORD_LDS:
                lds_bytes[stores] += asked
            elif lines:
                first = bisect_right(begins, LINE_BYTES * (lines[0] + 1) - 1)
                array = (written if stores else read)[first]
                array.asked_bytes += asked
                array.lines.update(lines)

    run_functional(launch, workgroups=range(1), pool=pool, serve=note)
    work_items = prod(launch.local_size)

    def distance(arrays: "dict[int, _Array]") -> float:
        ranges = [array.range_bytes(value_bytes) for array in arrays.values()]
        return max(ranges, default=0) / (value_bytes * work_items)

    stored, loaded = lds_bytes[True], lds_bytes[False]
    users = loaded / stored if stored else max((array.users for array in read.values()), default=1.0)
    return Counts(data_reuse=users, read_distance=distance(read), write_distance=distance(written))
