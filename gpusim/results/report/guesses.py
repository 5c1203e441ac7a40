"""What a run leans on that no source tells: values that are fitted, assumed or another GPU's, and what hangs on each.

A value is measured by what it takes part in: the share of the run's cycles, or of what a unit did, that a different
value could change at most. That is no sensitivity: `--set` with another value, or a sweep, tells what it does.
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.sums import plain_sum
from gpusim.model.core.levels import BETWEEN
from gpusim.results.report.access import patterns
from gpusim.results.report.measures import formula, l2_stalls, uneven
from gpusim.results.report.result import Result, RunMetrics

if TYPE_CHECKING:
    from gpusim.model.core.sources import ConfigurationValue

LEAST = 0.01  # share from which on a value matters
ShareMeasure = Callable[[RunMetrics, Any], float | None]
WAITS = "wavefront-cycles"


class AssumptionShare(NamedTuple):
    """The share of a run that hangs on some values."""

    paths: tuple[str, ...]
    """Paths of the values, as patterns."""
    of: str
    """What the share is of."""
    share: ShareMeasure
    """Returns the share, given run and value."""


class Assumption(NamedTuple):
    """A value without a source that mattered."""

    value: "ConfigurationValue"
    """The value with its source."""
    share: float
    """Share that hangs on it at most."""
    of: str
    """What the share is of."""


def guesses(result: Result, column: RunMetrics) -> list[Assumption]:
    """Return the values without a source that mattered to a run, those first on which most hangs.

    Empty without timing, and for a result of an older version whose configuration can no longer be read.

    Args:
        result: The result.
        column: The run, a column of the result.
    """
    if not column.number("kernel.cycles") or not column.group("stalls"):
        return []
    assumptions = []
    for value in _values(result.config, column):
        lean = find_assumption_share(value.path)
        if lean is None or not value.kind:
            continue
        share = lean.share(column, value.value)
        if share is not None and share >= LEAST:
            assumptions.append(Assumption(value, min(share, 1.0), lean.of))
    return sorted(assumptions, key=lambda guess: (-guess.share, guess.value.path))


def _values(config: Mapping[str, Any], column: RunMetrics) -> Iterator["ConfigurationValue"]:
    from pydantic import ValidationError

    from gpusim.model.core.gpu_spec import GpuSpec  # only who asks waits for these to be imported
    from gpusim.model.core.sources import values
    from spartan.engine_spec import EngineSpec

    try:
        yield from values(GpuSpec.model_validate(config.get("gpu") or {}))
        if column.tree.get("engine") and isinstance(config.get("engine"), Mapping):
            yield from values(EngineSpec.model_validate(config["engine"]), "engine.")
    except ValidationError:
        return


@cache
def find_assumption_share(path: str) -> AssumptionShare | None:
    """Return what hangs on the value at a path; None for one that no row names."""
    return next((lean for lean in LEANS if any(fnmatchcase(path, pattern) for pattern in lean.paths)), None)


def _stalls(*reasons: str) -> ShareMeasure:
    return lambda run, _: plain_sum(run.share(f"stalls.{reason}") or 0.0 for reason in reasons)


def _memory_waits(run: RunMetrics) -> float | None:
    return run.share("stalls.memory_dependency")


def _waited(run: RunMetrics, *kinds: str) -> float:
    """Return the share of the wavefront-cycles in which memory instructions of these kinds are waited for."""
    whole = plain_sum(run.group("stalls").values())
    waited = plain_sum(spot.get("wait_cycles", 0) for spot in patterns(run, *kinds))
    return float(waited / whole) if whole else 0.0


def _waits_for(*kinds: str) -> ShareMeasure:
    return lambda run, _: _waited(run, *kinds)


def _sent(run: RunMetrics) -> float:
    """Return the lines that loads of the vector L1s have asked L2 for."""
    return max(run.number("l1.read_transactions") - run.number("l1.hits"), 0)


def _l2_misses(run: RunMetrics) -> float:
    """Return the share of L2's reads that miss."""
    reads = run.number("l2.read_transactions")
    return 1 - run.number("l2.read_hits") / reads if reads else 0.0


def _latency(times: Callable[[RunMetrics], float]) -> ShareMeasure:
    """Return a latency's part in the waits for vector memory: as in the latency of all lines that loads asked for."""

    def share(run: RunMetrics, cycles: Any) -> float:
        whole = run.number("l1.read_latency_total_cycles")
        return _waited(run, "vector_memory") * min(times(run) * cycles / whole, 1.0) if whole else 0.0

    return share


def _of(
    measure: Callable[[RunMetrics], float | None], where: Callable[[RunMetrics], float] = lambda run: 1.0
) -> ShareMeasure:
    """Return a measure that does not hang on the value. where: factor, such as a share or whether it applies."""
    return lambda run, _: (measure(run) or 0.0) * where(run)


def _dram_busy(run: RunMetrics) -> float:
    return run.number("profile.dram_utilization")


