"""Is what AMD's test programs print counted as what it says?"""

from dataclasses import replace

from tests.vendor.programs import Outcome, Shard
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
    for cut, failed in ((False, ["prog A.two/1", "prog B.four"]), (True, ["prog A.two/1"])):
        row = Row()
        add(row, Shard("package", "prog"), DONE, cut)
        assert (row.passed, row.skipped, row.cut, row.failed) == (1, 1, int(cut), {"unexplained": failed})


def test_failures_are_blamed_by_program_and_test() -> None:
    row = Row()
    add(row, Shard("package", "test_thrust_copy"), replace(DONE, output=THRUST), False)
    assert (row.passed, row.skipped, row.failed) == (9, 2, {"library": ["test_thrust_copy TestCopyIfNonTrivial"]})
    add(row, Shard("package", "test_block_sort_merge"), replace(DONE, output="[ RUN      ] C.d\n"), False)
    assert row.failed["compiler"] == ["test_block_sort_merge C.d"]
    add(row, Shard("package", "test_thrust_copy"), replace(DONE, output=""), False)
    assert row.failed["unexplained"] == ["test_thrust_copy (none was run)"]
    text = page_table({"rocThrust": row})
    assert "| rocThrust | 3 | 9 | 2 | 1 | 1 | 0 | 1 | 0 | 3 702 | 6 s |" in text and "clamp" in text
