"""Runs launches of `gpusim bench`'s cases, a sixteenth of their size, when told to: a process of one checkout.

For `bench_pairs --short`, which starts it with the checkout in PYTHONPATH. A line in is a case's name, a line out the
CPU seconds of the simulating thread and the simulated cycles.
"""

import sys

from gpusim.lab.checks.bench.bench import load, warm_up
from gpusim.lab.checks.bench.cases import CASES
from gpusim.model.core.simulator import simulate

SHARE = 16
SIDE_SHARE = 4  # of a transposed matrix
SMALL_PRODUCT = ("workload.m=128", "workload.n=128", "workload.k=576")


def main() -> None:
    """Answers until its input ends."""
    whole, small = load(()), load(SMALL_PRODUCT)
    cases = {case.name: case for case in CASES}
    warm_up(whole)
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
