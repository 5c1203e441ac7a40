"""Does a kind of job's part of the model have every module that its jobs can reach, and no other?"""

import ast
import subprocess
import sys

import networkx as nx
import pytest

from gpusim.base.extensions import job_kind
from gpusim.lab.versions.model import (
    MATRIX_ARCHITECTURES,
    NOT_OF_FIGURES,
    PARTS,
    REACHED_FROM,
    ROOT,
    list_files,
    present_version,
)
from gpusim.lab.versions.reached import list_reached
from isa.opcodes.architecture import ARCHITECTURES
from tests.structure.imports import module_in, named_in, sources

SOURCES = {
    "gpusim": "",
    "gpusim.jobs": "",
    "gpusim.jobs.run": "from gpusim.jobs import shared\n\n\ndef run():\n    import gpusim.jobs.late\n",
    "gpusim.jobs.shared": '"""Not gpusim.jobs.other."""\nfrom gpusim.jobs.kinds import KIND\n',
    "gpusim.jobs.kinds": 'KIND = "gpusim.jobs.named.make"\nTABLE = f"gpusim.tables.{KIND}"\n',
    "gpusim.jobs.late": "",
    "gpusim.jobs.named": "",
    "gpusim.jobs.other": "import gpusim.jobs.run\n",
    "gpusim.tables.one": "",
}


def test_imports_count_wherever_they_stand_and_by_name() -> None:
    assert list_reached(["gpusim.jobs.run"], SOURCES) == SOURCES.keys() - {"gpusim.jobs.other"}


@pytest.mark.parametrize(("part", "kinds"), [("products", ("gemm", "layer", "convolution")), ("networks", ("net",))])
def test_a_kind_s_part_begins_with_its_jobs_modules(part: str, kinds: tuple[str, ...]) -> None:
    modules = {job_kind(kind).factory.rpartition(".")[0] for kind in kinds}
    assert modules <= set(REACHED_FROM[part])


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph:
    """Which modules import which, of those that are reached, by another reader of imports.

    Reports, stores and programs of others decide no digit: what they import is not followed.
    """
    files = dict(sources())
    names = frozenset(files)
    graph = nx.DiGraph()
    of_parts = tuple(place.removesuffix(".py").replace("/", ".") for places in PARTS.values() for place in places)
    others = tuple(folder.replace("/", ".") for folder in NOT_OF_FIGURES)
    left = [one for starts in REACHED_FROM.values() for one in starts]
    graph.add_nodes_from(left)
    while left:
        module = left.pop()
        if not module.startswith(others):
            found = {module_in(dotted, names) for _, dotted in named_in(ast.parse(files[module].read_text()), module)}
            reached = {other for other in found if other and other.startswith(of_parts)}
            left += reached - graph.nodes
            graph.add_edges_from((module, other) for other in reached)
    return graph


@pytest.mark.parametrize("part", REACHED_FROM)
def test_a_kind_s_part_has_all_modules_that_another_reader_of_imports_finds(part: str, graph: nx.DiGraph) -> None:
    files = dict(sources())
    reached = {*REACHED_FROM[part]}.union(*(nx.descendants(graph, one) for one in REACHED_FROM[part]))
    counted = set(list_files(part))
    places = set(list_files("launches"))
    assert {files[one] for one in reached if files[one] in places} <= counted
    assert len(counted) < len(places), "another kind's modules are left out"


RUN = """
import sys
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.run import load_run
from gpusim.config.tree import assignments
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running import runner
sets = {"workload.layer.input_channels": 16, "workload.layer.output_channels": 32, "workload.batch": 1}
sets |= {"workload.data": "synthetic"}
runner.run(make_run_job(load_run("layerA.yaml", assignments(sets))), Reporter(quiet=True), Interrupt())
print(*(module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)), sep="\\n")
"""


@pytest.mark.compiled_tier
def test_a_run_of_a_product_loads_no_module_that_does_not_count() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {ROOT / file for file in done.stdout.splitlines() if file.startswith(str(ROOT))}
    makes_jobs = {ROOT / "gpusim/jobs/kinds.py", ROOT / "gpusim/jobs/extension.py"}  # names of factories alone
    assert ROOT / "gpusim/jobs/gemm.py" in loaded
    assert loaded & set(list_files("launches")) <= {*list_files("products"), *makes_jobs}


def test_matrix_units_are_of_the_architectures_with_their_instructions() -> None:
    tables = {"gfx908", "gfx90a", "gfx942"}
    assert tuple(name for name, one in ARCHITECTURES.items() if tables & set(one.extensions)) == MATRIX_ARCHITECTURES
    assert {name for name in ARCHITECTURES if "matrix" in present_version(name).uses} == set(MATRIX_ARCHITECTURES)
    assert "matrix" in present_version().uses, "any GPU"


def test_no_file_counts_in_two_parts_of_instructions() -> None:
    parts = [set(list_files(part)) for part in ("isa", "matrix", "checking")]
    assert sum(map(len, parts)) == len(set.union(*parts)) and all(parts)
