"""What a sweep's points decide for themselves: the kernel, the launch's shape, blocks of columns, sampling.

A decision that differs between points is a value of theirs, as those of axes are. An axis that changes one has two
effects, its own and that of the decision; an axis that states the decision, such as `kernels.dense`, has one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusim.base.axis_roles import Role

if TYPE_CHECKING:
    from gpusim.results.report.sweeps.points import SweepData, SweepPoint

KERNEL = "kernel"
# decision: beginnings of the paths of axes that state it
_STATED_BY: Mapping[str, tuple[str, ...]] = {
    KERNEL: ("kernels", "kernel", "source", "object", "convolution", "attention", "products", "sparse_convolution"),
    "workgroup_size": ("local_size",),
    "workgroups": ("local_size", "global_size"),
    "column_blocks": (),
    "sampled": ("run.sampling", "sampling"),
}
DECISIONS = tuple(_STATED_BY)
_EXACT = ("variant", "run.engine", "engine")  # of kernels; engine: a network's mode, not a value of the engine
_PROGRAM = ("config", "network")  # files of another program, whose kernels are what is compared


@dataclass(frozen=True)
class Confound:
    """An axis that changes a decision where all other axes are equal."""

    axis: str
    """Path of the axis."""
    decision: str
    """Name of the decision."""
    taken: Mapping[str, Sequence[Any]]
    """Values of the axis by what was decided, in the first group of points in which it differs."""
    where: Mapping[str, Any]
    """Values of the other axes in that group."""
    groups: int
    """Number of groups of points in which the decision differs."""
    of: int
    """Number of groups of points that differ in the axis alone."""


def states(axis: str, decision: str) -> bool:
    """Tell whether an axis states a decision rather than changing it.

    Args:
        axis: path.
        decision: its name.

    Returns:
        Whether the decision is what the axis says.
    """
    return (decision == KERNEL and axis in _EXACT) or any(
        axis == begin or axis.startswith(f"{begin}.") for begin in _STATED_BY[decision]
    )


def differing(points: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], roles: Mapping[str, Role]) -> list[str]:
    """Return the decisions that points differ in, without those that follow from a workload or from earlier ones.

    Args:
        points: values by axis and decisions of each point.
        roles: role of each axis.

    Returns:
        Names of decisions.
    """
    kept: list[str] = []
    for name in DECISIONS:
        given = [axis for axis in roles if states(axis, name)]
        if name != KERNEL:
            given += [axis for axis, role in roles.items() if role in ("workload", "environment")]
        known: dict[tuple[Any, ...], set[str]] = {}
        for values, decided in points:
            if name in decided:
                key = (*(values.get(axis) for axis in given), *(decided.get(other) for other in kept))
                known.setdefault(key, set()).add(decided[name])
        if any(len(found) > 1 for found in known.values()):
            kept.append(name)
    return kept


def find_confounds(swept: "SweepData") -> list[Confound]:
    """Return the axes of design that change a decision, with what is decided at which of their values."""
    confounds = []
    for axis in swept.with_role("design"):
        others = [path for path in swept.axes if path != axis]
        groups = [held for held in swept.groups(others).values() if len(held) > 1]
        for decision in swept.decisions:
            if axis in _PROGRAM or states(axis, decision):
                continue
            apart = [held for held in groups if len({one.decided.get(decision) for one in held}) > 1]
            if apart:
                where = {path: apart[0][0].values[path] for path in others if len(swept.axes[path]) > 1}
                taken = _taken(apart[0], axis, decision)
                confounds.append(Confound(axis, decision, taken, where, len(apart), len(groups)))
    return confounds


def _taken(points: Iterable["SweepPoint"], axis: str, decision: str) -> dict[str, list[Any]]:
    taken: dict[str, list[Any]] = {}
    for point in points:
        taken.setdefault(point.decided.get(decision, ""), []).append(point.values[axis])
    return taken
