"""What a rule is: a share of something that is too large, said in words with figures, and what to do about it."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from gpusim.base.formats import PERCENT
from gpusim.results.metrics import METRICS
from gpusim.results.report.result import RunMetrics

# names of the stall reasons, as hot spots have them
STALLS = tuple(metric.path.partition(".")[2] for metric in METRICS if metric.path.startswith("stalls."))
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
    weight: float = 0.5
    """Estimated share of the loss that a user can recover; rules are ranked by share times weight."""


class PerformanceFinding(NamedTuple):
    """What a rule found in a run: text and advice with figures; the text begins with the run's name, if it has one."""

    rule: PerformanceRule
    share: float
    text: str
    advice: str

    @property
    def rank(self) -> float:
        """The rank of the finding: larger ones are shown first."""
        return self.share * self.rule.weight


def findings(rules: Iterable[PerformanceRule], measured: RunMetrics) -> list[PerformanceFinding]:
    """Return the findings of the rules about a run, the most important first."""
    findings, name = [], f"{measured.name}: " if measured.name else ""
    for rule in rules:
        share = rule.measure(measured)
        if share is None or share <= rule.above:
            continue
        figures = {"measure": PERCENT(share), **(rule.figures(measured) if rule.figures else {})}
        text, advice = _filled(rule.text, figures, measured), _filled(rule.advice, figures, measured)
        findings.append(PerformanceFinding(rule, share, f"{name}{text}{_place(rule.reason, measured)}", advice))
    return sorted(findings, key=lambda finding: -finding.rank)


def format_location(spot: Mapping[str, Any]) -> str:
    """Return the place of an instruction as in 'gemm.cl line 214', or its address where its line is unknown.

    Code that was inlined from a library's header has both lines: the user's call, and the library's.
    """
    if "line" in spot:
        inlined = f" ({spot['inlined']})" if spot.get("inlined") else ""
        return f"{PurePath(spot['file']).name} line {spot['line']}{inlined}"
    return f"{spot['address']:#07x}"


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
