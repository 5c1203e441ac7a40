"""Is everything that decides a result hashed, so that a store answers no run by what other code found?"""

import networkx as nx
import pytest

from gpusim.base.extensions import extension_sources, extensions
from gpusim.jobs.networks.kept import SOURCES
from gpusim.lab.versions.model import ANY_RUN, KINDS, NOT_OF_FIGURES, PARTS
from gpusim.results.store.work import ALL, ROOT, SIMULATOR
from tests.structure.imports import arrows

# packages that results are run through all the same: why what they hold decides none
DECIDES_NOTHING = {
    "gpusim.base": "files, progress, errors; quantiles and sums, which decide, are hashed by file",
    "gpusim.lab.capture": "curves that the closed loop is given are files, which are hashed as inputs",
    "gpusim.results.store": "what is kept of results",
    "gpusim.results.report": "how they are shown",
    "gpusim.results.report.page": "the same",
    "gpusim.results.timeline": "recorded beside the run, which it does not change",
    "gpusim.lab.versions": "what is recorded of the code that ran",
}
# packages that are reached too, and from which no recorded figure comes
NO_FIGURE = {
    "gpusim.jobs.api": "launches from a user's own program",
    "gpusim.jobs.hip": "the same, of HIP programs",
    "gpusim.jobs.estimates": "what a run would cost",
    "workloads.toolchain": "builds code objects, which are hashed by themselves",
}


def reached(*first: str) -> set[str]:
    """The packages that these import, and those that they do, and so on; not through those that decide nothing."""
    graph = nx.DiGraph((package, other) for package, seen in arrows().items() for other in seen)
    graph.remove_nodes_from(DECIDES_NOTHING)
    return {*first}.union(*(nx.descendants(graph, package) for package in first))


def hashed(package: str, places: tuple[str, ...]) -> bool:
    path = package.replace(".", "/")
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
                "gpusim.lab.monitor",
                "gpusim.lab.silicon",
                "gpusim.results.metrics",
            ),
            (*ALL, *extension_sources()),
        ),
    ],
)
def test_all_that_decides_a_result_is_hashed(first: tuple[str, ...], places: tuple[str, ...]) -> None:
    assert [package for package in sorted(reached(*first)) if not hashed(package, places)] == []


@pytest.mark.parametrize(
    ("first", "more"),
    [
        (("gpusim.jobs", "gpusim.jobs.networks", "gpusim.model.sampling", "gpusim.results.metrics"), ()),
        (("gpusim.lab.microbench",), ("microbench",)),
        (("gpusim.lab.silicon",), ("silicon", "microbench")),
    ],
)
def test_all_that_decides_a_figure_is_in_the_model_s_version(first: tuple[str, ...], more: tuple[str, ...]) -> None:
    places = tuple(place for part in (*ANY_RUN, *more) for place in PARTS[part])
    packages = [
        package for package in sorted(reached(*first)) if package not in NO_FIGURE and not hashed(package, places)
    ]
    assert packages == ["workloads"], "a group, whose own modules are parts by themselves"
    own = {f"workloads/{path.name}" for path in (ROOT / "workloads").glob("*.py")} - {"workloads/__init__.py"}
    assert own <= set(places)
    assert {place.replace("/", ".") for place in NOT_OF_FIGURES} < NO_FIGURE.keys()


# other files in the folders of the model's parts: why they decide no figure
OTHER_FILES = {
    **dict.fromkeys((".s", ".inc", ".cl", ".h", ".cpp"), "sources of code objects, which count themselves"),
    **dict.fromkeys((".typed", ".pyi"), "for type checkers"),
}


def test_every_kind_of_file_in_the_model_s_parts_counts_or_has_a_reason() -> None:
    folders = [ROOT / place for places in PARTS.values() for place in places]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in files if "__pycache__" not in path.parts}
    assert suffixes - set(KINDS) <= OTHER_FILES.keys()


def test_what_decides_nothing_is_a_package_that_is_reached() -> None:
    assert set(DECIDES_NOTHING) <= set(arrows())
    assert not [package for package in DECIDES_NOTHING if hashed(package, ALL)]


def test_the_module_of_every_kind_of_job_is_hashed() -> None:
    """A job's own code decides its result, though it only runs what others simulate."""
    places = (*ALL, *extension_sources())
    factories = {kind.factory.rpartition(".")[0] for one in extensions() for kind in one.KINDS.values()}
    files = [f"{module.replace('.', '/')}.py" for module in sorted(factories)]
    assert len(files) > 5 and all((ROOT / file).is_file() for file in files)
    assert [file for file in files if not any(file == place or file.startswith(f"{place}/") for place in places)] == []


@pytest.mark.parametrize("places", [SIMULATOR, ALL, SOURCES, extension_sources()])
def test_every_place_is_there(places: tuple[str, ...]) -> None:
    """One that was moved would be hashed as nothing."""
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_numbers_of_the_base_that_decide_are_hashed() -> None:
    files = {"gpusim/base/student.py", "gpusim/base/sums.py"}
    assert files <= set(SIMULATOR)
    assert files <= set(PARTS["core"])
