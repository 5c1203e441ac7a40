"""What may explain that a run takes longer or shorter than another: the table of rules.

A rule measures one thing in both: a metric, or the sum of some divided by the sum of others. It is a share (of
accesses, of cycles), whose change is a difference, or an amount, whose change is relative to the larger one, so that
both can be ordered beside one another. Stall reasons are shares of the *first* run's wavefront-cycles: their changes
add up to that of all wavefront-cycles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpusim.base.formats import DIGITS_3, DIGITS_4, GROUPED_0, PERCENT
from gpusim.base.sums import plain_sum
from gpusim.results.metrics.formula import evaluate_formula, parse_formula
from gpusim.results.metrics.memory import CACHES, VECTOR_PATH

Topic = Literal["stall", "hit rate", "roofline", "queue", "latency", "work", "engine"]
TIME = "kernel.time_us"
_OF_FIRST = " of the first's wavefront-cycles"
SHARE, AMOUNT = 0.02, 0.05  # changes from which a rule speaks


@dataclass(frozen=True)
class ComparisonRule:
    """A rule about one quantity that may have changed."""

    topic: Topic
    """Topic of the quantity."""
    measure: str
    """Formula over metric paths (`gpusim.results.metrics.formula`)."""
    more: str
    """Text for an increase, without figures."""
    less: str
    """Text for a decrease, without figures."""
    share: bool = True
    """The measure is a share; otherwise an amount."""
    slows: bool | None = True
    """An increase goes with a longer time; False: with a shorter one; None: either."""

    @property
    def paths(self) -> list[str]:
        """The metrics that the rule needs."""
        return [path for part in parse_formula(self.measure) for path in part]

    def value(self, metrics: Mapping[str, Any]) -> float | None:
        """Return the value of the measure; None where a metric does not apply, or the denominator is 0."""
        return evaluate_formula(self.measure, metrics.get)


@dataclass(frozen=True)
class ComparisonFinding:
    """A rule that applies to two runs."""

    topic: Topic
    """Topic of the quantity."""
    text: str
    """Explanation with figures."""
    change: float
    """Change of the measure from -1 to 1."""
    before: float
    """Value of the measure in the first run."""
    after: float
    """Value of the measure in the second run."""
    paths: tuple[str, ...] = ()
    """Paths of the metrics in the measure."""
    against: bool = False
    """The change alone would have moved the time in the opposite direction."""

    @property
    def sentence(self) -> str:
        """The sentence for a user who asks why the time changed."""
        return f"although {self.text}" if self.against else self.text


def _stall(reason: str, doing: str) -> ComparisonRule:
    return ComparisonRule(
        "stall", f"stalls.{reason}", f"wavefronts spend more cycles {doing}", f"wavefronts spend fewer cycles {doing}"
    )


def _hits(measure: str, where: str) -> ComparisonRule:
    return ComparisonRule("hit rate", measure, f"more accesses hit {where}", f"fewer accesses hit {where}", slows=False)


def _queue(measure: str, what: str) -> ComparisonRule:
    return ComparisonRule("queue", measure, f"{what} longer", f"{what} less")


def _latency(measure: str, what: str) -> ComparisonRule:
    return ComparisonRule("latency", measure, f"{what} take longer", f"{what} are faster", share=False)


def _work(measure: str, what: str, slows: bool = True) -> ComparisonRule:
    return ComparisonRule("work", measure, f"more {what}", f"fewer {what}", share=False, slows=slows)


RULES = (
    _stall("memory_dependency", "waiting for memory or LDS"),
    _stall("memory_throttle", "at full memory queues"),
    _stall("execution_dependency", "waiting for results or pipelines"),
    _stall("matrix_unit", "waiting for a matrix unit"),
    _stall("synchronization", "at barriers"),
    _stall("instruction_fetch", "waiting for instructions"),
    _stall("branch_latency", "at taken branches"),
    _stall("not_selected", "ready while others issue"),
    _stall("issued", "issuing"),
    _stall("idle", "idle"),
    *(_hits(f"{level.section}.hit_rate", level.title) for level in CACHES),
    _hits("translation.l1_hit_rate", "the L1 TLBs"),
    _hits("translation.l2_hit_rate", "the L2 TLB"),
    _hits("dram.row_hit_rate", "an open DRAM row"),
    _queue("l1.full_stall_cycles / cu.cycles", "look-ups in L1 wait for an MSHR or a queue"),
    _queue("l2.full_stall_cycles / dram.bus_available_cycles", "L2 channels wait for an MSHR, a way or a queue"),
    _queue("translation.stall_cycles / cu.cycles", "look-ups wait for a translation"),
    _queue("engine.l2_stall_cycles / dram.bus_available_cycles", "L2 waits for the engine's queue"),
    _queue("engine.lookup_blocked_cycles / kernel.cycles", "the engine's look-up waits for a SIB entry or a lane"),
    _latency("l1.read_latency_cycles", "reads at L1"),
    _latency("l2.read_latency_cycles", "reads at L2"),
    _latency("dram.read_latency_cycles", "reads at DRAM"),
    _latency("translation.latency_cycles", "translations at the L2 TLB"),
    _latency("engine.request_latency_cycles", "requests at the engine"),
    _work("kernel.wavefront_instructions", "wavefront instructions"),
    _work("l1.transactions", "lines looked up in L1"),
    _work("l2.transactions", "accesses of L2"),
    _work("dram.bytes", "bytes to and from DRAM"),
    _work("kernel.occupancy", "resident wavefronts", slows=False),
    _work("kernel.clock_ghz", "cycles a second", slows=False),
    ComparisonRule(
        "engine",
        "engine.prefetch_buffer_hits / engine.requests",
        "more requests find their line in the prefetch buffer",
        "fewer requests find their line in the prefetch buffer",
        slows=False,
    ),
    ComparisonRule(
        "engine",
        "engine.accurate / engine.requests",
        "more requests are searched in accurate mode",
        "fewer requests are searched in accurate mode",
        slows=None,
    ),
    ComparisonRule(
        "engine",
        "engine.searches_anew / engine.requests",
        "more of the engine's searches begin anew",
        "fewer of the engine's searches begin anew",
    ),
    ComparisonRule(
        "engine",
        "engine.lines_wasted / engine.lines_fetched",
        "more of the engine's lines are fetched for nothing",
        "fewer of the engine's lines are fetched for nothing",
    ),
    ComparisonRule(
        "engine",
        "engine.sib_evictions / engine.requests",
        "the SIB loses more entries a request",
        "the SIB loses fewer entries a request",
    ),
)
_OF_CACHES = (level.section for level in VECTOR_PATH)
ROOFLINES = ("valu", "matrix", "salu", "lds", *_OF_CACHES, "dram", "search", "fetch", "dispatch")


def findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparisonFinding]:
    """Return the rules that apply to two runs, the largest change first; last those against the change of time.

    Args:
        before: Metrics of the first run.
        after: Metrics of the second run.
    """
    slower = _slower(before, after)
    found = [finding for rule in RULES if (finding := _applied(rule, before, after, slower)) is not None]
    return sorted([*found, *roofline_moved(before, after)], key=lambda one: (one.against, -abs(one.change)))


def _slower(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool | None:
    """Tell whether the time is longer; None where it is the same or unknown."""
    first, second = before.get(TIME), after.get(TIME)
    return None if first is None or second is None or first == second else second > first


def goes_against(rule: ComparisonRule, change: float, slower: bool | None) -> bool:
    """Tell whether a change should have made the time shorter where it is longer, or the other way round."""
    return None not in (rule.slows, slower) and (change > 0) is (rule.slows is not slower)


def moved(
    rule: ComparisonRule, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[float, float, float] | None:
    """Return a rule's value in both runs, and its change; None where the rule does not apply to both.

    The change is a difference of shares, or relative to the larger amount: from -1 to 1.
    """
    first, second = rule.value(before), rule.value(after)
    if first is None or second is None:
        return None
    if rule.topic == "stall":
        whole = plain_sum(value or 0 for path, value in before.items() if path.startswith("stalls."))
        if not whole:
            return None
        first, second = first / whole, second / whole
    if rule.share:
        return first, second, second - first
    largest = max(abs(first), abs(second))
    return first, second, (second - first) / largest if largest else 0.0


def describe_change(rule: ComparisonRule, before: float, after: float, change: float) -> str:
    """Put such a change of a rule into words, with its figures."""
    figures = f"{_number(before)} → {_number(after)}" + (f", x{DIGITS_3(after / before)}" if before else "")
    if rule.share:
        figures = f"{PERCENT(before)} → {PERCENT(after)}{_OF_FIRST * (rule.topic == 'stall')}"
    return f"{rule.more if change > 0 else rule.less}: {figures}"


def is_reportable(rule: ComparisonRule, change: float) -> bool:
    """Tell whether a change is large enough to be reported."""
    return abs(change) >= (SHARE if rule.share else AMOUNT)


def _applied(
    rule: ComparisonRule, before: Mapping[str, Any], after: Mapping[str, Any], slower: bool | None
) -> ComparisonFinding | None:
    measured = moved(rule, before, after)
    if measured is None or not is_reportable(rule, measured[2]):
        return None
    first, second, change = measured
    against = goes_against(rule, change, slower)
    return ComparisonFinding(
        topic=rule.topic,
        text=describe_change(rule, *measured),
        change=change,
        before=first,
        after=second,
        paths=tuple(rule.paths),
        against=against,
    )


def roofline_moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparisonFinding]:
    """Return a finding if another bound is the nearest, or the same one is nearer or farther."""
    sides = [nearest_roofline(before), nearest_roofline(after)]
    if None in sides:
        return []
    (first, near), (second, nearer) = sides  # type: ignore[misc]
    if first == second and abs(nearer - near) < SHARE:
        return []
    text = f"bound by {second} instead of {first}"
    if first == second:
        text = f"{'nearer to' if nearer > near else 'farther from'} the bound {first}"
    text += f": {PERCENT(near)} → {PERCENT(nearer)} of the cycles"
    paths = tuple(dict.fromkeys((f"roofline.{first}", f"roofline.{second}")))
    return [ComparisonFinding("roofline", text, nearer - near, near, nearer, paths)]


def nearest_roofline(metrics: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the nearest bound and its share of the cycles; None where these are unknown."""
    cycles = metrics.get("kernel.cycles")
    bounds = {name: metrics.get(f"roofline.{name}") for name in ROOFLINES}
    known = {name: float(value) for name, value in bounds.items() if value is not None}
    if not cycles or not known:
        return None
    name = max(known, key=lambda one: known[one])
    return name, known[name] / cycles


def _number(value: float) -> str:
    return GROUPED_0(value) if abs(value) >= 100 else DIGITS_4(value)
