"""What a rule is: a share of something that is too large, said in words with figures, and what to do about it."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpusim.base.extensions import known_kind
from gpusim.base.formats import PERCENT, RATIO
from gpusim.base.sums import plain_sum
from gpusim.results.metrics import METRICS
from gpusim.results.report.access import format_location as format_location
from gpusim.results.report.gain import SavedShare, saved_cycles, speed_up, whole_cycles
from gpusim.results.report.result import RunMetrics
from gpusim.results.report.run_parts import LaunchShare, split_run

# names of the stall reasons, as hot spots have them
STALLS = tuple(metric.path.partition(".")[2] for metric in METRICS if metric.path.startswith("stalls."))
LEAST_GAIN = 1.02  # below which a gain is not worth naming
_CERTAIN = 1e6  # a gain that stands for: before all others
_LIBRARY_KERNELS = re.compile(
    r"^Cijk_|__amd_rocclr|rocblas|rocsolver|rocsparse|rocprim|rocrand|rocfft|hipcub|thrust|miopen|tensile|Xgemm|Xgemv",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\{([\w.]+)\}")


class PerformanceRule(NamedTuple):
    """A rule about the metrics of one run."""

    name: str
    """Name."""
    section: str
    """Key of the section that shows it."""
    measure: Callable[[RunMetrics], float | None]
    """Returns the share; None where the rule does not apply."""
    above: float
    """Smallest share for which the rule applies."""
    text: str
    """Text with placeholders in braces: `{measure}`, a metric's path, or a name from `figures`."""
    advice: str
    """Advice with the same placeholders."""
    figures: Callable[[RunMetrics], Mapping[str, str]] | None = None
    """Returns further values for the placeholders by name; None: none."""
    reason: str = ""
    """Stall reason whose costliest instruction is named; empty: none."""
    saved: SavedShare | None = None
    """Returns the share of the cycles that the matter takes at most, for the gain; None: the matter is no cause."""
    relieved: Callable[[RunMetrics], Collection[str]] | Collection[str] = ()
    """Rooflines of units that have less to do without it."""
    of_run: bool = False
    """The rule is about a run as a whole, such as its time on the host, not about launches."""
    explained_by: tuple[str, ...] = ()
    """Rules that name the cause of what this rule finds."""
    for_others: str = "another size, batch or algorithm may avoid it"
    """Advice where the kernel is not the user's to change."""


class PerformanceFinding(NamedTuple):
    """What a rule found in the launches of a kernel, or in a run as a whole."""

    rule: PerformanceRule
    """Rule."""
    run: str
    """Name of the run among several; empty where there is one."""
    kernel: str
    """Name of the kernel; empty: the run as a whole."""
    launches: str
    """Layer, pass and kernel of the launches, and how many others; empty where the run has one kernel."""
    share: float
    """Share of all cycles, weighted by the launches' times."""
    whole: float
    """Cycles of the whole run, launching and copies included where a program has these."""
    saved: float | None
    """Cycles that the run saves at most; None: no estimate."""
    statement: str
    """What was found, with figures."""
    advice: str
    """What to do about it."""

    @property
    def gain(self) -> float | None:
        """How many times faster the run gets at most; None: no estimate."""
        return None if self.saved is None else speed_up(self.whole, self.saved)

    @property
    def text(self) -> str:
        """What was found: run, launches, gain, statement."""
        gain = self.gain
        estimate = f"up to {RATIO(gain)}: " if gain is not None and LEAST_GAIN <= gain < _CERTAIN else ""
        names = "".join(f"{name}: " for name in (self.run, self.launches) if name)
        return f"{names}{estimate}{self.statement}"

    @property
    def rank(self) -> tuple[float, float]:
        """The rank of the finding: larger ones are shown first."""
        return (self.gain or 0.0, self.share)


class _Judgement(NamedTuple):
    part: LaunchShare
    share: float
    saved: float


