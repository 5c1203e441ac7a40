"""What a sweep comes to, in words that follow from its points: which design, how sure, what it costs, what matters."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from gpusim.base.axis_roles import MEANINGS
from gpusim.base.formats import GROUPED_DIGITS_6, SHARE_0
from gpusim.base.intervals import differ
from gpusim.base.table import Table
from gpusim.results.report.sweeps.effects import HARDLY, Effect, Effects, compute_effects, describe_unaffected_workloads
from gpusim.results.report.sweeps.front import RankedDesign, binding, partial_values, ranked
from gpusim.results.report.sweeps.points import (
    VARIANT,
    Design,
    SweepData,
    format_axis_name,
    format_axis_value,
    format_estimate,
    mean_name,
    merged_repeats,
    names,
    unit_of,
)
from gpusim.results.report.sweeps.views import MATTERS, change_text

MOST_NAMED = 4  # designs, or workloads, that a sentence names
MOST_PAIRS = 3  # of axes whose joint effect is said


def describe_best_designs(swept: SweepData, metric: str = "") -> list[str]:
    """Return sentences: the best design of each environment, what is equal to it, its memory, what matters, limits.

    Args:
        swept: The sweep's points.
        metric: Path of a metric; empty: the sweep's own.
    """
    swept = merged_repeats(swept)
    metric = metric or swept.metric
    if not metric or not swept.places:
        return ["no point has a value yet"]
    effects = compute_effects(swept, metric)
    found = [*_describe_confounds(swept, effects), *_best_of_each(swept, metric)]
    found += effect_lines(swept, effects)
    return found + _limits(swept, metric)


def _describe_confounds(swept: SweepData, effects: Effects) -> Iterator[str]:
    """Say which axes change a decision, and how to run the same sweep with that decision fixed."""
    for confound in effects.confounds:
        what = confound.decision.replace("_", " ")
        taken = "; ".join(f"{text or '–'} at {_listed(values)}" for text, values in confound.taken.items())
        where = f", with {names(confound.where)}" if confound.where else ""
        count = f" ({confound.groups} of {confound.of} comparisons)" if confound.of > 1 else ""
        yield f"{confound.axis} changes the {what}, too: {taken}{where}{count}; designs differ in both"
    if effects.confounds and swept.choices:
        counts = Counter(kernel for one in effects.confounds for kernel, values in one.taken.items() for _ in values)
        usual = max(swept.choices, key=lambda kernel: counts[kernel])
        path = swept.choices[usual].partition("=")[0]
        yield f"{path} leaves the kernel to each point; the same sweep with one kernel: --set {swept.choices[usual]}"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(format_axis_value, values))


def _best_of_each(swept: SweepData, metric: str) -> Iterator[str]:
    environment = swept.with_role("environment")
    for key in swept.groups(environment):
        fixed = dict(zip(environment, key, strict=True))
        where = f"{names(fixed)}: " if fixed else ""
        yield from (where + line for line in _best(swept.at(fixed), metric))


def _best(swept: SweepData, metric: str) -> list[str]:
    designs, workloads = swept.designs(metric), swept.groups(swept.with_role("workload"))
    whole = [design for design in designs if design.mean is not None]
    mean = f", {mean_name(metric)} over {_workloads(swept)}" if len(workloads) > 1 else ""
    if not swept.with_role("design"):
        return _by_workload(swept, metric)
    if not whole:
        return [f"no design has a value at every workload yet ({len(designs)} have some)"]
    least = swept.is_minimized(metric)
    best = find_best_design(whole, least)
    value = f"{format_estimate(_mean(best))} {unit_of(metric)}".rstrip()
    how = "least" if least else "most"
    same = [design for design in whole if design is not best and not differ(_mean(design), _mean(best))]
    if len(same) == len(whole) - 1 > 0:
        noise = "cannot be told apart" if _mean(best)[1] else "is the same"
        return [f"{metric} of all {len(whole)} designs {noise}: {value}{mean}", *_smallest(best, same)]
    lines = [f"{how} {metric}: {value}{mean}, at {names(best.values)}"]
    if same:
        listed = "; ".join(names(design.values) for design in same[:MOST_NAMED])
        noise = (
            "not distinguishable from it"
            if _mean(best)[1] or any(_mean(design)[1] for design in same)
            else "equal to it"
        )
        more = f" and {len(same) - MOST_NAMED} more" if len(same) > MOST_NAMED else ""
        lines.append(f"{noise}: {listed}{more}")
    lines += _smallest(best, same)
    missing = len(designs) - len(whole)
    if missing:
        lines.append(f"{missing} of {len(designs)} designs lack a workload and are not compared")
    return lines


def find_best_design(designs: Sequence[Design], least: bool) -> Design:
    """Return the best design by its mean over all workloads; of equal ones the one with the smallest memories.

    Args:
        designs: Designs.
        least: Less is better.
    """
    return min(designs, key=lambda one: ((1 if least else -1) * _mean(one)[0], one.memory_kib))


def _mean(design: Design) -> tuple[float, float]:
    assert design.mean is not None
    return design.mean


def _by_workload(swept: SweepData, metric: str) -> list[str]:
    paths = swept.with_role("workload")
    held = swept.groups(paths).items()
    said_values = [
        f"{' '.join(map(format_axis_value, key))} {format_estimate(places[0].measured[metric])}" for key, places in held
        if metric in places[0].measured
    ]  # fmt: skip
    more = f" and {len(said_values) - MOST_NAMED} more" if len(said_values) > MOST_NAMED else ""
    listed = f"{', '.join(said_values[:MOST_NAMED])}{more}"
    return [f"{metric} by {', '.join(paths) or 'point'}: {listed}; nothing is varied that may be chosen"]


def _smallest(best: Design, same: Sequence[Design]) -> list[str]:
    """Say what the best design costs in memory, and which one that is not worse takes least."""
    if not best.memory_kib:
        return []
    small = min([best, *same], key=lambda one: one.memory_kib)
    if small.memory_kib < best.memory_kib:
        size = GROUPED_DIGITS_6(small.memory_kib)
        return [f"of these the smallest memories, {size} KiB, are at {names(small.values)}"]
    return [f"its memories take {GROUPED_DIGITS_6(best.memory_kib)} KiB" + (", the least of these" if same else "")]


def _workloads(swept: SweepData) -> str:
    paths = swept.with_role("workload")
    return f"{len(swept.groups(paths))} workloads ({', '.join(paths)})"


def effect_lines(swept: SweepData, effects: Effects) -> list[str]:
    """Say of each axis whether it matters, and of pairs that matter together."""
    lines = [f"{one.axis}: {_effect(swept, one, effects)}" for one in effects.axes]
    for name, share in effects.decided.items():
        lines.append(f"{name.replace('_', ' ')}, all axes equal: {SHARE_0(share)} of the variation")
    if effects.decided and effects.undivided > HARDLY:
        lines.append(
            f"{SHARE_0(effects.undivided)} of the variation is of axes or of decisions that go with them: these points "
            "cannot separate the two"
        )
    for (a, b), share in itertools.islice(effects.together.items(), MOST_PAIRS):
        lines.append(f"{a} with {b}: what one does depends on the other, {SHARE_0(share)} of the variation")
    return lines + _describe_fit(effects)


def _describe_fit(effects: Effects) -> list[str]:
    """Say how much of the variation the axes and their pairs explain, and what they leave."""
    if effects.fit is None:
        if not effects.steps:
            return []
        return [
            f"no shares of the variation: {effects.points} points are too few for a model of {effects.steps} parameters"
        ]
    lines = []
    if not effects.exact:
        what = f"{len(effects.axes)} axes" + (f" and the {', '.join(effects.decided)}" if effects.decided else "")
        lines.append(
            f"shares are by a fitted model of {what.replace('_', ' ')} that explains {SHARE_0(effects.fit)} of the "
            "variation"
        )
    if effects.rest is not None and (effects.rest > HARDLY or effects.together):
        lines.append(f"not explained by single axes and the pairs of them: {SHARE_0(effects.rest)} of the variation")
    return lines


def _effect(swept: SweepData, effect: Effect, effects: Effects) -> str:
    share = "" if effect.share is None else f"{SHARE_0(effect.share)} of the variation" + _within(swept)
    if not effect.pairs:
        return f"no two points differ in it alone; {share}" if share else "no two points differ in it alone"
    if effect.has_none:
        equal = "the same at all its values" if effect.most == 0.0 else "no value can be told from another"
        pairs = f"{effect.pairs} comparison{'s' * (effect.pairs != 1)}"
        return f"no effect here on {effects.metric}: {equal}, all else equal ({pairs})"
    verb = "hardly any effect: changes" if effect.most < HARDLY else "changes"
    change = partial(change_text, absolute=effects.is_absolute)
    most = (
        "from 0" if math.isinf(effect.most) else f"by up to {change(effect.most)}, on average {change(effect.typical)}"
    )
    none = describe_unaffected_workloads(swept, effect)
    text = f"{verb} {effects.metric} {most}{_separated(effect, effects)}"
    return text + (f"; {share}" if share else "") + (f"; none at {none}" if none else "")


def _separated(effect: Effect, effects: Effects) -> str:
    """Say how much of an axis's effect is left where it does not change a decision."""
    if not effect.changed:
        return ""
    what = " and ".join(name.replace("_", " ") for name in effect.changed)
    if effect.most_alone is None:
        return f" together with the {what}; its own effect is unknown, no two points have the same {what}"
    alone = change_text(effect.most_alone, effects.is_absolute)
    return f" together with the {what}, and by up to {alone} with the same {what} ({effect.pairs_alone} comparisons)"


