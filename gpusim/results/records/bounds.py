"""What bounded launches and what their wavefronts waited for, in a word and a share."""

from gpusim.base.sums import plain_sum
from gpusim.model.core.facts import RunFacts

LATENCY = "latency"  # the roofline that does not follow from a unit's rate


def find_bound(facts: RunFacts) -> tuple[str, float]:
    """Return the largest roofline bound, except latency's, and its share of the launches' cycles."""
    bounds = {name: cycles for name, cycles in facts.roofline.items() if name != LATENCY}
    name = max(bounds, key=lambda one: bounds[one])
    return name, bounds[name] / facts.cycles if facts.cycles else 0.0


def largest_stalls(facts: RunFacts, count: int = 2) -> list[tuple[str, float]]:
    """Return the reasons for which wavefronts waited longest.

    Args:
        facts: of a launch.
        count: how many reasons.

    Returns:
        Reasons with their shares of the resident wavefront-cycles.
    """
    whole = plain_sum(facts.stalls.values())
    reasons = sorted((item for item in facts.stalls.items() if item[0] != "issued"), key=lambda item: -item[1])
    return [(reason, cycles / whole) for reason, cycles in reasons[:count] if cycles and whole]