def findings(rules: Iterable[PerformanceRule], column: RunMetrics, kind: str = "") -> list[PerformanceFinding]:
    """Return the findings of the rules about a run: launch by launch, then weighted by time; the most important first.

    Args:
        rules: Rules.
        column: The run.
        kind: Job that made the result; decides whose the kernels are.

    Returns:
        A finding for each rule and kernel, ordered by gain.
    """
    parts = split_run(column)
    whole_run = LaunchShare(column, 1)
    all_findings = []
    for rule in rules:
        judged: dict[str, list[_Judgement]] = {}
        for part in [whole_run] if rule.of_run else parts:
            share = rule.measure(part.measured)
            if share is not None and share > rule.above:
                saved = 0.0
                if rule.saved is not None:
                    relieved = rule.relieved(part.measured) if callable(rule.relieved) else rule.relieved
                    saved = saved_cycles(part.measured, rule.saved(part.measured, share), share, relieved)
                judged.setdefault("" if rule.of_run else part.kernel, []).append(_Judgement(part, share, saved))
        several = len(parts) > 1
        all_findings += [_finding(rule, kernel, judged[kernel], (column, kind, several)) for kernel in judged]
    return sorted(all_findings, key=lambda finding: finding.rank, reverse=True)


def join_kernels(alike: Sequence[PerformanceFinding]) -> PerformanceFinding:
    """Return what a rule found in several kernels of a run as one finding: the first one's words, the gain of all.

    Args:
        alike: Findings of one rule, in different kernels of one run.
    """
    first, others = alike[0], len(alike) - 1
    if not others:
        return first
    names = f"{first.launches}, and {others} other kernel{'s' * (others > 1)}"
    saved = None if first.saved is None else plain_sum(one.saved or 0.0 for one in alike)
    return first._replace(launches=names, share=plain_sum(one.share for one in alike), saved=saved)


def _finding(
    rule: PerformanceRule, kernel: str, judged: Sequence[_Judgement], run: tuple[RunMetrics, str, bool]
) -> PerformanceFinding:
    column, kind, several = run
    cycles, whole = column.number("kernel.cycles"), whole_cycles(column)
    dearest = max(judged, key=lambda judgement: (judgement.saved, judgement.part.measured.number("kernel.cycles")))
    share, saved = dearest.share, None
    if rule.of_run:
        whole = whole or 1.0  # without timing a wrong result stands for all
        saved = rule.saved and whole * min(rule.saved(column, share), 1.0)
    else:
        if several and cycles:
            weighted = (one.share * one.part.measured.number("kernel.cycles") for one in judged)
            share = plain_sum(weighted) / cycles
        saved = plain_sum(judgement.saved for judgement in judged) if rule.saved and cycles else None
    measured = dearest.part.measured
    figures = {"measure": PERCENT(dearest.share), **(rule.figures(measured) if rule.figures else {})}
    text, advice = _filled(rule.text, figures, measured), _filled(rule.advice, figures, measured)
    if not rule.of_run and (owner := _owner(kind, kernel)):
        advice = f"{owner}; {rule.for_others}"
    return PerformanceFinding(
        rule=rule, run=column.name, kernel=kernel,
        launches=_title(dearest, judged) if several and kernel else "",
        share=share, whole=whole, saved=saved, statement=f"{text}{_place(rule.reason, measured)}", advice=advice,
    )  # fmt: skip


def _title(dearest: _Judgement, judged: Sequence[_Judgement]) -> str:
    """Return which launches a finding is about: the dearest ones, and how many others."""
    others = len({one.part.place for one in judged} - {dearest.part.place})
    launches = plain_sum(one.part.launches for one in judged)
    more = f" and {others} other{'s' * (others > 1)}" if others else f", {launches} launches" if launches > 1 else ""
    return dearest.part.title + more


def _owner(kind: str, kernel: str) -> str:
    """Say whose a kernel is that the user does not write; empty: the user's own."""
    if known_kind(kind).own_kernels:
        return "a kernel of gpusim, not of yours"
    return "a kernel of a library, not of yours" if _LIBRARY_KERNELS.search(kernel) else ""


def _place(reason: str, measured: RunMetrics) -> str:
    """Return the end of a sentence: where most of a stall reason occurs; empty where no hot spots were counted."""
    spots = [spot for spot in measured.tree.get("hotspots") or () if reason and spot.get(reason)]
    whole = measured.get(f"stalls.{reason}")
    if not spots or not whole:
        return ""
    spot = max(spots, key=lambda spot: spot[reason])
    return f"; {PERCENT(spot[reason] / whole)} of that at {format_location(spot)}, {spot['instruction']}"


def _filled(text: str, figures: Mapping[str, str], measured: RunMetrics) -> str:
    return _FIGURE.sub(lambda found: figures[found[1]] if found[1] in figures else measured.text(found[1]), text)