def _written(run: RunMetrics) -> float:
    """Return the share of DRAM's bytes that are written."""
    read, written = run.number("dram.bytes_read"), run.number("dram.bytes_written")
    return written / (read + written) if written else 0.0


def _set(section: str, name: str, value: str) -> Callable[[RunMetrics], float]:
    """Tell as a factor whether the machine's configuration has this value."""
    return lambda run: float((run.gpu.get(section) or {}).get(name) == value)


def _ideal(section: str) -> ShareMeasure:
    return _of(_set(section, "model", "ideal"))


def _cycle(section: str) -> Callable[[RunMetrics], float]:
    return _set(section, "model", "cycle")


def _launches(run: RunMetrics, microseconds: Any) -> float | None:
    time_us = run.number("host.time_us")
    return run.number("host.launches") * microseconds / time_us if time_us else None


def _copies(run: RunMetrics, _: Any) -> float | None:
    """Return the share of the host's time in which neither a kernel runs nor is launched."""
    time_us, launch_us = run.number("host.time_us"), run.gpu.get("kernel_launch_us", 0.0)
    busy_us = run.number("kernel.time_us") + run.number("host.launches") * launch_us
    return max(1 - busy_us / time_us, 0.0) if time_us else None


def _dispatched(run: RunMetrics, cycles: float) -> float:
    engines: int = (run.gpu.get("dispatch") or {}).get("shader_engines", 1)
    return run.number("kernel.wavefronts") * cycles / engines / run.number("kernel.cycles")


def _begun(run: RunMetrics, cycles: float) -> float:
    return run.number("kernel.wavefronts") * cycles / (plain_sum(run.group("stalls").values()) or 1)


def _l1_full(run: RunMetrics) -> float | None:
    return formula("l1.full_stall_cycles / cu.cycles")(run)


def _sparse(run: RunMetrics) -> float:
    """Return the share of the wavefront-cycles in which answers of the engine are waited for, by L2's misses."""
    misses = run.number("l2.misses")
    return _waited(run, "vector_memory") * run.number("l2.sparse_misses") / misses if misses else 0.0


def _of_requests(*counts: str) -> ShareMeasure:
    """Return a measure: the engine's counts for each of its requests, in the waits for its answers."""

    def share(run: RunMetrics, _: Any) -> float:
        requests = run.number("engine.requests")
        counted = plain_sum(run.number(f"engine.{name}") for name in counts)
        return _sparse(run) * min(counted / requests, 1.0) if requests else 0.0

    return share


def _engine_latency(run: RunMetrics, cycles: Any) -> float:
    mean = run.number("engine.request_latency_cycles")
    return _sparse(run) * min(cycles / mean, 1.0) if mean else 0.0