def _within(swept: SweepData) -> str:
    return " within a workload" if swept.with_role("workload") else ""


def matters(swept: SweepData, metric: str = "") -> Table:
    """Return a table with a row for each axis of design: how much it changes a metric, and what it explains.

    Args:
        swept: The sweep's points.
        metric: Path of a metric; empty: the sweep's own.
    """
    swept = merged_repeats(swept)
    effects = compute_effects(swept, metric or swept.metric)
    rows: list[dict[str, Any]] = [
        {"effect": one, "axis": one.axis, "values": _listed(swept.axes[one.axis]), "share": one.share}
        for one in effects.axes
    ]
    for name, share in effects.decided.items():
        values = ", ".join(dict.fromkeys(point.decided.get(name, "–") for point in swept.places))
        rows.append({"axis": name.replace("_", " "), "values": values, "share": share, "verdict": "decided by points"})
    for pair, share in effects.together.items():
        rows.append({"axis": " with ".join(pair), "share": share, "verdict": "one depends on the other"})
    if effects.undivided > HARDLY and effects.decided:
        rows.append({"axis": "not separated", "share": effects.undivided, "verdict": "of axes or decisions"})
    if effects.rest is not None and rows:
        rows.append({"axis": "not explained", "share": effects.rest, "verdict": ""})
    rows = [{"absolute": effects.is_absolute, **row} for row in rows]
    exact = "of the whole grid" if effects.exact else "by a fitted model"
    title = f"What matters for {format_axis_name(effects.metric)}: changes with all else equal, shares {exact}"
    return MATTERS.table(rows, title)


