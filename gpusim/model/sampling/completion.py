"""The facts of a launch that was simulated in part, completed by what the rest is estimated to have cost."""

from collections.abc import Mapping, Sequence

import numpy as np

from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import Replicates


def complete(
    facts: RunFacts, vector: CountVector, added: np.ndarray, doubts: Sequence[Replicates], exact: Mapping[str, int]
) -> None:
    """Add what was not simulated to a launch's facts; hot spots grow as their stall reasons do.

    Args:
        added: What is added, by the vector's elements.
        doubts: Deviations of them.
        exact: Counts of the kernel that are known: no doubt of them is left.
    """
    for name, count in exact.items():
        at = vector.at("kernel", name)
        added[at] = count
        for doubt in doubts:
            doubt.deviations[:, at] = 0
    before = facts.stalls
    facts.sections = vector.added(facts.sections, added)
    scale = {reason: facts.stalls[reason] / n for reason, n in before.items() if n}
    for hotspot in facts.hotspots:
        for reason in hotspot.stalls:
            hotspot.stalls[reason] = round(hotspot.stalls[reason] * scale.get(reason, 1.0))
