"""Is everything that decides a result hashed, so that a store answers no run by what other code found?"""

import networkx as nx
import pytest

from gpusim.base.extensions import extension_sources
from gpusim.results.store.work import ALL, SIMULATOR
from tests.structure.imports import arrows

# rooms that results are run through all the same: why what they hold decides none
DECIDES_NOTHING = {
    "gpusim.base": "files, progress, errors",
    "gpusim.results.store": "what is kept of results",
    "gpusim.results.report": "how they are shown",
    "gpusim.results.report.page": "the same",
    "gpusim.results.timeline": "recorded beside the run, which it does not change",
}


def reached(*first: str) -> set[str]:
    """The rooms that these import, and those that they do, and so on; not through those that decide nothing."""
    graph = nx.DiGraph((room, other) for room, seen in arrows().items() for other in seen)
    graph.remove_nodes_from(DECIDES_NOTHING)
    return {*first}.union(*(nx.descendants(graph, room) for room in first))


def hashed(room: str, places: tuple[str, ...]) -> bool:
    path = room.replace(".", "/")
    return any(f"{path}/".startswith(f"{place}/") for place in places)


@pytest.mark.parametrize(
    ("first", "places"),
    [
        (("gpusim.model.core", "gpusim.model.sampling"), SIMULATOR),
        (
            (
                "gpusim.jobs",
                "gpusim.jobs.networks",
                "gpusim.lab.microbench",
                "gpusim.lab.silicon",
                "gpusim.results.metrics",
            ),
            (*ALL, *extension_sources()),
        ),
    ],
)
def test_all_that_decides_a_result_is_hashed(first: tuple[str, ...], places: tuple[str, ...]) -> None:
    assert [room for room in sorted(reached(*first)) if not hashed(room, places)] == []


def test_what_decides_nothing_is_a_room_that_is_reached() -> None:
    assert set(DECIDES_NOTHING) <= set(arrows())
    assert not [room for room in DECIDES_NOTHING if hashed(room, ALL)]
