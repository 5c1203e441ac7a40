"""The mutator: what it changes in a function, that it changes nothing else, and which tests it chooses."""

import ast
from pathlib import Path

import pytest

from tests.mutate import Trial, folders_for
from tests.mutation.mutations import mutations_of
from tests.structure.imports import ROOT


def mutated(tmp_path: Path, body: str) -> dict[str, str]:
    """What becomes of a function's body, by the mutation that does it."""
    source = f"LIMIT = 1 + 1\n\n\ndef unit(m, a, b):\n    {body}\n"
    (tmp_path / "unit.py").write_text(source)
    found = {}
    for mutation in mutations_of("unit.py", tmp_path):
        changed = mutation.applied(source)
        assert changed.startswith("LIMIT = 1 + 1\n\n\ndef unit(m, a, b):\n    ")
        ast.parse(changed)
        found[mutation.what] = changed.partition("):\n    ")[2].rstrip("\n")
    return found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return a < b", {"`<` → `<=`": "return a <= b"}),
        ("return (a) == (b)", {"`==` → `!=`": "return (a) != (b)"}),
        ("return a < b < 9", {"`9` → `10`": "return a < b < 10"}),
        ("return a + b", {"`+` → `-`": "return a - b"}),
        ("return a & b", {"`&` → `|`": "return a | b"}),
        ("return a and b", {"`and` → `or`": "return a or b"}),
        ("return a or b", {"`or` → `and`": "return a and b"}),
        ("return a[3]", {"`3` → `4`": "return a[4]"}),
        ("return min(a, b)", {"`min` → `max`": "return max(a, b)"}),
        ("return ctz_from(a, b)", {"round robin → always the first": "return ctz_from(a, 0)"}),
        ("wake(m, a)", {"without `wake(m, a)`": "pass"}),
        ("m.count += b", {"without `m.count += b`": "pass"}),
        ("m.row[a] = b", {"without `m.row[a] = b`": "pass"}),
        ("return a if b else m", {"not `b`": "return a if not (b) else m"}),
        ("x = a", {}),
        ("prefetch(a)", {}),
        ("raise ValueError(f'{a + 1}')", {}),
        ("'''Adds 1 + 1.'''", {}),
    ],
)
def test_each_error_is_one_small_change(body: str, found: dict[str, str], tmp_path: Path) -> None:
    assert mutated(tmp_path, body) == found


def test_conditions_are_negated_and_loops_leave_or_go_on(tmp_path: Path) -> None:
    found = mutated(tmp_path, "for k in a:\n        if k:\n            break\n        continue")
    assert found["not `k`"] == "for k in a:\n        if not (k):\n            break\n        continue"
    assert found["`break` → `continue`"] == "for k in a:\n        if k:\n            continue\n        continue"
    assert found["`continue` → `break`"] == "for k in a:\n        if k:\n            break\n        break"


def test_every_mutation_of_the_core_is_a_program() -> None:
    for file in ("memory/wheel.py", "gpusim/core/cu/fetch.py", "spartan/search.py"):
        source = (ROOT / file).read_text(encoding="utf-8")
        found = mutations_of(file, ROOT)
        assert len(found) > 20
        for mutation in found:
            changed = mutation.applied(source)
            assert changed != source
            ast.parse(changed)


def test_the_tests_that_call_the_function_are_chosen_quickest_first(tmp_path: Path) -> None:
    (tmp_path / "unit.py").write_text("def unit(a):\n    return a + 1\n")
    mutation = mutations_of("unit.py", tmp_path)[0]
    reach = {
        "slow": {"seconds": 3.0, "functions": ["unit.py:unit"]},
        "quick": {"seconds": 1.0, "functions": ["unit.py:unit", "unit.py:other"]},
        "elsewhere": {"seconds": 0.1, "functions": ["unit.py:other"]},
        "too_slow": {"seconds": 9.0, "functions": ["unit.py:unit"]},
    }
    assert Trial(reach, [], all_s=10.0).chosen(mutation) == ["quick", "slow"]


def test_a_room_has_the_folders_for_the_room_around_it() -> None:
    assert folders_for("memory.cache") == folders_for("memory")
    with pytest.raises(SystemExit, match="memory, spartan"):
        folders_for("gpusim.report")
