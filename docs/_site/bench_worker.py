"""Runs launches of `gpusim bench`'s cases, a sixteenth of their size, when told to: a process of one checkout.

For `bench_pairs --short`, which starts it with the checkout in PYTHONPATH and `--set` texts as arguments. A line in is
a case's name, a line out the CPU seconds of the simulating thread and the simulated cycles.
"""

import importlib
import sys
from typing import Any

SHARE = 16
SIDE_SHARE = 4  # of a transposed matrix
SMALL_PRODUCT = ("workload.m=128", "workload.n=128", "workload.k=576")


def imported(module: str, module_before: str) -> Any:
    """A module by its name, or by the one that it has in checkouts before 29 November 2026."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return importlib.import_module(module_before)


def main() -> None:
    """Answers until its input ends."""
    bench = imported("gpusim.lab.checks.bench.bench", "gpusim.bench.bench")
    simulate = imported("gpusim.model.core.simulator", "gpusim.core.simulator").simulate
    sets = sys.argv[1:]
    whole, small = bench.load(sets), bench.load([*SMALL_PRODUCT, *sets])
    cases = {case.name: case for case in bench.CASES}
    bench.warm_up(whole)
    print("ready", flush=True)
    name, prepared = "", None
    for line in sys.stdin:
        if prepared is None or line.strip() != name:
            name = line.strip()
            case = cases[name]
            size = case.size // (SIDE_SHARE if name.startswith("transpose") else SHARE)
            prepared = case.build(whole if case.size else small, size)
        facts = simulate(prepared.launch, whole.gpu)
        print(facts.simulator.cpu_s, facts.cycles, flush=True)


if __name__ == "__main__":
    main()
