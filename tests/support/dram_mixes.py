"""Random mixes of reads and writes on one DRAM channel: `python -m tests.support.dram_mixes [--batches]`.

Prints, by standard and mix, activates a request, bandwidth when requests wait, and the reads' mean latency at two
loads; with `--batches` the same for several `write_batch`.
"""

import sys
from typing import NamedTuple

import numpy as np

from memory.dram.controller import dram_totals
from memory.dram.spec import DramSpec, resolve
from tests.unit.memory.dram_harness import READ, WRITE, Request, run

REQUESTS = 12_000
CORE_CLOCK_HZ = 2e9
STANDARDS = ("gddr5", "gddr6", "hbm2")
BATCHES = (8, 16, 22, 32, 44)
LINES = 1 << 20  # of a channel: 64 MiB


class Mix(NamedTuple):
    """Blocks of successive lines at random places, each read or written whole."""

    lines: int
    write_share: float


MIXES = {
    "lines, all read": Mix(1, 0.0),
    "lines, a third written": Mix(1, 1 / 3),
    "lines, half written": Mix(1, 0.5),
    "256 bytes, a third written": Mix(4, 1 / 3),
    "256 bytes, half written": Mix(4, 0.5),
}


class Measured(NamedTuple):
    """What a mix led to."""

    activates: float  # a request, requests waiting
    bytes_per_s: float  # requests waiting
    latency_ns: float  # mean of reads at half of the load that `busy` is measured at
    busy_latency_ns: float


def requests(mix: Mix, seed: int, cycles_between: float) -> list[Request]:
    """A script whose requests come at random times, on average so far apart."""
    random = np.random.default_rng(seed)
    blocks = REQUESTS // mix.lines
    first = random.integers(0, LINES // mix.lines, blocks) * mix.lines
    kinds = np.where(random.random(blocks) < mix.write_share, WRITE, READ)
    at = 1 + np.cumsum(random.exponential(cycles_between * mix.lines, blocks)).astype(int)
    return [(int(at[b]), int(kinds[b]), int(first[b]) + k) for b in range(blocks) for k in range(mix.lines)]


def measure(spec: DramSpec, mix: Mix, loads: tuple[float, float]) -> Measured:
    """loads: shares of the pins' bandwidth that are asked for when latency is measured."""
    line_cycles = 64 / spec.bytes_per_s * CORE_CLOCK_HZ
    full = run(spec, requests(mix, 1, 0), CORE_CLOCK_HZ)
    clocks = full.commands[-1].clock - full.commands[0].clock
    latencies = []
    for load in loads:
        script = requests(mix, 2, line_cycles / load)
        out = run(spec, script, CORE_CLOCK_HZ)
        waited = [out.done[i] - r[0] for i, r in enumerate(script) if r[1] == READ]
        latencies.append(sum(waited) / len(waited) / CORE_CLOCK_HZ * 1e9)
    rate = 64 * REQUESTS / clocks * resolve(spec).clock_hz
    return Measured(dram_totals(full.m)["activates"] / REQUESTS, rate, *latencies)


def loads(standard: str, mix: Mix) -> tuple[float, float]:
    """Loads below what the standard reaches with the mix, the same whatever the policy."""
    reached = {"gddr5": (0.34, 0.86), "gddr6": (0.44, 0.86), "hbm2": (0.55, 0.8)}[standard][mix.lines > 1]
    return 0.5 * reached, 0.8 * reached


def main() -> None:
    """Print the table."""
    batches: tuple[int | None, ...] = BATCHES if "--batches" in sys.argv else (None,)
    print(f"{'standard':8} {'mix':28} {'batch':>5} {'ACT/req':>8} {'GB/s':>7} {'ns 50%':>7} {'ns 80%':>7}")
    for standard in STANDARDS:
        for name, mix in MIXES.items():
            for batch in batches:
                spec = DramSpec(standard=standard, channels=1, **({} if batch is None else {"write_batch": batch}))
                m = measure(spec, mix, loads(standard, mix))
                print(
                    f"{standard:8} {name:28} {batch or '':>5} {m.activates:8.3f} {m.bytes_per_s / 1e9:7.2f} "
                    f"{m.latency_ns:7.1f} {m.busy_latency_ns:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
