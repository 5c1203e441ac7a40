"""Do the tests of two small files notice errors in them? A sample, another one whenever files or tests change.

All mutations of these files were tried when this was written: so many survive as `equivalent` says, since they change
nothing. `but`: tests that are slow. Of whole packages docs/results/mutations.md has the scores.
"""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation.mutations import mutations_of
from tests.mutation.trial import Reached, Tree
from tests.structure.imports import ROOT

LIMIT_S = 10.0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    made = Tree(tmp_path_factory.mktemp("mutated"), "plain")
    yield made
    made.close()


@pytest.mark.compiled_tier
@pytest.mark.parametrize(
    ("file", "tests", "but", "equivalent"),
    [
        ("gpusim/base/intervals.py", "tests/unit/gpusim/test_intervals.py", "no_square", 1),
        ("memory/dram/constraints.py", "tests/unit/memory/test_dram_constraints.py", "is_necessary", 0),
    ],
)
@pytest.mark.parametrize("sample", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_errors_are_noticed(file: str, tests: str, but: str, equivalent: int, sample: int, tree: Tree) -> None:
    quick = ["-x", "-k", f"not {but}", tests]
    assert tree.pytest(quick) == 0
    seed = hashlib.sha256(b"".join(Path(ROOT / each).read_bytes() for each in (file, tests))).hexdigest()
    chosen = random.Random(seed).sample(mutations_of(file, ROOT), sample)
    unnoticed = [m.name for m in chosen if tree.tried(m, quick, LIMIT_S) == 0]
    assert len(unnoticed) <= equivalent, f"no test of {tests} notices these errors: {', '.join(unnoticed)}"


@pytest.mark.compiled_tier
def test_what_runs_too_long_is_ended(tree: Tree) -> None:
    tests = tree.path / "slow" / "test_slow.py"
    tests.parent.mkdir()
    tests.write_text(
        "import time\n\n"
        "def test_busy():\n    while True: pass\n\n"
        "def test_waits():\n    time.sleep(1000)\n\n"
        "def test_fails():\n    assert False\n"
    )
    assert tree.pytest([f"{tests}::test_busy"], limit_s=0.2) is None
    assert tree.pytest([f"{tests}::test_waits"], limit_s=0.2) is None
    assert tree.pytest([f"{tests}::test_fails"]) == 1


@pytest.mark.compiled_tier
def test_what_a_test_calls_is_seen_in_every_thread(tree: Tree) -> None:
    tests = tree.path / "called" / "test_called.py"
    tests.parent.mkdir()
    tests.write_text(
        "from threading import Thread\n\nfrom gpusim.base.intervals import differ\n\n"
        "def test_here():\n    differ((1, 0), (2, 0))\n\n"
        "def test_there():\n    thread = Thread(target=differ, args=((1, 0), (2, 0)))\n"
        "    thread.start()\n    thread.join()\n\n"
        "def test_nowhere():\n    pass\n\n"
        "def test_fails():\n    assert not differ((1, 0), (2, 0))\n"
    )
    found = Reached().of(["called/test_called.py"], tree)
    calls = {
        test.rpartition("_")[2]: "gpusim/base/intervals.py:differ" in held["functions"] for test, held in found.items()
    }
    assert calls == {"here": True, "there": True, "nowhere": False}
