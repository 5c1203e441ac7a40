"""What a report's counters cost, in how-to/report.md, in some minutes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_1, FIXED_2, SIGNED_1
from gpusim.config.run import load_run
from gpusim.lab.checks.bench.cases import CASES, GEMM_SETTINGS
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.simulator import simulate
from gpusim.results.store.records import packed, plain_facts

INTERVALS = (0, 10_000, 1_000, 100)
ROUNDS = 5
SIZES = {"sgemm_wide": 512, "vector_add": 1 << 21, "transpose": 1024, "histogram": 1 << 17, "collatz": 1 << 15}


def runs() -> Iterator[tuple[str, dict[int, RunFacts]]]:
    """Each case's facts by interval, those of the round with the least processor time, rounds by turns."""
    config = load_run("layerB.yaml", GEMM_SETTINGS)
    for case in CASES:
        if case.name not in SIZES:
            continue
        best: dict[int, RunFacts] = {}
        for _ in range(ROUNDS):
            for every in INTERVALS:
                facts = simulate(case.build(config, SIZES[case.name]).launch, config.gpu, every=every)
                if every not in best or facts.simulator.cpu_s < best[every].simulator.cpu_s:
                    best[every] = facts
        yield case.name, best


@cache
def _costs() -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of both tables, which share their runs."""
    series, stored = [], []
    for name, best in runs():
        plain = best[0]
        cells = [f"`{name}`", COUNT(plain.cycles), FIXED_2(plain.simulator.cpu_s)]
        size = len(packed(plain_facts(plain)))
        for every in INTERVALS[1:]:
            more = 100 * (best[every].simulator.cpu_s / plain.simulator.cpu_s - 1)
            grown = len(packed(plain_facts(best[every]))) - size
            cells.append(f"{SIGNED_1(more)} %, {FIXED_1(grown / 1024)} KiB")
        series.append(cells)
        bare = len(packed(plain_facts(replace(plain, patterns=[]))))
        stored.append([f"`{name}`", f"{len(plain.patterns)}", COUNT(bare), COUNT(size - bare)])
    return series, stored


def series_cost() -> str:
    """Processor time and bytes of counters over time."""
    return table(
        ["kernel", "cycles", "seconds without", *(f"every {COUNT(every)}" for every in INTERVALS[1:])], _costs()[0]
    )


def pattern_bytes() -> str:
    """Stored bytes of access patterns."""
    return table(["kernel", "instructions with a pattern", "bytes of all else", "theirs"], _costs()[1])


SECTIONS: dict[str, Callable[[], str]] = {"series cost": series_cost, "pattern bytes": pattern_bytes}
