"""The mutator: what it changes in a function, that it changes nothing else, and which tests it chooses."""

import ast
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.mutate import drawn, packages_within
from tests.mutation.judges import judges, mode_of, without_compiler
from tests.mutation.mutations import mutations_of
from tests.mutation.scores import PAGE, Score, page, read, record, scores_table
from tests.mutation.trial import CAUGHT, SURVIVED, TIME, UNREACHED, Outcome, Tree, Trial
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


def test_a_row_of_semantics_is_changed_as_a_function_is(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text('vop("v_add_u32 v_add", "u32 u32 -> u32")(lambda x, a, b: a + b)\n')
    [mutation] = mutations_of("rows.py", tmp_path)
    assert (mutation.function, mutation.what) == ("v_add_u32 v_add", "`+` → `-`")


def test_conditions_are_negated_and_loops_leave_or_go_on(tmp_path: Path) -> None:
    found = mutated(tmp_path, "for k in a:\n        if k:\n            break\n        continue")
    assert found["not `k`"] == "for k in a:\n        if not (k):\n            break\n        continue"
    assert found["`break` → `continue`"] == "for k in a:\n        if k:\n            continue\n        continue"
    assert found["`continue` → `break`"] == "for k in a:\n        if k:\n            break\n        break"


def test_every_mutation_of_the_core_is_a_program() -> None:
    for file in ("memory/wheel.py", "gpusim/model/core/cu/fetch.py", "spartan/search.py"):
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


@pytest.mark.nightly  # reads what every file of the project and every test imports
def test_a_module_is_judged_by_the_tests_nearest_to_it() -> None:
    nearest = {
        "gpusim/results/report/rules.py": "tests/unit/gpusim/test_rules.py",
        "memory/network/crossbar.py": "tests/unit/memory/test_crossbar.py",
        "gpusim/jobs/api/module.py": "tests/unit/gpusim/test_device_library.py",  # whose names it has from `gpusim`
        "isa/semantics/float.py": "tests/unit/isa/test_semantics_float.py",  # which is loaded by a name that is made up
    }
    for file, test in nearest.items():
        assert test in judges([file]), file
    nearest_two = judges(["gpusim/results/report/rules.py"], most=2)
    assert len(nearest_two) == 2 and "tests/unit/gpusim/test_rules.py" in nearest_two
    by_alphabet = {f"tests/unit/isa/test_semantics_{name}.py" for name in ("compare", "integer", "transcendental")}
    assert by_alphabet < set(judges(["isa/semantics/bytes.py"], most=1))  # nothing else tells them apart
    assert "tests/exact/test_l2.py" in judges(["memory/cache/l2.py"])


def test_of_tests_those_that_import_a_module_are_nearer_than_those_that_import_who_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tests = {
        "tests/unit/a/test_own.py": frozenset({"a.own"}),
        "tests/unit/a/test_other.py": frozenset({"a.own", "a.other"}),
        "tests/unit/a/test_far.py": frozenset({"a.user", "a.other", "a.third"}),
        "tests/unit/b/test_own.py": frozenset({"a.own", "b.x"}),
        "tests/exact/test_l2.py": frozenset({"memory.cache.l2"}),
    }
    monkeypatch.setattr("tests.mutation.judges.imports_of_tests", lambda: tests)
    monkeypatch.setattr("tests.mutation.judges._importers", lambda: {"a.own": {"a.user"}, "a": {"a.other"}})
    assert judges(["a/own.py"], most=1) == ("tests/unit/a/test_own.py",)
    assert judges(["a/own.py"]) == tuple(
        f"tests/unit/{name}.py" for name in ("a/test_own", "a/test_other", "b/test_own")
    )
    assert judges(["a/own.py"], most=4)[3:] == ("tests/unit/a/test_far.py",)  # imports who imports it
    assert judges(["memory/wheel.py"]) == ("tests/exact/test_l2.py",)


def test_errors_in_what_is_compiled_are_tried_without_the_compiler() -> None:
    assert all(map(without_compiler, ("isa.lanes", "memory.dram", "spartan", "gpusim.model.core.cu")))
    assert not any(
        map(without_compiler, ("gpusim.jobs.host", "gpusim.base.jit", "gpusim.model.sampling", "workloads.operators"))
    )
    assert [mode_of(package) for package in ("spartan", "gpusim.jobs.host", "gpusim.base.jit")] == [
        "plain",
        "compiled",
        "fresh",
    ]


def test_a_package_is_taken_with_those_within() -> None:
    assert packages_within(["memory.dram"]) == ["memory.dram", "memory.dram.standards"]
    with pytest.raises(SystemExit, match=r"'memory\.drum' is no package; the packages are gpusim"):
        packages_within(["memory.drum"])
    assert [m.name for m in drawn("gpusim.jobs.host", 5, 1)] == [m.name for m in drawn("gpusim.jobs.host", 5, 1)]
    assert set(drawn("gpusim.jobs.host", 5, 1)) != set(drawn("gpusim.jobs.host", 5, 2))


def test_a_score_counts_what_was_noticed(tmp_path: Path) -> None:
    (tmp_path / "unit.py").write_text("def unit(a):\n    return a + 1 - 2 & 3 | 4\n")
    results = (CAUGHT, TIME, SURVIVED, UNREACHED, CAUGHT, CAUGHT, CAUGHT, CAUGHT)
    outcomes = [Outcome(m, r, 2) for m, r in zip(mutations_of("unit.py", tmp_path), results, strict=True)]
    score = Score.of("memory.wheel", 7, 30, 4, outcomes)
    assert (score.noticed, score.tried, len(score.unnoticed)) == (6, 8, 2)
    file = tmp_path / "scores.json"
    record(score, file)
    record(Score.of("isa", 7, 0, 0, []), file)
    assert read(file)["memory.wheel"] == score
    lines = scores_table({"memory": replace(score, package="memory"), "isa": read(file)["isa"]}).splitlines()
    today = datetime.now(UTC).date().isoformat()
    assert f"| `memory` | off | 4 | 30 | 6 of 8 (75 %) | 1 | 1 | 7 | {today} |" in lines
    assert f"| `isa` | off |  | 0 | nothing to mutate |  |  |  | {today} |" in lines
    assert "| `spartan` | off |  |  | not judged |  |  |  |  |" in lines
    assert lines[-1].startswith("In all: 6 of 8 noticed, in 1 of ") and "*" not in lines[-1]
    earlier = scores_table({"memory": replace(score, package="memory", form=0)})
    assert f" {today} * |" in earlier and " *: judged by an earlier form" in earlier.splitlines()[-1]


def test_the_page_has_the_scores_of_the_last_run() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "renew it: python -m tests.mutation.scores"


def test_a_folder_of_kept_code_whose_links_go_round_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    for folder in (kept, tree, tmp_path / "system"):
        folder.mkdir()
    (tmp_path / "system" / "X11").symlink_to(".")  # as /usr/bin has
    (kept / "bin").symlink_to(tmp_path / "system")
    (kept / "code.so").write_text("compiled")
    monkeypatch.setattr("tests.mutation.trial.cache_folder", lambda: kept)
    (tmp_path / "nothing").mkdir()
    monkeypatch.setattr("tests.mutation.trial.ROOT", tmp_path / "nothing")
    Tree(tree, "compiled").close()
    assert (tree / "code" / "code.so").read_text() == "compiled" and (tree / "code" / "bin").is_symlink()
