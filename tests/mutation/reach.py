"""A plugin of pytest: which functions each test calls, and how long it takes.

Only a test that calls a function can notice an error in it. Functions are seen as they are called: without the
compiler (NUMBA_DISABLE_JIT=1). A test that takes too long to be run for every error is ended and left out.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2]) + os.sep


class Reach:
    """Collects the functions that run during each test and writes them to `target`."""

    def __init__(self, target: Path, longest_s: float) -> None:
        self._target, self._longest_s = target, longest_s
        self._tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Around a test with its fixtures."""
        codes: set[CodeType] = set()
        found = self._tests.setdefault(item.nodeid, {"passed": True, "failed": False, "cut": False})
        start = time.process_time()

        def called(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code not in codes:
                codes.add(frame.f_code)
            elif time.process_time() - start > self._longest_s:
                found["cut"] = True
                pytest.skip("takes too long")  # which some tests take for a failure

        sys.setprofile(called)
        try:
            yield
        finally:
            sys.setprofile(None)
        functions = sorted(
            f"{code.co_filename.removeprefix(ROOT)}:{code.co_name}"
            for code in codes
            if code.co_filename.startswith(ROOT) and not code.co_filename.startswith(ROOT + "tests")
        )
        found |= {"seconds": time.process_time() - start, "functions": functions}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails or is skipped says nothing."""
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