def find_front(swept: SweepData, objectives: Sequence[str]) -> list[RankedDesign]:
    """Return the designs on the Pareto front of the objectives' means over workloads, and those not distinguishable.

    Args:
        swept: The sweep's points.
        objectives: Metrics, each with its direction.
    """
    return [one for one in ranked(merged_repeats(swept), objectives) if one.standing]


def roles_line(swept: SweepData) -> str:
    """Say which axes have which role, what that means, and which roles only follow from names."""
    parts = []
    for role, meaning in MEANINGS.items():
        paths = [path for path, held in swept.roles.items() if held == role and len(swept.axes[path]) > 1]
        if paths:
            parts.append(f"{', '.join(paths)}: {role} ({meaning})")
    inferred = [path for path in swept.axes if path not in swept.told and path != VARIANT]
    how = (
        f"; inferred from the names of {', '.join(inferred)}, roles: in the sweep's file says others"
        if inferred
        else ""
    )
    return "; ".join(parts) + (how if swept.method != "results" else "")


def _limits(swept: SweepData, metric: str) -> list[str]:
    """Say which constraints keep the best design, or one of the front, from a neighbour, and which values miss some."""
    lines = []
    whole = [design for design in swept.designs(metric) if design.mean is not None] if swept.with_role("design") else []
    if whole and not swept.with_role("environment"):
        objectives = [text for text in swept.objectives if any(text in point.measured for point in swept.places)]
        chosen = [ranked.design for ranked in find_front(swept, objectives)] if len(objectives) > 1 else []
        what = "the front" if chosen else "the best design"
        chosen = chosen or [find_best_design(whole, swept.is_minimized(metric))]
        for text in dict.fromkeys(text for design in chosen for text in binding(swept, design.values)):
            lines.append(f"{what} is shaped by a constraint, which forbids a neighbour of it: {text}")
    for axis, value, other, there in partial_values(swept) if swept.method == "grid" else ():
        lines.append(
            f"{axis} {format_axis_value(value)} was run only at {other}"
            f" {', '.join(map(format_axis_value, there))}: compare it there"
        )
    return lines
