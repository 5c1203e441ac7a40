"""Metrics of a whole run: the host's clock, its data, the comparison with NumPy, what simulating it cost."""

from collections.abc import Iterable
from typing import Any

from gpusim.base.version import __version__
from gpusim.results.metrics.metric import Metric, derived, ratio
from gpusim.results.records.record import CommandTimes, RunRecord


def _verified(name: str, definition: str) -> Metric:
    def of(run: RunRecord) -> Any:
        return None if run.verification is None else getattr(run.verification, name)

    return derived(f"verification.{name}", "", definition, of)


def _covered_us(commands: Iterable[CommandTimes]) -> float:
    """Return the time in which at least one of the commands ran."""
    covered, reached = 0.0, 0.0
    for one in sorted(commands, key=lambda one: one.started_us):
        covered += max(one.ended_us - max(one.started_us, reached), 0.0)
        reached = max(reached, one.ended_us)
    return covered


def _copies_us(run: RunRecord) -> float | None:
    if run.host_time_us is None or not run.commands:
        return None
    return _covered_us(run.commands) - _covered_us(one for one in run.commands if not one.copied_bytes)


def _launching_us(run: RunRecord) -> float | None:
    if run.host_time_us is None or not run.commands:
        return None
    return max(run.host_time_us - _covered_us(run.commands), 0.0)


RUN = (
    derived(
        "host.time_us",
        "us",
        "from the first packet written to the last completion signal: kernels, copies and launch overheads",
        lambda run: run.host_time_us,
    ),
    derived(
        "host.launches",
        "launches",
        "kernel launches in the queue",
        lambda run: None if run.host_time_us is None else run.launched,
    ),
    derived("host.copies_us", "us", "time in which copies ran and no kernel", _copies_us),
    derived(
        "host.launching_us", "us", "time in which neither a kernel nor a copy ran: launch overheads", _launching_us
    ),
    derived(
        "data.zero_fraction",
        "fraction",
        "zeros among the elements of the activation matrix, im2col's padding included",
        lambda run: run.zero_fraction,
    ),
    derived(
        "data.zero_line_fraction",
        "fraction",
        "its lines of 16 elements of a column that are all zero",
        lambda run: run.zero_line_fraction,
    ),
    derived(
        "data.column_blocks",
        "blocks",
        "blocks of columns that ran one after another, as the matrices exceed the GPU's memory; null: all in one",
        lambda run: run.column_blocks,
    ),
    _verified("passed", "whether the result equals NumPy's within the bound; null when not checked"),
    _verified("max_error", "largest absolute difference from NumPy's result"),
    _verified("bound", "largest difference that the number formats and the summation order allow"),
    derived(
        "simulator.instructions_per_s",
        "instructions/s",
        "wavefront instructions / simulator.cpu_s",
        lambda kernel, simulator: ratio(kernel.wavefront_instructions, simulator.cpu_s),
    ),
    derived("simulator.setup_s", "s", "real time for input data, packing and code objects", lambda run: run.setup_s),
    derived("simulator.verify_s", "s", "real time for the comparison with NumPy", lambda run: run.verify_s),
    derived(
        "simulator.peak_memory_mb",
        "MB",
        "largest resident memory of the process so far",
        lambda run: run.peak_memory_mb,
    ),
    derived("simulator.version", "", "version of gpusim", lambda run: __version__),
)
