"""The metrics of `derived.txt`, and the functions that their formulas call.

`profile` has the names that nvprof's users know (CUDA profiler user's guide, metrics reference). A warp there is a
wavefront here, an SM a compute unit. A level's throughput is, as Dong et al. 2018 (section 4.3) define it, the bytes
asked of it over the time from its first to its last transaction; `profile.*_throughput` is over the kernel's time, as
nvprof has it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpusim.base.counters import Counts
from gpusim.base.sums import plain_sum
from gpusim.base.version import __version__
from gpusim.model.core.cu.counters import FLOP_COUNTERS, MATRIX_FLOPS
from gpusim.model.core.cu.interlocks import FLOPS_PER_CYCLE
from gpusim.results.metrics.metric import Metric, ratio
from gpusim.results.records.record import CommandTimes, RunRecord

LINE_BYTES = 64


def gb_s(lines: int, kernel: Counts) -> float | None:
    """Return the throughput of lines moved in the kernel's time."""
    return ratio(LINE_BYTES * lines, 1e3 * (kernel.cycles / (kernel.clock_ghz * 1e3)))


def flops(kernel: Counts) -> int:
    """Return the floating-point operations of all precisions."""
    return int(plain_sum(getattr(kernel, counter.name) for counter in (*FLOP_COUNTERS, MATRIX_FLOPS)))


def largest_bound(roofline: Counts) -> float:
    """Return the largest bound of the roofline without that of latency."""
    return max((cycles for bound, cycles in roofline.items() if bound != "latency"), default=0.0)


def not_issued(stalls: Counts) -> Any:
    """Return the wavefront-cycles in which nothing was issued."""
    return plain_sum(cycles for reason, cycles in stalls.items() if reason != "issued")


def layer_efficiency(layer: Counts, kernel: Counts, cu: Counts, more_cycles: float) -> float | None:
    """Return a layer's operations over those that the GPU could do in the kernel's time and `more_cycles` (Li, Zhang
    and Cao 2018, equation 8).
    """
    cycles = kernel.cycles + more_cycles
    return ratio(2 * layer.macs * kernel.cycles, FLOPS_PER_CYCLE * cu.cycles * cycles) if layer.macs else None


def _covered_us(commands: Iterable[CommandTimes]) -> float:
    """Return the time in which at least one of the commands ran."""
    covered, reached = 0.0, 0.0
    for command in sorted(commands, key=lambda command: command.started_us):
        covered += max(command.ended_us - max(command.started_us, reached), 0.0)
        reached = max(reached, command.ended_us)
    return covered


def copies_us(run: RunRecord) -> float | None:
    """Return the time in which copies ran and no kernel; None without a queue on the host's clock."""
    if run.host_time_us is None or not run.commands:
        return None
    return _covered_us(run.commands) - _covered_us(command for command in run.commands if not command.copied_bytes)


def launching_us(run: RunRecord) -> float | None:
    """Return the time in which neither a kernel nor a copy ran; None without a queue on the host's clock."""
    if run.host_time_us is None or not run.commands:
        return None
    return max(run.host_time_us - _covered_us(run.commands), 0.0)


def version_of(run: RunRecord) -> str:
    """Return the version of gpusim, which a run has and a launch has not."""
    return __version__


def read_metrics(text: str) -> Iterator[Metric]:
    """Parse a table of metrics: see the head of `derived.txt`."""
    lines = [line for line in text.splitlines() if line[:1] != "#"]
    formulas = [line.strip() for line in lines[1::2]]
    reads = [tuple(dict.fromkeys(name for name in _NAME.findall(each) if name not in _KNOWN)) for each in formulas]
    source = ",\n".join(f"lambda {', '.join(read)}: {formula}" for read, formula in zip(reads, formulas, strict=True))
    for head, read, function in zip(lines[::2], reads, eval(f"({source})", _KNOWN), strict=True):
        path, _, rest = head.partition(" [")
        unit, _, definition = rest.partition("] ")
        yield Metric(path, unit, definition, read, function)


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
# what a formula may name beside what it reads
_KNOWN = {**globals(), "int": int} | dict.fromkeys(("None", "if", "is", "else"))
DERIVED = tuple(read_metrics(Path(__file__).with_name("derived.txt").read_text("utf-8")))
