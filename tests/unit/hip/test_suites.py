"""Is what AMD's test programs print counted as what it says?"""

import os
import sys
from dataclasses import replace

import pytest

from tests.vendor.programs import Limit, Outcome, Shard, run_within, some_cases
from tests.vendor.suites import Row, add, page_table

GOOGLE = """[ RUN      ] A.one
[       OK ] A.one (3 ms)
[ RUN      ] A.two/1
[  FAILED  ] A.two/1, where GetParam() = 8-byte object (5 ms)
[ RUN      ] B.three
[  SKIPPED ] B.three (0 ms)
[  FAILED  ] A.two/1, where GetParam() = 8-byte object
[ RUN      ] B.four
"""
THRUST = """Running 12 unit tests.
FAILURE: TestCopyIfNonTrivial
Totals: 1 failures, 2 known failures, 0 errors, and 9 passes.
"""
DONE = Outcome(1, 0, 0, 1234, 5, 2.0, GOOGLE)


def test_a_test_in_which_the_program_ended_has_failed_and_one_that_was_cut_off_has_not() -> None:
    for cut, failed in (("", ["prog A.two/1", "prog B.four"]), ("120 s", ["prog A.two/1"])):
        row = Row()
        add(row, Shard("package", "prog"), replace(DONE, cut=cut))
        assert (row.passed, row.skipped, row.cut, row.failed) == (1, 1, [cut] * bool(cut), {"unexplained": failed})


def test_failures_are_blamed_by_program_and_test() -> None:
    row = Row()
    add(row, Shard("package", "test_thrust_copy"), replace(DONE, output=THRUST))
    assert (row.passed, row.skipped, row.failed) == (9, 2, {"library": ["test_thrust_copy TestCopyIfNonTrivial"]})
    add(row, Shard("package", "test_block_sort_merge"), replace(DONE, output="[ RUN      ] C.d\n"))
    assert row.failed["compiler"] == ["test_block_sort_merge C.d"]
    add(row, Shard("package", "test_thrust_copy"), replace(DONE, output=""))
    assert row.failed["unexplained"] == ["test_thrust_copy (none was run)"]
    text = page_table({"rocThrust": row})
    assert "| rocThrust | 3 | 9 | 2 | 1 | 1 | 0 | 1 | 0 | 3 702 | 6 s |" in text and "clamp" in text


def test_a_program_is_cut_off_after_processor_time_of_all_that_it_started_and_not_after_time_that_it_slept() -> None:
    inner = "import time; print('begun', flush=True)\nwhile True: pass"
    outer = f"import signal, subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {inner!r}])"
    ended = "signal.signal(signal.SIGTERM, lambda *_: (p.kill(), sys.exit(3))); p.wait()"
    command = [sys.executable, "-c", f"{outer}; {ended}"]
    assert run_within(command, dict(os.environ), Limit(0.5, 600)) == (3, "begun\n", "0.5 s")
    assert run_within(["sh", "-c", "sleep 1.5; echo slept"], dict(os.environ), Limit(0.5, 600)) == (0, "slept\n", "")
    assert run_within(["sleep", "600"], dict(os.environ), Limit(0.5, 1))[2] == "1 s of wall time"


def test_a_part_of_a_file_of_test_cases_is_such_a_file() -> None:
    layout = bytes(range(1, 13))
    head, cases = b"rocX\0" + layout + b"ROCx\0", [bytes([n]) * 12 for n in range(10)]
    assert some_cases(head + b"".join(cases), 4, 1) == head + cases[1] + cases[5] + cases[9]
    assert some_cases(head + b"".join(cases), 1, 0) == head + b"".join(cases)
    with pytest.raises(ValueError, match="5 bytes are left"):
        some_cases(head + b"".join(cases) + b"12345", 4, 1)
