"""pytest's plugin for tests of Python projects under `gpusim hip`: draws some, and writes down what each came to.

Given by the environment: TESTS_DRAW, a JSON object with `seed`, `most` (so many tests of a file are drawn, by their
names) and `outcomes`, a file to which each test adds a line (name, "begun" or its outcome, the end of its message).
Tests that the file has are left out: so a run goes on after a process that ended. A kernel's fault ends the process,
as the GPU is of no use to it any more.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

_GONE = ("hipErrorLaunchFailure", "hipErrorLaunchTimeOut")  # after which each call fails
DRAW: dict[str, Any] = json.loads(os.environ["TESTS_DRAW"])
OUTCOMES = Path(DRAW["outcomes"])


def _note(name: str, outcome: str, message: Any = "") -> None:
    with OUTCOMES.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome, message]) + "\n")


def drawn(names: list[str]) -> list[str]:
    """Return the names that the seed draws; those of a smaller number are among them."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{DRAW['seed']} {name}".encode()).digest())[: DRAW["most"]]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the drawn tests that were not begun yet."""
    lines = OUTCOMES.read_text(encoding="utf-8").splitlines() if OUTCOMES.exists() else []
    begun = {json.loads(line)[0] for line in lines}
    chosen = set(drawn([item.nodeid for item in items]))
    _note("", "drawn", [len(chosen), len(items)])
    kept = [item for item in items if item.nodeid in chosen and item.nodeid not in begun]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note that a test begins: one without an outcome ended its process."""
    _note(nodeid, "begun")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test's outcome; of a failure the end of its message."""
    if report.when != "call" and report.outcome == "passed":
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
    message = str(report.longrepr or "")[-1500:] if outcome == "failed" else ""
    _note(report.nodeid, outcome, message)
    if any(word in message for word in _GONE):
        pytest.exit(f"{report.nodeid}: the GPU is of no use any more", returncode=3)
