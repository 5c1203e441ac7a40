"""A plugin of pytest: which functions each test calls, and how long it takes.

Only a test that calls a function can notice an error in it. Compiled functions are seen where the compiler is off
(NUMBA_DISABLE_JIT=1). What runs while a file is imported counts for each of its tests. A test that takes too long to be
run for every error is ended and left out, and so is what follows in a file that has taken twenty times as long.
"""

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

_OF_FILE = 20  # tests of the longest kind: what follows in a file is left out
ROOT = str(Path(__file__).parents[2]) + os.sep


def _seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@contextmanager
def _called() -> Iterator[set[CodeType]]:
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object, add: Any = codes.add) -> None:
        add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class Reach:
    """Collects the functions that run during each test and writes them to `target`."""

    def __init__(self, target: Path, longest_s: float) -> None:
        self._target, self._longest_s = target, longest_s
        self._tests: dict[str, dict[str, Any]] = {}
        self._importing: dict[str, set[CodeType]] = {}
        self._spent: Counter[str] = Counter()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Note what runs while a file of tests is imported."""
        with _called() as codes:
            yield
        self._importing.setdefault(collector.nodeid.partition("::")[0], set()).update(codes)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what runs in a test with its fixtures."""
        found = self._tests.setdefault(item.nodeid, {"passed": True, "failed": False, "cut": False})
        file = item.nodeid.partition("::")[0]
        if self._spent[file] > _OF_FILE * self._longest_s:
            found["cut"] = True
            item.add_marker(pytest.mark.skip("its file takes too long"))

        def cut(number: int, frame: FrameType | None) -> None:
            found["cut"] = True
            pytest.skip("takes too long")  # which some tests take for a failure

        start = _seconds()
        signal.signal(signal.SIGPROF, cut)
        signal.setitimer(signal.ITIMER_PROF, self._longest_s, 5.0)
        try:
            with _called() as codes:
                yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        importing = self._importing.get(file, set())
        functions = sorted(
            {
                f"{code.co_filename.removeprefix(ROOT)}:{code.co_name}"
                for code in codes | importing
                if code.co_filename.startswith(ROOT) and not code.co_filename.startswith(ROOT + "tests")
            }
        )
        found |= {"seconds": _seconds() - start, "functions": functions}
        self._spent[file] += found["seconds"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down how a test ended: one that fails or is skipped says nothing."""
        found = self._tests[report.nodeid]
        found["passed"] &= report.passed
        found["failed"] |= report.failed

    def pytest_sessionfinish(self) -> None:
        """Write what was found."""
        self._target.write_text(json.dumps(self._tests), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Take part if the environment says where to write."""
    if target := os.environ.get("GPUSIM_REACH"):
        config.pluginmanager.register(Reach(Path(target), float(os.environ["GPUSIM_REACH_LONGEST_S"])))
