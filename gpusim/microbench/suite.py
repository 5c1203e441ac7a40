"""The groups of microbenchmarks, and running those that are wanted."""

from collections.abc import Callable, Sequence

from gpusim.base.errors import UserError, unknown_name
from gpusim.microbench import accesses, atomics, bandwidth, front_end, issue, latency, lds, mapping, occupancy
from gpusim.microbench.bench import Bench
from gpusim.microbench.result import Results

GROUPS: dict[str, Callable[[Bench, Results], None]] = {
    "latency": latency.measure,
    "bandwidth": bandwidth.measure,
    "lds": lds.measure,
    "issue": issue.measure,
    "front_end": front_end.measure,
    "accesses": accesses.measure,
    "occupancy": occupancy.measure,
    "atomics": atomics.measure,
    "mapping": mapping.measure,
}


def wanted(names: Sequence[str]) -> list[str]:
    """Return the groups named, in the suite's order; all of them if none is. Names may be joined by commas."""
    asked = [part for name in names for part in name.split(",") if part]
    for name in asked:
        if name not in GROUPS:
            raise UserError(f"--only: {unknown_name('microbenchmark', name, GROUPS)}")
    return [name for name in GROUPS if name in asked or not asked]
