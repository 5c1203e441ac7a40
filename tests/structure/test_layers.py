"""The code's imports keep to the table of layers, and the finder of imports sees every kind of import."""

from pathlib import Path

import networkx as nx
import pytest

from tests.structure.imports import ROOT, TOPS, arrows, imports, room_of, rooms
from tests.structure.layers import EXCEPTIONS, LAYERS, excepted


def test_every_room_has_its_row_and_every_row_a_room() -> None:
    assert set(LAYERS) == rooms()


def test_a_row_names_only_rooms_before_it() -> None:
    order = list(LAYERS)
    later = [(room, seen) for room, row in LAYERS.items() for seen in row if order.index(seen) >= order.index(room)]
    assert later == []


@pytest.mark.parametrize("room", LAYERS)
def test_a_room_imports_only_what_its_row_names(room: str) -> None:
    refused = [
        str(each)
        for seen, found in arrows().get(room, {}).items()
        for each in found
        if seen not in LAYERS[room] and not excepted(each.module, room, seen)
    ]
    assert refused == []


def test_every_exception_is_needed() -> None:
    used = {(name, room_of(each.imported)) for each in imports() for name in (each.module, room_of(each.module))}
    assert [e for e in EXCEPTIONS if e not in used or e[1] in LAYERS[room_of(e[0])]] == []


def test_no_rooms_need_one_another() -> None:
    graph = nx.DiGraph()
    for room, seen in arrows().items():
        for other, found in seen.items():
            if not all(excepted(each.module, room, other) for each in found):
                graph.add_edge(room, other)
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_no_modules_import_one_another() -> None:
    graph = nx.DiGraph((each.module, each.imported) for each in imports() if each.at_top)
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_no_files_of_the_command_line_need_one_another() -> None:
    graph = nx.DiGraph((each.module, each.imported) for each in imports() if room_of(each.module) == "gpusim.cli")
    assert [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_the_top_level_is_what_users_know() -> None:
    assert all((ROOT / folder / "__init__.py").exists() for folder in TOPS)
    assert (ROOT / "sim_configs").is_dir() and (ROOT / "tests").is_dir()


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
