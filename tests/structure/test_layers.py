"""The code's imports keep to the layers, and the finder of imports sees every kind of import."""

import itertools
from pathlib import Path

import networkx as nx
import pytest

from tests.structure.imports import ROOT, TOPS, arrows, imports, package_of, packages
from tests.structure.layers import EXCEPTIONS, LAYERS, LINE_BUDGETS, NEVER, ONLY_BY, ORDER, Layer, excepted, forbidden


def _refused(package: str) -> list[str]:
    """Return each import by a package that is forbidden and no exception, with the reason."""
    return [
        f"{each}: {forbidden(package, seen)}"
        for seen, found in arrows().get(package, {}).items()
        for each in found
        if forbidden(package, seen) and not excepted(each.module, package, each.imported, seen)
    ]


def test_every_package_stands_on_one_layer() -> None:
    assert sorted(ORDER) == sorted(packages())


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    assert _refused(package) == []


def test_a_user_s_launches_alone_have_a_limit_of_instructions() -> None:
    """All others are operators' or libraries', whose kernels end: `operator_command` makes their commands."""
    made = {
        str(file.relative_to(ROOT)) for file in (ROOT / "gpusim").rglob("*.py") if "LaunchCommand(" in file.read_text()
    }
    users = {"gpusim/jobs/api/queue.py", "gpusim/jobs/api/device.py", "gpusim/jobs/hip/launching.py"}
    assert made == users | {"gpusim/jobs/running/operators.py", "gpusim/jobs/host/command_processor.py"}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_layer_whose_packages_do_without_one_another_says_so(layer: Layer) -> None:
    inside = [each for package in layer.packages for seen, each in arrows()[package].items() if seen in layer.packages]
    assert bool(inside) != layer.apart


def test_every_prohibition_forbids_what_the_order_permits() -> None:
    """A prohibition that follows from the layers, or names a package that has gone, only looks like one."""
    named = {name for pair in NEVER for names in pair for name in names.split()}
    named |= ONLY_BY.keys() | {name for names, _ in ONLY_BY.values() for name in names.split()}
    assert [name for name in sorted(named) if name not in ORDER] == []
    told = {forbidden(package, seen) for package, seen in itertools.permutations(ORDER, 2)}
    assert [pair for pair, why in NEVER.items() if not any(reason.endswith(f": {why}") for reason in told)] == []
    assert [
        package for package in ONLY_BY if not any(reason.startswith(f"{package} is only for") for reason in told)
    ] == []


def test_who_alone_may_import_a_package_does() -> None:
    idle = [
        (package, name)
        for package, (names, _) in ONLY_BY.items()
        for name in names.split()
        if package not in arrows()[name]
    ]
    assert idle == []


def test_every_exception_is_needed() -> None:
    used = set()
    for each in imports():
        package, seen = package_of(each.module), package_of(each.imported)
        if package != seen and forbidden(package, seen):
            used |= {(here, there) for here in (each.module, package) for there in (each.imported, seen)}
    assert [exception for exception in EXCEPTIONS if exception not in used] == []


@pytest.mark.parametrize(
    ("package", "seen", "part"),
    [
        ("memory.cache", "spartan", "does not stand below"),
        ("isa.execution", "memory", "does not stand below"),
        ("gpusim.results", "gpusim.results.store", "does not stand below"),
        ("gpusim.results.store", "gpusim.results.live", "do without one another"),
        ("workloads.operators", "gpusim.model.core", "does not know what runs it"),
        ("gpusim.results.report", "isa.execution", "executes nothing"),
        ("gpusim.results.report.page", "isa.encoding", "executes nothing"),
        ("gpusim.jobs.host", "gpusim.results.report", "runs launches"),
        ("gpusim.jobs.estimates", "gpusim.jobs.hip", "only for gpusim.jobs gpusim.jobs.networks gpusim.cli"),
        ("gpusim.model.core", "memory.cache", ""),
        ("gpusim.model.core", "gpusim.model.core.cu", ""),
        ("gpusim.cli", "gpusim.jobs.hip", ""),
    ],
)
def test_what_is_forbidden_is_told_with_its_reason(package: str, seen: str, part: str) -> None:
    told = forbidden(package, seen)
    assert part in told and bool(told) == bool(part)


def test_no_packages_need_one_another() -> None:
    graph = nx.DiGraph()
    for package, seen in arrows().items():
        for other, found in seen.items():
            if not all(excepted(each.module, package, each.imported, other) for each in found):
                graph.add_edge(package, other)
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_no_modules_import_one_another() -> None:
    graph = nx.DiGraph((each.module, each.imported) for each in imports() if each.at_top)
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_no_files_of_the_command_line_need_one_another() -> None:
    graph = nx.DiGraph((each.module, each.imported) for each in imports() if package_of(each.module) == "gpusim.cli")
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_the_top_level_is_what_users_know() -> None:
    assert all((ROOT / folder / "__init__.py").exists() for folder in TOPS)
    assert (ROOT / "sim_configs").is_dir() and (ROOT / "tests").is_dir()


def test_gpusim_has_at_most_seven_packages_beside_the_laboratory() -> None:
    packages = {path.name for path in (ROOT / "gpusim").iterdir() if (path / "__init__.py").exists()}
    assert "lab" in packages and len(packages - {"lab"}) <= 7


def test_the_simulator_imports_nothing_of_the_laboratory() -> None:
    """Above the laboratory are the public names alone, which list its extension by name."""
    importers = {package for package, seen in arrows().items() for other in seen if other.startswith("gpusim.lab")}
    assert {package for package in importers if not package.startswith("gpusim.lab")} == {"gpusim"}


@pytest.mark.parametrize("package", sorted(LINE_BUDGETS))
def test_a_package_keeps_to_its_line_budget(package: str) -> None:
    files = (ROOT / package.replace(".", "/")).rglob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= LINE_BUDGETS[package]


def test_every_package_has_a_line_budget() -> None:
    packages = {".".join(package.split(".")[: 2 if package.startswith("gpusim.") else 1]) for package in ORDER} - {
        "gpusim"
    }
    assert packages == set(LINE_BUDGETS)


def test_the_entrance_of_gpusim_holds_nothing_else() -> None:
    assert {path.name for path in (ROOT / "gpusim").glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize(
    "text",
    [
        "import isa.trace",
        "import isa.trace as t",
        "from isa import trace",
        "from isa.trace import LINE_BYTES",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from isa.trace import LINE_BYTES",
        "def f():\n    from isa.trace import LINE_BYTES",
        "from importlib import import_module\nimport_module('isa.trace')",
        "NAMES = {'LINE_BYTES': 'isa.trace'}",
        "OTHER_PROCESS = 'from isa.trace import LINE_BYTES; print(LINE_BYTES)'",
    ],
)
def test_every_kind_of_import_is_seen(text: str, tmp_path: Path) -> None:
    for folder in ("isa", "memory"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "isa" / "trace.py").write_text("LINE_BYTES = 64\n")
    (tmp_path / "memory" / "wheel.py").write_text(text)
    assert list(arrows(tmp_path)["memory"]) == ["isa"]


def test_docstrings_and_the_name_of_a_configuration_key_are_no_imports(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "isa").mkdir()
    (tmp_path / "isa" / "trace.py").write_text("")
    (tmp_path / "memory" / "wheel.py").write_text('"""As in `from isa.trace import x`."""\nKEY = "memory.clock_ghz"\n')
    assert arrows(tmp_path) == {"isa": {}, "memory": {}}
