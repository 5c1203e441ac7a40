"""Random mixes of reads and writes on one DRAM channel: rows opened, bandwidth, latency under load (a minute)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from docs._site.pages import table
from gpusim.base.formats import FIXED_0, FIXED_1, FIXED_3
from memory.dram.controller import dram_totals
from memory.dram.spec import DramSpec, resolve
from tests.unit.memory.dram_harness import READ, WRITE, Request, run

REQUESTS = 12_000
CORE_CLOCK_HZ = 2e9
LINES = 1 << 20  # 64 MiB of a channel
BATCHES = (8, 16, 32, 64)


class Mix(NamedTuple):
    """Blocks of successive lines at random places, each read or written whole."""

    name: str
    lines: int
    write_share: float


MIXES = (
    Mix("lines, read", 1, 0.0),
    Mix("lines, a third written", 1, 1 / 3),
    Mix("lines, half written", 1, 0.5),
    Mix("256 bytes, a third written", 4, 1 / 3),
    Mix("256 bytes, half written", 4, 0.5),
)

# what a channel is asked for when latency is measured, of the pins' bandwidth: half and four fifths of about what it
# reaches with single lines, with blocks; the same whatever the policies, so that these can be compared
LOADS = {
    "gddr5": ((0.17, 0.27), (0.43, 0.69)),
    "gddr6": ((0.22, 0.35), (0.43, 0.69)),
    "hbm2": ((0.27, 0.44), (0.40, 0.64)),
}


def requests(mix: Mix, seed: int, cycles_between: float) -> list[Request]:
    """A script of requests in order, which come at random times, on average so far apart."""
    random = np.random.default_rng(seed)
    blocks = REQUESTS // mix.lines
    first = random.integers(0, LINES // mix.lines, blocks) * mix.lines
    kinds = np.where(random.random(blocks) < mix.write_share, WRITE, READ)
    at = 1 + np.cumsum(random.exponential(cycles_between * mix.lines, blocks)).astype(int)
    return [(int(at[b]), int(kinds[b]), int(first[b]) + k) for b in range(blocks) for k in range(mix.lines)]


def saturated(spec: DramSpec, mix: Mix) -> tuple[float, float]:
    """Activates a request, and bytes a second, where requests always wait."""
    out = run(spec, requests(mix, 1, 0), CORE_CLOCK_HZ)
    clocks = out.commands[-1].clock - out.commands[0].clock
    return dram_totals(out.m)["activates"] / REQUESTS, 64 * REQUESTS / clocks * resolve(spec).clock_hz


def latency_ns(spec: DramSpec, mix: Mix, load: float) -> float:
    """Mean over reads, from the cycle in which they come, at a share of the pins' bandwidth."""
    script = requests(mix, 2, 64 / spec.bytes_per_s * CORE_CLOCK_HZ / load)
    out = run(spec, script, CORE_CLOCK_HZ)
    waited = [out.done[i] - request[0] for i, request in enumerate(script) if request[1] == READ]
    return sum(waited) / len(waited) / CORE_CLOCK_HZ * 1e9


def row(standard: str, mix: Mix) -> list[str]:
    """A row of the table `mixes`."""
    spec = DramSpec(standard=standard, channels=1)
    activates, rate = saturated(spec, mix)
    cells = [f"`{standard}`", mix.name, FIXED_3(activates), f"{FIXED_1(rate / 1e9)} GB/s"]
    for load in LOADS[standard][mix.lines > 1]:
        cells.append(f"{FIXED_0(latency_ns(spec, mix, load))} ns at {FIXED_1(load * spec.bytes_per_s / 1e9)} GB/s")
    return cells


def mixes() -> str:
    """What each standard makes of each mix."""
    head = ["standard", "mix", "activates a request", "at most", "reads wait, half load", "reads wait, near full load"]
    return table(head, [row(standard, mix) for standard in LOADS for mix in MIXES])


def batches() -> str:
    """Bandwidth, and latency near full load, by `write_batch`."""
    rows = []
    for standard, loads in LOADS.items():
        for mix in (MIXES[2], MIXES[4]):
            cells = []
            for batch in BATCHES:
                spec = DramSpec(standard=standard, channels=1, write_batch=batch)
                waited = latency_ns(spec, mix, loads[mix.lines > 1][1])
                cells.append(f"{FIXED_1(saturated(spec, mix)[1] / 1e9)} GB/s, {FIXED_0(waited)} ns")
            rows.append([f"`{standard}`", mix.name, *cells])
    return table(["standard", "mix", *map(str, BATCHES)], rows)


SECTIONS: dict[str, Callable[[], str]] = {"mixes": mixes, "batches": batches}