_SEARCHED = ("accurate", "prudent", "hasty")
_VECTOR = f"{WAITS}: waits for vector memory"
_ENGINE = f"{WAITS}: waits for the engine"
# paths, as patterns; of what the share is; the share
_ROWS: tuple[tuple[str, str, ShareMeasure], ...] = (
    ("kernel_launch_us", "the host's time: launching", _launches),
    ("host_link.*", "the host's time: copies", _copies),
    ("dispatch.wavefront_cycles dispatch.shader_engines", "the cycles: dispatching", _dispatched),
    ("dispatch.order", "instructions: the mean compute unit issues fewer than the busiest by", _of(uneven)),
    ("cu.launch_cycles", f"{WAITS}: before a wavefront's first issue", _begun),
    ("cu.wait_state_cycles", f"{WAITS}: wait states and pipelines", _stalls("execution_dependency")),
    ("cu.lds_latency_cycles", f"{WAITS}: waits for LDS", _waits_for("lds")),
    ("cu.lds_backlog_cycles", "the cycles: the LDS is busy", lambda run, _: run.share("roofline.lds")),
    ("l1.hit_latency_cycles", f"{_VECTOR}, hits in L1", _latency(lambda run: run.number("l1.hits"))),
    ("l1.fill_latency_cycles", f"{_VECTOR}, L1's fills", _latency(_sent)),
    ("l1.mshrs l1.mshr_targets l1.return_entries", "the cycles: L1's look-up is full", _of(_l1_full)),
    ("l1.queue_instructions l1.stores_in_flight", f"{WAITS}: memory queues are full", _stalls("memory_throttle")),
    ("l1.write_allocate", "lines at L1: stores", _of(formula("l1.write_transactions / l1.transactions"))),
    (
        "l1.full_set",
        f"{_VECTOR} that L1 missed",
        _of(
            lambda run: _waited(run, "vector_memory"),
            lambda run: min(_sent(run) / (run.number("l1.read_transactions") or 1), 1.0),
        ),
    ),
    ("scalar_cache.*", f"{WAITS}: waits for scalar memory", _waits_for("scalar_memory")),
    (
        "instruction_cache.*",
        f"{WAITS}: waits for instructions",
        lambda run, _: (run.share("stalls.instruction_fetch") or 0.0) * _cycle("instruction_cache")(run),
    ),
    *(
        (f"{level.section}.*", f"{WAITS}: waits for memory that {level.title} holds", _of(_memory_waits))
        for level in BETWEEN
    ),
    (
        "translation.ideal_*",
        f"{WAITS}: waits for memory, translation is ideal",
        _of(_memory_waits, _set("translation", "model", "ideal")),
    ),
    (
        "translation.*",
        "the cycles: look-ups wait for a translation",
        _of(formula("translation.stall_cycles / cu.cycles"), _cycle("translation")),
    ),
    (
        "crossbar.ideal_*",
        f"{WAITS}: waits for memory, the crossbar is ideal",
        _of(_memory_waits, _set("crossbar", "model", "ideal")),
    ),
    ("crossbar.*_latency_cycles", f"{_VECTOR}, the crossbar's latency", _latency(_sent)),
    ("crossbar.request_*", "the cycles: L1's look-up is full", _of(_l1_full, _cycle("crossbar"))),
    ("crossbar.response_*", "L2 channels' cycles: they are full", _of(l2_stalls, _cycle("crossbar"))),
    ("l2.latency_cycles", f"{_VECTOR}, hits in L2", _latency(lambda run: _sent(run) * (1 - _l2_misses(run)))),
    ("l2.fill_latency_cycles", f"{_VECTOR}, L2's fills", _latency(lambda run: _sent(run) * _l2_misses(run))),
    ("l2.replacement", f"{_VECTOR} that L2 missed", _of(lambda run: _waited(run, "vector_memory"), _l2_misses)),
    ("l2.mshr* l2.input_queue_packets", "L2 channels' cycles: they are full", _of(l2_stalls)),
    (
        "l2.flush_at_end",
        "DRAM's bytes, and what is dirty at the end",
        lambda run, _: (
            64
            * run.number("l2.dirty_lines_at_end")
            / ((run.number("dram.bytes") + 64 * run.number("l2.dirty_lines_at_end")) or 1)
        ),
    ),
    ("l2.channel_masks", "L2's busiest time: channels are busy", lambda run, _: run.share("roofline.l2")),
    ("dram.ideal_*", "the cycles: DRAM is ideal", _ideal("dram")),
    (
        "dram.page_timeout_clocks",
        "the cycles: DRAM's bus is busy",
        _of(_dram_busy, _set("dram", "page_policy", "timeout")),
    ),
    (
        "dram.write_batch dram.write_idle_clocks",
        "the cycles: DRAM's bus is busy, by its writes' share",
        _of(_dram_busy, _written),
    ),
    (
        "dram.refresh_grace_clocks dram.timing.tref* dram.timing.trfc* dram.timing.trref*",
        "the cycles: DRAM's bus is busy, and banks are refreshed",
        _of(_dram_busy, lambda run: float(run.number("dram.refreshes") > 0)),
    ),
    (
        "dram.age_cap_clocks dram.group_interleave_lines dram.channel_masks dram.timing.*",
        "the cycles: DRAM's bus is busy",
        _of(_dram_busy),
    ),
    (
        "engine.sib_replacement engine.sib_ways engine.outstanding_columns",
        f"{_ENGINE}, entries replaced",
        _of_requests("sib_evictions", "cmi_evictions"),
    ),
    (
        "engine.lane_replacement",
        f"{_ENGINE}, lanes closed for space",
        _of_requests("buffer_evictions", "buffer_lines_dropped"),
    ),
    (
        "engine.prefetch_length engine.demand_window_lines",
        f"{_ENGINE}, searches ahead",
        _of_requests("prudent", "hasty"),
    ),
    ("engine.scan_bits_per_cycle engine.shifters", f"{_ENGINE}, searches by bitmask", _of_requests("prudent")),
    ("engine.mappings_per_cycle engine.mapping_sums_from", f"{_ENGINE}, searches by mapping", _of_requests("accurate")),
    (
        "engine.sib_lookup_cycles engine.compu_latency_cycles engine.buffer_read_cycles",
        f"{_ENGINE}, a stage's latency",
        _engine_latency,
    ),
    (
        "engine.buffer_banks engine.buffer_bank_ports",
        f"{_ENGINE}, finished lines read",
        _of_requests("prefetch_buffer_hits"),
    ),
    ("engine.l2_partition engine.sib_lookups_per_cycle engine.sparse_queue_depth", _ENGINE, _of(_sparse)),
    (
        "engine.address_calculators engine.reads_in_flight engine.data_buffer*",
        f"{_ENGINE}, lines searched and read",
        _of_requests(*_SEARCHED),
    ),
)
LEANS = tuple(AssumptionShare(tuple(paths.split()), of, share) for paths, of, share in _ROWS)
# of which no count tells whether they matter
UNTOLD = {"cu.register_index_cycles": "instructions that set a register's index are not counted apart"}
