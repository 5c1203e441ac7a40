"""The results of a plan, out of a store."""

from collections.abc import Mapping
from typing import Any

from gpusim.reproduce.kept import Kept, Results, kept
from gpusim.reproduce.plan import Plan
from gpusim.reproduce.running import stored
from gpusim.store.keeper import Keeper


def collected(
    name: str,
    plan: Plan,
    keeper: Keeper,
    errors: Mapping[str, str],
    said: Mapping[str, Any],
    earlier: Mapping[str, Kept],
) -> Results:
    """Return the results of each point that has a correct run in the store, or else was known earlier."""
    points = {key: earlier[key] for key in plan.points if key in earlier}
    for key, planned in plan.points.items():
        found = stored(keeper, planned)
        if found is not None and not found.exit_code:
            points[key] = kept(found.content, found.seconds)
    return Results(name, points, errors, said)
