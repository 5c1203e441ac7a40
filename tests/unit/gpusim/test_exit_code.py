"""Does the exit code say what became of runs: a program's own code first, then why they stopped, then the results?"""

from dataclasses import replace

import pytest

from gpusim.base.interrupt import INTERRUPTED
from gpusim.results.records.exit_code import describe_problems, exit_code, get_stop_reason
from gpusim.results.records.record import RunRecord, VerificationFacts

RUN = RunRecord(False, "k", [])
RIGHT, WRONG = (VerificationFacts(passed, 0.0, 0.0) for passed in (True, False))


def run(**more: object) -> RunRecord:
    return replace(RUN, **more)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ([], 0),
        ([RUN], 0),
        ([run(verification=RIGHT), RUN], 0),
        ([run(verification=WRONG), RUN], 1),
        ([RUN, run(partial=True, stopped_by=INTERRUPTED)], 130),
        ([run(partial=True, stopped_by="out of time"), RUN], 1),
        ([run(stopped_by="out of time")], 0),  # a run that is whole
        ([run(exit_code=0)], 0),
        ([run(exit_code=7, verification=WRONG)], 7),
        ([run(exit_code=7, partial=True, stopped_by=INTERRUPTED)], 7),
    ],
)
def test_exit_codes(records: list[RunRecord], code: int) -> None:
    assert exit_code(records) == code


def test_the_first_run_that_stopped_says_why() -> None:
    assert get_stop_reason([RUN, run(partial=True, stopped_by="a"), run(partial=True, stopped_by="b")]) == "a"
    assert get_stop_reason([RUN]) == ""


def test_every_reason_for_an_exit_code_is_a_line() -> None:
    wrong = VerificationFacts(False, 0.25, 1.5e-12)
    assert describe_problems([RUN, run(verification=RIGHT)]) == []
    assert describe_problems([run(verification=wrong), run(variant="sparse", verification=wrong)]) == [
        "the result is WRONG: error 0.25, allowed is 1.5e-12",
        "sparse: the result is WRONG: error 0.25, allowed is 1.5e-12",
    ]
    assert describe_problems([run(partial=True, stopped_by="out of time")]) == ["out of time: the results are partial"]
